#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`dpdk-spead recv` of streams with two paths, from two pcap files that the test writes: what either brings arrives once."""

import os
import random
import struct
import unittest

import harness
import layouts
import wire
from pcap_recv_test import ENDPOINT, GROUP, Received, frames_of, payloads

OTHER = "239.129.1.1"
# A process may lack a CPU for longer than heaps are remembered without these words.
REMEMBER = ("--history-time", "1min")


class TwoPaths(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.sink = self.directory / "out"

    def ports(self, first, second):
        """Writes the files of both paths. Returns the devices that read them."""
        devices = []
        for number, frames in enumerate((first, second)):
            capture = self.directory / f"path{number}-{self._runs}.pcap"
            wire.write_pcap(capture, frames)
            devices.append(f"net_pcap{number},rx_pcap={capture}")
        return devices

    def receive(self, first, second, *options, status=0, endpoints=(ENDPOINT,)):
        one, other = self.ports(first, second)
        return self.run_program("recv", "--two-paths", *endpoints, "--port", one, "--port", other, "--sink",
                                f"file:{self.sink}", *REMEMBER, *options, status=status).report

    def assert_paths(self, report, *expected):
        """Checks the counts of both paths, and that they add up to the stream's."""
        stream = report["streams"][0]
        for path, wanted in zip(stream["paths"], expected):
            self.assertEqual({name: path[name] for name in wanted}, wanted, path)
        packets = stream["packets"]
        for name, all_of_them in (("received", packets["received"]), ("used", packets["placed"]),
                                  ("redundant", packets["redundant"]), ("repeated", packets["duplicate"]),
                                  ("late", packets["late"]), ("control", packets["control"])):
            self.assertEqual(sum(path[name] for path in stream["paths"]), all_of_them, name)
        for path in stream["paths"]:
            self.assertEqual(path["received"], sum(path[name] for name in ("used", "redundant", "repeated", "late", "control")))
        self.assertEqual(sum(path["used_bytes"] for path in stream["paths"]), stream["bytes"])
        self.assertEqual(stream["info"]["recovered"], sum(path["missing"] for path in stream["paths"]))

    def test_without_loss_the_second_copies_are_redundant_and_no_finding(self):
        heaps = payloads(20, 10000)
        report = self.receive(frames_of(heaps), frames_of(heaps))
        self.assertEqual(Received(self.sink).complete(), heaps)
        self.assert_stream(report, "s0", received=400, placed=200, redundant=200, duplicate=0, started=20, complete=20)
        self.assert_paths(report, {"port": "p0", "received": 200, "missing": 0}, {"port": "p1", "received": 200, "missing": 0})
        self.assertEqual(report["findings"], [])

    def test_what_either_brings_arrives_with_loss_and_disorder_on_both(self):
        for seed in range(6):
            with self.subTest(seed=seed):
                self.sink = self.directory / f"out{seed}"
                source = random.Random(seed)
                # Heaps of one packet, too.
                heaps = {number: source.randbytes(source.choice((700, 5000, 9000))) for number in range(1, 201)}
                packets = [(number, data) for number, payload in heaps.items() for data in wire.heap(number, payload)]
                kept = []
                for _ in range(2):
                    some = [at for at in range(len(packets)) if source.random() > 0.05]
                    some.sort(key=lambda at: at + source.uniform(0, 10))
                    kept.append(some)
                report = self.receive(*[[wire.frame(packets[at][1], GROUP) for at in some] for some in kept])
                any_of_them = set(kept[0]) | set(kept[1])
                lost = {packets[at][0] for at in set(range(len(packets))) - any_of_them}
                self.assertEqual(Received(self.sink).complete(), {n: p for n, p in heaps.items() if n not in lost})
                self.assert_stream(report, "s0", placed=len(any_of_them), late=0, duplicate=0,
                                   redundant=len(kept[0]) + len(kept[1]) - len(any_of_them))
                self.assert_paths(report, *({"received": len(some), "missing": len(any_of_them - set(some))} for some in kept))
                self.assertLessEqual({f["cause"] for f in report["findings"]}, {"path_loss", "network_loss", "cut_by_join", "late"})
                self.assertIn("path_loss", {f["cause"] for f in report["findings"]})

    def test_one_path_may_end_in_the_middle_and_lose_nothing(self):
        heaps = payloads(40, 10000)
        frames = frames_of(heaps)
        report = self.receive(frames, frames[:150])
        self.assertEqual(Received(self.sink).complete(), heaps)
        self.assert_paths(report, {"received": 400, "missing": 0}, {"received": 150, "missing": 250})

    def test_a_path_without_packets_is_named(self):
        heaps = payloads(10, 5000)
        report = self.receive([], frames_of(heaps))
        self.assertEqual(Received(self.sink).complete(), heaps)
        self.assert_paths(report, {"received": 0, "missing": 50}, {"received": 50, "used": 50, "missing": 0})

    def test_control_heaps_hide_no_missing_packets(self):
        heaps = payloads(20, 2048)
        control = [wire.frame(wire.stop(1000 + number), GROUP) for number in heaps]
        frames = frames_of(heaps)
        report = self.receive(frames + control, frames[1:] + control)
        self.assert_paths(report, {"missing": 0}, {"missing": 1})
        self.assertEqual(report["streams"][0]["info"]["recovered"], 1)

    def test_a_sender_that_begins_anew_too_soon_is_a_finding(self):
        frames = frames_of(payloads(20, 2048))
        report = self.receive(frames * 2, frames * 2)
        findings = [f for f in report["findings"] if f["cause"] == "duplicates"]
        self.assertEqual(sum(finding["count"] for finding in findings), 2 * len(frames))
        self.assertIn("heap counts of before", findings[0]["what"])

    def test_copies_beyond_the_history_are_delivered_again_and_named(self):
        shared, rest = frames_of(payloads(20, 1000)), frames_of({n: bytes(1000) for n in range(1000, 1600)})
        # Whichever path is polled first, 200 other heaps end between a heap and its copy.
        report = self.receive(shared + rest[:200], rest[200:400] + shared + rest[400:], "--history", "64", "--path-skew", "10ms")
        stream = report["streams"][0]
        self.assertEqual(stream["packets"]["placed"], len(rest) + 2 * len(shared))
        # Of so many packets it may be an estimate.
        self.assertGreater(sum(path["forgotten"] for path in stream["paths"]), 0)
        self.assertIn("path_behind", [f["cause"] for f in report["findings"]])

    def test_packets_that_one_path_brings_twice_are_repeated(self):
        heaps = payloads(20, 10000)
        frames = frames_of(heaps)
        report = self.receive([frame for frame in frames for _ in range(2)], frames[:150], "--path-skew", "20s")
        self.assertEqual(Received(self.sink).complete(), heaps)
        self.assert_stream(report, "s0", received=550, placed=200, redundant=150, duplicate=200, complete=20)
        self.assert_paths(report, {"received": 400, "repeated": 200, "missing": 0},
                          {"received": 150, "repeated": 0, "missing": 50})
        finding = next(f for f in report["findings"] if f["cause"] == "duplicates")
        self.assertEqual(finding["count"], 200)
        self.assertIn("came twice by port p0 alone", finding["what"])

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two CPUs")
    def test_copies_of_a_format_meet_on_one_lcore_whatever_is_before_their_headers(self):
        source = random.Random(8)
        frames = [layouts.make("vdif", {0x1600: 7, 0x1601: number}, source.randbytes(800), source) for number in range(400)]
        one, other = self.ports(*[[wire.frame(struct.pack("<Q", path * 10**6 + at) + data, GROUP)
                                   for at, data in enumerate(frames)] for path in range(2)])
        cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
        report = self.run_program("recv", "--two-paths", ENDPOINT, "--port", one, "--port", other, "--format",
                                  "vdif; prefix 8", "--lcores", cpus, "--sink", f"file:{self.sink}").report
        self.assert_stream(report, "s0", placed=400, redundant=400, duplicate=0, late=0, complete=400)
        self.assertEqual(sorted(Received(self.sink).complete().values()), sorted(data[32:] for data in frames))

    def test_a_stop_item_of_one_path_ends_the_run(self):
        heaps = payloads(10, 5000)
        stop = [wire.frame(wire.stop(99), GROUP)]
        for first, second in ((stop, []), ([], stop), (stop, stop)):
            with self.subTest(first=bool(first), second=bool(second)):
                self.sink = self.directory / f"stop{bool(first)}{bool(second)}"
                report = self.receive(frames_of(heaps) + first, frames_of(heaps) + second, "--exit-on-stop", "--path-skew",
                                      "10ms")
                self.assertEqual(Received(self.sink).complete(), heaps)
                self.assert_stream(report, "s0", control=1, redundant=50 + len(first) + len(second) - 1)

    def test_groups_may_differ_and_ports_be_one(self):
        heaps = payloads(10, 5000)
        other = [wire.frame(data, OTHER, port=7149) for number, payload in heaps.items() for data in wire.heap(number, payload)]
        mixed = [frame for pair in zip(frames_of(heaps), other) for frame in pair]
        capture = self.directory / "both.pcap"
        wire.write_pcap(capture, mixed)
        configuration = self.directory / "paths.toml"
        configuration.write_text(
            f"""version = 1
            [[port]]
            name = "p0"
            device = "net_pcap0,rx_pcap={capture}"
            [[receive]]
            name = "s0"
            paths = ["p0", "p0"]
            endpoints = ["{ENDPOINT}"]
            path_endpoints = ["{OTHER}:7149"]
            [receive.sink]
            kind = "file"
            directory = "{self.sink}"
            """, encoding="utf-8")
        report = self.run_program("run", "--config", configuration).report
        self.assertEqual(Received(self.sink).complete(), heaps)
        self.assert_paths(report, {"received": 50, "used": 50}, {"received": 50, "redundant": 50})
        self.assertEqual([path["endpoints"] for path in report["streams"][0]["paths"]], [[ENDPOINT], [f"{OTHER}:7149"]])
        self.assertEqual([e["endpoint"] for e in report["streams"][0]["by_endpoint"]],
                         [f"{ENDPOINT} on p0", f"{OTHER}:7149 on p0"])

    def test_chunks_of_two_paths_have_every_packet_once(self):
        source = random.Random(5)
        heaps = payloads(256, 4096)
        for way in ("direct", "tracked"):
            with self.subTest(way=way):
                packets = []
                for number, payload in heaps.items():
                    items = ((wire.IMMEDIATE, 0x1600, number - 1), (wire.ADDRESSED, 0x1000, 0))
                    packets += wire.heap(number, payload, items) if way == "tracked" else [
                        wire.packet(number, at, payload[at:at + 1024], 4096, items) for at in range(0, 4096, 1024)]
                kept = [[at for at in range(len(packets)) if source.random() > 0.05] for _ in range(2)]
                repeated = [set(source.sample(some, 50)) for some in kept]
                if way == "tracked":  # the first packet tells where the heap is
                    kept = [sorted(set(some) | set(range(0, len(packets), 4))) for some in kept]
                one, other = self.ports(*[[frame for at in some for frame in [wire.frame(packets[at], GROUP)] * (1 + (at in twice))]
                                          for some, twice in zip(kept, repeated)])
                any_of_them = set(kept[0]) | set(kept[1])
                report = self.run_program("recv", "--two-paths", ENDPOINT, "--port", one, "--port", other, "--placement",
                                          f"heap 4096; {way}; time: item 0x1600 [64]", "--chunk-window", "4", "--path-skew",
                                          "20s", *REMEMBER).report
                self.assert_stream(report, "s0", placed=len(any_of_them), late=0, duplicate=100,
                                   redundant=len(kept[0]) + len(kept[1]) - len(any_of_them))
                self.assert_paths(report, *({"received": len(some) + 50, "repeated": 50, "missing": len(any_of_them - set(some))}
                                            for some in kept))

    def test_chunks_of_endpoints_with_the_same_heap_counts_have_exact_counts(self):
        source = random.Random(6)
        groups = [GROUP, "239.1.1.2"]
        frames = []
        for time in range(100):
            for number, group in enumerate(groups):
                items = ((wire.IMMEDIATE, 0x1600, time), (wire.IMMEDIATE, 0x4101, number))
                frames += [wire.frame(wire.packet(time + 1, at, source.randbytes(512), 1024, items), group) for at in (0, 512)]
        control = [wire.frame(wire.stop(1000 + number), group) for number, group in enumerate(groups)]
        kept = [[frame for frame in frames if source.random() > 0.05] for _ in range(2)]
        one, other = self.ports(*[some + control for some in kept])
        report = self.run_program("recv", "--two-paths", "239.1.1.1+1:7148", "--port", one, "--port", other, "--placement",
                                  "heap 1024; direct; axis sender: item 0x4101 [2]; time: item 0x1600 [16]", "--path-skew",
                                  "20s", *REMEMBER).report
        any_of_them = set(kept[0]) | set(kept[1])
        self.assert_stream(report, "s0", placed=len(any_of_them), late=0, duplicate=0, control=2,
                           redundant=len(kept[0]) + len(kept[1]) - len(any_of_them) + 2)
        self.assert_paths(report, *({"received": len(some) + 2, "repeated": 0, "missing": len(any_of_them - set(some))}
                                    for some in kept))

    def test_a_sender_and_its_copy_send_the_same_heaps(self):
        written = [self.directory / f"sent{number}.pcap" for number in range(2)]
        ports = [f"net_pcap{number},tx_pcap={capture}" for number, capture in enumerate(written)]
        report = self.run_program("send", "--two-paths", ENDPOINT, "--port", ports[0], "--port", ports[1], "--heaps", "40",
                                  "--heap-size", "20000", "--verify").report
        self.assertEqual([(s["name"], s["heaps"], s["info"]["left_out"]) for s in report["sends"]],
                         [("d0", 40, 0), ("d0-copy", 40, 0)])
        ports = [f"net_pcap{number},rx_pcap={capture}" for number, capture in enumerate(written)]
        report = self.run_program("recv", "--two-paths", ENDPOINT, "--port", ports[0], "--port", ports[1], "--sink",
                                  "verify").report
        stream = report["streams"][0]
        self.assertEqual((stream["heaps"]["complete"], stream["packets"]["late"]), (40, 0))
        self.assertEqual(stream["packets"]["redundant"], stream["packets"]["placed"] + stream["packets"]["control"])

    def test_the_slower_of_two_senders_sets_the_pace(self):
        configuration = self.directory / "paces.toml"
        # After a burst, the slower one waits 0.26 s.
        configuration.write_text(
            f"""version = 1
            [[port]]
            name = "p0"
            device = "net_null0"
            [[port]]
            name = "p1"
            device = "net_null1"
            [[send]]
            name = "a"
            port = "p0"
            endpoints = ["{ENDPOINT}"]
            heap_size = "28KiB"
            heaps = 15
            rate = "8Mbps"
            [[send]]
            name = "b"
            port = "p1"
            copy_of = "a"
            rate = "2Mbps"
            """, encoding="utf-8")
        report = self.run_program("run", "--config", configuration).report
        self.assertEqual([(s["heaps"], s["aborted"], s["info"]["left_out"]) for s in report["sends"]], [(15, 0, 0)] * 2)

    def test_wrong_options_say_what_is_right(self):
        one, other = self.ports([], [])
        self.refused("recv", "--two-paths", ENDPOINT, "--port", one, says=("--two-paths", "1 port is given"))
        self.refused("send", "--two-paths", ENDPOINT, "--port", one, says=("--two-paths", "1 port is given"))
        for command in ("recv", "send"):
            self.refused(command, "--two-paths", ENDPOINT, "--port", one, "--port", one,
                         says=("--two-paths", "both paths have the port", 'paths = ["p0", "p0"]'))
        self.refused("send", ENDPOINT, "--port", one, "--port", other, says=("--port", "or give --two-paths"))
        self.refused("recv", "--two-paths", ENDPOINT, "--port", one, "--port", other, "--in-order",
                     says=("--in-order", "has two paths"))
        self.refused("recv", "--two-paths", ENDPOINT, "--port", one, "--port", other, "--history", "0",
                     says=("--history", "would be another heap"))
        for skew in ("70ms", "50ms"):
            self.refused("recv", ENDPOINT, "--port", one, "--path-skew", skew, says=("--path-skew", "give --two-paths"))
        configuration = self.directory / "wrong.toml"
        for paths, says in (('["p7", "p0"]', ("wrong.toml:7:", "`p7`")), ('"p0"', ("wrong.toml:7:", "paths", "list"))):
            configuration.write_text("version = 1\n[[port]]\nname = \"p0\"\ndevice = \"net_null0\"\n[[receive]]\n"
                                     f"name = \"s0\"\npaths = {paths}\nendpoints = [\"{ENDPOINT}\"]\n", encoding="utf-8")
            self.refused("run", "--config", configuration, says=says)
        self.refused("recv", "--two-paths", ENDPOINT, "--port", one, "--port", other, "--path-skew", "5s", "--history-time", "1s",
                     says=("--history-time", "raise `history_time`"))


if __name__ == "__main__":
    harness.main()
