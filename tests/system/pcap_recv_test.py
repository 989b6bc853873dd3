#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`dpdk-spead recv` from pcap files that the test writes: what arrives in the file sink, and how packets count."""

import json
import random

import harness
import wire

GROUP = "239.1.1.1"
ENDPOINT = f"{GROUP}:7148"


class Received:
    """The files that `--sink file:DIR` left: the lines of heaps.jsonl and the payloads."""

    def __init__(self, directory):
        self.directory = directory
        self.heaps = [json.loads(line) for line in (directory / "heaps.jsonl").read_text(encoding="utf-8").splitlines()]

    def complete(self, stream="s0"):
        """{heap count: payload}"""
        return {
            heap["cnt"]: (self.directory / f"{stream}-{heap['cnt']}.bin").read_bytes()
            for heap in self.heaps
            if heap["complete"] and heap["stream"] == stream
        }


class PcapTest(harness.ProgramTest):
    def receive(self, frames, *options, endpoints=(ENDPOINT,), status=0):
        """recv of these frames into files; (report, Received)"""
        capture = self.directory / f"in{self._runs}.pcap"
        sink = self.directory / f"out{self._runs}"
        wire.write_pcap(capture, frames)
        finished = self.run_program("recv", *endpoints, "--port", f"net_pcap0,rx_pcap={capture}", "--sink",
                                    f"file:{sink}", *options, status=status)
        return finished.report, Received(sink)


def payloads(count, size, seed=1):
    """{heap count: random payload}"""
    source = random.Random(seed)
    return {number: source.randbytes(size) for number in range(1, count + 1)}


def frames_of(heaps, **options):
    return [wire.frame(data, GROUP) for number, payload in heaps.items() for data in
            wire.heap(number, payload, **options)]


