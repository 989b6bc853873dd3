#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Commands change a process while it runs, and the saved configuration does the same again."""

import re

import harness
from terminal import PROMPT, Terminal

ENDPOINT = "239.10.10.10:7148"


class Busy(harness.ProgramTest):
    """A ring that a sender keeps busy, with room for more streams."""

    groups = "239.10.10.{}"

    def endpoint(self, number, more=""):
        return f"{self.groups.format(number)}{more}:7148"

    def config(self):
        path = self.directory / "start.toml"
        path.write_text(f"""version = 1
[runtime]
live = true
control = "off"
[memory]
heaps = "64MiB"
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["{self.endpoint(10, "+1")}"]
[receive.heaps]
max_bytes = "128KiB"
on_full = "block"
[receive.sink]
kind = "verify"
[[send]]
name = "d0"
port = "p0"
endpoints = ["{self.endpoint(10, "+3")}"]
rate = "20Mbps"
heap_size = "32KiB"
verify = true
""", encoding="utf-8")
        return path

    def setUp(self):
        super().setUp()
        self.report = self.directory / "report.json"
        self.terminal = Terminal(self, "run", "--config", self.config(), "-i", "--json", self.report)
        self.terminal.expect(PROMPT)

    def command(self, line, says=""):
        answer = self.terminal.command(line)
        self.assertIn(says, answer, line)
        return answer

    def numbers(self, *words):
        answer = self.command(f"show {' '.join(words)}")
        return {name: int(value) for name, value in re.findall(r"^([a-z_0-9.]+) +(\d+)$", answer, re.M)}

    def wait_for(self, condition, what):
        for _ in range(int(200 * harness.PATIENCE)):
            if condition():
                return
            self.terminal.wait_a_moment()
        self.fail(f"no {what}:\n{self.terminal.error_text()}\n{self.command('show stream')}")

    def received(self, stream):
        return self.numbers("stream", stream)["packets.received"]

    def end(self):
        self.terminal.type("quit\r")
        self.terminal.wait()
        report = harness.json.loads(self.report.read_text(encoding="utf-8"))
        self.assertEqual(harness.broken_identities(report), [])
        return report


class ComesAndGoes(Busy):
    def test_a_stream_comes_and_goes_and_the_other_loses_nothing(self):
        first, second = self.endpoint(12), self.endpoint(13)
        self.command(f"stream add s1 port p0 endpoints {first} heaps.max_bytes 128KiB sink.kind verify",
                     f"stream s1 receives {first}")
        self.wait_for(lambda: self.numbers("stream", "s1")["heaps.complete"] >= 3, "heaps of s1")
        self.assertEqual(self.numbers("stream", "s1")["info.wrong"], 0)
        self.command(f"endpoint add s1 {second}", "also receives")
        unmatched = self.numbers("port", "p0")["rx.unmatched"]
        before = self.received("s1")
        self.wait_for(lambda: self.received("s1") > before + 100, "packets of two groups")
        self.assertEqual(self.numbers("port", "p0")["rx.unmatched"], unmatched)
        self.command(f"endpoint delete s1 {first}", "no longer receives")
        self.wait_for(lambda: self.numbers("port", "p0")["rx.unmatched"] > unmatched, "packets of nobody")
        self.command("stream delete s1", "deleted")
        self.assertNotIn("s1", self.command("show config"))
        self.command("show stream s1", "no stream `s1`")
        report = self.end()
        heaps = self.assert_stream(report, "s0", evicted=0, timed_out=0, dropped_full=0)
        self.assertEqual(heaps["info"]["wrong"], 0)


class ComesAndGoesOverIpv6(ComesAndGoes):
    groups = "[ff15::{:x}]"


