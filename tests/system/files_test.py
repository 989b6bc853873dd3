#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files that the program writes: none destroys another that is in use, none goes where another user has planted a
link, and all written data are there when the program is killed."""

import fcntl
import json
import os
import random
import signal

import harness
import ring
import wire
from terminal import PROMPT, Terminal

ENDPOINT = "239.1.1.1:7148"
STRANGER = 12345


class FilesTest(harness.ProgramTest):
    def input(self, name="in.pcap", packets=40):
        """A capture file that is read, and its bytes."""
        path = self.directory / name
        payload = bytes(range(256)) * 4
        wire.write_pcap(path, [wire.frame(data, "239.1.1.1") for number in range(1, packets + 1)
                               for data in wire.heap(number, payload)])
        return path, path.read_bytes()

    def ring(self, directory, first, heaps):
        """A plan whose heaps become files there."""
        return self.config(ring.plan(
            ring.stream(0, {"kind": "file", "directory": directory}, on_full=None),
            ring.sender(0, heap_size="16KiB", first_count=first, heaps=heaps, rate="500Mbps")))

    def config(self, text, name="run.toml"):
        path = self.directory / name
        path.write_text(text, encoding="utf-8")
        return path


class InUse(FilesTest):
    def test_a_capture_does_not_destroy_its_own_input_however_it_is_spelled(self):
        path, before = self.input()
        (self.directory / "link").symlink_to("in.pcap")
        (self.directory / "here").symlink_to(".")
        (self.directory / "sub").mkdir()
        os.link(path, self.directory / "hard")
        for other in ("in.pcap", "./in.pcap", "link", "hard", "here/in.pcap", "sub/../in.pcap"):
            with self.subTest(other=other):
                for words in ((), ("--check",)):
                    self.refused("capture", "--port", f"net_pcap0,rx_pcap={path}", ENDPOINT,
                                 f"{self.directory}/{other}", *words, says=("port p0 reads", "give another file"))
                self.assertEqual(path.read_bytes(), before)

    def test_a_rotated_name_is_a_name(self):
        path, before = self.input("x-00000.pcap")
        self.refused("capture", "--port", f"net_pcap0,rx_pcap={path}", ENDPOINT, self.directory / "x.pcap",
                     "--rotate-size", "1MiB", says=("port p0 reads",))
        self.assertEqual(path.read_bytes(), before)
        # One that comes later ends the capture before it is touched.
        path, before = self.input("y-00001.pcap", packets=300)
        finished = self.run_program("capture", "--port", f"net_pcap0,rx_pcap={path}", ENDPOINT,
                                    self.directory / "y.pcap", "--rotate-size", "64KiB", status=1)
        self.assertIn("net_pcap0 reads", finished.err)
        self.assertEqual(path.read_bytes(), before)

    def test_two_captures_into_one_file_are_refused(self):
        (self.directory / "link.pcap").symlink_to("out.pcap")
        streams = "".join(f"""
