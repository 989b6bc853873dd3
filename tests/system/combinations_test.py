#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two paths together with IPv6, fragments, formats and two lcores. Packets are lost, shuffled and repeated at random on both
paths, and every count is that of a model."""

import collections
import os
import random
import struct
import unittest

import harness
import wire
from formats_test import read_chunks
from pcap_recv_test import Received

LOSS = 0.05
ENDS = {"4": ("239.1.1.1", "239.129.1.1"), "6": ("ff15::1", "ff15:1::1")}


def fragments(data, group, source, ident, size=1000):
    """The frames of a datagram of IPv6, whole or in fragments of `size` bytes."""
    whole = wire.frame(data, group, source=source)
    ethernet, head, body = whole[:14], whole[14:54], whole[54:]
    if len(body) <= size:
        return [whole]
    made = []
    for at in range(0, len(body), size):
        part = struct.pack(">BBHI", 17, 0, at | (at + size < len(body)), ident) + body[at:at + size]
        made.append(ethernet + head[:4] + struct.pack(">HB", len(part), 44) + head[7:] + part)
    return made


class Path:
    """What one path brings of packets: some twice, some not. `came`: how many times each packet comes."""

    def __init__(self, source, packets, behind=8):
        order = [number for number in range(packets) for _ in range(2 if source.random() < 0.04 else 1)]
        order = [(at + source.uniform(0, behind), number) for at, number in enumerate(order) if source.random() > LOSS]
        self.order = [number for _, number in sorted(order)]
        self.came = collections.Counter(self.order)


class Fragmented:
    """The same, of fragments. Knows what comes of them when they are put together."""

    def __init__(self, source, datagrams, group, sources):
        pieces = []
        for number, data in enumerate(datagrams):
            for _ in range(2 if source.random() < 0.04 else 1):
                ident = source.getrandbits(32)
                frames = fragments(data, group, sources[number % len(sources)], ident)
                for part, frame in enumerate(frames):
                    for _ in range(2 if source.random() < 0.03 else 1):
                        pieces.append((number, ident, part, len(frames), frame))
        pieces = [(at + source.uniform(0, 8), *piece) for at, piece in enumerate(pieces) if source.random() > LOSS]
        pieces.sort()
        self.frames = [piece[-1] for piece in pieces]
        self.came = collections.Counter()
        self.counts = collections.Counter()
        datagrams = collections.defaultdict(set)
        for _, number, ident, part, parts, _ in pieces:
            if parts == 1:
                self.came[number] += 1
                continue
            have = datagrams[ident]
            self.counts["fragment"] += part in have
            if part not in have and len(have) == parts - 1:
                self.came[number] += 1
                self.counts["reassembled"] += parts - 1
                self.counts["datagrams"] += 1
                self.counts["incomplete"] -= parts - 1
            elif part not in have:
                self.counts["incomplete"] += 1
            have.add(part)


class Combinations(harness.ProgramTest):
    def assert_counts(self, report, paths):
        """The counts of two paths that bring packets so many times."""
        both = paths[0].keys() & paths[1].keys()
        there = paths[0].keys() | paths[1].keys()
        repeated = [came.total() - len(came) for came in paths]
        self.assert_stream(report, "s0", placed=len(there), redundant=len(both), duplicate=sum(repeated), late=0,
                           inconsistent=0, malformed=0)
        for came, again, path in zip(paths, repeated, report["streams"][0]["paths"]):
            expected = {"received": came.total(), "repeated": again, "late": 0, "missing": len(there) - len(came)}
            self.assertEqual({name: path[name] for name in expected}, expected)
        self.assertEqual(harness.broken_identities(report), [])
        return there

    def receive(self, paths, endpoints, port="", stream="", more=""):
        """Receives the frames of two paths. Returns the report, and the directory of the sink."""
        devices = []
        for number, frames in enumerate(paths):
            capture = self.directory / f"in{self._runs}-{number}.pcap"
            wire.write_pcap(capture, frames)
            devices.append(f"net_pcap{number},rx_pcap={capture}")
        plan, out = self.directory / f"plan{self._runs}.toml", self.directory / f"out{self._runs}"
        plan.write_text(f"""version = 1
