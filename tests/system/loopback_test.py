#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`dpdk-spead loopback`: TX lcore, a DPDK port and RX lcore in one process."""

import json

import harness


class Loopback(harness.ProgramTest):
    def check_all_arrive(self, heaps, *words):
        finished = self.run_program("loopback", "--heaps", heaps, *words)
        report = finished.report
        complete = sum(stream["heaps"]["complete"] for stream in report["streams"])
        self.assertEqual(complete, heaps, str(finished))
        self.assertEqual(sum(send["heaps"] for send in report["sends"]), heaps, str(finished))
        self.assertEqual(sum(send["aborted"] for send in report["sends"]), 0)
        sent = sum(send["packets"] for send in report["sends"])
        self.assertGreaterEqual(sent, heaps)
        for outcome in ("malformed", "late", "no_memory", "inconsistent", "oversize", "heap_too_big"):
            self.assertEqual(sum(stream["packets"][outcome] for stream in report["streams"]), 0, outcome)
        return finished

    def test_every_heap_arrives_and_the_final_table_says_so(self):
        finished = self.check_all_arrive(50, "--heap-size", "256KiB")
        self.assertIn("complete", finished.out)
        self.assertIn("50", finished.out)

    def test_without_any_option_but_the_number_of_heaps(self):
        self.check_all_arrive(8)

    def test_jumbo_packets(self):
        for endpoint in ("239.10.10.0:7148", "[ff15::1]:7148"):
            with self.subTest(endpoint=endpoint):
                self.check_all_arrive(20, endpoint, "--heap-size", "1MiB", "--max-packet-size", "8900")

    def test_several_endpoints_and_lcores(self):
        for endpoints in ("239.10.10.0+3:7148", "[ff15::1]+3:7148"):
            with self.subTest(endpoints=endpoints):
                self.check_all_arrive(200, endpoints, "--joint", "--heap-size", "64KiB")

    def test_heaps_of_one_small_packet(self):
        self.check_all_arrive(5000, "--heap-size", "64")

    def test_heap_sizes_that_are_no_multiple_of_anything(self):
        for size in (4, 1431, 1433, 65537):
            with self.subTest(size=size):
                self.check_all_arrive(50, "--heap-size", size)

    def test_several_items(self):
        self.check_all_arrive(30, "--heap-size", "100000", "--items", 7)

    def test_every_address_width(self):
        for bits in (24, 32, 40, 48):
            with self.subTest(bits=bits):
                self.check_all_arrive(30, "--heap-size", "64KiB", "--addr-bits", bits)

    def test_zero_copy_and_copied(self):
        for choice, key in (("always", "zero_copy_packets"), ("never", "copied_packets")):
            with self.subTest(zero_copy=choice):
                finished = self.check_all_arrive(30, "--heap-size", "256KiB", "--zero-copy", choice)
                send = finished.report["sends"][0]
                self.assertGreater(send[key], send["packets"] / 2, str(finished))

    def test_heaps_in_the_memory_of_an_engine(self):
        for engine, size in (("fake", "64KiB"), ("fake", "1000"), ("cpu", "64KiB")):
            with self.subTest(engine=engine, size=size):
                finished = self.check_all_arrive(1000, "--heap-size", size, "--heap-memory", engine)
                stream = finished.report["streams"][0]
                self.assertEqual(stream["info"]["verified"], 1000, str(finished))
                self.assertEqual(stream["heaps"]["device_error"], 0)

    def test_a_paced_sender_loses_nothing(self):
        self.check_all_arrive(10, "--heap-size", "64KiB", "--rate", "1Gbps")

    def test_the_report_on_standard_output_is_nothing_but_json(self):
        finished = self.run_program("loopback", "--heaps", 4, "--heap-size", "64KiB", "--json", "-", report=False)
        report = json.loads(finished.out)
        self.assertEqual(report["version"], 1)
        self.assertEqual(harness.broken_identities(report), [])

    def test_quiet_says_nothing(self):
        finished = self.run_program("loopback", "--heaps", 4, "--heap-size", "64KiB", "--quiet")
        self.assertEqual((finished.out, finished.err), ("", ""))

    def test_eal_options_before_the_dashes_are_obeyed(self):
        finished = self.run_program("--lcores", "0@0,1@0", "-m", "256", "--", "loopback", "--heaps", 4,
                                    "--heap-size", "64KiB")
        self.assertEqual(finished.report["streams"][0]["heaps"]["complete"], 4)

    def test_two_at_once_do_not_collide(self):
        words = ("loopback", "--heaps", 200, "--heap-size", "256KiB")
        runs = [self.start(*words), self.start(*words)]
        for running in runs:
            self.assertEqual(running.wait().report["streams"][0]["heaps"]["complete"], 200)

    def test_two_senders_of_one_stream_count_apart(self):
        configuration = self.directory / "two.toml"
        senders = "\n".join(f"""
[[send]]
name = "d{first}"
port = "p0"
endpoints = ["239.10.10.0:7148"]
heap_size = "64KiB"
heaps = 300
first_count = {first}
count_step = 2
verify = true""" for first in (1, 2))
        configuration.write_text(f"""
version = 1
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["239.10.10.0:7148"]
[receive.heaps]
max_live = 16
[receive.sink]
kind = "verify"
{senders}
""")
        report = self.run_program("run", "--config", configuration).report
        self.assert_stream(report, "s0", complete=600, started=600, duplicate=0)

    def test_a_duration_ends_it(self):
        finished = self.run_program("loopback", "--heaps", -1, "--heap-size", "64KiB", "--duration", "0.5")
        stream = finished.report["streams"][0]
        self.assertGreater(stream["heaps"]["complete"], 0)

    def test_a_run_that_verified_nothing_fails_and_says_so(self):
        finished = self.run_program("loopback", "--rate", "1Mbps", "--duration", "0.3", status=1)
        self.assertIn("nothing was verified", finished.err)
        self.assertEqual(finished.report["streams"][0]["info"]["verified"], 0)


if __name__ == "__main__":
    harness.main()
