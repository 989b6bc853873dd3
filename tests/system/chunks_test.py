#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Streams with chunks: what `recv` and `run` make of them, from outside. The index of the file sink is read here, by
rules of this file alone."""

import json
import re
import resource
import struct

import harness
import wire
from terminal import PROMPT, Terminal

GROUP = "239.1.1.1"
ENDPOINT = f"{GROUP}:7148"
# Two polarisations, eight times a chunk; heaps of 4096 bytes in packets of 1024; status words beside them.
PLACEMENT = ("heap 4096; axis pol: item 0x3101 & 1 [2]; time: item 0x1600 / 256 [8]; extra u16: item 0x3102 >> 32; "
             "presence packet 1024")
TIMES = 8


def payload_of(pol, time):
    """4096 bytes that only this heap has."""
    return struct.pack(">HHI", 0xCAFE, pol, time) * 512


def packets(pols=2, times=40, leave_out=(), first=0, repeat=True):
    """Every packet repeats the items, or only the first of a heap; `leave_out` has (pol, time, packet)."""
    made = []
    for time in range(first, first + times):
        for pol in range(pols):
            items = [(wire.ADDRESSED, 0x3300, 0), (wire.IMMEDIATE, 0x1600, time * 256), (wire.IMMEDIATE, 0x3101, pol),
                     (wire.IMMEDIATE, 0x3102, (time % 7 + pol) << 32)]
            payload = payload_of(pol, time)
            for number in range(4):
                if (pol, time, number) not in leave_out:
                    made.append(wire.packet(2 * time + pol + 1, number * 1024, payload[number * 1024:][:1024], 4096,
                                            items if repeat or number == 0 else [], bits=48))
    return made


def read_index(directory):
    """{chunk: (line, payload, presence, extra)} of a directory of the file sink."""
    chunks = {}
    for text in (directory / "chunks.jsonl").read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        data = (directory / line["file"]).read_bytes()
        parts = [data[line[part]["offset"]:][:line[part]["bytes"]] if part in line else b""
                 for part in ("payload", "presence", "extra")]
        assert sum(map(len, parts)) == len(data), text
        assert line["chunk"] not in chunks, text
        chunks[line["chunk"]] = (line, *parts)
    return chunks


class Chunks(harness.ProgramTest):
    def receive(self, frames, *options, placement=PLACEMENT, status=0):
        capture = self.directory / f"in{self._runs}.pcap"
        wire.write_pcap(capture, [wire.frame(data, GROUP) for data in frames])
        return self.run_program("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}", "--placement", placement,
                                *options, status=status)

    def check_chunks(self, report, stream="s0"):
        """The identities of chunks at the end of a run."""
        found = next(s for s in report["streams"] if s["name"] == stream)
        chunks = found["chunks"]
        self.assertEqual(harness.broken_identities(report), [])
        self.assertEqual(chunks["opened"], chunks["handed_over"] + chunks["open"])
        self.assertEqual(chunks["handed_over"], chunks["taken"] + chunks["waiting"])
        self.assertEqual(chunks["taken"], chunks["delivered"] + chunks["unwritten"])
        self.assertEqual(chunks["buffers"], chunks["free"] + chunks["open"] + chunks["waiting"] + chunks["held"])
        self.assertEqual(found["packets"]["placed"], chunks["packets"])
        return found

    def test_the_file_sink_has_every_byte_and_says_which_are_missing(self):
        out = self.directory / "out"
        gone = {(0, 3, 1), (1, 17, 0), (1, 17, 1), (1, 17, 2), (1, 17, 3)}
        finished = self.receive(packets(leave_out=gone), "--sink", f"file:{out}")
        chunks = read_index(out)
        self.assertEqual(sorted(chunks), [0, 1, 2, 3, 4])
        for number, (line, payload, presence, extra) in chunks.items():
            self.assertEqual(line["stream"], "s0")
            missing = []
            for pol in range(2):
                for place in range(TIMES):
                    time, heap = number * TIMES + place, pol * TIMES + place
                    there = bytes(0 if (pol, time, part) in gone else 1 for part in range(4))
                    self.assertEqual(presence[heap * 4:][:4], there, (number, heap))
                    for part in range(4):
                        if there[part]:
                            self.assertEqual(payload[heap * 4096 + part * 1024:][:1024],
                                             payload_of(pol, time)[part * 1024:][:1024], (number, heap, part))
                    if there[0]:
                        self.assertEqual(struct.unpack_from("=H", extra, heap * 2)[0], time % 7 + pol)
                    if there != b"\1\1\1\1":
                        missing.append([heap, heap + 1])
            self.assertEqual(line["missing"], missing)
            self.assertEqual(line["heaps"], {"present": 16 - len(missing), "expected": 16})
            self.assertEqual(line["complete"], not missing)
            self.assertLessEqual(line["arrival"]["first_ns"], line["arrival"]["last_ns"])
        found = self.check_chunks(finished.report)
        self.assertEqual(found["chunks"]["taken"], 5)
        self.assertEqual(found["chunks"]["complete"], 3)
        self.assertEqual(found["chunks"]["heaps_present"], 78)
        self.assertEqual(found["chunks"]["heaps_expected"], 80)
        self.assertIn("heaps present", finished.out)

    def test_packets_without_a_place_are_counted_by_name_and_explained(self):
        odd = packets(times=2)
        status = (wire.IMMEDIATE, 0x3102, 0)
        strange = [wire.packet(900 + number, 0, bytes(1024), length,
                               [(wire.IMMEDIATE, item, value) for item, value in items.items()] + [status], bits=48)
                   for number, (length, items) in enumerate(((4096, {0x1600: 256}),
                                                             (2048, {0x1600: 256, 0x3101: 0}),
                                                             (4096, {0x1600: 255, 0x3101: 0})))]
        strange.append(wire.stop(999, bits=48))
        finished = self.receive(odd + strange)
        found = self.check_chunks(finished.report)
        self.assert_stream(finished.report, "s0", placed=16, no_item=1, bad_length=1, bad_step=1, control=1)
        self.assertEqual({finding["cause"] for finding in finished.report["findings"]}, {"misplaced"})
        self.assertEqual(found["chunks"]["taken"], 1)

    def test_a_silent_polarisation_is_named(self):
        gone = {(1, time, part) for time in range(16, 64) for part in range(4)}
        finished = self.receive(packets(times=64, leave_out=gone))
        found = self.check_chunks(finished.report)
        # The first chunk and the last two are where the receiver began and ended.
        self.assertEqual(found["chunks"]["heaps_cut"], 16)
        self.assertEqual(found["chunks"]["heaps_missing"], 32)
        self.assertEqual(found["info"]["missing_packets"], 4 * 32)
        self.assertEqual(found["info"]["missing_bytes"], 4096 * 32)
        axis, = found["axes"]
        self.assertEqual((axis["name"], axis["expected"], axis["present"]), ("pol", [40, 40], [40, 8]))
        self.assertIn("0: 100 %, 1: 20 %", finished.out)
        sentences = {finding["cause"]: finding["sentence"] for finding in finished.report["findings"]}
        self.assertIn("4 chunks in a row, up to the last one, had nothing of pol 1", sentences["place_silent"])
        self.assertIn("32 heaps are missing in chunks although nothing was lost here", sentences["network_loss"])
        self.assertIn("most of them of pol 1", sentences["network_loss"])

    def test_another_size_of_packets_is_told_with_both_sizes(self):
        other = [wire.packet(2 * 40 + 1, 0, bytes(2048), 4096,
                             [(wire.ADDRESSED, 0x3300, 0), (wire.IMMEDIATE, 0x1600, 40 * 256),
                              (wire.IMMEDIATE, 0x3101, 0), (wire.IMMEDIATE, 0x3102, 0)], bits=48)]
        finished = self.receive(packets() + other)
        self.assert_stream(finished.report, "s0", placed=320, inconsistent=1)
        self.assertIn("one has 2048 bytes of payload, and those before it have 1024",
                      " ".join(finding["sentence"] for finding in finished.report["findings"]))

    def test_heaps_whose_first_packet_alone_tells_are_tracked(self):
        out = self.directory / "out"
        finished = self.receive(packets(repeat=False, leave_out={(1, 4, 2)}), "--sink", f"file:{out}",
                                placement=PLACEMENT + "; tracked")
        found = self.check_chunks(finished.report)
        self.assertEqual(found["chunks"]["heaps_present"], 79)
        self.assertEqual(found["heaps"]["delivered"], 80)
        self.assertEqual(found["heaps"]["queued"], 0)
        for number, (_, payload, presence, _) in read_index(out).items():
            for heap in range(2 * TIMES):
                pol, time = heap // TIMES, number * TIMES + heap % TIMES
                there = b"\1\1\0\1" if (pol, time) == (1, 4) else b"\1\1\1\1"
                self.assertEqual(presence[heap * 4:][:4], there, (number, heap))
                if there == b"\1\1\1\1":
                    self.assertEqual(payload[heap * 4096:][:4096], payload_of(pol, time))

    def test_the_first_packets_decide_the_way_and_a_later_one_does_not(self):
        plain = PLACEMENT.replace("; presence packet 1024", "")
        finished = self.receive(packets(repeat=False), placement=plain)
        found = self.check_chunks(finished.report)
        self.assertGreaterEqual(found["chunks"]["heaps_present"], 77)
        good = packets()
        bad = wire.packet(2 * 20 + 1, 1024, bytes(1024), 4096, [], bits=48)
        finished = self.receive(good[:161] + [bad] + good[161:], placement=plain)
        self.assert_stream(finished.report, "s0", placed=320, no_item=1)
        self.assertEqual(self.check_chunks(finished.report)["chunks"]["heaps_present"], 80)

    def test_a_jump_of_the_time_is_an_event(self):
        far = packets(times=40, first=1 << 30)
        finished = self.receive(packets(times=16) + far)
        found = self.check_chunks(finished.report)
        self.assertEqual(found["chunks"]["resyncs"], 1)
        self.assertEqual(found["health"]["events"]["resync"], 1)
        self.assertIn("time of its packets jumped", found["health"]["last_event"]["text"])
        self.assertGreaterEqual(found["packets"]["future"], 63)
        sentences = [finding["sentence"] for finding in finished.report["findings"] if finding["cause"] == "future"]
        self.assertRegex(sentences[0], r"too far ahead of the open chunks to be believed, most of them from \d+\.")
        self.assertIn("stream s0: the time of its packets jumped", finished.err)

    def test_wrong_placements_and_sums_are_refused(self):
        self.refused("recv", ENDPOINT, "--port", "net_null0", "--placement", "heap 4096; tim: heap [8]",
                     says=("--placement", "tim"))
        self.refused("recv", ENDPOINT, "--port", "net_null0", "--chunks", "9", says=("--chunks", "--placement"))
        self.refused("recv", ENDPOINT, "--port", "net_null0", "--placement", PLACEMENT, "--chunks", "3",
                     "--chunk-window", "3", says=("3 in the window + at least 1 with the consumer = 4",))
        self.refused("recv", ENDPOINT, "--port", "net_null0", "--sink", "verify", "--placement",
                     "heap 64; axis a: heap & 1 [2]; time: item 0x1600 [4]", says=("cannot tell heap counts",),
                     status=None)

    def test_check_says_that_an_axis_and_the_endpoints_differ(self):
        finished = self.run_program("recv", f"{GROUP}+3:7148", "--port", "net_null0", "--placement",
                                    "heap 64; axis ant: endpoint [2]; time: item 0x1600 [8]", "--check", report=False)
        self.assertIn("the axis `ant` has 2 places, and the stream has 4 endpoints", finished.out)

    def test_check_explains_where_heaps_go(self):
        finished = self.run_program("recv", ENDPOINT, "--port", "net_null0", "--placement", PLACEMENT, "--check",
                                    report=False)
        self.assertIn("[receive.chunk]", finished.out)
        self.assertIn("8 chunks x 64 KiB of payload = 512 KiB", finished.out)


def configuration(lcores, heaps=4000, impair="", live="", sink='kind = "verify"', window=4, sender="", stream="",
                  endpoint=ENDPOINT):
    return f"""version = 1
{live}
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["{endpoint}"]
lcores = {lcores}
{stream}
[receive.chunk]
placement = "heap 1024; time: heap - 1 [64]"
chunks = 16
window = {window}
[receive.sink]
{sink}
[[send]]
name = "d0"
port = "p0"
endpoints = ["{endpoint}"]
heap_size = 1024
heaps = {heaps}
verify = true
{f'impair = "{impair}"' if impair else ""}
{sender}
"""


class Loops(harness.ProgramTest):
    check_chunks = Chunks.check_chunks

    def run_plan(self, text, **more):
        path = self.directory / f"plan{self._runs}.toml"
        path.write_text(text, encoding="utf-8")
        return self.run_program("run", "--config", path, **more)

    def test_several_lcores_fill_the_same_chunks(self):
        for lcores, endpoint in (([0], ENDPOINT), ([0, 1], ENDPOINT), ([0, 1], "[ff15::1]:7148")):
            with self.subTest(lcores=lcores, endpoint=endpoint):
                found = self.check_chunks(self.run_plan(configuration(lcores, endpoint=endpoint)).report)
                counted = found["packets"]
                # The first heap carries descriptors, so it has another length.
                self.assertEqual(counted["bad_length"], 1)
                self.assertEqual(found["info"]["wrong"], 0)
                self.assertEqual(found["info"]["verified"], found["chunks"]["heaps_present"])
                self.assertEqual(counted["placed"] + counted["late"] + counted["no_chunk"] + counted["control"] + 1,
                                 counted["received"])
                self.assertEqual(found["chunks"]["heaps_present"], counted["placed"])
                self.assertGreater(counted["placed"], 2000)

    def test_what_is_lost_on_the_way_is_missing_in_chunks(self):
        found = self.check_chunks(self.run_plan(configuration([0], impair="loss=2%,seed=3")).report)
        chunks = found["chunks"]
        self.assertEqual(found["info"]["wrong"], 0)
        self.assertEqual(found["info"]["verified"], chunks["heaps_present"])
        self.assertEqual(chunks["heaps_present"], found["packets"]["placed"])
        self.assertLess(chunks["heaps_present"], chunks["heaps_expected"])
        self.assertLess(chunks["complete"], chunks["taken"])
        self.assertEqual(chunks["heaps_present"] + chunks["heaps_missing"] + chunks["heaps_cut"],
                         chunks["heaps_expected"])
        self.assertGreater(chunks["heaps_missing"], 0)
        self.assertEqual(found["info"]["missing_packets"], chunks["heaps_missing"])

    def test_a_stream_that_loses_heaps_of_its_chunks_raises_an_event(self):
        # Four seconds, so that one of the watch is whole.
        report = self.run_plan(configuration([0], heaps=2000, impair="loss=10%,seed=3", sender='rate = "4Mbps"',
                                             stream="loss_threshold = 0.01")).report
        health = self.check_chunks(report)["health"]
        self.assertEqual(health["events"]["losing"], 1)
        self.assertIn("heaps were lost", health["last_event"]["text"])
        self.assertIn("network_loss", {finding["cause"] for finding in report["findings"]})


class Changes(harness.ProgramTest):
    """A ring that a sender keeps busy, and commands that change the stream with chunks."""

    check_chunks = Chunks.check_chunks

    def begin(self, **more):
        path = self.directory / "start.toml"
        path.write_text(configuration([0], heaps=-1, live="[runtime]\nlive = true\ncontrol = \"off\"\nlcores = [0, 1]",
                                      sender='rate = "20Mbps"', **more), encoding="utf-8")
        self.report = self.directory / "report.json"
        self.terminal = Terminal(self, "run", "--config", path, "-i", "--json", self.report)
        self.terminal.expect(PROMPT)

    def numbers(self):
        answer = self.terminal.command("show stream s0")
        return {name: int(value) for name, value in re.findall(r"^([a-z_0-9.]+) +(\d+)$", answer, re.M)}

    def wait_for_chunks(self, more=3):
        before = self.numbers()["chunks.taken"]
        for _ in range(int(200 * harness.PATIENCE)):
            if self.numbers()["chunks.taken"] >= before + more:
                return
            self.terminal.wait_a_moment()
        self.fail(f"no chunks:\n{self.terminal.error_text()}\n{self.terminal.command('show stream')}")

    def command(self, line, says=""):
        self.assertIn(says, self.terminal.command(line), line)

    def end(self, keys="quit\r"):
        self.terminal.type(keys)
        self.terminal.wait()
        report = json.loads(self.report.read_text(encoding="utf-8"))
        self.assertEqual(harness.broken_identities(report), [])
        return report

    def test_ctrl_c_hands_over_what_is_open(self):
        self.begin()
        self.wait_for_chunks()
        found = self.check_chunks(self.end("\x03"))
        self.assertEqual(found["chunks"]["free"], found["chunks"]["buffers"])
        self.assertEqual(found["info"]["wrong"], 0)
        self.assertEqual(found["info"]["verified"], found["chunks"]["heaps_present"])

    def test_it_moves_to_other_lcores(self):
        self.begin()
        for lcores in ("1", "0,1", "0"):
            self.wait_for_chunks()
            self.command(f"stream set s0 lcores {lcores}", "lcores")
        self.wait_for_chunks()
        found = self.check_chunks(self.end())
        self.assertEqual(found["info"]["wrong"], 0)
        self.assertEqual(found["info"]["verified"], found["chunks"]["heaps_present"])
        self.assertEqual(found["chunks"]["short_of"], 0)
        # The same window goes on: no chunk came twice, in two parts.
        self.assertEqual(found["packets"]["late"], 0)

    def test_it_stops_and_starts_and_gets_other_chunks(self):
        self.begin()
        self.wait_for_chunks()
        self.command("stream stop s0", "stopped")
        taken = self.numbers()["chunks.taken"]
        self.assertGreaterEqual(taken, 3)
        self.command("stream start s0", "received")
        self.wait_for_chunks()
        self.command("stream set s0 chunk.chunks 6 chunk.window 2", "chunk.chunks 6")
        self.wait_for_chunks()
        self.assertEqual(self.numbers()["chunks.buffers"], 6)
        self.command("stream set s0 chunk.chunks 2", "2 in the window + at least 1")
        # A terabyte.
        self.command('stream set s0 chunk.chunks 65536 chunk.placement "heap 1024; time: heap - 1 [16384]"',
                     "its 65536 chunks need 1")
        found = self.check_chunks(self.end())
        self.assertGreater(found["chunks"]["taken"], taken + 5)
        self.assertEqual(found["info"]["wrong"], 0)

    def test_it_is_removed_while_it_has_chunks(self):
        self.begin()
        self.wait_for_chunks()
        self.assertIn("heaps present", self.terminal.command("show heap"))
        self.command("stream delete s0", "deleted")
        report = self.end()
        removed = report["removed"]["chunks"]
        self.assertEqual(removed["opened"], removed["delivered"])
        self.assertEqual(removed["packets"], report["removed"]["packets"]["placed"])

    def test_a_full_disk_stops_the_sink_and_a_new_start_gives_another(self):
        out = self.directory / "out"
        self.begin(sink=f'kind = "file"\ndirectory = "{out}"')
        self.wait_for_chunks()
        limit = resource.prlimit(self.terminal.process.pid, resource.RLIMIT_FSIZE, (1000, -1))
        for _ in range(int(200 * harness.PATIENCE)):
            if self.numbers()["chunks.unwritten"] >= 3:
                break
            self.terminal.wait_a_moment()
        resource.prlimit(self.terminal.process.pid, resource.RLIMIT_FSIZE, limit)
        self.command("stream stop s0", "stopped")
        self.command("stream start s0", "received")
        self.wait_for_chunks()
        found = self.check_chunks(self.end_with_status())
        self.assertGreaterEqual(found["chunks"]["unwritten"], 3)
        written = read_index_of_runs(out)
        self.assertEqual(len(written), found["chunks"]["delivered"])

    def end_with_status(self):
        self.terminal.type("quit\r")
        self.terminal.wait(status=1)
        return json.loads(self.report.read_text(encoding="utf-8"))


def read_index_of_runs(directory):
    """The lines of a file sink, whose chunks may be repeated; each file has its length."""
    lines = [json.loads(text) for text in (directory / "chunks.jsonl").read_text(encoding="utf-8").splitlines()]
    for line in lines:
        size = line["payload"]["bytes"] + line["presence"]["bytes"]
        assert (directory / line["file"]).stat().st_size == size, line
    assert len({line["file"] for line in lines}) == len(lines)
    return lines


if __name__ == "__main__":
    harness.main()
