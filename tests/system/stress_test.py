#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/stress for a short while, and that it reports a fault when there is one."""

import os
import re
import subprocess
import sys
from pathlib import Path

import harness

SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts" / "stress"


class Stress(harness.ProgramTest):
    def stress(self, *words, program=None, status=0):
        done = subprocess.run([sys.executable, str(SCRIPT), *map(str, words), "--program", program or harness.program()],
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "TMPDIR": str(self.directory)}, timeout=240 * harness.PATIENCE)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def test_random_operations_within_the_process(self):
        out = self.stress("--seed", 1, "--commands", 120, "--links", "ring")
        self.assertRegex(out, r"120 operations .* no fault\n$")

    def test_random_operations_on_interfaces(self):
        out = self.stress("--seed", 3, "--commands", 80, "--links", "ring,wire")
        if "without the link" in out:
            self.skipTest(out.splitlines()[0])
        self.assertRegex(out, r"80 operations .* no fault\n$")

    def test_the_same_seed_does_the_same(self):
        logs = []
        for _ in range(2):
            self.stress("--seed", 5, "--commands", 30, "--stretch", 10, "--links", "ring", "--keep")
            (log,) = self.directory.glob("dpdk-spead-stress-*/operations.log")
            logs.append(log.read_text(encoding="utf-8"))
            log.unlink()
        self.assertEqual(logs[0], logs[1])
        self.assertEqual(len(re.findall(r"^ *30 ", logs[0], re.M)), 3, "the last operation, the check, the end")

    def test_a_fault_is_told_with_its_seed(self):
        # A program that begins like ours, and ends in the midst of it.
        broken = self.directory / "broken"
        broken.write_text(f"""#!/bin/sh
[ "$1" = attach ] && exit 0
echo 'Ctrl-C ends' >&2
read line
echo 'terminate called after all' >&2
exit 1
""", encoding="utf-8")
        broken.chmod(0o755)
        out = self.stress("--seed", 7, "--commands", 100, "--links", "ring", program=str(broken), status=1)
        self.assertIn("FAULT: ", out)
        self.assertRegex(out, r"-- everything is in (\S+); again with\n +\S+ --seed 7 ")


if __name__ == "__main__":
    harness.main()
