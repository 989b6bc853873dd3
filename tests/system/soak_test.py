#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/soak for some seconds, and that it distinguishes growth from noise."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import harness

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "stress"))
from trend import trend  # noqa: E402


class Soak(harness.ProgramTest):
    def soak(self, *words, program=None, status=0):
        done = subprocess.run([sys.executable, str(ROOT / "scripts" / "soak"), *map(str, words), "--program",
                               program or harness.program()], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env={**os.environ, "TMPDIR": str(self.directory)}, timeout=240 * harness.PATIENCE)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def test_a_short_one_has_samples_trends_and_no_fault(self):
        file = self.directory / "soak.json"
        out = self.soak(0.003, "--interval", 0.5, "--rate", "20Mbps", "--report", file)
        self.assertRegex(out, r"(?m)^descriptors +\d")
        self.assertRegex(out, r"[0-9]+ samples: no fault\n$")
        report = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(report["faults"], [])
        self.assertEqual([row["quantity"] for row in report["trends"]], ["memory", "descriptors", "threads", "latency"])
        self.assertGreater(len(report["samples"]), 3)
        for before, after in zip(report["samples"], report["samples"][1:]):
            self.assertGreater(after["heaps"], before["heaps"])
        self.assertEqual(list(self.directory.glob("dpdk-spead-soak-*")), [])

    def test_a_process_that_ends_is_a_fault(self):
        broken = self.directory / "broken"
        broken.write_text("#!/bin/sh\necho 'no such thing' >&2\nexit 3\n", encoding="utf-8")
        broken.chmod(0o755)
        out = self.soak(0.01, program=str(broken), status=1)
        self.assertIn("FAULT: the process ended before start, with status 3", out)
        self.assertIn("no such thing", out)


class Trend(harness.ProgramTest):
    def noisy(self, function, count=200):
        noise = random.Random(3)
        return [(60 * number, function(60 * number) + noise.gauss(0, 50)) for number in range(count)]

    def test_noise_does_not_grow(self):
        self.assertFalse(trend(self.noisy(lambda time: 1000)).grows(0))

    def test_a_leak_in_noise_grows(self):
        found = trend(self.noisy(lambda time: 1000 + time / 30))
        self.assertTrue(found.grows(100))
        self.assertAlmostEqual(found.slope, 1 / 30, delta=0.005)
        self.assertAlmostEqual(found.first, 1000 + 40 * 60 / 30, delta=50)
        self.assertFalse(found.grows(10000), "less than what is tolerated")

    def test_what_a_start_takes_is_no_growth(self):
        self.assertFalse(trend(self.noisy(lambda time: min(1000, time))).grows(0))

    def test_a_thing_that_shrinks_does_not_grow(self):
        self.assertFalse(trend(self.noisy(lambda time: 10000 - time / 10)).grows(0))

    def test_a_constant_does_not_grow(self):
        self.assertFalse(trend([(number, 23) for number in range(10)]).grows(0))

    def test_a_few_samples_have_none(self):
        self.assertIsNone(trend([(0, 1), (1, 2)]))
        self.assertIsNone(trend([(0, 1)] * 10))


if __name__ == "__main__":
    harness.main()