class Files(PcapTest):
    def test_every_heap_arrives_byte_for_byte_and_the_run_ends_by_itself(self):
        heaps = payloads(20, 10000)
        report, received = self.receive(frames_of(heaps))
        self.assertEqual(received.complete(), heaps)
        self.assert_stream(report, "s0", received=200, placed=200, started=20, complete=20, live=0, delivered=20)
        port = report["ports"][0]
        self.assertEqual((port["rx"]["packets"], port["driver"]), (200, "net_pcap"))

    def test_items_are_told_in_the_order_a_reader_needs(self):
        payload = bytes(range(200)) * 10
        items = [(wire.IMMEDIATE, 0x1001, 12), (wire.ADDRESSED, 0x1002, 500), (wire.ADDRESSED, 0x1003, 0),
                 (wire.IMMEDIATE, wire.NULL, 0), (wire.ADDRESSED, 0x1004, 2000)]
        for bits in (40, 48):
            with self.subTest(bits=bits):
                frames = [wire.frame(data, GROUP) for data in wire.heap(9, payload, items, bits=bits)]
                _, received = self.receive(frames)
                self.assertEqual(len(received.heaps), 1)
                line = received.heaps[0]
                self.assertEqual((line["stream"], line["cnt"], line["complete"]), ("s0", 9, True))
                self.assertEqual((line["length"], line["received"], line["missing"]), (2000, 2000, []))
                addressed = [item for item in line["items"] if "offset" in item]
                self.assertEqual(addressed, [{"id": 0x1003, "offset": 0, "length": 500},
                                             {"id": 0x1002, "offset": 500, "length": 1500}])
                self.assertEqual([item for item in line["items"] if "immediate" in item],
                                 [{"id": 0x1001, "immediate": 12}])

    def test_a_jumbo_heap_in_several_segments(self):
        heaps = payloads(10, 100000)
        _, received = self.receive(frames_of(heaps, packet_payload=8900))
        self.assertEqual(received.complete(), heaps)

    def test_without_a_history_a_repeated_heap_count_is_a_new_heap_and_a_second_file(self):
        heaps = payloads(2, 3000)
        capture, sink = self.directory / "in.pcap", self.directory / "out"
        wire.write_pcap(capture, frames_of(heaps) + frames_of({1: bytes(3000)}))
        configuration = self.directory / "recv.toml"
        configuration.write_text(
            f"""version = 1
            [[port]]
            name = "p0"
            device = "net_pcap0,rx_pcap={capture}"
            [[receive]]
            name = "s0"
            port = "p0"
            endpoints = ["{ENDPOINT}"]
            [receive.heaps]
            history = 0
            [receive.sink]
            kind = "file"
            directory = "{sink}"
            """, encoding="utf-8")
        report = self.run_program("run", "--config", configuration).report
        self.assert_stream(report, "s0", started=3, complete=3, duplicate=0)
        self.assertEqual(Received(sink).complete(), heaps)
        second = [file for file in sink.iterdir() if file.name.startswith("s0-1") and file.name != "s0-1.bin"]
        self.assertEqual([file.read_bytes() for file in second], [bytes(3000)])

    def test_streams_are_told_apart_by_group_and_port(self):
        one, two = payloads(3, 5000, 1), payloads(3, 5000, 2)
        frames = []
        for number in one:
            for left, right in zip(wire.heap(number, one[number]), wire.heap(number, two[number])):
                frames += [wire.frame(left, "239.1.1.1"), wire.frame(right, "239.1.1.2"),
                           wire.frame(left, "239.1.1.3"), wire.frame(left, "239.1.1.1", port=7149)]
        report, received = self.receive(frames, endpoints=("239.1.1.1:7148", "239.1.1.2:7148"))
        self.assertEqual(received.complete("s0"), one)
        self.assertEqual(received.complete("s1"), two)
        self.assertEqual(report["ports"][0]["rx"]["unmatched"], 30)

    def test_a_range_is_one_stream(self):
        heaps = payloads(8, 5000)
        for stem, endpoint in (("239.1.1.", "239.1.1.0+3:7148"), ("ff15::", "[ff15::]+3:7148")):
            with self.subTest(endpoint=endpoint):
                frames = [wire.frame(data, f"{stem}{number % 4}") for number, payload in heaps.items()
                          for data in wire.heap(number, payload)]
                report, received = self.receive(frames, endpoints=(endpoint,))
                self.assertEqual(received.complete(), heaps)
                self.assertEqual(len(report["streams"]), 1)

    def test_a_named_source_excludes_others(self):
        heaps, others = payloads(3, 4000, 1), payloads(3, 4000, 2)
        for group, ours, another, endpoint in ((GROUP, "10.0.0.7", "10.0.0.8", "239.1.1.1:7148@10.0.0.7"),
                                               ("ff15::1", "fd00::7", "fd00::8", "[ff15::1]:7148@fd00::7")):
            with self.subTest(endpoint=endpoint):
                frames = [wire.frame(data, group, source=ours) for number in heaps for data in
                          wire.heap(number, heaps[number])]
                frames += [wire.frame(data, group, source=another) for number in others for data in
                           wire.heap(number, others[number])]
                report, received = self.receive(frames, endpoints=(endpoint,))
                self.assertEqual(received.complete(), heaps)
                self.assertEqual(report["ports"][0]["rx"]["unmatched"], 12)


