#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Processes that are killed or stand still at random moments, and processes without disk, descriptors, threads or memory.
Afterwards the same start works again, and what was delivered before is on the disk.

Moments and limits are random. The seed is printed; DPDK_SPEAD_SEED=N takes that one again.
"""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import harness
import telemetry
import wire

ENDPOINT = "239.1.1.1:7148"
HEAP = 16384
# Words of a process that broke down, rather than one that said what it lacks.
BREAKDOWN = ("terminate called", "what():", "PANIC", "Sanitizer", "core dumped", "std::", "does not add up")


class FaultTest(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        seed = int(os.environ.get("DPDK_SPEAD_SEED", random.SystemRandom().randrange(10**6)))
        print(f"# {self.id().rsplit('.', 1)[-1]}: DPDK_SPEAD_SEED={seed}", flush=True)
        self.random = random.Random(seed)
        self.socket = self.directory / "control.sock"
        # The next process finds the files that a process leaves behind.
        (self.directory / "run").mkdir()
        self.environment = {"RUNTIME_DIRECTORY": str(self.directory / "run"),
                            "XDG_RUNTIME_DIR": str(self.directory / "run")}

    def memif(self, role):
        return f"net_memif0,role={role},socket={self.directory / 'memif.sock'},socket-abstract=no"

    def start(self, *words, environment=None, **options):
        return super().start(*words, environment={**self.environment, **(environment or {})}, **options)

    def runs(self, running):
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs", timeout=60)
        return running

    def client(self, running):
        found = list((self.directory / "run" / "dpdk").glob(f"*.{running.process.pid}/dpdk_telemetry.v2"))
        self.assertEqual(len(found), 1)
        return telemetry.Client(found[0], self)

    @staticmethod
    def delivered(client):
        """Heaps of s0 so far; none before the first snapshot."""
        return client.ask("/spead/stream,s0").get("heaps", {}).get("delivered", 0)

    def kill(self, running):
        running.process.kill()
        running.wait(status=-signal.SIGKILL)

    def attach(self, *words):
        """Status and text of a command, which has an answer within a bound."""
        done = subprocess.run([harness.program(), "attach", str(self.socket), "--", *words], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=60 * harness.PATIENCE)
        self.not_broken(done.stdout)
        return done.returncode, done.stdout

    def not_broken(self, text):
        for word in BREAKDOWN:
            self.assertNotIn(word, text)

    def ends_well_or_says_why(self, running, timeout=60):
        """The run did what it was to do, or was refused in words and not many of them. Whether it did."""
        finished = running.wait(status=None, timeout=timeout)
        self.assertIn(finished.status, (0, 1), str(finished))
        self.not_broken(finished.err)
        self.assertLess(len(finished.err), 100_000, str(finished))
        if finished.status == 1:
            self.assertTrue(finished.err.strip(), "no word about why")
        return finished.status == 0

    # The files on the disk.

    def lines(self, sink):
        """The whole lines of heaps.jsonl."""
        file = sink / "heaps.jsonl"
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def check_sink(self, sink, stream="s0"):
        """Every complete heap that has a line has its file, and each file's bytes are right. How many lines there are."""
        lines = self.lines(sink)
        for line in lines:
            if line["complete"] and line["length"] == HEAP:
                name = line.get("file", f"{stream}-{line['cnt']}.bin")
                self.assertEqual((sink / name).read_bytes(), wire.verify_words(line["cnt"], HEAP // 4), name)
        return len(lines)


class Killed(FaultTest):
    """kill -9 at a moment between the start and a while after the first heaps."""

    ROUNDS = 2

    def receiver(self, sink):
        return self.start("recv", ENDPOINT, "--port", self.memif("server"), "--sink", f"file:{sink}", "--max-heap-bytes",
                          "64KiB", "--memory", "8MiB", "--control", self.socket)

    def sender(self, *words, rate="20Mbps"):
        return self.start("send", ENDPOINT, "--port", self.memif("client"), "--heap-size", HEAP, "--verify", "--rate", rate,
                          *words)

    def whole_transfer(self, sink, first):
        """Checks, after a fault, that a new pair of processes transfers all heaps."""
        receiver = self.start("recv", ENDPOINT, "--port", self.memif("server"), "--sink", f"file:{sink}",
                              "--max-heap-bytes", "64KiB", "--memory", "8MiB", "--control", self.socket, "--exit-on-stop")
        self.sender("--heaps", 20, "--first-count", first).wait()
        self.assert_stream(receiver.wait().report, "s0", complete=20, delivered=20)

    def at_a_random_moment(self, running, heaps_so_far):
        """During the start, or when some heaps have come."""
        if self.random.random() < 0.4:
            end = time.monotonic() + self.random.uniform(0, 0.5)
            running.wait_for(lambda: time.monotonic() > end, "moment")
            return
        wanted = heaps_so_far() + self.random.randint(1, 60)
        running.wait_for(lambda: heaps_so_far() >= wanted, "heaps")

    def test_receivers_and_what_they_delivered_is_on_the_disk(self):
        sink = self.directory / "sink"
        sender = self.sender()
        for number in range(self.ROUNDS):
            receiver = self.receiver(sink)
            self.at_a_random_moment(receiver, lambda: len(self.lines(sink)))
            self.kill(receiver)
            self.check_sink(sink)
            self.assertIsNone(sender.process.poll(), "the sender waits for another receiver")
        sender.interrupt()
        sender.wait()
        before = self.check_sink(sink)
        self.whole_transfer(sink, 10**6)
        self.assertEqual(self.check_sink(sink), before + 20)

    def test_a_heap_that_is_delivered_is_in_the_list_while_the_run_goes_on(self):
        sink = self.directory / "sink"
        receiver = self.runs(self.receiver(sink))
        self.sender("--heaps", 30).wait()
        client = self.client(receiver)
        receiver.wait_for(lambda: self.delivered(client) == 30, "30 heaps")
        receiver.wait_for(lambda: len(self.lines(sink)) >= 30, "30 lines")
        self.kill(receiver)
        self.assertEqual(self.check_sink(sink), 30)

    def test_senders(self):
        sink = self.directory / "sink"
        receiver = self.runs(self.receiver(sink))
        for number in range(self.ROUNDS):
            sender = self.sender("--first-count", 1 + number * 10**6)
            self.at_a_random_moment(sender, lambda: len(list(sink.glob("*.bin"))))
            self.kill(sender)
        sender = self.sender("--heaps", 20, "--first-count", 10**8)
        sender.wait()
        receiver.wait_for(lambda: (sink / f"s0-{10**8 + 19}.bin").exists(), "heaps of one that was not killed")
        receiver.interrupt()
        report = receiver.wait().report
        self.assertEqual(self.check_sink(sink), report["streams"][0]["heaps"]["delivered"])

    def test_runs(self):
        sink, config = self.directory / "sink", self.directory / "run.toml"
        config.write_text(f"""version = 1
[runtime]
control = "{self.socket}"
metrics = "127.0.0.1:0"
[memory]
heaps = "8MiB"
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["{ENDPOINT}"]
[receive.heaps]
max_bytes = "64KiB"
[receive.sink]
kind = "file"
directory = "{sink}"
[receive.capture]
files = ["{self.directory / 'all.pcap'}"]
[[send]]
name = "d0"
port = "p0"
endpoints = ["{ENDPOINT}"]
heap_size = {HEAP}
rate = "20Mbps"
verify = true
""", encoding="utf-8")
        for _ in range(self.ROUNDS):
            running = self.start("run", "--config", config)
            self.at_a_random_moment(running, lambda: len(list(sink.glob("*.bin"))))
            self.kill(running)
            self.check_sink(sink)
        running = self.runs(self.start("run", "--config", config))
        self.assertEqual(self.attach("show", "stream")[0], 0)
        before = len(list(sink.glob("*.bin")))
        running.wait_for(lambda: len(list(sink.glob("*.bin"))) > before, "heaps")
        running.interrupt()
        running.wait()
        self.check_sink(sink)
        # Of the killed ones nothing is left either: the next start has removed it.
        self.assertEqual(list((self.directory / "run" / "dpdk").iterdir()), [])
        self.assertFalse(self.socket.exists())

    def test_captures_and_what_was_written_can_be_read(self):
        path = self.directory / "a.pcap"
        for _ in range(self.ROUNDS):
            capture = self.runs(self.start("capture", ENDPOINT, path, "--port", self.memif("server")))
            client = self.client(capture)

            def written():
                captures = client.ask("/spead/captures")
                return captures["0"]["packets"]["written"] if "0" in captures else 0

            sender = self.sender(rate="500Mbps")
            wanted = self.random.randint(1, 3000)
            capture.wait_for(lambda: written() >= wanted, "packets in the file")
            known = written()
            self.kill(capture)
            self.kill(sender)
            self.assertGreaterEqual(self.records(path), known)
        capture = self.start("capture", ENDPOINT, path, "--port", self.memif("server"), "--count", 100)
        sender = self.sender()
        capture.wait()
        self.assertEqual(self.records(path), 100)
        self.kill(sender)

    @staticmethod
    def records(path):
        """Whole records of a pcap file, which may end within one."""
        data, at, found = path.read_bytes(), 24, 0
        while at + 16 <= len(data):
            at += 16 + int.from_bytes(data[at + 8:at + 12], "little")
            found += at <= len(data)
        return found


class StandingStill(FaultTest):
    """SIGSTOP and SIGCONT: longer than anything of ours waits for another."""

    def pause(self, running):
        running.process.send_signal(signal.SIGSTOP)
        time.sleep(self.random.uniform(2.2, 3))
        running.process.send_signal(signal.SIGCONT)

    def test_nothing_is_lost_between_processes_that_can_wait(self):
        receiver = self.runs(self.start("recv", ENDPOINT, "--port", self.memif("server"), "--sink", "verify", "--memory",
                                        "8MiB", "--max-heap-bytes", "64KiB", "--exit-on-stop"))
        sender = self.start("send", ENDPOINT, "--port", self.memif("client"), "--heap-size", HEAP, "--verify", "--rate",
                            "20Mbps", "--heaps", 800)
        client = self.client(receiver)
        for running in (receiver, sender):
            before = self.delivered(client)
            receiver.wait_for(lambda: self.delivered(client) > before, "heaps")
            self.pause(running)
        sender.wait()
        report = receiver.wait().report
        self.assert_stream(report, "s0", complete=800, delivered=800, evicted=0)
        self.assertEqual(report["streams"][0]["info"]["wrong"], 0)

    def test_a_run_answers_afterwards(self):
        running = self.runs(self.start("loopback", "--duration", "off", "--heap-size", "64KiB", "--rate", "20Mbps",
                                       "--control", self.socket))
        self.pause(running)
        self.assertEqual(self.attach("show", "stream")[0], 0)
        running.interrupt()
        running.wait()


class NoDisk(FaultTest):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs root, to mount a small tmpfs")
        self.small = self.directory / "small"
        self.small.mkdir()

    def mount(self, options):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.small], check=False,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            self.skipTest(f"cannot mount a tmpfs: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", str(self.small)], check=True)

    def test_sink_capture_and_report_on_a_disk_that_fills(self):
        self.mount("size=1m")
        ballast = self.small / "ballast"
        ballast.write_bytes(bytes(self.random.randint(0, 900_000)))
        sink, config = self.small / "sink", self.directory / "run.toml"
        config.write_text(f"""version = 1
[memory]
heaps = "8MiB"
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["{ENDPOINT}"]
[receive.heaps]
max_bytes = "64KiB"
[receive.sink]
kind = "file"
directory = "{sink}"
[receive.capture]
files = ["{self.small / 'all.pcap'}"]
[[send]]
name = "d0"
port = "p0"
endpoints = ["{ENDPOINT}"]
heap_size = {HEAP}
heaps = HEAPS
verify = true
""", encoding="utf-8")
        text = config.read_text(encoding="utf-8")
        config.write_text(text.replace("HEAPS", "200"), encoding="utf-8")
        report = self.small / "report.json"
        running = self.start("run", "--config", config, "--control", "off", "--json", report, report=False)
        finished = running.wait(status=1)
        self.assertIn("no space left", finished.err.lower())
        self.not_broken(finished.err)
        self.check_sink(sink)
        # With room again the same start works.
        ballast.unlink()
        shutil.rmtree(sink)
        (self.small / "all.pcap").unlink(missing_ok=True)
        config.write_text(text.replace("HEAPS", "10"), encoding="utf-8")
        self.start("run", "--config", config, "--control", "off", "--json", report, report=False).wait()
        self.assertEqual(harness.broken_identities(json.loads(report.read_text(encoding="utf-8"))), [])
        self.assertEqual(self.check_sink(sink), 10)

    def test_run_time_files_on_a_full_disk(self):
        self.mount("size=64k,nr_inodes=3")
        run = self.small / "run"
        run.mkdir()
        words = ("loopback", "--heaps", 20, "--heap-size", "64KiB", "--control", run / "control.sock")
        (self.small / "last").write_bytes(b"")
        running = self.start(*words, environment={"RUNTIME_DIRECTORY": str(run)}, report=False)
        self.ends_well_or_says_why(running)
        subprocess.run(["mount", "-o", "remount,nr_inodes=100", self.small], check=True)
        self.start(*words, environment={"RUNTIME_DIRECTORY": str(run)}, report=False).wait()

    def test_messages_to_a_full_disk(self):
        self.mount("size=64k")
        log = self.small / "log"
        with open(log, "wb") as file:
            file.write(bytes(65536))
            file.flush()
            done = subprocess.run([harness.program(), "loopback", "--heaps", "20", "--heap-size", "64KiB"], check=False,
                                  stdout=file, stderr=file, timeout=60 * harness.PATIENCE,
                                  env={**os.environ, **self.environment})
        self.assertIn(done.returncode, (0, 1))