[[port]]
name = "p0"
device = "{devices[0]}"
{port}
[[port]]
name = "p1"
device = "{devices[1]}"
{port}
[[receive]]
name = "s0"
paths = ["p0", "p1"]
endpoints = ["{endpoints[0]}"]
path_endpoints = ["{endpoints[1]}"]
path_skew = "20s"
{stream}
[receive.heaps]
max_live = 400
history_time = "20s"
[receive.sink]
kind = "file"
directory = "{out}"
{more}
""", encoding="utf-8")
        return self.run_program("run", "--config", plan).report, out


class Fragments(Combinations):
    def test_either_path_brings_whole_datagrams_of_ipv6_from_fragments(self):
        for seed in range(3):
            with self.subTest(seed=seed):
                source = random.Random(seed)
                heaps = {number: source.randbytes(source.choice((700, 4000, 9000))) for number in range(1, 201)}
                packets = [(number, data) for number, payload in heaps.items()
                           for data in wire.heap(number, payload, packet_payload=source.choice((900, 2000, 3500)))]
                paths = [Fragmented(source, [data for _, data in packets], group, ["fd00::1", "fd00::2", "fd00::3"])
                         for group in ENDS["6"]]
                report, out = self.receive([path.frames for path in paths], [f"[{group}]:7148" for group in ENDS["6"]],
                                           port="reassemble = true\nreassemble_datagrams = 4096")
                there = self.assert_counts(report, [path.came for path in paths])
                lost = {number for at, (number, _) in enumerate(packets) if at not in there}
                self.assertEqual(Received(out).complete(), {n: p for n, p in heaps.items() if n not in lost})
                for path, port in zip(paths, report["ports"]):
                    self.assertEqual({name: port["rx"][name] for name in ("fragment", "reassembled", "incomplete")},
                                     {name: path.counts[name] for name in ("fragment", "reassembled", "incomplete")})
                    self.assertEqual(port["info"]["reassembly"]["datagrams"], path.counts["datagrams"])
                    self.assertEqual(port["info"]["reassembly"]["held_now"], 0)


class Declared:
    """A format of fields at random places, with what packets of it look like."""

    WIDTHS = {1: "B", 2: "H", 4: "I", 8: "Q"}

    def __init__(self, source):
        self.source = source
        self.prefix = source.choice((0, 0, 4, 10))
        self.fields, at = {}, source.randrange(4)
        for name, bits in source.sample((("time", 16), ("lane", 2), ("magic", 8), ("other", 5)), 4):
            width = source.choice([w for w in self.WIDTHS if 8 * w >= bits])
            shift = source.randrange(8 * width - bits + 1)
            self.fields[name] = (at, width, source.random() < 0.5, shift, bits)
            at += width + source.randrange(3)
        self.header = max(8, at + source.randrange(4))
        self.magic = source.randrange(256)
        self.first, self.step = source.randrange(100), source.randrange(1, 20)

    def __str__(self):
        text = f"header {self.header}; prefix {self.prefix}; "
        for name, (at, width, little, shift, bits) in self.fields.items():
            text += f"field {name}: u{8 * width} at {at} {'little' if little else 'big'} >> {shift} & {(1 << bits) - 1:#x}; "
        return (text + f"require magic = {self.magic}; item 0x1600: time - {self.first} / {self.step}; item 0x4101: lane; "
                "count time * 4 + lane")

    def packet(self, time, lane, payload):
        header = bytearray(self.source.randbytes(self.header))
        for name, value in (("time", self.first + self.step * time), ("lane", lane), ("magic", self.magic)):
            at, width, little, shift, bits = self.fields[name]
            code = ("<" if little else ">") + self.WIDTHS[width]
            before = struct.unpack_from(code, header, at)[0] & ~(((1 << bits) - 1) << shift)
            struct.pack_into(code, header, at, before | value << shift)
        return self.source.randbytes(self.prefix) + bytes(header) + payload


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two CPUs")
class FormatsOnTwoLcores(Combinations):
    """Four endpoints, whose packets two lcores share, by two paths."""

    TIMES = 100
    LANES = 4
    SIZE = 128

    def exchange(self, source, more=""):
        """Returns the report, the sink, the payloads of what either path brings, by (time, lane), and the format."""
        declared = Declared(source)
        places = [(time, lane) for time in range(self.TIMES) for lane in range(self.LANES)]
        payloads = [source.randbytes(self.SIZE) for _ in places]
        family = source.choice("46")
        paths = [Path(source, len(places)) for _ in range(2)]
        frames = []
        for path, group in zip(paths, ENDS[family]):
            # The endpoint has the number of the lane: 239.1.1.1 to 239.1.1.4, and 239.129.1.1...
            frames.append([wire.frame(declared.packet(*places[number], payloads[number]),
                                      f"{group[:-1]}{1 + places[number][1]}") for number in path.order])
        endpoints = [f"[{group}]+3:7148" if family == "6" else f"{group}+3:7148" for group in ENDS[family]]
        cpus = sorted(os.sched_getaffinity(0))[:2]
        report, out = self.receive(frames, endpoints, stream=f'format = "{declared}"\nlcores = {cpus}', more=more)
        there = self.assert_counts(report, [path.came for path in paths])
        for endpoint in report["streams"][0]["by_endpoint"]:
            self.assertGreater(endpoint["packets"], 0, "each endpoint has its packets")
        return report, out, {places[number]: payloads[number] for number in there}, declared

    def test_heaps(self):
        for seed in range(3):
            with self.subTest(seed=seed):
                report, out, expected, declared = self.exchange(random.Random(seed))
                self.assert_stream(report, "s0", complete=len(expected))
                self.assertEqual(Received(out).complete(),
                                 {(declared.first + declared.step * time) * 4 + lane: payload
                                  for (time, lane), payload in expected.items()})

    def test_chunks(self):
        for seed in range(10, 13):
            with self.subTest(seed=seed):
                source = random.Random(seed)
                lane = source.choice(("endpoint", "item 0x4101"))
                # The window has room for all of them: neither lcore can be behind it.
                report, out, expected, _ = self.exchange(
                    source, f'[receive.chunk]\nwindow = 15\nchunks = 20\nplacement = "heap {self.SIZE}; axis lane: {lane} '
                    f'[{self.LANES}]; time: item 0x1600 [8]"')
                chunks = read_chunks(out)
                got = {}
                for number, (payload, presence) in chunks.items():
                    for heap, there in enumerate(presence):
                        if there:
                            got[8 * number + heap % 8, heap // 8] = payload[heap * self.SIZE:][:self.SIZE]
                self.assertEqual(got, expected)
                counts = report["streams"][0]["chunks"]
                self.assertEqual(counts["heaps_present"], len(expected))


class Memif(Combinations):
    def device(self, number, role):
        return f"net_memif{number},role={role},socket={self.directory}/{number}.sock"

    def test_what_two_senders_send_over_shared_memory_arrives_once(self):
        heaps = 400
        cpus = sorted(os.sched_getaffinity(0))[:2]
        receiver = self.start("recv", "--two-paths", "[ff15::1]+1:7148", "--port", self.device(0, "server"), "--port",
                              self.device(1, "server"), "--lcores", ",".join(map(str, cpus)), "--sink", "verify",
                              "--path-skew", "20s", "--history-time", "20s", "--max-heaps", 500, "--idle-exit", 3)
        plan = self.directory / "send.toml"
        plan.write_text(f"""version = 1
