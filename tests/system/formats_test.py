#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Streams of formats other than SPEAD: packets are written here from the published layouts, and received into heaps and
chunks."""

import json
import random
import re
import socket
import struct
from pathlib import Path

import harness
import layouts
import wire

GROUP = "239.1.1.1"
ENDPOINT = f"{GROUP}:7148"


def pst(sequence, channel, payload, valid=8, magic=0xBEADFEED):
    """A packet of the SKA's CBF to PST interface: 96 bytes, little-endian."""
    head = bytearray(random.Random(sequence).randbytes(96))
    struct.pack_into("<QQII", head, 0, sequence, 5 * 10**17, 1_700_000_000, 0)
    struct.pack_into("<IHHHHI", head, 48, channel, 185, valid, 32, 3, magic)
    struct.pack_into("<Q", head, 72, 99)
    return bytes(head) + payload


def ata(time, channel, antenna, payload):
    return struct.pack(">BBHHHQ", 1, 2, 96, channel, antenna, time) + payload


def vdif(second, frame, thread, payload, invalid=False, extra=0):
    words = (second | invalid << 31, frame | 40 << 24, (len(payload) + 32) // 8 | 3 << 24,
             0x4142 | thread << 16 | 1 << 26, 0, 0, 0, 0)
    return struct.pack("<8I", *words) + payload + bytes(extra)


def read_chunks(directory):
    """{chunk: (payload, presence)} of a directory of the file sink."""
    chunks = {}
    for text in (directory / "chunks.jsonl").read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        data = (directory / line["file"]).read_bytes()
        chunks[line["chunk"]] = tuple(data[line[part]["offset"]:][:line[part]["bytes"]] for part in ("payload", "presence"))
    return chunks