[[receive]]
name = "s{i}"
port = "p0"
endpoints = ["239.1.1.{i}:7148"]
[receive.capture]
files = ["{self.directory}/{name}"]
""" for i, name in enumerate(("out.pcap", "link.pcap")))
        path, _ = self.input()
        config = self.config(f'version = 1\n[[port]]\nname = "p0"\ndevice = "net_pcap0,rx_pcap={path}"\n{streams}')
        self.refused("run", "--config", config, says=("is the file of two captures", "link.pcap", "out.pcap"))
        self.assertFalse((self.directory / "out.pcap").exists())

    def test_what_a_port_writes_is_not_what_another_reads(self):
        path, before = self.input()
        (self.directory / "link").symlink_to("in.pcap")
        ports = "".join(f'[[port]]\nname = "p{i}"\ndevice = "net_pcap{i},{key}={self.directory}/{name}"\n'
                        for i, (key, name) in enumerate((("rx_pcap", "in.pcap"), ("tx_pcap", "link"))))
        config = self.config(f"""version = 1
{ports}
[[receive]]
name = "s0"
port = "p0"
endpoints = ["239.1.1.1:7148"]
[[send]]
name = "d0"
port = "p1"
endpoints = ["239.1.1.1:7148"]
heaps = 3
""")
        self.refused("run", "--config", config, says=("port p1: ", "port p0 reads"))
        self.refused("run", "--config", config, "--check", says=("port p0 reads",))
        self.assertEqual(path.read_bytes(), before)

    def test_a_report_goes_neither_onto_what_is_read_nor_onto_what_is_written(self):
        path, before = self.input()
        port = f"net_pcap0,rx_pcap={path}"
        self.refused("recv", "--port", port, ENDPOINT, "--json", path, says=("--json writes",))
        out = self.directory / "out.pcap"
        self.refused("capture", "--port", port, ENDPOINT, out, "--json", f"{self.directory}/./out.pcap",
                     says=("--json writes",))
        sink = self.directory / "sink"
        sink.mkdir()
        self.refused("recv", "--port", port, ENDPOINT, "--sink", f"file:{sink}", "--json", sink / "heaps.jsonl",
                     says=("--json writes",))
        self.assertEqual(path.read_bytes(), before)
        self.assertFalse(out.exists())

    def test_what_a_run_is_told_by_is_not_written_over(self):
        config = self.ring(self.directory / "sink", 1, 3)
        before = config.read_bytes()
        (self.directory / "link").symlink_to(config.name)
        for words in ((), ("--check",)):
            self.refused("run", "--config", config, "--json", self.directory / "link", *words,
                         says=("link is the same file", "--config reads"))
        script = self.directory / "commands"
        script.write_text("shutdown\n", encoding="utf-8")
        self.refused("run", "--config", config, "--cmdline-file", script, "--json", f"{self.directory}/./commands",
                     says=("--cmdline-file reads",))
        self.assertEqual(script.read_text(), "shutdown\n")
        t = Terminal(self, "run", "--config", config, "-i", "--quiet", "--control", "off")
        t.expect(PROMPT)
        self.assertIn("--config reads it", t.command(f"capture start s0 {config}"))
        self.assertEqual(config.read_bytes(), before)
        self.assertIn("saved", t.command(f"save config {config} force"))
        t.type("quit\r")
        t.wait()
        self.assertIn("endpoints", config.read_text(encoding="utf-8"))

    def test_a_replay_does_not_destroy_its_own_input(self):
        path, before = self.input()
        (self.directory / "link").symlink_to("in.pcap")
        for words in ((), ("--check",)):
            self.refused("replay", path, "--port", f"net_pcap0,tx_pcap={self.directory}/link", *words,
                         says=("the replay reads", "link"))
        self.refused("replay", path, "--port", "net_null0", "--json", path, says=("the replay reads",))
        self.assertEqual(path.read_bytes(), before)

    def test_a_running_process_knows_its_files(self):
        path, before = self.input()
        report = self.directory / "report.json"
        sink = self.directory / "sink"
        t = Terminal(self, "recv", "--port", f"net_pcap0,rx_pcap={path},infinite_rx=1", ENDPOINT, "--sink",
                     f"file:{sink}", "-i", "--quiet", "--json", report)
        t.expect(PROMPT)
        t.command(f"capture start s0 {self.directory}/a.pcap")
        for other, why in (("./in.pcap", "net_pcap0 reads"), ("sink/heaps.jsonl", "the sink of s0 writes"),
                           ("report.json", "--json writes")):
            t.type(f"stream add t{len(other)} port p0 endpoints 239.1.1.9:7148 "
                   f"capture.files {self.directory}/{other}\r")
            self.assertIn(why, t.expect(PROMPT), other)
        self.assertIn("the capture of s0 writes", t.command(f"save config {self.directory}/./a.pcap force"))
        self.assertIn("net_pcap0 reads", t.command(f"save config {path} force"))
        t.command("capture stop s0")
        self.assertIn("saved", t.command(f"save config {self.directory}/new.toml"))
        t.type("quit\r")
        t.wait()
        self.assertEqual(path.read_bytes(), before)
        self.assertTrue(json.loads(report.read_text())["captures"])
        self.assertGreater((self.directory / "a.pcap").stat().st_size, 24)

    def test_two_processes_do_not_write_one_file(self):
        out = self.directory / "out.pcap"
        (self.directory / "link.pcap").symlink_to("out.pcap")
        device = f"net_memif0,role=server,socket={self.directory}/a.sock,socket-abstract=no"
        first = self.start("capture", ENDPOINT, "--port", device, out)
        first.wait_for(out.exists, "the capture's file")
        path, _ = self.input()
        for other in ("out.pcap", "link.pcap"):
            self.refused("capture", ENDPOINT, "--port", f"net_pcap0,rx_pcap={path}", self.directory / other, status=1,
                         says=("another process is writing", other))
        self.refused("send", ENDPOINT, "--port", f"net_pcap0,tx_pcap={out}", "--heaps", 1, status=1,
                     says=("another process is writing",))
        # A reader's lock hinders nobody.
        with open(out, "rb") as reader:
            fcntl.flock(reader, fcntl.LOCK_SH)
            first.interrupt()
            first.wait()
            self.run_program("capture", ENDPOINT, "--port", f"net_pcap0,rx_pcap={path}", out)
        self.assertEqual(len(wire.read_pcap(out)), 40)


class Planted(FilesTest):
    """A directory in which everybody may plant a link to what the program's user alone may write."""

    def setUp(self):
        super().setUp()
        self.victim = self.directory / "victim"
        self.victim.write_text("precious", encoding="utf-8")
        self.shared = self.directory / "shared"
        self.shared.mkdir()
        self.shared.chmod(0o777)
        (self.shared / "out").symlink_to(self.victim)
        (self.shared / "sub").symlink_to(self.directory)
        self.addCleanup(lambda: self.assertEqual(self.victim.read_text(encoding="utf-8"), "precious"))
        self.pcap, _ = self.input()
        self.port = f"net_pcap0,rx_pcap={self.pcap}"

    def assert_refused(self, *words, name="out", status=1):
        self.refused(*words, status=status, says=(f"leads through `{name}`, a link of user {os.getuid()} in a "
                                                  "directory that others can write",))
        self.assertEqual(self.victim.read_text(encoding="utf-8"), "precious")

    def test_captures_follow_no_link(self):
        self.assert_refused("capture", "--port", self.port, ENDPOINT, self.shared / "out")
        self.assert_refused("capture", "--port", self.port, ENDPOINT, self.shared / "sub/victim", name="sub")

    def test_reports_follow_no_link(self):
        self.assert_refused("recv", "--port", self.port, ENDPOINT, "--json", self.shared / "out")
        self.assert_refused("bench", "transmit", "--json", self.shared / "out")
        self.assert_refused("replay", self.pcap, "--port", "net_null0", "--json", self.shared / "sub/victim", name="sub")

    def test_file_sinks_follow_no_link(self):
        self.assert_refused("recv", "--port", self.port, ENDPOINT, "--sink", f"file:{self.shared}/sub", name="sub")
        (self.shared / "heaps.jsonl").symlink_to(self.victim)
        self.refused("recv", "--port", self.port, ENDPOINT, "--sink", f"file:{self.shared}", status=1,
                     says=("heaps.jsonl", "it is a link"))
        (self.shared / "heaps.jsonl").unlink()
        # A payload's name that is taken is taken, whatever it is.
        (self.shared / "s0-1.bin").symlink_to(self.victim)
        self.run_program("recv", "--port", self.port, ENDPOINT, "--sink", f"file:{self.shared}")
        self.assertTrue((self.shared / "s0-1-2.bin").exists())

    def test_what_ports_write_follows_no_link(self):
        for words in ((), ("--check",)):
            self.assert_refused("send", ENDPOINT, "--heaps", 1, "--port", f"net_pcap0,tx_pcap={self.shared}/out",
                                *words)

    def test_saved_configurations_replace_a_link_and_follow_none(self):
        t = Terminal(self, "loopback", "--duration", "off", "--rate", "10Mbps", "-i", "--quiet")
        t.expect(PROMPT)
        self.assertIn("leads through `sub`", t.command(f"save config {self.shared}/sub/new.toml"))
        t.command(f"save config {self.shared}/out force")
        t.type("quit\r")
        t.wait()
        self.assertFalse((self.shared / "out").is_symlink())
        self.assertIn("version = 1", (self.shared / "out").read_text(encoding="utf-8"))

    def test_links_of_ones_own_directories_are_followed(self):
        self.shared.chmod(0o755)
        (self.directory / "real.pcap").write_bytes(b"")
        (self.directory / "latest.pcap").symlink_to("real.pcap")
        self.run_program("capture", "--port", self.port, ENDPOINT, self.directory / "latest.pcap")
        self.assertEqual(len(wire.read_pcap(self.directory / "real.pcap")), 40)

    def test_nothing_of_a_stranger_is_written_in_a_sticky_directory(self):
        if os.getuid() != 0:
            self.skipTest("only root can give files away")
        self.shared.chmod(0o1777)
        os.lchown(self.shared / "out", STRANGER, STRANGER)
        self.refused("capture", "--port", self.port, ENDPOINT, self.shared / "out", status=1,
                     says=(f"a link of user {STRANGER}",))
        (self.shared / "file").write_text("", encoding="utf-8")
        os.chown(self.shared / "file", STRANGER, STRANGER)
        for words in (("capture", "--port", self.port, ENDPOINT, self.shared / "file"),
                      ("recv", "--port", self.port, ENDPOINT, "--json", self.shared / "file")):
            self.refused(*words, status=1, says=(f"it belongs to user {STRANGER}",))
        os.link(self.victim, self.shared / "hard")
        self.refused("capture", "--port", self.port, ENDPOINT, self.shared / "hard", status=1,
                     says=("it has a second hard link",))


