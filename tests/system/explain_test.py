#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Losses that are provoked, and what the program says of them; streams that fall silent."""

import random

import harness
import wire

GROUP = "239.1.1.1"
ENDPOINT = f"{GROUP}:7148"


def packets_of(count, size=10000, first=1):
    """[[frame...] of each heap]"""
    source = random.Random(count)
    return [wire.heap(first + i, source.randbytes(size)) for i in range(count)]


class Findings(harness.ProgramTest):
    def receive(self, frames, *options, endpoint=ENDPOINT):
        """recv of these frames: (the findings, the table)"""
        capture = self.directory / "in.pcap"
        wire.write_pcap(capture, frames)
        finished = self.run_program("recv", endpoint, "--port", f"net_pcap0,rx_pcap={capture}", *options)
        for finding in finished.report["findings"]:
            lines = harness.lines_of(finding)
            self.assertIn(lines, finished.out, "the table and the report tell the same")
            self.assertEqual(finished.out.count(lines), 1, "once")
        return finished.report["findings"], finished

    def assert_only(self, findings, cause, where, **more):
        self.assertEqual([(f["cause"], f["where"]) for f in findings], [(cause, where)])
        for name, value in more.items():
            self.assertEqual(findings[0][name], value)

    def test_a_clean_run_has_none(self):
        frames = [wire.frame(p, GROUP) for heap in packets_of(20) for p in heap]
        findings, finished = self.receive(frames)
        self.assertEqual(findings, [])
        stream, port = finished.report["streams"][0], finished.report["ports"][0]
        self.assertEqual(stream["latency"]["count"], 20)
        self.assertEqual(stream["gap"]["count"], 19)
        self.assertEqual([(e["endpoint"], e["packets"], e["bytes"]) for e in stream["by_endpoint"]],
                         [(ENDPOINT, 200, 200000)])
        self.assertEqual([(t["source"], t["stream"]) for t in port["talkers"]], [("10.0.0.1", "s0")])

    def test_a_wrong_group(self):
        frames = [wire.frame(p, "239.1.1.2", source="10.0.0.77") for heap in packets_of(5) for p in heap]
        findings, _ = self.receive(frames)
        self.assert_only(findings, "unmatched", "p0", count=50, stage="classify")
        self.assertIn("10.0.0.77", findings[0]["sentence"])
        self.assertIn("s0 received nothing", findings[0]["sentence"])
        self.assertEqual(findings[0]["cures"][1], "if s0 should receive the packets for 239.1.1.2:7148, restart with one more "
                         "endpoint, `239.1.1.2:7148`")

    def test_packets_that_did_not_arrive(self):
        # The third packet of each heap was lost on the way.
        frames = [wire.frame(p, GROUP) for heap in packets_of(20) for i, p in enumerate(heap) if i != 2]
        findings, finished = self.receive(frames)
        evicted = finished.report["streams"][0]["heaps"]["evicted"]
        self.assert_only(findings, "network_loss", "s0", count=evicted, stage="network")

    def test_senders_that_interleave_more_heaps_than_may_be_open(self):
        # A burst has 64 packets and one time of arrival. Two heaps may be open; the first still receives after the
        # second has begun, and the third makes it go.
        first, second, third = packets_of(3, size=192 * 1024)
        packets = first[:64] + second[:64] + first[64:128] + third[:64] + first[128:]
        findings, _ = self.receive([wire.frame(p, GROUP) for p in packets], "--max-heaps", "2",
                                   "--control", self.directory / "control.sock")
        self.assert_only(findings, "max_live_too_small", "s0", count=1, stage="window")
        self.assertEqual(findings[0]["cures"][0], "restart with `--max-heaps 4` (now 2)", "the socket has gone")

    def test_the_same_packets_from_two_senders(self):
        frames = [wire.frame(p, GROUP, source=f"10.0.0.{1 + copy}") for heap in packets_of(40) for copy in range(2)
                  for p in heap]
        findings, _ = self.receive(frames)
        self.assert_only(findings, "duplicates", "s0", count=400)

    def test_packets_and_heaps_that_are_too_large(self):
        frames = [wire.frame(p, GROUP) for heap in packets_of(5) for p in heap]
        findings, _ = self.receive(frames, "--max-packet-size", "500")
        self.assertEqual({f["cause"] for f in findings} - {"network_loss"}, {"packets_too_large"})
        self.assertIn("--max-packet-size", findings[0]["sentence"])
        findings, _ = self.receive(frames, "--max-heap-bytes", "8KiB")
        self.assert_only(findings, "heaps_too_large", "s0", count=50)

    def test_a_consumer_that_is_too_slow_for_a_small_ring(self):
        # Every heap is a file; one may wait.
        frames = [wire.frame(p, GROUP) for heap in packets_of(2000, size=900) for p in heap]
        findings, finished = self.receive(frames, "--ring-heaps", "1", "--on-full", "drop_newest", "--sink",
                                          f"file:{self.directory / 'out'}")
        dropped = finished.report["streams"][0]["heaps"]["dropped_full"]
        self.assertGreater(dropped, 0)
        self.assert_only(findings, "consumer_too_slow", "s0", count=dropped, stage="consumer")
        self.assertIn("1 of 1 place of the hand-over queue was taken", findings[0]["sentence"])


