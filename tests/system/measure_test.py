#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/measure: what it keeps, what it measures anew, and what it refuses."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import harness

MEASURE = pathlib.Path(__file__).resolve().parents[2] / "scripts/measure"
# Stands for the program: it writes the rows that it is told to, and counts its runs.
PROGRAM = """#!/bin/sh
for word; do last=$word; done
echo run >> '{runs}'
{end}
printf '%s' '{document}' > "$last"
"""
SPEAD2 = """#!/bin/sh
echo "1 bytes in 1 seconds"; echo "12.5 Gbps"
"""
ROW = {"payload": 1024, "heap": 65536, "ns_per_packet": 100.0, "bare_ns_per_packet": 50.0, "gbps": 81.9, "mpps": 10.0}


class Measure(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory(prefix="dpdk-spead-test-")
        self.addCleanup(self.kept.cleanup)
        self.directory = pathlib.Path(self.kept.name)
        self.out = self.directory / "out"
        self.runs = self.directory / "runs"
        self.make_program()

    def make_program(self, document=None, end=""):
        self.executable("program", PROGRAM.format(
            runs=self.runs, document=json.dumps(document or {"rows": [ROW]}), end=end))

    def executable(self, name, text):
        file = self.directory / name
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)
        return file

    def measure(self, *words, status=None):
        done = subprocess.run(
            ["/usr/bin/python3", MEASURE, "--out", self.out, "--program", self.directory / "program", *words],
            capture_output=True, text=True, check=False, timeout=60 * harness.PATIENCE,
            env={**os.environ, "PATH": f"{self.directory}:{os.environ['PATH']}"})
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr)
        return done

    def times_run(self):
        return len(self.runs.read_text().splitlines()) if self.runs.exists() else 0

    def test_results_are_kept_and_tabulated(self):
        first = self.measure("--only", "transmit")
        self.assertIn("transmit.json: ", first.stdout)
        table = (self.out / "tables.md").read_text()
        self.assertIn("| payload | heap | gbps | mpps | ns per packet | bare ns per packet |", table)
        self.assertIn("| 1024 | 64 KiB | 81.9 | 10.0 | 100.0 | 50.0 |", table)
        again = self.measure("--only", "transmit")
        self.assertIn("transmit.json: kept", again.stdout)
        self.assertEqual(self.times_run(), 1)
        self.measure("--only", "transmit", "--again")
        self.assertEqual(self.times_run(), 2)

    def test_the_limit_is_drawn(self):
        if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], capture_output=True, check=False).returncode:
            self.skipTest("python3-matplotlib is not here; scripts/deps --plot installs it")
        self.measure("--only", "transmit", status=0)
        self.assertEqual((self.out / "transmit.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_spead2_is_measured_beside(self):
        self.executable("spead2_bench", SPEAD2)
        self.measure("--only", "spead2-mem")
        rows = json.loads((self.out / "spead2-mem.spead2.json").read_text())["rows"]
        # Its rate has the headers, too.
        self.assertEqual(rows, [{"packet": packet, "gbps": 12.5 * payload / (payload + 40)}
                                for packet, payload in ((1472, 1432), (4160, 4120), (8972, 8928))])
        self.assertIn("| 8972 | 12.4 |", (self.out / "tables.md").read_text())

    def test_a_benchmark_that_fails_leaves_nothing(self):
        self.make_program(end="echo no memory >&2; exit 3")
        failed = self.measure("--only", "transmit,payload", status=1)
        self.assertIn("ended with status 3: no memory", failed.stderr)
        self.assertEqual(self.times_run(), 2, "the others go on")
        self.assertFalse((self.out / "transmit.json").exists())

    def test_results_of_another_program_are_refused(self):
        self.measure("--only", "transmit")
        self.make_program({"rows": []})
        self.assertIn("results of another program", self.measure("--only", "transmit", status=1).stderr)
        self.assertEqual(self.times_run(), 1)

    def test_results_of_a_trial_are_no_results(self):
        self.measure("--only", "transmit", "--quick")
        self.assertIn("results of another length (--quick)", self.measure("--only", "transmit", status=1).stderr)
        self.executable("spead2_bench", SPEAD2)
        self.assertIn("results of another spead2_bench", self.measure("--only", "transmit", "--quick", status=1).stderr)
        self.assertEqual(self.times_run(), 1)

    def test_wrong_options_are_refused(self):
        self.assertIn("no measurement `cake`; give some of payload, ", self.measure("--only", "cake", status=1).stderr)
        missing = self.measure("--program", self.directory / "none", status=1)
        self.assertIn("does not exist; build it, or give --program", missing.stderr)
        self.out.write_text("a file")
        self.assertIn("scripts/measure: ", self.measure(status=1).stderr)

    def test_the_program_has_what_is_asked(self):
        """The benchmarks' own words, tried on the program: each is planned, and not run."""
        told = self.measure("--list", status=0).stdout.splitlines()
        self.assertGreater(len(told), 5)
        for line in told:
            done = subprocess.run([harness.program(), "bench", *line.split(), "--check", "--quiet"], capture_output=True,
                                  text=True, check=False, timeout=60 * harness.PATIENCE)
            self.assertEqual(done.returncode, 0, line + "\n" + done.stderr)


if __name__ == "__main__":
    harness.main()