class Trouble(PcapTest):
    def test_shuffled_within_a_window(self):
        heaps = payloads(20, 20000)
        frames = frames_of(heaps)
        source = random.Random(7)
        for start in range(0, len(frames), 40):
            window = frames[start : start + 40]
            source.shuffle(window)
            frames[start : start + 40] = window
        report, received = self.receive(frames)
        self.assertEqual(received.complete(), heaps)
        self.assert_stream(report, "s0", complete=20, evicted=0, duplicate=0, placed=len(frames))

    def test_every_packet_doubled(self):
        heaps = payloads(20, 20000)
        frames = [copy for frame in frames_of(heaps) for copy in (frame, frame)]
        report, received = self.receive(frames)
        self.assertEqual(received.complete(), heaps)
        self.assert_stream(report, "s0", started=20, complete=20, duplicate=len(frames) // 2)

    def test_all_of_it_again_at_the_end(self):
        heaps = payloads(20, 20000)
        frames = frames_of(heaps)
        report, received = self.receive(frames + frames)
        self.assertEqual(received.complete(), heaps)
        self.assert_stream(report, "s0", started=20, complete=20, duplicate=len(frames))

    def test_single_packet_heaps_doubled_are_delivered_once(self):
        heaps = payloads(100, 800)
        frames = [copy for frame in frames_of(heaps) for copy in (frame, frame)]
        report, received = self.receive(frames)
        self.assertEqual(received.complete(), heaps)
        self.assert_stream(report, "s0", started=100, complete=100, duplicate=100)

    def test_losses_leave_incomplete_heaps_that_say_what_is_missing(self):
        heaps = payloads(10, 10240)
        frames = []
        for number, payload in heaps.items():
            packets = wire.heap(number, payload)
            if number in (3, 7):
                del packets[4:6]
            frames += [wire.frame(data, GROUP) for data in packets]
        report, received = self.receive(frames)
        self.assertEqual(received.complete(), {n: p for n, p in heaps.items() if n not in (3, 7)})
        for line in received.heaps:
            if not line["complete"]:
                self.assertEqual((line["length"], line["received"]), (10240, 8192))
                self.assertEqual(line["missing"], [[4096, 6144]])
        self.assertEqual([line["cnt"] for line in received.heaps if not line["complete"]], [3, 7])
        self.assert_stream(report, "s0", started=10, complete=8)

    def test_strict_order_drops_what_is_out_of_order(self):
        heaps = payloads(1, 10240)
        frames = frames_of(heaps)
        frames[3], frames[4] = frames[4], frames[3]
        report, _ = self.receive(frames, "--in-order")
        stream = self.assert_stream(report, "s0", started=1, complete=0)
        self.assertGreater(stream["packets"]["out_of_order"], 0)

    def test_a_stop_item_does_not_stop_by_default(self):
        heaps = payloads(4, 5000)
        frames = frames_of({1: heaps[1], 2: heaps[2]}) + [wire.frame(wire.stop(1000), GROUP)]
        frames += frames_of({3: heaps[3], 4: heaps[4]})
        report, received = self.receive(frames)
        self.assertEqual(received.complete(), heaps)
        self.assert_stream(report, "s0", control=1, complete=4, started=4)

    def test_a_stop_item_stops_when_asked_to(self):
        heaps = payloads(4, 5000)
        packets = [data for number in (1, 2) for data in wire.heap(number, heaps[number])] + [wire.stop(1000)]
        packets += [data for number in (3, 4) for data in wire.heap(number, heaps[number])]
        for group, endpoint in ((GROUP, ENDPOINT), ("ff15::1", "[ff15::1]:7148")):
            with self.subTest(endpoint=endpoint):
                report, received = self.receive([wire.frame(data, group) for data in packets], "--stop-on-stop-item",
                                                endpoints=(endpoint,))
                self.assertEqual(received.complete(), {1: heaps[1], 2: heaps[2]})
                self.assert_stream(report, "s0", stopped=10, complete=2)

    def test_hostile_packets_change_nothing_but_counters(self):
        heaps = payloads(50, 20000)
        source = random.Random(11)
        good = frames_of(heaps)
        frames, bad = [], 0
        for frame in good:
            frames.append(frame)
            for _ in range(source.randrange(4)):
                frames.append(self.hostile(source, frame))
                bad += 1
        report, received = self.receive(frames)
        self.assertEqual(received.complete(), heaps)
        stream = self.assert_stream(report, "s0", started=50, complete=50, placed=len(good))
        rx = report["ports"][0]["rx"]
        self.assertEqual(rx["packets"], len(frames))
        refused = sum(count for name, count in rx.items() if name not in ("packets", "bytes"))
        self.assertEqual(refused + stream["packets"]["received"] - stream["packets"]["placed"], bad)
        for where in (rx["malformed"], rx["not_udp"], rx["fragment"], rx["unmatched"], rx["bad_checksum"],
                      stream["packets"]["malformed"], stream["packets"]["heap_too_big"]):
            self.assertGreater(where, 0, json.dumps([rx, stream], indent=1))

    @staticmethod
    def hostile(source, frame):
        """A packet that must not touch any heap: each kind is wrong in a way that no byte of it can fix."""
        kind = source.randrange(9)
        payload = wire.udp_payload(frame)
        if kind == 0:  # shorter than its headers say
            return frame[: source.randrange(14, len(frame) - 1)]
        if kind == 1:  # not IPv4
            return frame[:12] + b"\x88\xcc" + frame[14:]
        if kind == 2:  # the IP header's sum is wrong
            return frame[:24] + bytes([frame[24] ^ 0x55]) + frame[25:]
        if kind == 3:  # a fragment
            data = bytearray(frame)
            data[20], data[24:26] = 0x20, b"\0\0"
            data[24:26] = wire.checksum(bytes(data[14:34])).to_bytes(2, "big")
            return bytes(data)
        if kind == 4:  # nobody's group
            return wire.frame(payload, "239.99.99.99")
        if kind == 5:  # noise
            return wire.frame(b"\x00" + source.randbytes(source.randrange(0, 1400)), GROUP)
        if kind == 6:  # widths that do not add up
            return wire.frame(payload[:2] + b"\x05\x05" + payload[4:], GROUP)
        if kind == 7:  # more item pointers than bytes
            return wire.frame(payload[:6] + b"\xff\xff" + payload[8:], GROUP)
        huge = wire.packet(source.randrange(10**6, 10**9), 0, b"x" * 100, 2**40 - 1)
        return wire.frame(huge, GROUP)

    def test_sizes_above_the_limits_are_counted_as_such(self):
        heaps = payloads(4, 3000)
        frames = frames_of(heaps)
        frames += [wire.frame(data, GROUP) for data in wire.heap(100, bytes(8000), packet_payload=4000)]
        frames += [wire.frame(data, GROUP) for data in wire.heap(101, bytes(70000))]
        report, received = self.receive(frames, "--max-packet-size", 2000, "--max-heap-bytes", "64KiB")
        self.assertEqual(received.complete(), heaps)
        self.assert_stream(report, "s0", oversize=2, heap_too_big=69, started=4)


class BadFiles(PcapTest):
    def refuse(self, capture, *says, **options):
        return self.refused("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}", status=1,
                            says=(str(capture), *says), **options)

    def test_a_file_that_is_not_there(self):
        self.refuse(self.directory / "absent.pcap", "no such file")

    def test_a_file_that_is_no_capture(self):
        path = self.directory / "noise.pcap"
        path.write_bytes(b"this is no capture file, whatever its name says" * 10)
        self.refuse(path)

    def test_an_empty_file(self):
        path = self.directory / "empty.pcap"
        path.write_bytes(b"")
        self.refuse(path)

    def test_a_linux_cooked_capture(self):
        path = self.directory / "cooked.pcap"
        wire.write_pcap(path, frames_of(payloads(1, 1000)), link_type=113)
        self.refuse(path, "ethernet")

    def test_a_truncated_file(self):
        path = self.directory / "truncated.pcap"
        wire.write_pcap(path, frames_of(payloads(5, 5000)))
        path.write_bytes(path.read_bytes()[:-100])
        finished = self.run_program("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={path}", status=None)
        self.assertIn(f"its source {path} is truncated: it ends inside record", finished.err, str(finished))

    def test_a_capture_without_packets_is_an_empty_run(self):
        report, received = self.receive([])
        self.assertEqual(received.heaps, [])
        self.assert_stream(report, "s0", received=0, started=0)


if __name__ == "__main__":
    harness.main()