class Health(harness.ProgramTest):
    def test_a_silent_stream_is_logged_counted_and_told_to_the_command(self):
        told = self.directory / "told"
        config = self.directory / "a.toml"
        config.write_text(f"""version = 1
[runtime]
on_event = ["/bin/sh", "-c", "echo $SPEAD_STREAM $SPEAD_EVENT $SPEAD_TEXT >> $1", "sh", "{told}"]
[memory]
heaps = "64MiB"
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "quiet"
port = "p0"
endpoints = ["239.9.9.9:7148"]
silent_after = "100ms"
heaps.max_bytes = "1MiB"
""", encoding="utf-8")
        running = self.start("run", "--config", config)
        running.wait_for(lambda: told.exists() and told.read_text(encoding="utf-8").endswith("\n"),
                         "event at the command")
        running.interrupt()
        finished = running.wait()
        lines = told.read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(lines), 1, "once")
        self.assertRegex(lines[0], r"^quiet silent no packet for \d+\.\d s$")
        self.assertEqual(finished.err.count("stream quiet is silent: no packet for"), 1)
        health = finished.report["streams"][0]["health"]
        self.assertEqual(health["state"], "silent")
        self.assertEqual({event: times for event, times in health["events"].items() if times}, {"silent": 1})
        self.assertEqual(health["last_event"]["event"], "silent")

    def test_a_slow_command_is_told_of_what_came_before_the_end(self):
        told = self.directory / "told"
        config = self.directory / "a.toml"
        config.write_text(f"""version = 1
[runtime]
on_event = ["/bin/sh", "-c", "sleep 0.3; echo $SPEAD_STREAM $SPEAD_EVENT >> $1", "sh", "{told}"]
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "quiet"
port = "p0"
endpoints = ["239.9.9.9:7148"]
silent_after = "100ms"
heaps.max_bytes = "1MiB"
""", encoding="utf-8")
        running = self.start("run", "--config", config)
        running.wait_for(lambda: "stream quiet is silent" in running.text(1), "the event")
        running.interrupt()
        running.wait()
        self.assertEqual(told.read_text(encoding="utf-8"), "quiet silent\n")

    def test_a_command_that_does_not_exist_is_refused(self):
        config = self.directory / "a.toml"
        config.write_text("""version = 1
[runtime]
on_event = ["/no/such/program"]
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "quiet"
port = "p0"
endpoints = ["239.9.9.9:7148"]
""", encoding="utf-8")
        finished = self.start("run", "--config", config, report=False).wait(status=None)
        self.assertNotEqual(finished.status, 0)
        self.assertIn("the program `/no/such/program` does not exist", finished.err)


if __name__ == "__main__":
    harness.main()