class Formats(harness.ProgramTest):
    def receive(self, datagrams, *options, status=0):
        capture = self.directory / f"in{self._runs}.pcap"
        wire.write_pcap(capture, [wire.frame(data, GROUP) for data in datagrams])
        return self.run_program("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}", *options, status=status)

    @staticmethod
    def cures(report, cause):
        return " ".join(next(finding for finding in report["findings"] if finding["cause"] == cause)["cures"])

    def check_chunks(self, directory, expected, lanes, times, size):
        """`expected` has {(time, lane): payload}; all else is missing."""
        chunks = read_chunks(directory)
        self.assertEqual(sorted(chunks), sorted({time // times for time, _ in expected}))
        for number, (payload, presence) in chunks.items():
            for lane in range(lanes):
                for place in range(times):
                    heap = lane * times + place
                    there = expected.get((number * times + place, lane))
                    self.assertEqual(presence[heap], there is not None, (number, heap))
                    if there is not None:
                        self.assertEqual(payload[heap * size:][:size], there, (number, heap))

    def test_pst_packets_fill_chunks(self):
        expected, sent = {}, []
        for sequence in range(40):
            for block in range(2):
                payload = struct.pack(">II", sequence, block) * 128
                if (sequence, block) != (17, 1):
                    expected[sequence, block] = payload
                    sent.append(pst(sequence, 1000 + 185 * block, payload))
        shuffled = [packet for at in range(0, len(sent), 6) for packet in reversed(sent[at:at + 6])]
        strange = [pst(5, 1000, bytes(1024), magic=0xBEADFEEE), b"\x53\x04\x02\x06" + bytes(200),
                   pst(5, 1000, bytes(1024), valid=0), pst(5, 1001, bytes(1024)), pst(5, 1000, bytes(1000)), b"short"]
        out = self.directory / "out"
        finished = self.receive(
            shuffled[:30] + strange + shuffled[30:] + shuffled[-1:] + shuffled[:1], "--format", "pst", "--sink", f"file:{out}", "--placement",
            "heap 1024; axis block: item 0x4103 - 1000 / 185 [2]; time: item 0x1600 [8]; extra u16: item 0x4101")
        self.check_chunks(out, expected, 2, 8, 1024)
        self.assert_stream(finished.report, "s0", placed=len(expected), malformed=3, invalid=1, bad_step=1, bad_length=1,
                           duplicate=1, late=1)
        self.assertEqual(harness.broken_identities(finished.report), [])
        causes = {finding["cause"] for finding in finished.report["findings"]}
        self.assertLessEqual({"not_in_format", "marked_invalid", "misplaced"}, causes)
        self.assertNotIn("not_spead", causes)

    def test_ata_packets_fill_chunks_that_transpose(self):
        expected = {}
        for time in range(32):
            for antenna in range(3):
                expected[time, antenna] = bytes([time, antenna]) * 192
        out = self.directory / "out"
        finished = self.receive([ata(16 * time, 192, antenna, payload) for (time, antenna), payload in expected.items()],
                                "--format", "ata", "--sink", f"file:{out}", "--placement",
                                "heap 384; axis antenna: item 0x4101 [3]; time: item 0x1600 / 16 [8]")
        self.check_chunks(out, expected, 3, 8, 384)
        self.assert_stream(finished.report, "s0", placed=len(expected))

    def test_vdif_frames_take_their_time_from_second_and_frame(self):
        expected = {}
        for time in range(98, 130):  # over the end of a second of 100 frames
            for thread in range(2):
                expected[time, thread] = bytes([time & 0xFF, thread]) * 256
        sent = [vdif(time // 100, time % 100, thread, payload, extra=8 * (time % 2))
                for (time, thread), payload in expected.items()]
        out = self.directory / "out"
        finished = self.receive(sent + [vdif(1, 5, 0, bytes(512), invalid=True), sent[0][:100]],
                                "--format", "vdif; item 0x1600: second * 100 + frame", "--sink", f"file:{out}",
                                "--placement", "heap 512; axis thread: item 0x4101 [2]; time: item 0x1600 [10]")
        self.check_chunks(out, expected, 2, 10, 512)
        self.assert_stream(finished.report, "s0", placed=len(expected), invalid=1, malformed=1)

    def test_every_known_format_is_read_as_its_layout_says(self):
        source = random.Random(11)
        for name in layouts.LAYOUTS:
            with self.subTest(format=name):
                # The station of VDIF is in no heap count: the other values tell the packets apart.
                sent = [layouts.make(name, layouts.some_items(name, source), source.randbytes(8 * source.randrange(8, 100)),
                                     source) for _ in range(100)]
                out = self.directory / name
                report = self.receive(sent, "--format", name, "--sink", f"file:{out}").report
                self.assert_stream(report, "s0", placed=len(sent), complete=len(sent))
                got = []
                for text in (out / "heaps.jsonl").read_text(encoding="utf-8").splitlines():
                    line = json.loads(text)
                    items = {item["id"]: item.get("immediate") for item in line["items"]}
                    got.append((sorted(items.items()), (out / f"s0-{line['cnt']}.bin").read_bytes()))
                wanted = [(sorted(items.items()), payload) for items, payload in (layouts.decode(name, data) for data in sent)]
                self.assertEqual(sorted(got), sorted(wanted))

    def check_presence(self, name, item, declared, lanes=3, times=8, size=256):
        """Receives 40 times of each lane, without some, into chunks. `item`: the lanes' item; `declared`: more of the
        format, after which the item 0x1600 counts the times."""
        source = random.Random(3)
        expected, sent = {}, []
        for time in range(40):
            for lane in range(lanes):
                payload = source.randbytes(size)
                if source.random() < 0.1:
                    continue
                expected[time, lane] = payload
                values = {0x1600: time, item: lane} if not declared else {0x1600: 7 + time // 10, 0x1601: time % 10, item: lane}
                sent.append(layouts.make(name, values, payload, source))
        out = self.directory / name
        finished = self.receive(sent, "--format", name + declared, "--sink", f"file:{out}", "--placement",
                                f"heap {size}; axis lane: item {item:#x} [{lanes}]; time: item 0x1600 [{times}]")
        self.check_chunks(out, expected, lanes, times, size)
        self.assert_stream(finished.report, "s0", placed=len(expected))
        chunks = finished.report["streams"][0]["chunks"]
        self.assertEqual((chunks["heaps_present"], chunks["heaps_missing"] + chunks["heaps_cut"]),
                         (len(expected), 40 * lanes - len(expected)))

    def test_snap2_packets_fill_chunks_with_presence(self):
        self.check_presence("snap2", 0x4101, "")

    def test_legacy_vdif_frames_fill_chunks_with_presence(self):
        self.check_presence("vdif_legacy", 0x4101, "; item 0x1600: second - 7 * 10 + frame")

    def test_no_known_format_takes_packets_of_spead(self):
        document = json.loads(self.run_program("info", "--formats", "--json", report=False).out)
        sent = [data for number in range(1, 11) for data in wire.heap(number, bytes(3000))]
        for known in document["formats"]:
            with self.subTest(format=known["name"]):
                report = self.receive(sent, "--format", known["name"]).report
                self.assert_stream(report, "s0", malformed=len(sent), placed=0, invalid=0)
                self.assertIn("begins as packets of SPEAD do", self.cures(report, "not_in_format"))

    def test_packets_of_a_format_are_no_spead(self):
        sent = [ata(16, 0, 1, bytes(700)), pst(5, 1000, bytes(1024))] + [vdif(7, frame, 0, bytes(800)) for frame in range(20)]
        report = self.receive(sent).report
        self.assert_stream(report, "s0", malformed=len(sent), placed=0)
        cures = self.cures(report, "not_spead")
        self.assertIn("name it with --format", cures)
        self.assertNotIn("fits the format", cures)

    def test_a_finding_names_the_known_format_that_all_packets_fit(self):
        source = random.Random(5)
        for name in layouts.LAYOUTS:
            sent = [layouts.make(name, layouts.some_items(name, source), source.randbytes(800), source) for _ in range(50)]
            other = "pst" if name != "pst" else "vdif"
            with self.subTest(format=name):
                self.assertIn(f"fits the format `{name}`: restart with `--format {name}`",
                              self.cures(self.receive(sent).report, "not_spead"))
                self.assertIn(f"fits the format `{name}`: compare",
                              self.cures(self.receive(sent, "--format", other).report, "not_in_format"))

    def test_packets_are_heaps_with_items(self):
        sent = [vdif(7, frame, 0, bytes([frame]) * 800) for frame in range(20)]
        out = self.directory / "out"
        finished = self.receive(sent + sent[:3], "--format", "vdif", "--sink", f"file:{out}")
        lines = [json.loads(text) for text in (out / "heaps.jsonl").read_text(encoding="utf-8").splitlines()]
        self.assertEqual(len(lines), 20)
        for frame, line in enumerate(sorted(lines, key=lambda line: line["cnt"])):
            self.assertEqual(line["cnt"], (7 << 34) + (frame << 10))
            items = {item["id"]: item.get("immediate") for item in line["items"]}
            self.assertEqual((items[0x1600], items[0x1601], items[0x4101], items[0x4100]), (7, frame, 0, 0x4142))
            self.assertEqual((out / f"s0-{line['cnt']}.bin").read_bytes(), bytes([frame]) * 800)
        self.assert_stream(finished.report, "s0", placed=20, duplicate=3)

    def test_a_declaration_of_ones_own_with_bytes_before_the_header(self):
        declared = ("prefix 4; header 12; little; field n: u32 at 0; field kind: u16 at 6; field size: u32 at 8 & 0xFFFF; "
                    "require kind = 5, 6; payload size * 2; item 0x1600: n - 10 / 5; count n")
        sent = [b"XXXX" + struct.pack("<IHHI", 10 + 5 * n, 0, 5 + n % 3, 50) + bytes([n]) * 100 for n in range(9)]
        finished = self.receive(sent + [sent[0][:60]], "--format", declared, "--filter", "item 0x1600 >= 3")
        self.assert_stream(finished.report, "s0", placed=4, filtered=2, malformed=4)

    def test_sockets_of_the_kernel_receive_it_too(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        running = self.start("recv", f"127.0.0.1:{port}", "--backend", "kernel", "--format", "ata", "--heaps", "50")
        running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "reception")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for time in range(50):
                sender.sendto(ata(16 * time, 0, 1, bytes(700)), ("127.0.0.1", port))
        self.assert_stream(running.wait().report, "s0", placed=50, complete=50)

    def test_the_known_formats_are_listed_and_documented(self):
        page = (Path(__file__).resolve().parent.parent.parent / "docs" / "formats.md").read_text(encoding="utf-8")
        documented = re.findall(r"(?m)^\| `(\w+)` \| [^|]+ \| (?:0x|the same)", page)
        document = json.loads(self.run_program("info", "--formats", "--json", report=False).out)
        self.assertEqual([known["name"] for known in document["formats"]], documented)
        listed = self.run_program("info", "--formats", report=False).out
        for known in document["formats"]:
            self.assertIn(f"{known['name']}: {known['about']}", listed)
            for item in re.findall(r"item (0x\w+)", known["format"]):
                self.assertRegex(page, rf"(?m)^\| `{known['name']}` .*{item} ")

    def test_wrong_words_are_refused(self):
        for options, says in (
                (("--format", "vdiff"), ("--format", "`vdiff`", "vdif", "character 1")),
                (("--format", "header 16; field a: u32 at 14; count a"), ("field a", "header 18")),
                (("--format", "vdif", "--sink", "verify"), ("verify", "format")),
                (("--format", "vdif", "--placement", "heap 8; time: item 0x1700 [8]"), ("0x1700", "0x1600, 0x1601"))):
            with self.subTest(options):
                self.refused("recv", ENDPOINT, "--port", "net_null0", *options, says=says)


if __name__ == "__main__":
    harness.main()