class Killed(FilesTest):
    def lines(self, directory):
        """The lines of heaps.jsonl that have their ends, and what follows them."""
        *whole, rest = (directory / "heaps.jsonl").read_bytes().split(b"\n")
        return [json.loads(line) for line in whole], rest

    def test_what_was_delivered_has_its_line_when_the_process_is_killed(self):
        sink = self.directory / "out"
        chance = random.Random(11)
        wanted = 0
        for first in range(1, 100_000_001, 20_000_000):
            running = self.start("run", "--config", self.ring(sink, first, -1),
                                 "--quiet", report=False)
            wanted += chance.randrange(1, 400)
            running.wait_for(lambda: (sink / "heaps.jsonl").exists() and len(self.lines(sink)[0]) >= wanted, "lines")
            running.process.send_signal(signal.SIGKILL)
            running.wait(status=-signal.SIGKILL)
            # Each start finds what the last one left; the newest may have been killed in a line.
            lines, rest = self.lines(sink)
            self.assertNotIn(b"\n", rest)
            wanted = len(lines)
            told = {line.get("file", f"s0-{line['cnt']}.bin"): line["received"] for line in lines if line["complete"]}
            for name, size in told.items():
                self.assertEqual((sink / name).stat().st_size, size)
            untold = [path.name for path in sink.glob("*.bin") if path.name not in told]
            self.assertLessEqual(len(untold), first // 20_000_000 + 1, "at most the last file of each run")
        last = self.run_program("run", "--config", self.ring(sink, 1, 30))
        self.assert_stream(last.report, "s0", complete=30)
        lines, rest = self.lines(sink)
        self.assertEqual(rest, b"")
        self.assertEqual(len(lines), wanted + 30)

    def test_lines_come_while_nothing_comes(self):
        """The last heap of a stream that has fallen silent gets its line like all others."""
        sink = self.directory / "out"
        device = f"net_memif0,role={{}},socket={self.directory}/a.sock,socket-abstract=no"
        running = self.start("recv", ENDPOINT, "--port", device.format("server"), "--sink", f"file:{sink}", report=False)
        self.run_program("send", ENDPOINT, "--port", device.format("client"), "--heaps", 5, "--heap-size", "16KiB")
        running.wait_for(lambda: len(self.lines(sink)[0]) >= 5, "the last line")
        running.process.send_signal(signal.SIGKILL)
        running.wait(status=-signal.SIGKILL)

    def test_nobodys_lock_stops_the_sink(self):
        sink = self.directory / "out"
        sink.mkdir()
        (sink / "heaps.jsonl").touch()
        with open(sink / "heaps.jsonl", "rb") as reader:
            fcntl.flock(reader, fcntl.LOCK_EX)
            running = self.start("run", "--config", self.ring(sink, 1, 300))
            # The lock is held until all heaps have their lines.
            finished = running.wait()
        self.assert_stream(finished.report, "s0", complete=300, delivered=300, dropped_full=0)
        self.assertEqual(len(self.lines(sink)[0]), 300)


if __name__ == "__main__":
    harness.main()
