#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""info and check, from outside; and docs/drivers.md, whose table must be the program's."""

import json
from pathlib import Path

import harness

DRIVERS_PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "drivers.md"
ENDPOINT = "239.1.1.1:7148"


class Info(harness.ProgramTest):
    def test_the_documented_table_is_the_programs(self):
        printed = self.run_program("info", "--drivers", report=False).out
        lines = DRIVERS_PAGE.read_text(encoding="utf-8").splitlines(keepends=True)
        first = next(i for i, line in enumerate(lines) if line.startswith("| driver "))
        table = "".join(line for line in lines[first:first + len(printed.splitlines())])
        self.assertEqual(table, printed, "put what `dpdk-spead info --drivers` prints into docs/drivers.md")
        after = lines[first + len(printed.splitlines()):]
        self.assertFalse(after and after[0].startswith("|"), "docs/drivers.md has rows that the program does not print")

    def test_the_table_as_json(self):
        drivers = json.loads(self.run_program("info", "--drivers", "--json", report=False).out)
        self.assertIn("net_mlx5", [driver["driver"] for driver in drivers])

    def test_ports_are_described(self):
        finished = self.run_program("info", "net_ring0", "net_null0", report=False)
        for words in ("net_ring0", "net_null0", "zero-copy sending", "interrupt mode", "no, adaptive instead"):
            self.assertIn(words, finished.out)

    def test_ports_as_json(self):
        document = json.loads(self.run_program("info", "net_ring0", "--json", report=False).out)
        (port,) = document["ports"]
        self.assertEqual(port["driver"], "net_ring")
        self.assertEqual(port["pmd"], "net_ring")
        self.assertGreaterEqual(port["queues"]["rx"], 1)
        self.assertTrue(port["capabilities"]["lossless"])
        self.assertIn("zero-copy sending", port["features"])

    def test_a_port_that_only_receives_is_described(self):
        finished = self.run_program("info", "net_kernel0", report=False)
        for words in ("each endpoint has a UDP socket", "through the socket of each endpoint", "only receives"):
            self.assertIn(words, finished.out)

    def test_a_port_that_cannot_be_opened_fails_and_the_others_are_told(self):
        finished = self.run_program("info", "nosuchif", "net_null0", status=1, report=False)
        self.assertIn("no driver for the device \"nosuchif\"", finished.out)
        self.assertIn("zero-copy sending", finished.out)

    def test_without_names_every_candidate_is_listed(self):
        self.run_program("info", report=False)


class Check(harness.ProgramTest):
    def test_a_plan_that_works(self):
        finished = self.run_program("check", "net_null0", report=False)
        self.assertIn("net_null: net_null0", finished.out)
        self.assertIn(", 0 failed", finished.out)

    def test_a_plan_that_does_not(self):
        finished = self.run_program("check", "nosuchif", status=1, report=False)
        self.assertIn("fail  plan", finished.out)

    def test_a_configuration_file(self):
        path = self.directory / "conf.toml"
        path.write_text(f'version = 1\n[[port]]\nname = "p0"\ndevice = "net_null0"\n[[receive]]\nname = "r"\n'
                        f'port = "p0"\nendpoints = ["{ENDPOINT}"]\n', encoding="utf-8")
        document = json.loads(self.run_program("check", "--config", path, "--json", report=False).out)
        self.assertEqual(document["failed"], 0)
        self.assertIn("p0", [finding["subject"] for finding in document["findings"]])
        self.refused("check", "--config", path, "net_null0", status=2, says=("--config", "net_null0"))


if __name__ == "__main__":
    harness.main()
