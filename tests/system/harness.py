# SPDX-License-Identifier: BSD-3-Clause
"""The parts that tests of the built program share: running it, stopping it, reading its report, TAP for meson.

The program is named by the environment variable DPDK_SPEAD. Python's standard library only, 3.9 or newer.
"""

import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

# meson sets it; a script run by hand does not need it.
os.environ.setdefault("DPDK_SPEAD_SOURCE_ROOT", str(Path(__file__).resolve().parents[2]))
# How many times longer than usual to wait: emulated machines are slow.
PATIENCE = float(os.environ.get("DPDK_SPEAD_PATIENCE", "1"))
# A shell starts background work with these ignored, and the program heeds that; the tests send them.
for number in (signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
HEAP_ENDS = ("complete", "evicted", "timed_out", "flushed")
# <sched.h>, <linux/sockios.h>, <linux/if.h>
CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def enter_own_network():
    """Gives this process and its children a network namespace of their own, where only the loopback interface is.

    Two scripts may then run at a time: neither sees the other's groups, ports and interfaces. Does nothing for a user
    who may not make namespaces."""
    if os.geteuid() != 0 or ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14x", b"lo", 0)
        flags, = struct.unpack_from("H", fcntl.ioctl(control, SIOCGIFFLAGS, request), 16)
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def program():
    """The path of dpdk-spead."""
    path = os.environ.get("DPDK_SPEAD")
    if not path:
        sys.exit("set DPDK_SPEAD to the path of the program under test")
    return os.path.abspath(path)


def lines_of(finding):
    """How a table shows a finding: its loss, and a line for each of its cures."""
    loss = f"{finding['where']}: {finding['count']} {finding['unit']} {finding['what']}"
    return "\n".join([loss] + [f"    - {cure}" for cure in finding["cures"]])


def losses(findings):
    """The causes of those that are losses. A busy machine may hold an lcore up, which is no fault of the program's."""
    return {finding["cause"] for finding in findings if finding["kind"] == "loss"} - {"lcore_silent"}


def broken_identities(report):
    """One sentence per identity of docs/counters.md that does not hold in a report."""
    broken = []

    def same(what, left, right):
        if left != right:
            broken.append(f"{what}: {left} != {right}")

    streams = list(report["streams"])
    if "removed" in report:
        streams.append({"name": "(removed)", **report["removed"]})
    for stream in streams:
        packets, heaps, name = stream["packets"], stream["heaps"], f"stream {stream['name']}"
        ended = sum(heaps[end] for end in HEAP_ENDS)
        same(f"{name}: received = sum of outcomes", packets["received"],
             sum(count for outcome, count in packets.items() if outcome != "received"))
        same(f"{name}: started = ended + live", heaps["started"], ended + heaps["live"])
        same(f"{name}: ended = delivered + unwritten + dropped_full + device_error + queued", ended,
             heaps["delivered"] + heaps["unwritten"] + heaps["dropped_full"] + heaps["device_error"] + heaps["queued"])
        if "by_endpoint" not in stream:
            continue
        same(f"{name}: received = sum over endpoints", packets["received"],
             sum(endpoint["packets"] for endpoint in stream["by_endpoint"]))
        same(f"{name}: bytes = sum over endpoints", stream["bytes"] + stream["info"]["control_bytes"],
             sum(endpoint["bytes"] for endpoint in stream["by_endpoint"]))
        same(f"{name}: handed over = heaps whose latency is known", stream["info"]["handed_over"],
             stream["latency"]["count"])
    for port in report["ports"]:
        info, name = port["info"], f"port {port['name']}"
        same(f"{name}: bursts = sum of burst sizes", info["bursts"], sum(info["burst_sizes"].values()))
        same(f"{name}: rx packets = sum over senders", port["rx"]["packets"],
             sum(talker["packets"] for talker in port["talkers"]) + port["other_talkers"] + port["unattributed_packets"])
    refused = sum(count for port in report["ports"] for name, count in port["rx"].items()
                  if name not in ("packets", "bytes"))
    same("ports' rx packets = refusals + streams' received", sum(port["rx"]["packets"] for port in report["ports"]),
         refused + sum(stream["packets"]["received"] for stream in streams))
    for send in report["sends"]:
        same(f"send {send['name']}: packets = zero_copy + copied", send["packets"],
             send["zero_copy_packets"] + send["copied_packets"])
    senders = report["sends"] + ([report["removed_sends"]] if "removed_sends" in report else [])
    if senders:
        same("packets sent by ports = packets of senders", sum(port["tx"]["packets"] for port in report["ports"]),
             sum(send["packets"] for send in senders))
    for capture in report.get("captures", []):
        packets, name = capture["packets"], f"capture of {capture['stream']}"
        same(f"{name}: taken = written + unwritten + buffered", packets["taken"],
             packets["written"] + packets["unwritten"] + packets["buffered"])
        same(f"{name}: packets written = those of its files", packets["written"],
             sum(file["packets"] for file in capture["files"]))
    for replay in report.get("replays", []):
        load = replay["pass"]
        same("replay: records = frames + those not sent", load["records"],
             sum(count for name, count in load.items() if name != "records"))
    return broken


class Finished:
    """How one run of the program ended."""

    def __init__(self, command, status, out, err, report_file):
        self.command, self.status, self.out, self.err = command, status, out, err
        self._report_file = report_file

    def has_report(self):
        return self._report_file.exists() and self._report_file.stat().st_size > 0

    @property
    def report(self):
        """The JSON report, whose identities have been checked."""
        return json.loads(self._report_file.read_text(encoding="utf-8"))

    def __str__(self):
        return (f"$ {' '.join(self.command)}\n-- status {self.status}\n"
                f"-- standard output\n{self.out[-4000:]}\n-- standard error\n{self.err[-4000:]}")


def printed(file):
    """Returns the text that a running process has written to a shared file, and keeps the place where it writes.

    seek() and read() would: the place belongs to both, and Python keeps its own idea of it besides."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode("utf-8", "replace")


class Running:
    """The program, started and not yet waited for."""

    def __init__(self, test, command, report_file, environment):
        self._test, self._command, self._report_file = test, command, report_file
        self._files = [tempfile.TemporaryFile("a+b", dir=test.directory) for _ in range(2)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self._files[0],
                                        stderr=self._files[1], env=environment)
        self._finished = None

    def text(self, which):
        return printed(self._files[which])

    def wait_for(self, condition, what, timeout=30):
        """Until condition() is true; fails the test if the program ends before, or after the timeout."""
        timeout *= PATIENCE
        end = time.monotonic() + timeout
        while not condition():
            if self.process.poll() is not None:
                self._test.fail(f"the program ended before {what}:\n{self.wait(status=None)}")
            if time.monotonic() > end:
                self.process.kill()
                self._test.fail(f"no {what} within {timeout} s:\n{self.wait(status=None)}")
            time.sleep(0.01)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def wait(self, status=0, timeout=60):
        """Waits for the end, checks the status (None: any) and the identities of the report."""
        if self._finished is not None:
            return self._finished
        late = False
        timeout *= PATIENCE
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            late = True
            self.process.kill()
            self.process.wait()
        finished = Finished(self._command, self.process.returncode, self.text(0), self.text(1), self._report_file)
        self._finished = finished
        if late:
            self._test.fail(f"still running after {timeout} s:\n{finished}")
        if status is not None and finished.status != status:
            self._test.fail(f"exit status {finished.status}, not {status}:\n{finished}")
        if finished.has_report():
            broken = broken_identities(finished.report)
            if broken:
                self._test.fail("identities broken:\n" + "\n".join(broken) + f"\n{finished}")
        return finished

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for file in self._files:
            file.close()


class ProgramTest(unittest.TestCase):
    """A test with a directory of its own (`self.directory`), removed afterwards."""

    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="dpdk-spead-test-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self._runs = 0

    def start(self, *words, prefix=(), report=True, environment=None):
        """Starts `dpdk-spead WORDS --json FILE`; prefix comes before the program (ip netns exec ...)."""
        self._runs += 1
        report_file = self.directory / f"report{self._runs}.json"
        command = [*prefix, program(), *map(str, words)]
        if report:
            command += ["--json", str(report_file)]
        running = Running(self, command, report_file, {**os.environ, **(environment or {})})
        self.addCleanup(running.close)
        return running

    def run_program(self, *words, status=0, timeout=60, **options):
        """start(), then wait()."""
        return self.start(*words, **options).wait(status=status, timeout=timeout)

    def refused(self, *words, status=2, says=(), timeout=20, **options):
        """Runs the program, which must refuse: the status, and standard error naming each of `says`."""
        finished = self.run_program(*words, status=status, timeout=timeout, **{"report": False, **options})
        for text in says:
            self.assertIn(text.lower(), finished.err.lower(), str(finished))
        lines = [line for line in finished.err.splitlines() if line.strip()]
        self.assertTrue(lines, f"no word about why:\n{finished}")
        self.assertLess(len(lines), 15, f"the reason is buried:\n{finished}")
        for word in ("terminate called", "what():", "Sanitizer", "core dumped"):
            self.assertNotIn(word, finished.err, str(finished))
        return finished

    def assert_stream(self, report, name, **expected):
        """assert_stream(report, "s0", complete=3, duplicate=0): heaps' and packets' counts by name."""
        stream = next((stream for stream in report["streams"] if stream["name"] == name), None)
        self.assertIsNotNone(stream, f"no stream {name} in {report['streams']}")
        found = {key: stream["heaps"].get(key, stream["packets"].get(key)) for key in expected}
        self.assertEqual(found, expected, json.dumps(stream, indent=1))
        return stream


class TapResult(unittest.TestResult):
    """Test results as TAP lines, which meson counts one by one."""

    def __init__(self, stream):
        super().__init__()
        self._stream, self._number = stream, 0

    def _line(self, test, ok, suffix="", details=""):
        self._number += 1
        name = test.id().split(".", 1)[-1].replace("#", "")
        self._stream.write(f"{'ok' if ok else 'not ok'} {self._number} - {name}{suffix}\n")
        for line in details.splitlines():
            self._stream.write(f"# {line}\n")
        self._stream.flush()
        if details and not ok:
            # Meson prints this of a test that failed, and not the comments of its TAP lines.
            print(details, file=sys.stderr, flush=True)

    def addSuccess(self, test):
        self._line(test, True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._line(test, False, details=self._exc_info_to_string(error, test))

    def addError(self, test, error):
        super().addError(test, error)
        self._line(test, False, details=self._exc_info_to_string(error, test))

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self._line(subtest, False, details=self._exc_info_to_string(error, test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line(test, True, suffix=f" # SKIP {reason}")


def main(suites=None):
    """Runs the tests of the calling script (or of these suites), those whose names contain the arguments if there are
    any. Suites are of a virtual machine, which has a network of its own already."""
    if suites is None:
        enter_own_network()
    suites = suites or [unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])]
    wanted = sys.argv[1:]
    tests = [test for suite in suites for group in suite for test in group]
    tests = [test for test in tests if not wanted or any(word in test.id() for word in wanted)]
    if wanted and not tests:
        sys.exit(f"no test is called {' or '.join(wanted)}")
    result = TapResult(sys.stdout)
    unittest.TestSuite(tests).run(result)
    print(f"1..{result._number}")
    sys.exit(0 if result.wasSuccessful() else 1)