class NoResources(FaultTest):
    """Limits of the process: during the start, where random ones are tried, and while it runs."""

    LOOPBACK = ("loopback", "--heap-size", "64KiB", "--max-heap-bytes", "128KiB", "--memory", "8MiB")

    def setUp(self):
        super().setUp()
        if shutil.which("prlimit") is None:
            self.skipTest("needs prlimit (package util-linux)")

    def limited(self, option, values, prefix=()):
        """Starts under each limit: whatever the limit, a result or a reason. The last one is enough."""
        values = [*self.random.sample(values, 4), max(values)]
        self.start(*self.LOOPBACK, "--heaps", 20, prefix=prefix).wait()
        for value in values:
            with self.subTest(limit=f"{option}={value}"):
                running = self.start(*self.LOOPBACK, "--heaps", 20, report=False,
                                     prefix=(*prefix, "prlimit", f"--{option}={value}"))
                done = self.ends_well_or_says_why(running)
                self.assertTrue(done or value != max(values), str(running.wait(status=None)))
        self.start(*self.LOOPBACK, "--heaps", 20, prefix=prefix).wait()

    def endless(self, *words, prefix=(), **options):
        return self.runs(self.start(*self.LOOPBACK, "--duration", "off", "--rate", "20Mbps", "--control", self.socket,
                                    *words, prefix=prefix, **options))

    def goes_on(self, running):
        """After the limit is gone: the process answers, and ends in order."""
        running.wait_for(lambda: self.attach("show", "stream")[0] == 0, "answer")
        running.interrupt()
        finished = running.wait()
        self.not_broken(finished.err)
        self.assertLess(len(finished.err), 100_000)

    def session(self):
        """Returns a session that is attached before anything is short."""
        made = subprocess.Popen([harness.program(), "attach", str(self.socket)], stdin=subprocess.PIPE, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(made.wait)
        self.addCleanup(made.kill)
        made.stdin.write("show memory\n")
        made.stdin.flush()
        self.assertIn("heaps", made.stdout.readline())
        return made

    def changes(self, running, session, may_end=False):
        """Requires that changes that take resources are done or refused, in a new session and in one that is there."""
        self.attach("show", "stream")
        self.assertTrue(may_end or running.process.poll() is None, running.text(1))
        session.stdin.write(f"""stream add s1 port p0 endpoints 239.1.1.2:7148 heaps.max_bytes 64KiB
capture start s0 {self.directory / 'b.pcap'}
send add d1 port p0 endpoints 239.1.1.2:7148 enabled false
save config {self.directory / 'saved.toml'} force
show config
quit
""")
        answers, _ = session.communicate(timeout=60 * harness.PATIENCE)
        self.assertTrue(may_end or running.process.poll() is None, running.text(1))
        self.not_broken(answers)

    def test_descriptors_at_the_start(self):
        self.limited("nofile", [*range(5, 60), 1024])

    def soft_limit(self, running, option, value, prefix=()):
        """Changes a soft limit of a process, as its own user."""
        done = subprocess.run([*prefix, "prlimit", "--pid", str(running.process.pid), f"--{option}={value}:"], check=False,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_descriptors_while_it_runs(self):
        running = self.endless()
        pid = running.process.pid
        used = len(os.listdir(f"/proc/{pid}/fd"))
        limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)[0]
        session = self.session()
        self.soft_limit(running, "nofile", used + self.random.randrange(8))
        self.changes(running, session)
        self.soft_limit(running, "nofile", limit)
        self.goes_on(running)

    def ordinary_user(self):
        """A prefix for a user without any other process, whose threads can be limited. Files are theirs, too."""
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("needs root and setpriv, to become a user of whom nothing else runs")
        user = 2_000_000 + os.getpid()
        prefix = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--")
        for path in (self.directory, self.directory / "run"):
            path.chmod(0o777)
        if subprocess.run([*prefix, "test", "-x", harness.program()], check=False).returncode != 0:
            self.skipTest("others may not run the program where it was built")
        return prefix

    def test_threads_at_the_start(self):
        self.limited("nproc", [*range(1, 16), 100], prefix=self.ordinary_user())

    def test_threads_while_it_runs(self):
        prefix = self.ordinary_user()
        running = self.endless(prefix=(*prefix, "prlimit", "--nproc=200"), report=False)
        session = self.session()
        self.soft_limit(running, "nproc", len(os.listdir(f"/proc/{running.process.pid}/task")), prefix)
        self.changes(running, session)
        self.soft_limit(running, "nproc", 200, prefix)
        self.goes_on(running)

    def test_memory_at_the_start(self):
        # With less, the loader finds no room for the libraries, and the program does not begin.
        self.limited("as", [value << 20 for value in (*range(60, 600, 20), 1 << 20)])

    def test_memory_while_it_runs(self):
        running = self.endless()
        pages = int(Path(f"/proc/{running.process.pid}/statm").read_text(encoding="ascii").split()[0])
        session = self.session()
        spare = self.random.choice((0, 1 << 16, 1 << 20, 1 << 24))
        self.soft_limit(running, "as", pages * resource.getpagesize() + spare)
        self.changes(running, session, may_end=True)
        if running.process.poll() is not None:
            # The main thread had none, which ends the run: in words, and in order.
            finished = running.wait(status=1)
            self.assertIn("no memory is left", finished.err)
            self.not_broken(finished.err)
            return
        self.soft_limit(running, "as", "unlimited")
        self.goes_on(running)


if __name__ == "__main__":
    harness.main()
