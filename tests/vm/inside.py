#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs in the guest of scripts/vm, and prints one list of TAP lines: inside.py [PROGRAM...] [WORD...]

The tests of every *_test.py beside it, those of tests/netns that depend on the kernel's abilities, and those of the GoogleTest programs named by their paths. With words, only
the tests whose names contain one."""

import importlib
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "system"), str(HERE.parent / "netns")]

os.environ["DPDK_SPEAD_PATIENCE"] = "5"
import harness  # noqa: E402


class GoogleTest(unittest.TestCase):
    """One test of a GoogleTest program. The program runs once, since EAL takes longer to start than the tests take:
    with the first test that is wanted. Skipping fails: this kernel has everything."""

    _runs = {}

    def __init__(self, program, name):
        super().__init__()
        self._program, self._name = program, name

    def id(self):
        return f"{Path(self._program).name}.{self._name}"

    def runTest(self):
        if self._program not in self._runs:
            self._runs[self._program] = self._run()
        status, output, results = self._runs[self._program]
        self.assertIn(self._name, results, f"status {status}\n{output}")
        self.assertEqual(results[self._name], ("COMPLETED", []), output)
        if all(result == ("COMPLETED", []) for result in results.values()):
            self.assertEqual(status, 0, output)

    def _run(self):
        """(exit status, what was printed, {test: (result, failures)}), the last one empty after a crash."""
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            done = subprocess.run([self._program, f"--gtest_output=json:{report.name}"], check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=600)
            text = report.read()
        suites = json.loads(text)["testsuites"] if text else []
        return done.returncode, done.stdout, {f"{test['classname']}.{test['name']}": (
            test["result"], test.get("failures", [])) for suite in suites for test in suite["testsuite"]}


def google_tests(program):
    """--gtest_list_tests prints "Suite." lines, and their tests indented below."""
    listed = subprocess.run([program, "--gtest_list_tests"], check=True, stdout=subprocess.PIPE, text=True).stdout
    suite, tests = "", unittest.TestSuite()
    for line in listed.splitlines():
        name = line.split("#")[0].strip()
        if line.startswith(" "):
            tests.addTest(GoogleTest(program, suite + name))
        elif name.endswith("."):
            suite = name
    return [tests]


def main():
    programs = [os.path.abspath(word) for word in sys.argv[1:] if os.path.isfile(word)]
    sys.argv[1:] = [word for word in sys.argv[1:] if not os.path.isfile(word)]
    scripts = [*sorted(HERE.glob("*_test.py")), HERE.parent / "netns/same_file_test.py"]
    modules = [importlib.import_module(script.stem) for script in scripts]
    loader = unittest.defaultTestLoader
    harness.main([loader.loadTestsFromModule(module) for module in modules] + [google_tests(path) for path in programs])


if __name__ == "__main__":
    main()
