# SPDX-License-Identifier: BSD-3-Clause
"""The surroundings of a stress test: a directory, a network namespace with a veth pair where it may be had, and the
process under test with all operations on it."""

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import harness
import namespaces
import telemetry
import wire

# An answer takes as long as a sender has to finish, or a consumer for its heap, at worst. Longer is a hang.
ANSWER_S, START_S, END_S = 90, 60, 180
# Complaints that a run may have at its end, with status 1: an interface that was deleted, a stream that some filter or
# sender left without a whole heap.
MAY_FAIL = ("has not come back", "not one heap was verified")
# For programs that were built with one: its findings end the process.
SANITIZERS = {"ASAN_OPTIONS": "halt_on_error=1:abort_on_error=1:detect_stack_use_after_return=1",
              "LSAN_OPTIONS": f"suppressions={Path(__file__).resolve().parent.parent / 'lsan.supp'}:print_suppressions=0",
              "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
              "TSAN_OPTIONS": "halt_on_error=1"}
RUNS = "Ctrl-C"  # the program prints it when it runs


class Fault(Exception):
    """Something that must not be."""


class Lab:
    """`links` are names of operations.LINKS; "wire" takes root. `program` is the path of dpdk-spead."""

    def __init__(self, program, links):
        self.program, self.links = os.path.abspath(program), links
        self.directory = Path(tempfile.mkdtemp(prefix="dpdk-spead-stress-"))
        self._stack = contextlib.ExitStack()
        self._prefix = ()
        self.namespace = None
        self.life, self.process, self._client = 0, None, None
        self._xdp_of_a_killed_process = False
        self._highest, self._sessions = {}, []
        self.accepted, self.refused = 0, 0
        (self.directory / "run").mkdir()
        # A process that dies leaves its core in its directory, where the kernel writes cores there.
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        self._environment = {**SANITIZERS, **os.environ, "RUNTIME_DIRECTORY": str(self.directory / "run"),
                             "XDG_RUNTIME_DIR": str(self.directory / "run")}
        if "wire" in links:
            self.namespace = f"spead-stress-{os.getpid()}"
            namespaces.ip("netns", "add", self.namespace)
            self._stack.callback(namespaces.ip, "netns", "delete", self.namespace)
            self._prefix = ("ip", "netns", "exec", self.namespace)
            namespaces.ip("link", "set", "lo", "up", namespace=self.namespace)

    def close(self, keep):
        """Ends what still runs. Without `keep` the directory goes, too."""
        self._leave_sessions()
        if self.process is not None:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()
            self.process.stdin.close()
        self._stack.close()
        if not keep:
            shutil.rmtree(self.directory, ignore_errors=True)

    # One process.

    def device_of(self, port):
        # Both ends are in one process here, for which the PMD wants two names of the socket.
        memif = f"net_memif{{}},role={{}},socket={self.directory}/{{}},socket-abstract=no"
        return {"ring": "net_ring0", "near": memif.format(0, "server", "memif.sock"),
                "far": memif.format(1, "client", "./memif.sock"),
                "left": "net_af_packet0,iface=left",
                "right": f"net_{'af_xdp' if self._has_xdp() else 'af_packet'}1,iface=right"}[port]

    def _has_xdp(self):
        return self.life % 2 == 1

    def begin(self, configuration):
        """Starts a process with a configuration, which is a function of `device_of`."""
        self.life += 1
        self._highest = {}
        if self.namespace:
            self.make_interface()
        for number in (0, 1):
            self._path(number).write_text("", encoding="utf-8")
        self._file("run.toml").write_text(configuration(self.device_of), encoding="utf-8")
        self._file("report.json").unlink(missing_ok=True)
        command = [*self._prefix, self.program, "run", "--config", "run.toml", "--json", "report.json", "--control",
                   "control.sock", "-i"]
        with open(self._path(0), "wb") as out, open(self._path(1), "wb") as err:
            # A prompt that nobody types at holds the run when everything was sent.
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=err, cwd=self.directory,
                                            env=self._environment)
        self._wait(lambda: RUNS in self.errors(), START_S, "start")
        self._client = None

    def end(self, way):
        """Ends the process in one of the ways of operations.ENDS, and checks what it leaves behind."""
        allowed = {0}
        if way == "shutdown":
            self.prompt("shutdown")
        elif way == "quit":
            self.process.stdin.write(b"quit\n")
            self.process.stdin.flush()
        elif way == "end of input":
            self.process.stdin.close()
        elif way == "two signals":
            self.process.send_signal(signal.SIGINT)
            self.process.send_signal(signal.SIGTERM)
            allowed |= {-signal.SIGTERM, -signal.SIGINT}
        else:
            self.process.send_signal(signal.Signals[way])
            if way == "SIGKILL":
                allowed = {-signal.SIGKILL}
        try:
            status = self.process.wait(END_S * harness.PATIENCE)
        except subprocess.TimeoutExpired:
            raise Fault(f"the process does not end ({way})") from None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self._leave_sessions()
        errors = self.errors()
        reasons = [line for line in errors.splitlines() if line.startswith("dpdk-spead: ")]
        if status == 1 and reasons and all(any(known in line for known in MAY_FAIL) for line in reasons):
            allowed.add(1)
        if status not in allowed:
            raise Fault(f"exit status {status} after {way}")
        if status < 0:
            # The kernel keeps the XDP program of a process that dies. The next one that wants XDP there replaces it.
            self._xdp_of_a_killed_process |= self._has_xdp()
        elif self._has_xdp():
            self._xdp_of_a_killed_process = False
        if status >= 0:
            self._check(json.loads(self._file("report.json").read_text(encoding="utf-8")), final=True)
            self._check_nothing_is_left()
        self._check_words(errors)

    def _check_nothing_is_left(self):
        left = [str(path) for path in (self.directory / "run").rglob("*") if not path.is_dir() or path.parent.name == "dpdk"]
        if self._file("control.sock").exists():
            left.append("control.sock")
        if self.namespace and self._interface():
            shown = namespaces.ip("-d", "link", "show", namespace=self.namespace)
            if "prog/xdp" in shown and not self._xdp_of_a_killed_process:
                left.append("an XDP program")
            if shown.count("mtu 1500") != 2:
                left.append("an MTU")
            if "239.7." in namespaces.ip("maddr", "show", namespace=self.namespace):
                left.append("memberships")
        if left:
            raise Fault(f"left behind: {', '.join(left)}")

    # The operations: one method per kind.

    def carry_out(self, operation):
        getattr(self, operation.kind)(*operation.words)
        if self.process.poll() is not None:
            raise Fault(f"the process ended by itself, with status {self.process.returncode}")

    def prompt(self, *words):
        self._answers([self._attach(*words)])

    def several(self, *operations):
        self._answers([self._attach(*operation.words) for operation in operations])

    def _attach(self, *words):
        command = [self.program, "attach", "./control.sock", "--", *map(str, words)]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                cwd=self.directory, env=self._environment)

    def _answers(self, attached):
        """Waits for answers; each is done or refused with a reason."""
        end = time.monotonic() + ANSWER_S * harness.PATIENCE
        try:
            for one in attached:
                try:
                    _, err = one.communicate(timeout=max(0.1, end - time.monotonic()))
                except subprocess.TimeoutExpired:
                    raise Fault(f"no answer to `{' '.join(one.args[4:])}`") from None
                text = err.decode("utf-8", "replace").strip()
                if one.returncode == 0:
                    self.accepted += 1
                elif one.returncode in (1, 2) and text and "connection is lost" not in text:
                    self.refused += 1
                    self._check_words(text)
                else:
                    raise Fault(f"`{' '.join(one.args[4:])}` had status {one.returncode}: {text or 'no reason'}")
        finally:
            for one in attached:
                if one.poll() is None:
                    one.kill()
                one.communicate()

    def session(self, lines, end):
        """Somebody attaches, watches for some lines, and is killed or goes on while the process does."""
        watch = self._attach("watch", "0.02", "show", "stream")
        for _ in range(lines):
            if not watch.stdout.readline():
                raise Fault(f"a watching session ended: {watch.stderr.read().decode('utf-8', 'replace')}")
        if end == "killed":
            watch.kill()
            watch.communicate()
        else:
            watch.stdout.close()  # which it notices at its next line
            self._sessions.append(watch)

    def _leave_sessions(self):
        for watch in self._sessions:
            watch.kill()
            watch.wait()
            watch.stderr.close()
        self._sessions.clear()

    def stranger(self, what):
        """Something that is no `attach` speaks to the control socket."""
        data = {"nothing": b"", "noise": bytes(range(256)) * 4, "half a line": b"dpdk-spead-attach 1 com",
                "HTTP": b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"}[what]
        with socket.socket(socket.AF_UNIX) as made:
            made.settimeout(ANSWER_S * harness.PATIENCE)
            # The path of a socket has 107 bytes.
            made.connect(f"/proc/self/fd/{self._directory_fd()}/control.sock")
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                made.sendall(data)

    def _directory_fd(self):
        if not hasattr(self, "_fd"):
            self._fd = os.open(self.directory, os.O_PATH)
            self._stack.callback(os.close, self._fd)
        return self._fd

    def pause(self, seconds):
        """The whole process stands still."""
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)

    def reload(self, what):
        """SIGHUP, with a configuration that was saved before, or with one that is wrong."""
        saved = self._file("saved.toml")
        if what == "broken":
            self._file("run.toml").write_text("version = 1\n[runtime]\nnonsense = 1\n", encoding="utf-8")
        elif saved.exists():
            shutil.copy(saved, self._file("run.toml"))
        said = self.errors().count("SIGHUP: ")
        self.process.send_signal(signal.SIGHUP)
        self._wait(lambda: self.errors().count("SIGHUP: ") > said, ANSWER_S, "answer to SIGHUP")

    def interface(self, what):
        if what == "make":
            self.make_interface()
        elif what == "delete":
            namespaces.ip("link", "delete", "left", namespace=self.namespace)
        elif self._interface():
            namespaces.ip("link", "set", "left", what, namespace=self.namespace)

    def _interface(self):
        return "left@" in namespaces.ip("link", "show", namespace=self.namespace)

    def make_interface(self):
        """Afterwards the veth pair is there, and up."""
        if not self._interface():
            namespaces.ip("link", "add", "left", "type", "veth", "peer", "name", "right", namespace=self.namespace)
        for name, address in (("left", "10.9.0.1/24"), ("right", "10.9.0.2/24")):
            namespaces.ip("addr", "replace", address, "dev", name, namespace=self.namespace)
            namespaces.ip("link", "set", name, "mtu", "1500", "up", namespace=self.namespace)

    def traffic(self, what, group, heaps):
        """The kernel sends heaps to the right end."""
        if not self._interface():
            return
        with open("/proc/self/ns/net", "rb") as here, open(f"/run/netns/{self.namespace}", "rb") as there:
            namespaces.enter(there)
            try:
                made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            finally:
                namespaces.enter(here)
        with made:
            made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF,
                            struct.pack("4s4si", bytes(4), bytes(4), self._index("left")))
            for count in range(10**6, 10**6 + heaps):
                packets = wire.heap(count, wire.verify_words(count, 2000))
                if what == "with holes":
                    packets = [packet for number, packet in enumerate(packets) if (number + count) % 3]
                elif what == "noise":
                    packets = [packets[0][:7], b"", packets[0][8:], bytes(range(256)) * 5, packets[-1][:-9]]
                elif what == "stop":
                    packets = [wire.stop(count)]
                for packet in packets:
                    with contextlib.suppress(OSError):  # no route while the link is down; a full queue
                        made.sendto(packet, (group, 7148))

    def _index(self, name):
        return int(namespaces.ip("-o", "link", "show", "dev", name, namespace=self.namespace).split(":")[0])

    # The conditions that have to hold.

    def check(self):
        """After a stretch: the process answers, and its books are right."""
        self.prompt("show", "stream")
        self._check(self._report())
        self._check_words(self.errors())

    def _report(self):
        if self._client is None:
            found = list((self.directory / "run" / "dpdk").glob(f"*.{self.process.pid}/dpdk_telemetry.v2"))
            if not found:
                raise Fault("it has no telemetry socket")
            self._client = telemetry.Client(found[0], self)
        for _ in range(20):
            with contextlib.suppress(KeyError, TypeError):  # another report has taken its place
                return self._client.report()
        raise Fault("telemetry has no whole report")

    def addCleanup(self, function, *arguments):  # pylint: disable=invalid-name
        """Does the part of a test that telemetry.Client needs."""
        self._stack.callback(function, *arguments)

    def _check(self, report, final=False):
        broken = harness.broken_identities(report)
        wrong = sum(stream["info"]["wrong"] for stream in [*report["streams"], *([report["removed"]] if "removed" in report
                                                                                  else [])])
        if wrong:
            broken.append(f"{wrong} heaps were complete and wrong")
        for port in report["ports"]:
            for side in ("rx", "tx"):
                key, now = (port["name"], side), port[side]["packets"]
                if now < self._highest.get(key, 0):
                    broken.append(f"port {port['name']}: {side} packets went from {self._highest[key]} back to {now}")
                self._highest[key] = now
        if final:
            for stream in report["streams"]:
                heaps = stream["heaps"]
                if heaps["live"] or heaps["queued"]:
                    broken.append(f"stream {stream['name']}: heaps are live or queued at the end: {heaps}")
            for capture in report.get("captures", []):
                broken += self._broken_files(capture)
        if broken:
            self._file("broken.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
            raise Fault("the books are wrong (broken.json is the report):\n" + "\n".join(broken))

    def _broken_files(self, capture):
        for file in capture["files"]:
            held = pcap_records(self._file(file["path"]))
            if held != file["packets"]:
                yield f"{file['path']} holds {held} packets, not {file['packets']}"

    def _check_words(self, text):
        for word in ("Sanitizer", "runtime error:", "terminate called", "what():", "PANIC", "does not add up", "bad_alloc",
                     "core dumped", "Assertion", "std::"):
            if word in text:
                raise Fault(f"it says {word!r}")

    # Helpers.

    def _path(self, number):
        return self._file(f"{self.life}.{('out', 'err')[number]}")

    def _file(self, name):
        return self.directory / name

    def errors(self):
        return self._path(1).read_text(encoding="utf-8", errors="replace")

    def _wait(self, condition, seconds, what):
        end = time.monotonic() + seconds * harness.PATIENCE
        while not condition():
            if self.process.poll() is not None:
                raise Fault(f"the process ended before {what}, with status {self.process.returncode}")
            if time.monotonic() > end:
                raise Fault(f"no {what} within {seconds * harness.PATIENCE:g} s")
            time.sleep(0.01)

    def stacks(self):
        """Returns the stacks of the process's threads, now or when it died, if gdb is there."""
        if self.process is None or shutil.which("gdb") is None:
            return ""
        command = ["gdb", "-batch", "-ex", "bt 16"]
        if self.process.poll() is None:
            command += ["-p", str(self.process.pid), "-ex", "thread apply all bt 10"]
        else:
            cores = sorted(self.directory.glob("core*"))
            if not cores:
                return ""
            command += ["-ex", "thread apply all bt 10", self.program, str(cores[0])]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
        return "\n".join(line for line in done.stdout.splitlines() if line.startswith(("#", "Thread")))


def pcap_records(path):
    """How many whole records a pcap file has; a part of one is a fault."""
    records = 0
    with open(path, "rb") as file:
        file.read(24)
        while header := file.read(16):
            length = struct.unpack("<IIII", header)[2] if len(header) == 16 else -1
            if length < 0 or len(file.read(length)) != length:
                raise Fault(f"{path} ends within a packet")
            records += 1
    return records
