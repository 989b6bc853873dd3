#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`dpdk-spead recv` from sources that can wait, with little memory: nothing is lost, or the start says why it would be."""

import random

import harness
import wire

GROUP = "239.1.2.3"
ENDPOINT = f"{GROUP}:7148"


class LosslessTest(harness.ProgramTest):
    def sent(self, *options):
        """A capture of what our own sender sends."""
        capture = self.directory / f"sent{self._runs}.pcap"
        self.run_program("send", ENDPOINT, "--port", f"net_pcap0,tx_pcap={capture}", "--verify", *options)
        return capture

    def written(self, packets, group=GROUP):
        capture = self.directory / f"written{self._runs}.pcap"
        wire.write_pcap(capture, [wire.frame(packet, group) for packet in packets])
        return capture

    def receive(self, capture, *options, endpoints=(ENDPOINT,), sink="verify", status=0):
        return self.run_program("recv", *endpoints, "--port", f"net_pcap0,rx_pcap={capture}", "--sink", sink, *options,
                                status=status)

    def assert_nothing_lost(self, finished, complete, **expected):
        stream = self.assert_stream(finished.report, "s0", complete=complete, delivered=complete, evicted=0, flushed=0,
                                    no_memory=0, dropped_full=0, late=0, **expected)
        return stream


class SmallMemory(LosslessTest):
    def test_16_kib_heaps_in_384_kib(self):
        capture = self.sent("--heap-size", "16KiB", "--heaps", 3000)
        # The first heap carries descriptors besides, and is larger than it may be.
        self.assert_nothing_lost(self.receive(capture, "--memory", "384KiB", "--max-heap-bytes", "16KiB"), 2999,
                                 heap_too_big=12)

    def test_32_kib_heaps_in_320_kib(self):
        capture = self.sent("--heap-size", "32KiB", "--heaps", 3000)
        self.assert_nothing_lost(self.receive(capture, "--memory", "320KiB", "--max-heap-bytes", "32KiB"), 2999,
                                 heap_too_big=24)

    def test_a_stream_among_2000_in_the_default_memory(self):
        capture = self.sent("--heap-size", "128KiB", "--heaps", 300)
        others = [f"239.9.{i // 256}.{i % 256}:7148" for i in range(1999)]
        self.assert_nothing_lost(self.receive(capture, endpoints=(ENDPOINT, *others)), 300)

    def test_heaps_in_flight_that_need_more_than_the_share_of_their_stream(self):
        # Streams share 320 MiB, 5 MiB each; four heaps of one of them are in flight at once, and take 8 MiB.
        heaps = [wire.heap(count, bytes(1_100_000)) for count in range(1, 13)]
        packets = [packet for at in range(0, 12, 4) for four in zip(*heaps[at:at + 4]) for packet in four]
        others = [f"239.9.0.{i}:7148" for i in range(63)]
        self.assert_nothing_lost(self.receive(self.written(packets), "--memory", "320MiB", sink="null",
                                              endpoints=(ENDPOINT, *others)), 12)

    def test_heaps_of_very_different_sizes(self):
        source = random.Random(4)
        sizes = [source.choice((64, 700, 30_000, 120_000)) for _ in range(1500)]
        packets = [packet for count, size in enumerate(sizes, 1) for packet in wire.heap(count, bytes(size))]
        for memory in ("640KiB", "1MiB"):
            with self.subTest(memory=memory):
                finished = self.receive(self.written(packets), "--memory", memory, "--max-heap-bytes", "128KiB",
                                        sink=f"file:{self.directory / memory}")
                self.assert_nothing_lost(finished, 1500)

    def test_heaps_of_many_items_and_unknown_length(self):
        packets = []
        for count in range(1, 301):
            items = [(wire.IMMEDIATE, 0x1000 + i, i) for i in range(100)]
            packets.append(wire.packet(count, 0, bytes(1000), None, items))
            packets += [wire.packet(count, at, bytes(1000)) for at in range(1000, 19_000, 1000)]
            packets.append(wire.packet(count, 19_000, bytes(1000), 20_000))
        self.assert_nothing_lost(self.receive(self.written(packets), "--memory", "192KiB", "--max-heap-bytes", "32KiB",
                                              sink="null"), 300)


class Refused(LosslessTest):
    def test_memory_that_cannot_hold_the_heaps_in_flight(self):
        capture = self.written(wire.heap(1, bytes(1000)))
        for check in ((), ("--check",)):
            for memory, limits, says in (
                    ("128KiB", ("--max-heap-bytes", "32KiB"), ("4 heaps", "32 KiB", "160 KiB", "128 KiB")),
                    ("128KiB", ("--max-heap-bytes", "20KiB"), ("32 KiB", "160 KiB", "--memory")),
                    ("1MiB", ("--max-heap-bytes", "64KiB", "--substreams", "4"), ("16 heaps", "1088 KiB")),
            ):
                with self.subTest(check=check, memory=memory, limits=limits):
                    self.refused("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}", "--memory", memory,
                                 *limits, *check, says=says)

    def test_the_same_memory_where_packets_may_be_dropped(self):
        capture = self.written(wire.heap(1, bytes(1000)))
        self.receive(capture, "--memory", "128KiB", "--max-heap-bytes", "32KiB", "--on-full", "drop_newest",
                     sink="null")


if __name__ == "__main__":
    harness.main()
