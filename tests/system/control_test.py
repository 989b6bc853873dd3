#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Starting, stopping, --check, full disks, another user."""

import json
import os
import re
import shutil
import signal
import subprocess

import harness
import wire

ENDPOINT = "239.1.1.1:7148"


class Signals(harness.ProgramTest):
    def stopped(self, running, number=signal.SIGINT):
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")
        running.process.send_signal(number)
        return running.wait(timeout=20)

    @staticmethod
    def blocks(running, number):
        with open(f"/proc/{running.process.pid}/status", encoding="ascii") as file:
            blocked = re.search(r"^SigBlk:\s+(\w+)$", file.read(), re.M).group(1)
        return int(blocked, 16) >> (number - 1) & 1

    def test_an_endless_loopback_ends_with_a_report(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
                       signal.SIGALRM, signal.SIGPWR, signal.SIGXCPU):
            with self.subTest(signal=number):
                running = self.start("loopback", "--duration", "off", "--heap-size", "64KiB")
                finished = self.stopped(running, number)
                self.assertTrue(finished.has_report(), str(finished))
                self.assertIn("complete", finished.out)

    def test_a_closed_terminal_ends_every_command_in_order(self):
        capture = self.directory / "sent.pcap"
        self.run_program("send", ENDPOINT, "--port", f"net_pcap0,tx_pcap={capture}", "--heaps", 2)
        # The captured stream never ends: nobody sends, and nobody is at the other end.
        device = f"net_memif0,role=server,socket={self.directory}/quiet.sock,socket-abstract=no"
        for words in (("recv", ENDPOINT, "--port", device), ("capture", ENDPOINT, "c.pcap", "--port", device),
                      ("send", ENDPOINT, "--port", "net_null0", "--heap-size", "64KiB"),
                      ("replay", capture, "--port", "net_null0", "--loop", -1)):
            with self.subTest(command=words[0]):
                words = [str(self.directory / word) if word == "c.pcap" else word for word in words]
                finished = self.stopped(self.start(*words), signal.SIGHUP)
                self.assertTrue(finished.has_report(), str(finished))
        for bench in ("assemble", "transmit"):
            file = self.directory / f"{bench}.json"
            running = self.start("bench", bench, "--time", "1h", "--json", file, report=False)
            running.wait_for(lambda: self.blocks(running, signal.SIGHUP), "its readiness for signals")
            running.process.send_signal(signal.SIGHUP)
            finished = running.wait(status=1)
            self.assertIn("interrupted; ", finished.err)
            self.assertEqual(json.loads(file.read_text(encoding="utf-8"))["benchmark"], bench)

    def test_nohup_is_heeded(self):
        running = self.start("loopback", "--duration", "off", "--heap-size", "64KiB", prefix=("nohup",))
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")
        running.process.send_signal(signal.SIGHUP)
        running.process.send_signal(signal.SIGHUP)
        finished = self.stopped(running)
        self.assertIn("complete", finished.out)

    def test_a_receiver_that_hears_nothing(self):
        finished = self.stopped(self.start("recv", ENDPOINT, "--port", f"net_memif0,role=server,socket="
                                           f"{self.directory}/quiet.sock,socket-abstract=no"))
        self.assert_stream(finished.report, "s0", received=0)

    def test_a_sender_whose_peer_never_comes(self):
        running = self.start("send", ENDPOINT, "--heaps", 10, "--port", f"net_memif0,role=client,socket="
                             f"{self.directory}/lonely.sock,socket-abstract=no")
        running.wait_for(lambda: "port p0: no process is at the other end; waiting" in running.text(1), "word of it")
        finished = self.stopped(running)
        self.assertEqual(finished.report["sends"][0]["packets"], 0)

    def test_an_endless_sender(self):
        finished = self.stopped(self.start("send", ENDPOINT, "--port", "net_null0", "--heap-size", "64KiB"))
        self.assertTrue(finished.has_report(), str(finished))


