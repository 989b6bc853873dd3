#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/count-tests on made-up logs of `meson test`: what counts as passed, failed and skipped, and what runs again."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import harness

ROOT = pathlib.Path(os.environ["DPDK_SPEAD_SOURCE_ROOT"])


def program(name, output="", result="OK", code=0):
    """What meson writes about one test program."""
    return {"name": f"dpdk-spead:{name}", "stdout": output, "result": result, "returncode": code}


def tap(*cases):
    """TAP lines: a case whose name begins with "-" failed."""
    return "".join(f"{'not ok' if case.startswith('-') else 'ok'} {number} - {case.lstrip('-')}\n"
                   for number, case in enumerate(cases, 1))


class CountTests(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.log = self.write("testlog")

    def write(self, name, *programs):
        path = self.directory / f"{name}.json"
        path.write_text("".join(json.dumps(entry) + "\n" for entry in programs))
        return path

    def count(self, *words, status):
        ran = subprocess.run([ROOT / "scripts" / "count-tests", *words], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
        return ran.stdout.splitlines()

    def test_cases_are_counted_one_by_one(self):
        self.write("testlog", program("system / send", tap("A.b", "A.c")),
                   program("unit / unit-recv", "[ RUN      ] R.r\n[       OK ] R.r (1 ms)\n"))
        self.assertEqual(self.count(self.log, "--skipped", "with huge pages", status=0),
                         ["skipped: with huge pages", "3 passed, 0 failed, 1 skipped"])

    def test_a_failed_case_fails_the_run(self):
        self.write("testlog", program("system / send", tap("A.b", "-A.c"), "FAIL", 1))
        self.assertEqual(self.count(self.log, status=1),
                         ["failed: dpdk-spead:system / send: A.c", "1 passed, 1 failed, 0 skipped"])

    def test_a_crash_beyond_the_cases_fails_the_run(self):
        self.write("testlog", program("system / send", tap("A.b"), "FAIL", -11))
        self.assertEqual(self.count(self.log, status=1)[-1], "1 passed, 1 failed, 0 skipped")

    def test_no_log_and_no_case_are_failures(self):
        self.assertEqual(self.count(self.directory / "none.json", status=1)[-1], "0 passed, 1 failed, 0 skipped")
        self.assertEqual(self.count(self.log, status=1), ["0 passed, 0 failed, 0 skipped"])

    def test_a_case_that_passes_in_the_second_run_is_unsteady(self):
        self.write("testlog", program("system+machine / vhost", tap("A.b", "-A.c"), "FAIL", 1))
        self.write("testlog-again", program("system+machine / vhost", tap("A.b", "A.c", "A.d")))
        self.assertEqual(self.count(self.log, status=0),
                         ["unsteady: dpdk-spead:system+machine / vhost: A.c", "3 passed, 0 failed, 0 skipped"])

    def test_a_case_that_fails_twice_has_failed(self):
        self.write("testlog", program("system / send", tap("-A.b"), "FAIL", 1), program("eal / port-ring", tap("-C.d"), "FAIL", 1))
        self.write("testlog-again", program("system / send", tap("-A.b"), "FAIL", 1), program("eal / port-ring", tap("C.d")))
        self.assertEqual(self.count(self.log, status=1),
                         ["unsteady: dpdk-spead:eal / port-ring: C.d", "failed: dpdk-spead:system / send: A.b",
                          "1 passed, 1 failed, 0 skipped"])

    def test_only_programs_that_others_may_have_failed_run_again(self):
        failed = tap("-A.b"), "FAIL", 1
        self.write("testlog", program("unit / unit-recv", *failed), program("system+machine / vhost", *failed),
                   program("eal / port-ring", "", "TIMEOUT", 1), program("system / send", tap("A.b")))
        self.assertEqual(self.count("--unsteady", "3", self.log, status=0), ["vhost", "port-ring"])

    def test_neither_a_crash_nor_an_interruption_is_unsteadiness(self):
        self.write("testlog", program("eal / crashed", "[ RUN      ] A.b\n", "FAIL", -11),
                   program("eal / silent", tap("A.b"), "FAIL", 1), program("eal / ended", tap("-A.b"), "INTERRUPT", 1))
        self.assertEqual(self.count("--unsteady", "3", self.log, status=0), [""])

    def test_many_failures_are_no_unsteadiness(self):
        self.write("testlog", *(program(f"system / t{number}", tap("-A.b"), "FAIL", 1) for number in range(4)))
        self.assertEqual(self.count("--unsteady", "4", self.log, status=0), [""])

    def test_a_broken_run_is_no_unsteadiness(self):
        self.write("testlog", program("system / send", tap("-A.b"), "FAIL", 1))
        self.assertEqual(self.count("--unsteady", "2", self.log, status=1), [""])
        self.assertEqual(self.count("--unsteady", "1", self.directory / "none.json", status=1), [""])


if __name__ == "__main__":
    harness.main()