[[port]]
name = "p0"
device = "{self.device(0, "client")}"
address6 = "fd00::1"
[[port]]
name = "p1"
device = "{self.device(1, "client")}"
address6 = "fd00::2"
[[send]]
name = "a"
port = "p0"
endpoints = ["[ff15::1]+1:7148"]
heap_size = "20KiB"
heaps = {heaps}
verify = true
rate = "400Mbps"
impair = "loss=5%,duplicate=3%,seed=3"
[[send]]
name = "b"
port = "p1"
copy_of = "a"
impair = "loss=5%,duplicate=3%,reorder=8,seed=4"
""", encoding="utf-8")
        sends = self.run_program("run", "--config", plan).report["sends"]
        report = receiver.wait().report
        stream = report["streams"][0]
        packets, info = stream["packets"], stream["info"]
        for path, send in zip(stream["paths"], sends):
            self.assertGreater(send["impaired"]["lost"], heaps // 4)
            # Senders leave heaps out to be in step, so it is not known which packets come.
            sent, twice = send["impaired"]["sent"], send["impaired"]["duplicated"]
            expected = {"received": sent, "repeated": twice, "late": 0,
                        "missing": packets["placed"] + packets["control"] - (sent - twice)}
            self.assertEqual({name: path[name] for name in expected}, expected)
        self.assertEqual(packets["placed"] + packets["redundant"] + packets["duplicate"] + packets["control"],
                         packets["received"])
        self.assertEqual((info["wrong"], info["verified"]), (0, stream["heaps"]["complete"]))
        self.assertLessEqual(stream["heaps"]["started"], heaps)
        self.assertEqual(harness.broken_identities(report), [])


if __name__ == "__main__":
    harness.main()
