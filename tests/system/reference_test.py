#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packets of the reference implementation's sender, replayed through net_pcap: every heap, item by item.

The captures are in tests/data/reference; what happens to their packets on the way is made up here, from fixed seeds.
"""

import hashlib
import json
import random
import struct
from pathlib import Path

import harness

DATA = Path(__file__).resolve().parent.parent / "data" / "reference"
RECORD = struct.Struct("<IIII")


def read_pcap(path):
    """(file header, [frame])"""
    data = path.read_bytes()
    frames, at = [], 24
    while at < len(data):
        length = RECORD.unpack_from(data, at)[2]
        frames.append(data[at + RECORD.size:at + RECORD.size + length])
        at += RECORD.size + length
    return data[:24], frames


def write_pcap(path, header, frames):
    with open(path, "wb") as file:
        file.write(header)
        for number, frame in enumerate(frames):
            file.write(RECORD.pack(1, number % 1000000, len(frame), len(frame)) + frame)


def item_key(item):
    return sorted(item.items())


class Reference(harness.ProgramTest):
    def expected(self, name):
        lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        return {(heap["stream"], heap["cnt"]): heap for heap in map(json.loads, lines)}

    def receive(self, capture, *options, endpoint="239.10.10.0:7148"):
        """(report, [heap line with its payload's SHA-256])"""
        self._runs += 1
        sink = self.directory / f"sink{self._runs}"
        finished = self.run_program("recv", *endpoint.split(), "--port", f"net_pcap0,rx_pcap={capture}", "--sink",
                                    f"file:{sink}", "--history-time", "60s", *options)
        heaps = [json.loads(line) for line in (sink / "heaps.jsonl").read_text(encoding="utf-8").splitlines()]
        for heap in heaps:
            file = sink / heap.get("file", f"{heap['stream']}-{heap['cnt']}.bin")
            heap["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else None
        return finished.report, heaps

    def compare(self, heaps, expected):
        self.assertEqual(sorted((heap["stream"], heap["cnt"]) for heap in heaps), sorted(expected))
        for heap in heaps:
            wanted = expected[heap["stream"], heap["cnt"]]
            where = f"{heap['stream']} heap {heap['cnt']}"
            if wanted.get("unsized"):
                self.assertEqual((heap["complete"], heap["length"], heap["missing"]), (False, None, []), where)
            else:
                self.assertEqual(heap["complete"], wanted["complete"], where)
                self.assertEqual(heap["length"], wanted["length"], where)
            self.assertEqual(heap["received"], wanted["received"], where)
            self.assertEqual(heap["sha256"], wanted.get("sha256"), where)
            if wanted["complete"]:
                self.assertEqual(sorted(map(item_key, heap["items"])), sorted(map(item_key, wanted["items"])), where)

    def test_every_heap_arrives_item_by_item(self):
        for path in sorted(DATA.glob("*.pcap")):
            name = path.stem
            if name in ("four-groups", "broken"):
                continue
            with self.subTest(capture=name):
                _, heaps = self.receive(path, "--max-heaps", "32")
                self.compare(heaps, self.expected(name))

    def test_groups_are_one_stream_as_a_range(self):
        _, heaps = self.receive(DATA / "four-groups.pcap", "--max-heaps", "32", endpoint="239.10.10.0+3:7148")
        self.compare(heaps, self.expected("four-groups"))

    def test_groups_are_streams_of_their_own_as_arguments(self):
        endpoints = " ".join(f"239.10.10.{i}:7148" for i in range(4))
        report, heaps = self.receive(DATA / "four-groups.pcap", endpoint=endpoints)
        by_count = {cnt: heap for (_, cnt), heap in self.expected("four-groups").items()}
        self.assertEqual(sorted(heap["cnt"] for heap in heaps), sorted(by_count))
        self.assertEqual(len({heap["stream"] for heap in heaps}), 4)
        for heap in heaps:
            self.assertEqual(heap["sha256"], by_count[heap["cnt"]]["sha256"])
        self.assertEqual([stream["packets"]["control"] for stream in report["streams"]], [1, 1, 1, 1])

    def test_joint_makes_the_arguments_one_stream(self):
        endpoints = " ".join(f"239.10.10.{i}:7148" for i in range(4))
        report, heaps = self.receive(DATA / "four-groups.pcap", "--joint", "--max-heaps", "32", endpoint=endpoints)
        self.compare(heaps, self.expected("four-groups"))
        self.assertEqual(len(report["streams"]), 1)

    def mangled(self, name, change):
        header, frames = read_pcap(DATA / f"{name}.pcap")
        path = self.directory / f"{name}-mangled.pcap"
        write_pcap(path, header, change(frames))
        return path

    def test_packets_shuffled_within_a_window_change_nothing(self):
        for seed, window in ((1, 4), (2, 16), (3, 64)):
            source = random.Random(seed)

            def shuffle(frames, source=source, window=window):
                order = sorted(range(len(frames)), key=lambda i: i + source.uniform(0, window))
                return [frames[i] for i in order]

            for name in ("one-item-64-40", "items-64-48", "pointers-split", "repeat-pointers", "pyspead"):
                with self.subTest(capture=name, seed=seed):
                    _, heaps = self.receive(self.mangled(name, shuffle), "--max-heaps", "64")
                    self.compare(heaps, self.expected(name))

    def test_every_packet_doubled_changes_nothing_but_duplicates(self):
        for name in ("one-item-64-40", "items-64-48", "single-packet", "jumbo-64-48"):
            with self.subTest(capture=name):
                doubled = self.mangled(name, lambda frames: [frame for frame in frames for _ in range(2)])
                report, heaps = self.receive(doubled)
                self.compare(heaps, self.expected(name))
                packets = report["streams"][0]["packets"]
                self.assertEqual(packets["duplicate"] * 2, packets["received"])

    def test_a_repetition_at_the_end_is_all_duplicates(self):
        for name in ("one-item-64-40", "items-64-48", "single-packet"):
            with self.subTest(capture=name):
                report, heaps = self.receive(self.mangled(name, lambda frames: frames + frames))
                self.compare(heaps, self.expected(name))
                packets = report["streams"][0]["packets"]
                self.assertEqual(packets["duplicate"] * 2, packets["received"])

    def test_without_history_a_repetition_is_new_heaps_in_files_of_their_own(self):
        report, heaps = self.receive(self.mangled("single-packet", lambda frames: frames + frames), "--history", "0")
        expected = self.expected("single-packet")
        self.assertEqual(len(heaps), 2 * len(expected))
        self.assertEqual(report["streams"][0]["packets"]["duplicate"], 0)
        for heap in heaps:
            self.assertEqual(heap["sha256"], expected["s0", heap["cnt"]]["sha256"])

    def test_lost_packets_leave_exactly_their_bytes_missing(self):
        header, frames = read_pcap(DATA / "one-item-64-40.pcap")
        for seed in range(5):
            source = random.Random(seed)
            kept = [frame for frame in frames if source.random() >= 0.15]
            path = self.directory / f"loss{seed}.pcap"
            write_pcap(path, header, kept)
            # Per heap, the payload bytes of the packets that were kept; these packets have the specials first.
            arrived = {}
            for frame in kept:
                words = struct.unpack_from(">4Q", frame, 50)
                cnt, _, offset, length = (word & ((1 << 40) - 1) for word in words)
                arrived.setdefault(cnt, set()).update(range(offset, offset + length))
            with self.subTest(seed=seed):
                _, heaps = self.receive(path, "--max-heaps", "8")
                expected = self.expected("one-item-64-40")
                for heap in heaps:
                    wanted = expected["s0", heap["cnt"]]
                    here = arrived.pop(heap["cnt"])
                    missing = {i for begin, end in heap["missing"] for i in range(begin, end)}
                    self.assertEqual(missing, set(range(wanted["length"])) - here)
                    self.assertEqual(heap["complete"], not missing)
                    self.assertEqual(heap["received"], len(here))
                self.assertFalse([cnt for cnt in arrived if ("s0", cnt) in expected], "heaps that never came out")

    def test_broken_packets_around_real_heaps_change_nothing_but_counters(self):
        report, heaps = self.receive(DATA / "broken.pcap", "--max-heaps", "128")
        heaps = [heap for heap in heaps if heap["complete"]]
        self.compare(heaps, {key: heap for key, heap in self.expected("broken").items() if heap["complete"]})
        counters = json.loads((DATA / "broken.kinds.json").read_text(encoding="utf-8"))["counters"]
        port, stream = report["ports"][0]["rx"], report["streams"][0]["packets"]
        for name, least in counters.items():
            where, _, counter = name.partition(".")
            found = (port if where == "port" else stream)[counter]
            self.assertGreaterEqual(found, least, name)


if __name__ == "__main__":
    harness.main()
