#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The raw sink, from outside: its files and its index are read here, by rules of this file alone, and by the example of
the documentation."""

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import harness
import ring
import wire

READER = Path(__file__).resolve().parents[2] / "docs/examples/python/read_raw.py"
GROUP = "239.1.1.1"
ENDPOINT = f"{GROUP}:7148"


def payload_of(count, length):
    """Bytes that only this heap has."""
    return random.Random(count).randbytes(length)


class RawSink(harness.ProgramTest):
    def config(self, first=1, heaps=300, rotate="0"):
        path = self.directory / "run.toml"
        sink = {"kind": "raw", "directory": self.directory / "out", "rotate_size": rotate}
        path.write_text(ring.plan(
            ring.stream(0, sink), ring.stream(1, {"kind": "verify"}),
            ring.sender(0, heap_size="16KiB", first_count=first, heaps=heaps, verify=True, rate="500Mbps"),
            ring.sender(1, heap_size="16KiB", heaps=200, verify=True)), encoding="utf-8")
        return path

    def index(self, name="heaps.jsonl"):
        """The lines of the index that have their ends."""
        file = self.directory / "out" / name
        return [json.loads(line) for line in file.read_bytes().split(b"\n")[:-1]] if file.exists() else []

    def bytes_of(self, line, part="payload"):
        with open(self.directory / "out" / line["file"], "rb") as file:
            file.seek(line[part]["offset"])
            return file.read(line[part]["bytes"])

    def check_sequence(self, lines):
        """Each line's bytes are there: the words of a sequence, and not the zeros of room that was only reserved."""
        for line in lines:
            data = self.bytes_of(line)
            self.assertEqual(len(data), line["received"])
            self.assertGreaterEqual(len(data), 16384)
            for start in range(0, 16384, 512):
                self.assertNotEqual(data[start:start + 512], bytes(512), line)

    def read_with_the_example(self, *words):
        done = subprocess.run([sys.executable, READER, self.directory / "out", *words], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_heaps_are_in_one_file_and_the_index_says_where(self):
        capture = self.directory / "in.pcap"
        payloads = {count: payload_of(count, 1000 * count) for count in range(1, 31)}
        packets = [data for count, payload in payloads.items() for data in wire.heap(count, payload)]
        packets += wire.heap(31, payload_of(31, 4096))[:2]
        wire.write_pcap(capture, [wire.frame(data, GROUP) for data in packets])
        finished = self.run_program("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}",
                                    "--sink", f"raw:{self.directory / 'out'}")
        self.assert_stream(finished.report, "s0", complete=30, delivered=31, unwritten=0, queued=0)
        lines = self.index()
        self.assertEqual([line["cnt"] for line in lines], list(range(1, 32)))
        for line in lines[:30]:
            self.assertEqual(self.bytes_of(line), payloads[line["cnt"]])
            self.assertEqual(line["file"], "s0.raw")
        self.assertNotIn("payload", lines[30])
        self.assertEqual((self.directory / "out/s0.raw").stat().st_size, sum(map(len, payloads.values())))
        told = self.read_with_the_example()
        mean = sum(payloads[7]) / len(payloads[7])
        self.assertEqual(told[6], f"s0 7: mean {mean:.3f}")
        self.assertEqual(told[30], "s0 31: incomplete")

    def test_chunks_have_the_lines_of_the_file_sink(self):
        capture = self.directory / "in.pcap"
        packets = [data for count in range(1, 33) for data in wire.heap(count, payload_of(count, 4096))]
        wire.write_pcap(capture, [wire.frame(data, GROUP) for data in packets])
        finished = self.run_program("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}",
                                    "--placement", "heap 4096; time: heap - 1 [8]",
                                    "--sink", f"raw:{self.directory / 'out'}")
        chunks = finished.report["streams"][0]["chunks"]
        self.assertEqual((chunks["taken"], chunks["delivered"], chunks["unwritten"]), (4, 4, 0))
        lines = self.index("chunks.jsonl")
        self.assertEqual([line["chunk"] for line in lines], list(range(4)))
        for line in lines:
            heaps = range(8 * line["chunk"] + 1, 8 * line["chunk"] + 9)
            self.assertEqual(self.bytes_of(line), b"".join(payload_of(heap, 4096) for heap in heaps))
            self.assertEqual(self.bytes_of(line, "presence"), b"\1" * 8)
        self.assertEqual(len(self.read_with_the_example("chunks")), 4)

    def test_every_line_has_its_bytes_when_the_process_is_killed(self):
        chance = random.Random(7)
        wanted = 0
        for first in range(1, 80_000_001, 20_000_000):
            running = self.start("run", "--config", self.config(first=first, heaps=-1, rotate="8MiB"), "--quiet",
                                 report=False)
            wanted += chance.randrange(1, 1200)
            running.wait_for(lambda: len(self.index()) >= wanted, "lines")
            running.process.send_signal(signal.SIGKILL)
            running.wait(status=-signal.SIGKILL)
            lines = self.index()
            self.check_sequence(lines)
            self.assertEqual(len(self.read_with_the_example()), len(lines))
            wanted = len(lines)
        last = self.run_program("run", "--config", self.config(first=100_000_001, heaps=30))
        self.assert_stream(last.report, "s0", complete=30, delivered=30, unwritten=0)
        self.assertEqual(len(self.index()), wanted + 30)
        places = [(line["file"], line["payload"]["offset"]) for line in self.index()]
        self.assertEqual(len(places), len(set(places)), "nothing is overwritten")

    def test_a_full_disk_stops_this_sink_alone(self):
        finished = self.run_program("run", "--config", self.config(heaps=300), status=1,
                                    prefix=("prlimit", "--fsize=1048576"))
        report = finished.report
        s0 = next(stream for stream in report["streams"] if stream["name"] == "s0")
        written = self.index()
        self.assertIn("File too large", s0["sink"]["failure"])
        self.assertIn(f"{len(written)} lines", s0["sink"]["failure"])
        self.assertEqual((s0["heaps"]["delivered"], s0["heaps"]["unwritten"]), (len(written), 300 - len(written)))
        self.assertLessEqual(len(written), 64)
        self.assertEqual(s0["health"]["events"]["sink_failed"], 1)
        self.check_sequence(written)
        if written:
            self.assertEqual((self.directory / "out/s0.raw").stat().st_size,
                             sum(line["received"] for line in written), "the rest is cut off")
        self.assert_stream(report, "s1", complete=200, delivered=200, unwritten=0)

    def test_heaps_go_round_several_disks_and_a_full_one_leaves_the_others_going(self):
        disks = [self.directory / name for name in ("a", "b", "c")]
        disks[1].mkdir()
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disks[1]], capture_output=True,
                               check=False)
        if mount.returncode != 0:
            self.skipTest(f"cannot mount a small file system: {mount.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", disks[1]], check=False)
        config = self.config(heaps=6000)
        text = config.read_text(encoding="utf-8").replace(f'directory = "{self.directory / "out"}"',
                                                          f"directories = {json.dumps([str(disk) for disk in disks])}")
        config.write_text(text, encoding="utf-8")
        finished = self.run_program("run", "--config", config, status=1)
        s0 = next(stream for stream in finished.report["streams"] if stream["name"] == "s0")
        # The payload or its index meets the end of the disk first.
        self.assertRegex(s0["sink"]["failure"], f"^{disks[1]}/(s0.raw|heaps.jsonl): cannot write: No space left on device")
        self.assertIn("its other directories go on", finished.err)
        kept = []
        for disk in disks:
            lines = [json.loads(line) for line in (disk / "heaps.jsonl").read_bytes().split(b"\n")[:-1]]
            kept.append(len(lines))
            for line in lines:
                with open(disk / line["file"], "rb") as file:
                    file.seek(line["payload"]["offset"])
                    self.assertNotEqual(file.read(line["payload"]["bytes"])[:16384].strip(b"\0"), b"")
        self.assertEqual((s0["heaps"]["delivered"], s0["heaps"]["unwritten"]), (sum(kept), 6000 - sum(kept)))
        self.assertLess(kept[1], 64)
        self.assertGreater(min(kept[0], kept[2]), 2000)
        self.assert_stream(finished.report, "s1", complete=200, delivered=200, unwritten=0)


if __name__ == "__main__":
    harness.main()
