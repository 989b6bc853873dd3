#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`send --pattern`: heaps with the items, sizes and order of a telescope, read back from a capture file byte by byte,
and through `recv`, `loopback` and a lossy port."""

import collections
import json
import struct

import harness
import wire

BITS = 48
TIMESTAMP, DIGITISER_ID, STATUS, FENG_ID, FREQUENCY = 0x1600, 0x3101, 0x3102, 0x4101, 0x4103
SAMPLES, CHANNELS, VISIBILITIES = 0x3300, 0x4300, 0x1800
PERIOD, STRIDE = wire.MINSTD_M - 1, 1327217887
NUMBERS = {"p1": 1, "p2": 2, "p3": 3, "p3b": 4, "p4": 5}

Packet = collections.namedtuple("Packet", "to count length offset items payload")


def parse(frame):
    """A data packet of SPEAD-64-48: items are {id: immediate value}, {id: (offset,)} if addressed."""
    udp = wire.udp_payload(frame)
    assert udp[:6] == bytes([0x53, 4, 2, 6, 0, 0]), udp[:8].hex()
    pointers = struct.unpack(f">{udp[7]}Q", udp[8 : 8 + 8 * udp[7]])
    items = {}
    for pointer in pointers:
        item, value = (pointer & (2**63 - 1)) >> BITS, pointer & (2**BITS - 1)
        assert item not in items
        items[item] = value if pointer >> 63 else (value,)
    payload = udp[8 + 8 * udp[7] :]
    assert items.pop(wire.PAYLOAD_LENGTH) == len(payload)
    return Packet(".".join(map(str, frame[30:34])), items.pop(wire.HEAP_CNT), items.pop(wire.HEAP_LENGTH),
                  items.pop(wire.PAYLOAD_OFFSET), items, payload)


def expected_payload(pattern, time, group, sender, size):
    """The payload of a heap as docs/patterns.md specifies it."""
    start = (time * 2**20 + group * 4096 + sender) % PERIOD * STRIDE % PERIOD
    value = pow(wire.MINSTD_A, start, wire.MINSTD_M)
    result = bytearray()
    for _ in range((size + 3) // 4):
        value = value * wire.MINSTD_A % wire.MINSTD_M
        result += struct.pack(">I", value)
    for block in range((size + 511) // 512):
        name = struct.pack(">HHIBBHI", 0x5EAD, time >> 32, time & (2**32 - 1), NUMBERS[pattern], group, sender, block)
        result[block * 512 : block * 512 + 16] = name
    return bytes(result[:size])


class Pattern(harness.ProgramTest):
    def sent(self, pattern, endpoints, *words):
        """Data packets that `send` writes, without those of the stop heaps."""
        capture = self.directory / f"sent{self._runs}.pcap"
        finished = self.run_program("send", endpoints, "--pattern", pattern, *words, "--port",
                                    f"net_pcap0,tx_pcap={capture}")
        packets = [parse(frame) for frame in wire.read_pcap(capture)]
        data = [packet for packet in packets if wire.STREAM_CTRL not in packet.items]
        self.assertEqual(finished.report["sends"][0]["info"]["control_heaps"], len(packets) - len(data))
        return data

    def heaps(self, packets, repeated):
        """(count, destination, items, payload) of each heap, by count; each packet once, none missing."""
        by_count = collections.OrderedDict()
        for packet in packets:
            by_count.setdefault(packet.count, []).append(packet)
        result = []
        for count, parts in sorted(by_count.items()):
            payload = b"".join(part.payload for part in parts)
            self.assertEqual([part.offset for part in parts],
                             [sum(len(p.payload) for p in parts[:i]) for i in range(len(parts))])
            self.assertEqual({part.length for part in parts}, {len(payload)})
            self.assertEqual(len({part.to for part in parts}), 1)
            for part in parts[1:]:
                self.assertEqual(part.items, parts[0].items if repeated else {})
            result.append((count, parts[0].to, parts[0].items, payload))
        return result

    def test_digitisers(self):
        # 2 antennas of 2 polarisations, each to 3 groups in turn.
        packets = self.sent("p1", "239.102.0.0+11:7148", "--senders", 4, "--heaps", 40, "--first-time", 5)
        heaps = self.heaps(packets, True)
        self.assertEqual(len(packets), 40, "one packet a heap")
        self.assertEqual([count for count, *_ in heaps], list(range(1, 41)))
        clipped = 0
        for i, (_, to, items, payload) in enumerate(heaps):
            time, sender = 5 + i // 4, i % 4
            clipped += items[STATUS] >> 32
            self.assertEqual(items[STATUS] & 0xFFFFFFFF, 2 if items[STATUS] >> 32 else 0)
            del items[STATUS]
            self.assertEqual(items, {TIMESTAMP: time * 4096, DIGITISER_ID: sender // 2 << 2 | sender % 2,
                                     SAMPLES: (0,)})
            self.assertEqual(to, f"239.102.0.{sender * 3 + time % 3}")
            self.assertEqual(payload, expected_payload("p1", time, 0, sender, 5120))
        self.assertGreater(clipped, 0)
        self.assertEqual(max(len(p.payload) for p in packets), 5120)

    def test_several_digitisers_share_a_group(self):
        for endpoints, expected in (("239.102.0.0:7148", [0] * 8), ("239.102.0.0+1:7148", [0, 0, 0, 0, 1, 1, 1, 1])):
            heaps = self.heaps(self.sent("p1", endpoints, "--heaps", 8), True)
            self.assertEqual([int(to.split(".")[3]) for _, to, *_ in heaps], expected)

    def test_timestamps_wrap(self):
        last = 2**48 // 4096 - 1
        heaps = self.heaps(self.sent("p1", "239.1.1.1:7148", "--senders", 1, "--heaps", 3, "--first-time", last), True)
        self.assertEqual([items[TIMESTAMP] for _, _, items, _ in heaps], [last * 4096, 0, 4096])

    def check_channels(self, pattern, repeated, step, channels, data, size, packet_payload, item_names):
        words = ["--repeat-items"] if repeated else []
        packets = self.sent(pattern, "239.9.0.0+1:7148", "--senders", 3 if FENG_ID in item_names else 1, "--heaps", 12,
                            "--heap-size", size, *words)
        senders = 3 if FENG_ID in item_names else 1
        for i, (_, to, items, payload) in enumerate(self.heaps(packets, repeated)):
            time, group, sender = i // senders // 2, i // senders % 2, i % senders
            values = {TIMESTAMP: time * step, FREQUENCY: group * channels, FENG_ID: sender, data: (0,)}
            self.assertEqual(items, {item: values[item] for item in (*item_names, data)})
            self.assertEqual(to, f"239.9.0.{group}")
            self.assertEqual(payload, expected_payload(pattern, time, group, sender, size))
        if repeated:
            self.assertEqual({len(p.payload) for p in packets}, {packet_payload})
        else:
            self.assertEqual({len(p.payload) for p in packets if p.offset == 0}, {packet_payload})
        return packets

    def test_channels_and_visibilities(self):
        with_feng = (TIMESTAMP, FENG_ID, FREQUENCY)
        for repeated in (False, True):
            for case in (("p2", 2**21, 256, CHANNELS, 4096, 1024, with_feng),
                         ("p3", 2**21, 512, CHANNELS, 65536, 8192, with_feng),
                         ("p3b", 2**21, 32, CHANNELS, 4096, 4096, with_feng),
                         ("p4", 408 * 2**21, 512, VISIBILITIES, 81920, 8192, (TIMESTAMP, FREQUENCY))):
                with self.subTest(case=case, repeated=repeated):
                    self.check_channels(case[0], repeated, *case[1:])

    def test_packets_of_the_antennas_come_in_turn(self):
        packets = self.sent("p3", "239.9.0.0:7148", "--senders", 4, "--heaps", 8, "--repeat-items")
        self.assertEqual([p.items[FENG_ID] for p in packets[:8]], [0, 1, 2, 3, 0, 1, 2, 3])
        times = [p.items[TIMESTAMP] for p in packets]
        self.assertEqual(times, sorted(times))

    def test_the_verify_sink_checks_every_heap(self):
        for pattern, *words in (("p1", "--heaps", 800), ("p2", "--heaps", 40, "--heap-size", "16KiB", "--senders", 8),
                                ("p3b", "--heaps", 1000, "--senders", 100), ("p4", "--heaps", 6, "--heap-size", "1MiB")):
            with self.subTest(pattern=pattern):
                report = self.run_program("loopback", "239.1.1.0+1:7148", "--joint", "--pattern", pattern, *words).report
                self.assertEqual(report["streams"][0]["info"]["verified"], words[1])
                self.assertEqual(report["streams"][0]["info"]["wrong"], 0)

    def test_wrong_bytes_of_a_pattern_are_found(self):
        report = self.run_program("loopback", "239.1.1.0:7148", "--pattern", "p1", "--heaps", 2000, "--impair",
                                  "corrupt=5%,seed=3", status=None).report
        info = report["streams"][0]["info"]
        self.assertGreater(info["wrong"], 0)
        self.assertGreater(info["verified"], 1000)

    def test_lost_packets_are_lost_heaps(self):
        # A pattern is impaired as any sender is.
        report = self.run_program("loopback", "239.1.1.0:7148", "--pattern", "p1", "--heaps", 4000, "--impair",
                                  "loss=10%,seed=1", status=None).report
        stream, sent = report["streams"][0], report["sends"][0]
        self.assertEqual(sent["heaps"], 4000)
        self.assertEqual(stream["info"]["wrong"], 0)
        self.assertTrue(3400 < stream["info"]["verified"] < 3800, stream["info"])

    def test_the_benchmark_places_every_byte(self):
        file = self.directory / "bench.json"
        self.run_program("bench", "chunks", "--set", "4MiB", "--time", "1ms", "--rounds", 2, "--json", file,
                         report=False, timeout=120)
        rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
        self.assertEqual([row["pattern"] for row in rows], list(NUMBERS))
        for row in rows:
            self.assertTrue(row["exact"], row)
            self.assertEqual(row["packets"] % (row["heap"] // row["payload"]), 0)
        for words, says in ((("--pattern", "p1,p9"), ["--pattern", "p9"]), (("--pattern", "none"), ["`none`"])):
            self.refused("bench", "chunks", *words, says=says)

    def test_wrong_options(self):
        one = ("send", "239.1.1.0:7148", "--port", "net_null0")
        three = ("send", "239.1.1.0+2:7148", "--port", "net_null0")
        for words, says in (
            ((*one, "--pattern", "p7"), ["--pattern", "p3b"]),
            ((*one, "--senders", 4), ["--senders", "pattern"]),
            ((*one, "--first-time", 4), ["--first-time", "pattern"]),
            ((*three, "--pattern", "p1"), ["3 endpoints", "8 senders"]),
            ((*one, "--pattern", "p4", "--senders", 2), ["--senders", "p4"]),
            ((*one, "--pattern", "p1", "--items", 2), ["--items", "p1"]),
            ((*one, "--pattern", "p1", "--addr-bits", 40), ["--addr-bits", "48"]),
            ((*one, "--pattern", "p1", "--senders", 5000), ["--senders", "4096"]),
            (("send", "239.1.0.0+256:7148", "--port", "net_null0", "--pattern", "p3"), ["257", "256"]),
            ((*one, "--repeat-items", "--max-packet-size", 64), ["--repeat-items", "64"]),
            ((*one, "--pattern", "p2", "--repeat-items", "--max-packet-size", 80), ["--repeat-items", "80"]),
        ):
            with self.subTest(words=words):
                self.refused(*words, says=says)


if __name__ == "__main__":
    harness.main()