class Leftovers(harness.ProgramTest):
    """EAL's directory of a process goes with the process."""

    def setUp(self):
        super().setUp()
        self.rundir = self.directory / "run" / "dpdk"
        self.rundir.mkdir(parents=True)
        self.environment = {"RUNTIME_DIRECTORY": str(self.rundir.parent)}

    def sender(self):
        """A running one, whose orderly end takes three seconds: four heaps of a second each are in flight."""
        running = self.start("send", ENDPOINT, "--port", "net_null0", "--rate", "80kbps", "--heap-size", 10000,
                             "--burst-size", 1500, "--log-level", "info", "--control", self.directory / "control",
                             environment=self.environment)
        running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "start")
        # Before its first packet it has nothing to finish.
        running.wait_for(self.has_sent, "a packet")
        return running

    def has_sent(self):
        table = subprocess.run([harness.program(), "attach", self.directory / "control", "--", "show", "send"], check=True,
                               stdout=subprocess.PIPE, text=True, timeout=60).stdout
        return int(re.search(r"^d0 .* (\d+) +\d+ +\d+$", table, re.M)[1]) > 0

    def test_a_second_signal_ends_at_once_and_leaves_nothing(self):
        running = self.sender()
        self.assertEqual(len(os.listdir(self.rundir)), 1)
        running.interrupt()
        running.wait_for(lambda: "ending: interrupted" in running.text(1), "the orderly end")
        running.process.send_signal(signal.SIGTERM)
        self.assertFalse(running.wait(status=-signal.SIGTERM).has_report())
        self.assertEqual(os.listdir(self.rundir), [])

    def test_what_a_killed_process_left_goes_with_the_next_start(self):
        running = self.sender()
        running.process.kill()
        running.wait(status=-signal.SIGKILL)
        self.assertEqual(len(os.listdir(self.rundir)), 1)
        other = self.rundir / f"other.{running.process.pid}"
        other.mkdir()
        self.run_program("send", ENDPOINT, "--heaps", 1, "--port", "net_null0", environment=self.environment)
        self.assertEqual(list(self.rundir.iterdir()), [other], "ours alone")

    def test_eal_with_memory_options_leaves_nothing_either(self):
        self.run_program("--no-huge", "-m", 64, "--", "send", ENDPOINT, "--heaps", 1, "--port", "net_null0",
                         environment=self.environment)
        self.assertEqual(os.listdir(self.rundir), [])

    def test_a_start_that_eal_refuses_leaves_nothing(self):
        cases = ((("--huge-dir", "/nonexistent"), 1, "huge"), (("--file-prefix",), 2, "file-prefix"),
                 (("-m",), 2, "requires an argument"), (("64",), 2, "`64` is not an option of EAL"))
        for eal, status, says in cases:
            with self.subTest(eal=eal):
                self.refused(*eal, "--", "send", ENDPOINT, "--heaps", 1, "--port", "net_null0", says=(says,),
                             environment=self.environment, status=status)
                self.assertEqual(os.listdir(self.rundir), [])


class Check(harness.ProgramTest):
    def test_a_benchmark_only_says_how_it_would_run(self):
        for bench in ("assemble", "transmit"):
            finished = self.run_program("bench", bench, "--check", report=False)
            self.assertRegex(finished.out, r"^EAL arguments: --lcores 0@\d+ [^\n]*\n$")

    def test_it_prints_the_plan_and_touches_nothing(self):
        capture, sink = self.directory / "sent.pcap", self.directory / "sink"
        for words in (("send", ENDPOINT, "--port", f"net_pcap0,tx_pcap={capture}"),
                      ("recv", ENDPOINT, "--port", f"net_memif0,role=server,socket={self.directory}/m,"
                       "socket-abstract=no", "--sink", f"file:{sink}"),
                      ("loopback",)):
            with self.subTest(words=words):
                before = sorted(self.directory.iterdir())
                finished = self.run_program(*words, "--check", report=False)
                self.assertIn("version = 1", finished.out)
                self.assertIn("--no-huge" if "--no-huge" in finished.out else "--in-memory", finished.out)
                self.assertIn("--file-prefix", finished.out)
                self.assertEqual(sorted(self.directory.iterdir()), before)

    def test_a_program_or_a_file_that_is_absent_is_told(self):
        config = self.directory / "plan.toml"
        config.write_text("""version = 1
runtime.on_event = ["/nonexistent/program"]
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["239.1.1.1:7148"]
""", encoding="utf-8")
        self.refused("run", "--config", config, "--check", status=1, says=("on_event", "/nonexistent/program"))
        words = ("recv", ENDPOINT, "--port", "net_ring0", "--check")
        self.refused(*words, "--cmdline-file", "/nonexistent/file", status=1, says=("cannot read the commands",))
        self.refused("send", ENDPOINT, "--port", "net_null0", "--from", "/nonexistent/heaps", "--check", status=1,
                     says=("/nonexistent/heaps",))
        self.refused(*words, "--metrics", 0, "--api-token-file", "/nonexistent/token", status=1, says=("token",))

    def test_the_plan_is_a_configuration_with_the_same_plan(self):
        words = ("recv", ENDPOINT, "239.1.1.2:7148", "--port", "net_null0", "--max-heap-bytes", "1MiB", "--sink",
                 "verify", "--poll", "busy")
        first = self.plan(self.run_program(*words, "--check", report=False).out)
        again = self.directory / "plan.toml"
        again.write_text(first, encoding="utf-8")
        second = self.plan(self.run_program("run", "--config", again, "--check", report=False).out)
        self.assertEqual(first, second)

    @staticmethod
    def plan(text):
        """The TOML part of --check's output: everything but comment lines."""
        return "\n".join(line for line in text.splitlines() if not line.startswith("#")) + "\n"


