#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench link and bench latency between two hosts, as far as namespaces are hosts: the ends talk over TCP on the same
wire on which they measure."""

import json

import namespaces  # first: it makes tests/system importable
import harness


class Bench(namespaces.NamespaceTest):
    def between_hosts(self, bench, *words):
        """The document of a benchmark from `dut` to `peer`."""
        where, file = self.FAMILY.endpoint(self.FAMILY.far, port=7999), self.directory / "results.json"
        server = self.start("bench", bench, "--server", where, "--rx-port", "net_af_packet0,iface=peer", report=False,
                            prefix=("ip", "netns", "exec", self.far))
        self.run_program("bench", bench, "--client", where, "--to", self.FAMILY.endpoint(self.FAMILY.group(7)), "--tx-port", "net_af_packet0,iface=dut", "--json", file,
                         *words, report=False, prefix=self.inside, timeout=120)
        server.wait()
        return json.loads(file.read_text(encoding="utf-8"))

    def test_link(self):
        document = self.between_hosts("link", "--payload", "1408,8192", "--heap-size", "64KiB", "--from", "1Mbps",
                                      "--up-to", "2Mbps", "--resolution", 1, "--trial", "200ms", "--confidence", "1/1")
        self.assertEqual([result["payload_bytes"] for result in document["results"]], [1408, 8192])
        # Heaps have arrived, or it would have given up; how many of a trial's is for the machine to say.
        for result in document["results"]:
            for trial in result["trials"]:
                self.assertLessEqual(trial["heaps_arrived"], trial["heaps_sent"])

    def test_latency(self):
        document = self.between_hosts("latency", "--time", "500ms", "--warm-up", "100ms", "--load", "1Mbps")
        self.assertEqual([result["mode"] for result in document["results"]], ["ping-pong", "load"])
        for result in document["results"]:
            self.assertEqual(sum(count for _, _, count in result["buckets_ns"]) + result["heaps_lost"],
                             result["heaps_sent"])


class Bench6(Bench):
    FAMILY = namespaces.V6


if __name__ == "__main__":
    harness.main()