class Change(Busy):
    def test_a_stream_of_the_start_is_deleted_and_the_run_ends_in_order(self):
        self.wait_for(lambda: self.received("s0") > 0, "packets of s0")
        self.command("stream delete s0", "deleted")
        report = self.end()
        self.assertEqual(report["streams"], [])
        self.assertGreater(report["removed"]["packets"]["received"], 0)

    def test_a_stream_rests_and_comes_back(self):
        self.command("stream stop s0", "stopped")
        self.assertIn("enabled = false", self.command("show config s0"))
        before = self.numbers("port", "p0")["rx.unmatched"]
        self.wait_for(lambda: self.numbers("port", "p0")["rx.unmatched"] > before, "packets that nobody wants")
        self.command("stream start s0", "received")
        seen = self.received("s0")
        self.wait_for(lambda: self.received("s0") > seen, "packets of s0")
        self.end()

    def test_settings_of_a_stream(self):
        self.command("stream set s0 heaps.queue_depth 64 poll busy", "heaps.queue_depth 64, poll busy")
        config = self.command("show config s0")
        self.assertIn("queue_depth = 64", config)
        self.assertIn('poll = "busy"', config)
        seen = self.received("s0")
        self.wait_for(lambda: self.received("s0") > seen, "packets of s0")
        self.command("stream set s0 heaps.queue_depth default poll default")
        self.assertIn("queue_depth = 256", self.command("show config s0"))
        self.end()

    def test_a_sender_stops_starts_and_changes(self):
        def sent():
            return self.numbers("send", "d0")["packets"]

        self.command("send stop d0", "stopped")
        # Heaps in flight are sent still.
        last = [-1]

        def silent():
            before, last[0] = last[0], sent()
            return before == last[0]

        self.wait_for(silent, "silence")
        self.command("send set d0 rate 40Mbps ttl 3", "rate 40Mbps, ttl 3")
        self.assertIn("ttl = 3", self.command("show config d0"))
        before = sent()
        self.command("send start d0", "sends")
        self.wait_for(lambda: sent() > before, "packets")
        self.end()

    def test_a_sender_comes_and_goes(self):
        self.command("stream add s1 port p0 endpoints 239.10.10.12:7148 heaps.max_bytes 128KiB sink.kind verify")
        self.command("send stop d0", "stopped")
        self.command("send add d1 port p0 endpoints 239.10.10.12:7148 heap_size 8KiB verify true rate 20Mbps",
                     "sender d1 sends to 239.10.10.12:7148")
        self.assertIn('name = "d1"', self.command("show config d1"))
        self.wait_for(lambda: self.numbers("send", "d1")["heaps"] >= 3, "heaps of d1")
        self.wait_for(lambda: self.numbers("stream", "s1")["heaps.complete"] >= 3, "heaps of s1")
        self.command("send add d1 port p0 endpoints 239.10.10.13:7148", "a sender `d1` exists already")
        self.command("send add d2 port p0 endpoints 239.10.10.13:7148 lcore 999", "CPU 999")
        self.command("send set d1 heap_size 16KiB", "delete the sender")
        self.command("send delete d1", "deleted")
        self.command("show send d1", "no sender `d1`")
        self.assertIn("(removed)", self.command("show send"))
        report = self.end()
        removed = report["removed_sends"]
        self.assertEqual((removed["aborted"], removed["timed_out"], removed["info"]["dropped"]), (0, 0, 0))
        self.assertEqual(removed["info"]["control_heaps"], 1)
        self.assert_stream(report, "s1", evicted=0, timed_out=0, dropped_full=0)
        self.assertEqual(sum(stream["info"]["wrong"] for stream in report["streams"]), 0)

    def test_what_is_saved_is_what_runs(self):
        saved = self.directory / "saved.toml"
        self.command("stream add s1 port p0 endpoints 239.10.10.12:7148 heaps.max_bytes 128KiB")
        self.command("stream set s0 heaps.queue_depth 99")
        self.command("send set d0 rate 10Mbps")
        self.command(f"save config {saved}", "saved")
        shown = self.command("show config")
        self.end()
        again = Terminal(self, "run", "--config", saved, "-i", "--json", self.report)
        again.expect(PROMPT)
        self.terminal = again
        self.assertEqual(self.command("show config"), shown)
        self.wait_for(lambda: self.received("s1") > 0 and self.received("s0") > 0, "packets of both")
        self.end()

    def test_what_cannot_change_during_a_run_is_refused_and_nothing_happens(self):
        before = self.command("show config")
        for line in ("stream add s1 port p0 endpoints 239.10.10.12:7148 heaps.max_bytes 1GiB",
                     "stream add s1 port p0 endpoints 239.10.10.11:7148",
                     "stream set s0 heaps.max_bytes 1KiB",
                     "stream set s0 lcores 999"):
            with self.subTest(line=line):
                answer = self.command(line)
                self.assertNotEqual(answer.strip(), "")
                self.assertEqual(self.command("show config"), before)
        seen = self.received("s0")
        self.wait_for(lambda: self.received("s0") > seen, "packets of s0")
        self.end()


if __name__ == "__main__":
    harness.main()
