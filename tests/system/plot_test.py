#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/plot: the presence of heaps in the chunks of a file sink."""

import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import harness

PLOT = pathlib.Path(__file__).resolve().parents[2] / "scripts/plot"


def module():
    """The script, as a module."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("plot", str(PLOT))
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader("plot", loader))
    loader.exec_module(made)
    return made


def chunk(number, missing, placement, heaps, **others):
    return {"stream": "s0", "chunk": number, "heaps": {"present": 0, "expected": heaps}, "missing": missing,
            "placement": placement, **others}


class Plot(unittest.TestCase):
    TWO = "heap 5120; axis pol: item 0x3101 & 1 [2]; time: item 0x1600 / 4096 [4]; extra u16: item 0x3102 >> 32"
    THREE = "heap 64; time t: item 0x1600 / 8 [2]; axis ant: item 0x4101 {3, 5, 9}; axis freq: item 0x4103 / 256 [0x2]"

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="dpdk-spead-test-"))
        self.plot = module()

    def tearDown(self):
        for file in self.directory.iterdir():
            file.unlink()
        self.directory.rmdir()

    def shares(self, chunks, name=None):
        return self.plot.presence_by(chunks, self.directory, name)

    def test_axes_of_a_placement(self):
        self.assertEqual(self.plot.axes_of(self.TWO), [("pol", 2, False), ("time", 4, True)])
        self.assertEqual(self.plot.axes_of(self.THREE), [("t", 2, True), ("ant", 3, False), ("freq", 2, False)])

    def test_heaps_are_where_their_axes_say(self):
        # Heap 6 is polarisation 1, time 2.
        shares, name, first, span = self.shares([chunk(7, [[0, 1], [6, 8]], self.TWO, 8), chunk(9, [], self.TWO, 8)])
        self.assertEqual((name, first, span), ("pol", 7, 3))
        self.assertEqual(shares, [[0, 1, 1, 1] + [0] * 4 + [1] * 4, [1, 1, 0, 0] + [0] * 4 + [1] * 4])

    def test_each_axis_can_be_shown(self):
        # Heap 8 is time 1, antenna 1, frequency 0.
        chunks = [chunk(0, [[8, 9]], self.THREE, 12)]
        self.assertEqual(self.shares(chunks)[0], [[1, 1], [1, 0.5], [1, 1]])
        shares = self.shares(chunks, "freq")[0]
        self.assertEqual([[round(share, 3) for share in row] for row in shares], [[1, 0.667], [1, 1]])

    def test_many_times_share_a_column(self):
        placement = "heap 8; time: heap [1500]"
        shares, name, _, _ = self.shares([chunk(0, [[0, 1], [1498, 1500]], placement, 1500)])
        self.assertIsNone(name)
        self.assertEqual((len(shares), len(shares[0])), (1, 750))
        self.assertEqual((shares[0][0], shares[0][1], shares[0][-1]), (0.5, 1, 0))

    def test_presence_is_read_from_the_file_where_the_line_has_no_ranges(self):
        (self.directory / "s0-chunk-0.bin").write_bytes(b"payload" + bytes([1, 1, 0, 1, 0, 0, 1, 1]))
        told = chunk(0, None, "heap 8; time: heap [4]", 4, file="s0-chunk-0.bin", presence={"offset": 7, "bytes": 8})
        self.assertEqual(self.shares([told])[0], [[1, 0.5, 0, 1]])

    def run_plot(self, lines, *words):
        file = self.directory / "chunks.jsonl"
        file.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines), encoding="utf-8")
        picture = self.directory / "out.png"
        done = subprocess.run([PLOT, file, picture, *words], capture_output=True, text=True, check=False)
        return done, picture

    def test_errors_say_what_to_give(self):
        two = [chunk(0, [], self.TWO, 8), {**chunk(0, [], self.TWO, 8), "stream": "s1"}]
        for lines, words, says in ((two, (), "s0, s1"), (two, ("--stream", "x"), "`x`"),
                                   (two, ("--stream", "s1", "--axis", "time"), "give one of pol"),
                                   ([{"stream": "s0"}], (), "nor chunks.jsonl")):
            done, _ = self.run_plot(lines, *words)
            if "matplotlib is missing" in done.stderr:
                self.skipTest("python3-matplotlib is not here; scripts/deps --plot installs it")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(says, done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_a_picture(self):
        done, picture = self.run_plot([chunk(0, [[1, 3]], self.TWO, 8), chunk(1, [], self.TWO, 8)])
        if "matplotlib is missing" in done.stderr:
            self.skipTest("python3-matplotlib is not here; scripts/deps --plot installs it")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")


if __name__ == "__main__":
    harness.main()
