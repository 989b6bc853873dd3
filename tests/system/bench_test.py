#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench link, bench latency and bench chunks. What they find depends on the machine; that it adds up
does not."""

import csv
import json
import os
import pathlib
import signal
import socket
import subprocess

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUICK = ("--payload", "1024", "--from", "50Mbps", "--up-to", "100Mbps", "--resolution", 1, "--trial", "100ms",
         "--confidence", "1/1")
UDP_BYTES = 1080  # of a stamped heap of one packet with 1024 bytes
RING = ("--tx-port", "net_ring0", "--rx-port", "net_ring0")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Bench(harness.ProgramTest):
    def check_link(self, document, cases):
        self.assertEqual(document["bench"], "link")
        self.assertEqual(len(document["results"]), cases)
        for result in document["results"]:
            self.assertTrue(result["trials"])
            for trial in result["trials"]:
                self.assertLessEqual(trial["heaps_arrived"], trial["heaps_sent"])
                self.assertEqual(trial["passed"], trial["heaps_sent"] > 0 and
                                 trial["heaps_arrived"] == trial["heaps_sent"] and
                                 trial["reached_bps"] >= 0.99 * trial["offered_bps"], trial)
            passed = [trial["offered_bps"] for trial in result["trials"] if trial["passed"]]
            if result["sustained_bps"] is not None:
                self.assertIn(result["sustained_bps"], passed)

    def measured(self, *words):
        """Runs a benchmark; its document, which is no report of a run."""
        file = self.directory / "results.json"
        finished = self.run_program("bench", *words, "--json", file, report=False, timeout=120)
        return json.loads(file.read_text(encoding="utf-8")), finished

    def link(self, *words, cases=1):
        document, finished = self.measured("link", *QUICK, *words)
        self.check_link(document, cases)
        return finished

    def test_link_between_two_processes_that_it_starts(self):
        finished = self.link("--heap-size", "packet,64KiB", cases=2)
        self.assertIn("sustained", finished.out)
        self.assertIn("1024 B", finished.out)
        self.assertIn("Near end: lcore on CPU", finished.out)

    def test_a_busy_lcore_on_a_shared_cpu_is_warned_of_once(self):
        cpu = str(min(os.sched_getaffinity(0)))
        shared = ("--heap-size", "64KiB", "--tx-lcore", cpu, "--rx-lcore", cpu)
        warning = f"never pauses on CPU {cpu}"
        checked = self.run_program("bench", "link", "--check", *shared, "--poll", "busy", report=False)
        self.assertIn(warning, checked.out)
        checked = self.run_program("bench", "link", "--check", *shared, report=False)
        self.assertNotIn(warning, checked.out)
        self.assertEqual(self.link(*shared, "--poll", "busy").err.count("never pauses"), 1)

    def test_link_on_a_port_that_receives_its_own(self):
        for to in ("239.1.1.1:7148", "[ff15::1]:7148"):
            with self.subTest(to=to):
                self.link("--heap-size", "64KiB", "--quiet", "--to", to, *RING)

    def test_link_between_a_server_and_a_client(self):
        where = f"127.0.0.1:{free_port()}"
        device = f"net_memif0,socket={self.directory}/memif.sock"
        server = self.start("bench", "link", "--server", where, "--rx-port", f"{device},role=server", report=False)
        self.link("--client", where, "--tx-port", f"{device},role=client", "--heap-size", "packet,64KiB", cases=2)
        server.wait()

    def test_assemble_names_the_memory_of_mbufs_and_packets(self):
        document, finished = self.measured("assemble", "--payload", "1024", "--heap-size", "16KiB", "--set", "1MiB",
                                           "--descriptors", "0,64", "--time", "10ms", "--rounds", 1)
        own, by_turns = document["rows"]
        self.assertEqual((own["descriptors"], by_turns["descriptors"]), (0, 64))
        self.assertLess(by_turns["frame_memory"] / by_turns["packets"], own["frame_memory"] / own["packets"])
        self.assertEqual(own["packet_pages"], document["mbuf_pages"])
        self.assertIn(f"mbufs in {document['mbuf_pages']}; ", finished.out)
        pages = " and in ".join(sorted({own["packet_pages"], by_turns["packet_pages"]}))
        self.assertIn(f"packets in {pages}; heaps in ", finished.out)
        self.assertEqual(finished.out.count("  64 mbufs"), 1)

    def check_latency(self, document, modes):
        self.assertEqual([result["mode"] for result in document["results"]], modes)
        for result in document["results"]:
            self.assertGreater(result["heaps_warm_up"], 0)
            if result["mode"] == "load":
                # However busy the machine is: what was due was sent, or is said not to have been.
                due = 0.5 * result["load_bps"] / 8 / UDP_BYTES
                self.assertAlmostEqual(result["heaps_sent"] + result["heaps_not_sent"], due, delta=1)
            in_buckets = sum(count for _, _, count in result["buckets_ns"])
            self.assertEqual(in_buckets + result["heaps_lost"], result["heaps_sent"])
            known = [value for value in result["percentiles_ns"].values() if value is not None]
            self.assertEqual(known, sorted(known))
            if in_buckets:
                self.assertLessEqual(result["min_ns"], result["max_ns"])
                self.assertGreaterEqual(result["buckets_ns"][-1][1], result["max_ns"])

    def latency(self, *words, modes):
        histogram = self.directory / "histogram.csv"
        document, finished = self.measured("latency", "--time", "500ms", "--warm-up", "200ms", "--histogram", histogram,
                                           *words)
        self.check_latency(document, modes)
        with open(histogram, encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(int(row["lowest_ns"]), int(row["highest_ns"]), int(row["heaps"])) for row in rows],
                         [tuple(bucket) for result in document["results"] for bucket in result["buckets_ns"]])
        self.assertIn("99.99 %", finished.out)
        self.assertIn("warm-up", finished.out)
        return finished

    def test_latency_between_two_processes_that_it_starts(self):
        self.latency("--load", "1Mbps", modes=["ping-pong", "load"])

    def test_latency_on_a_port_that_receives_its_own(self):
        self.latency("--load", "off", "--heap-size", "64KiB", *RING, modes=["ping-pong"])

    def test_what_the_far_end_says_is_told_here(self):
        where = f"127.0.0.1:{free_port()}"
        server = self.start("bench", "link", "--server", where, "--rx-port", "net_pcap0,rx_pcap=/nowhere.pcap",
                            report=False)
        self.refused("bench", "link", *QUICK, "--client", where, "--tx-port", "net_null0", status=1,
                     says=["the other end", "nowhere.pcap"])
        server.wait(status=1)

    def test_a_far_end_that_answers_nonsense_is_told_of(self):
        """Deeply nested answers once overflowed the stack."""
        for answer in (b'{"error":' + b"[" * 400000 + b"]" * 400000 + b"}", b'{"a":' * 150000 + b"1" + b"}" * 150000,
                       b"[" * 1000000, b"hello"):
            with self.subTest(answer=answer[:20]), socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))
                listener.listen()
                running = self.start("bench", "link", *QUICK, "--client", f"127.0.0.1:{listener.getsockname()[1]}",
                                     "--tx-port", "net_null0", report=False)
                listener.settimeout(60)
                far, _ = listener.accept()
                with far, far.makefile("rb") as lines:
                    lines.readline()
                    try:
                        far.sendall(answer + b"\n")
                    except OSError:
                        pass  # it has heard enough
                    finished = running.wait(status=1)
                self.assertIn("the other end does not speak the protocol of bench", finished.err)

    def test_the_second_process_ends_with_the_first(self):
        running = self.start("bench", "link", "--trial", "60s", "--heap-size", "64KiB", "--payload", "1024",
                             report=False)
        children = pathlib.Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children")
        running.wait_for(lambda: children.read_text(encoding="utf-8").split(), "second process")
        child = pathlib.Path("/proc") / children.read_text(encoding="utf-8").split()[0]
        running.process.send_signal(signal.SIGINT)
        finished = running.wait(status=1)
        self.assertFalse(child.exists(), finished)
        self.assertIn("interrupted", finished.err)

    def test_the_rate_is_that_of_the_heaps(self):
        document, _ = self.measured("assemble", "--payload", "8192", "--heap-size", "9KiB,packet", "--set", "4MiB",
                                    "--time", "1ms", "--rounds", 2)
        for row, packets in zip(document["rows"], (2, 1)):
            self.assertAlmostEqual(row["gbps"], 8 * row["heap"] / packets / row["ns_per_packet"], places=6)
        # Of heaps of a packet, 512 rotate at most, whatever was asked for.
        document, finished = self.measured("assemble", "--payload", "64", "--heap-size", "packet", "--set", "4MiB", "--time",
                                           "1ms", "--rounds", 2)
        self.assertEqual(document["rows"][0]["heap_memory"], 512 * 256)
        self.assertIn("  128 KiB  ", finished.out)

    def test_heaps_are_assembled_from_two_paths_and_from_one_beside_a_silent_one(self):
        document, finished = self.measured("assemble", "--payload", "1024", "--heap-size", "packet,64KiB", "--set", "4MiB",
                                           "--two-paths", "--silent-path", "--time", "1ms", "--rounds", 2)
        rows = document["rows"]
        self.assertEqual([(row["heap"], row["two_paths"], row["silent_path"]) for row in rows],
                         [(heap, two, silent) for heap in (1024, 65536)
                          for two, silent in ((False, False), (True, False), (True, True))])
        for row in rows:
            self.assertTrue(row["exact"], row)
        self.assertEqual((finished.out.count("  two paths"), finished.out.count("  silent path")), (2, 2))

    def test_chunks_are_filled_in_every_way(self):
        for way in ("direct", "tracked", "callback"):
            document, finished = self.measured("chunks", "--way", way, "--pattern", "p1,p2,p3,p3b,p4", "--set", "4MiB",
                                               "--time", "1ms", "--rounds", 3)
            self.assertEqual(document["benchmark"], "chunks")
            self.assertEqual([row["pattern"] for row in document["rows"]], ["p1", "p2", "p3", "p3b", "p4"])
            for row in document["rows"]:
                self.assertTrue(row["exact"], row)
                self.assertEqual(row["way"], way)
                self.assertGreater(row["copy_ns_per_packet"], 0)
                self.assertAlmostEqual(row["gbps"], 8 * row["payload"] / row["ns_per_packet"], places=6)
                self.assertAlmostEqual(row["mpps"], 1e3 / row["ns_per_packet"], places=6)
                self.assertEqual(row["heap"] % row["payload"], 0)
                self.assertEqual(row["packets"] * row["payload"] % row["heap"], 0)
            self.assertIn(f"way: {way}", finished.out)

    def test_chunks_are_filled_by_packets_of_every_known_format(self):
        known = json.loads(self.run_program("info", "--formats", "--json", report=False).out)["formats"]
        for name in ["", *(one["name"] for one in known)]:
            with self.subTest(format=name):
                document, _ = self.measured("chunks", "--way", "format", *(["--format", name] if name else []), "--pattern",
                                            "p1,p3b", "--set", "4MiB", "--time", "1ms", "--rounds", 2, "--lcores", "2")
                self.assertEqual([(row["pattern"], row["lcores"]) for row in document["rows"]],
                                 [(pattern, lcores) for pattern in ("p1", "p3b") for lcores in (1, 2)])
                for row in document["rows"]:
                    self.assertTrue(row["exact"], row)
                    self.assertTrue(row["format"].startswith(name), row)

    def test_an_lcore_distributes_every_packet(self):
        document, _ = self.measured("distribute", "--payload", "64,1024", "--set", "4MiB", "--streams", "1,16", "--lcores",
                                    "2,4", "--time", "1ms", "--rounds", 2)
        self.assertEqual(document["benchmark"], "distribute")
        self.assertEqual([(row["payload"], row["streams"], row["lcores"]) for row in document["rows"]],
                         [(p, s, n) for p in (64, 1024) for s in (1, 16) for n in (2, 4)])
        for row in document["rows"]:
            self.assertTrue(row["exact"], row)
            self.assertAlmostEqual(row["added_ns"], row["ns_per_packet"] - row["bare_ns_per_packet"], places=6)

    def test_several_lcores_fill_the_same_chunks(self):
        cpus = len(os.sched_getaffinity(0))
        for way in ("direct", "tracked", "callback"):
            document, finished = self.measured("chunks", "--way", way, "--pattern", "p1,p2,p3", "--set", "4MiB",
                                               "--time", "1ms", "--rounds", 2, "--lcores", "4,3")
            rows = document["rows"]
            self.assertEqual([(row["pattern"], row["lcores"]) for row in rows],
                             [(pattern, lcores) for pattern in ("p1", "p2", "p3") for lcores in (1, 3, 4)])
            one = None
            for row in rows:
                one = row if row["lcores"] == 1 else one
                self.assertTrue(row["exact"], row)
                self.assertEqual(row["packets"], one["packets"])
                self.assertEqual(row["cpus"], min(row["lcores"], cpus))
                self.assertGreater(row["copy_ns_per_packet"], 0)
                self.assertAlmostEqual(row["times_one_lcore"], row["ns_per_packet"] / one["ns_per_packet"], places=6)
                self.assertAlmostEqual(row["mpps"], 1e3 * row["lcores"] / row["ns_per_packet"], places=6)
                self.assertAlmostEqual(row["gbps"], 8e-3 * row["payload"] * row["mpps"], places=6)
            if cpus < 4:
                self.assertIn(f"4 lcores on {cpus} CPU", finished.out)

    def test_lcores_that_eal_has_not_are_refused(self):
        # Three are there beside the main one; a refusal comes before anything is measured.
        finished = self.run_program("--lcores", "0@0,1@0,2@0,3@0", "--", "bench", "chunks", "--pattern", "p1", "--set",
                                    "4MiB", "--time", "1ms", "--lcores", "4", status=2, report=False)
        self.assertIn("4 lcores were asked for, and EAL has 3 beside its main lcore", finished.err)
        self.assertEqual(finished.out, "")

    def test_what_chunks_cannot_measure_is_refused(self):
        self.refused("bench", "chunks", "--lcores", "0", says=("--lcores: `0`",))
        self.refused("bench", "chunks", "--lcores", "17", says=("--lcores: `17`",))
        self.refused("bench", "chunks", "--pattern", "p5", says=("p5", "not SPEAD"))
        self.refused("bench", "chunks", "--pattern", "none", says=("no heaps",))
        self.refused("bench", "chunks", "--way", "back", says=("--way", "callback"))
        self.refused("bench", "chunks", "--format", "vdif", says=("--format", "--way format"))
        self.refused("bench", "chunks", "--way", "format", "--format", "vdiff", says=("`vdiff`", "pst, ata"))
        self.refused("bench", "chunks", "--way", "format", "--pattern", "p2", says=("one packet", "p1"))

    def test_plots(self):
        # The distribution's, as scripts/plot takes it.
        if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], capture_output=True, check=False).returncode:
            self.skipTest("python3-matplotlib is not here; scripts/deps --plot installs it")
        for name, command in (("link", ("bench", "link", *QUICK, *RING, "--heap-size", "64KiB")),
                              ("latency", ("bench", "latency", "--time", "200ms", "--load", "off", *RING))):
            file, picture = self.directory / f"{name}.json", self.directory / f"{name}.png"
            self.run_program(*command, "--json", file, report=False)
            subprocess.run([ROOT / "scripts/plot", file, picture], check=True)
            self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_a_plot_of_something_else_is_refused(self):
        file = self.directory / "other.json"
        for text in ('{"bench": "cake"}', "[]", "no json"):
            file.write_text(text, encoding="utf-8")
            tried = subprocess.run([ROOT / "scripts/plot", file, self.directory / "x.png"],
                                   capture_output=True, text=True, check=False)
            self.assertEqual(tried.returncode, 1)
            self.assertIn("not what bench", tried.stderr)


if __name__ == "__main__":
    harness.main()