class FullDisk(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs root, to mount a small tmpfs")
        self.small = self.directory / "small"
        self.small.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", self.small], check=False,
                                 stderr=subprocess.PIPE, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a tmpfs: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", str(self.small)], check=True)

    def test_the_file_sink_stops_and_says_what_was_written(self):
        capture = self.directory / "in.pcap"
        heaps = {number: bytes([number]) * 100000 for number in range(1, 31)}
        wire.write_pcap(capture, [wire.frame(data) for number, payload in heaps.items()
                                  for data in wire.heap(number, payload)])
        sink = self.small / "out"
        finished = self.run_program("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}", "--sink",
                                    f"file:{sink}", status=1)
        self.assertIn("no space left", finished.err.lower(), str(finished))
        self.assertIn(str(sink), finished.err)
        whole = [file for file in sink.glob("s0-*.bin") if file.stat().st_size == 100000]
        self.assertGreater(len(whole), 0)
        self.assertRegex(finished.err + finished.out, rf"\b{len(whole)}\b heaps")
        for file in whole:
            number = int(re.fullmatch(r"s0-(\d+)\.bin", file.name)[1])
            self.assertEqual(file.read_bytes(), heaps[number])

    def test_a_full_disk_under_one_stream_is_that_streams_alone(self):
        capture, config, other = self.directory / "in.pcap", self.directory / "run.toml", self.directory / "out"
        packets = [(group, data) for number in range(1, 31) for group in ("239.1.1.1", "239.1.1.2")
                   for data in wire.heap(number, bytes(100000))]
        wire.write_pcap(capture, [wire.frame(data, group=group) for group, data in packets])
        config.write_text(f"""version = 1
[[port]]
name = "p0"
device = "net_pcap0,rx_pcap={capture}"
""" + "".join(f"""[[receive]]
name = "{name}"
port = "p0"
endpoints = ["{group}:7148"]
[receive.sink]
kind = "file"
directory = "{directory}"
""" for name, group, directory in (("full", "239.1.1.1", self.small / "out"), ("good", "239.1.1.2", other))))
        finished = self.run_program("run", "--config", config, "--control", "off", status=1)
        self.assertEqual(finished.err.lower().count("no space left"), 2, f"in the log, and at the end:\n{finished}")
        self.assertRegex(finished.err.splitlines()[-1], "stream full: its sink takes no more heaps: .* heaps ")
        self.assertRegex(finished.out, "full: [0-9]+ heaps were not written")
        self.assert_stream(finished.report, "good", complete=30, delivered=30, unwritten=0)
        self.assertEqual(len(list(other.glob("good-*.bin"))), 30)
        full = next(s for s in finished.report["streams"] if s["name"] == "full")
        self.assertEqual(full["heaps"]["complete"], 30)
        written = len(list((self.small / "out").glob("full-*.bin")))
        self.assertEqual((full["heaps"]["delivered"], full["heaps"]["unwritten"]), (written, 30 - written))
        self.assertIn("No space left", full["sink"]["failure"])
        self.assertEqual(full["health"]["events"]["sink_failed"], 1)


class AnotherUser(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("not root: every other test shows it")
        if shutil.which("setpriv") is None:
            self.skipTest("needs setpriv")
        self.prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")
        self.directory.chmod(0o777)
        if subprocess.run([*self.prefix, "test", "-x", harness.program()], check=False).returncode != 0:
            self.skipTest("nobody may not run the program where it was built")

    def test_loopback_needs_no_root_and_leaves_nothing(self):
        runtime = self.directory / "runtime"
        runtime.mkdir()
        runtime.chmod(0o777)
        finished = self.run_program("loopback", "--heaps", 20, "--heap-size", "64KiB", prefix=self.prefix,
                                    environment={"XDG_RUNTIME_DIR": str(runtime), "HOME": str(self.directory)})
        self.assertEqual(finished.report["streams"][0]["heaps"]["complete"], 20)
        left = [path for path in runtime.rglob("*") if not path.is_dir() or path.name.startswith("dpdk-spead")]
        self.assertEqual(left, [])


if __name__ == "__main__":
    harness.main()
