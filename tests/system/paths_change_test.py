#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A running stream gets a second path and loses it again, and packets of another format for a while."""

import re

import harness
from prompt_change_test import Busy

SECOND = "239.10.10.20:7148"


class ChangePaths(Busy):
    """A ring with a sender, and its copy to other groups."""

    def config(self):
        path = super().config()
        path.write_text(path.read_text(encoding="utf-8") + f"""[[send]]
name = "d1"
port = "p0"
copy_of = "d0"
endpoints = ["{SECOND.replace(":", "+3:")}"]
""", encoding="utf-8")
        return path

    def wait_for_more(self, name):
        before = self.numbers("stream", "s0")[name]
        self.wait_for(lambda: self.numbers("stream", "s0")[name] >= before + 3, f"more {name}")

    def test_a_second_path_comes_and_goes(self):
        self.wait_for_more("heaps.complete")
        self.command(f"stream set s0 paths p0,p0 path_endpoints {SECOND.replace(':', '+1:')}", "s0")
        self.wait_for_more("packets.redundant")
        self.wait_for_more("heaps.complete")
        refusal = self.command("endpoint add s0 239.10.10.12:7148", "a twin on its second path")
        line = re.search("`(stream set s0 .*?)`", refusal.replace("\n", " "))[1]
        self.command(line.replace("TWIN", "239.10.10.22:7148"), "s0")
        self.command("endpoint delete s0 239.10.10.12:7148", "no longer receives 239.10.10.12:7148, on both paths")
        self.assertIn('path_endpoints = ["239.10.10.20+1:7148"]', self.command("show config s0"))
        self.command("stream set s0 path_skew 2s", "s0")
        self.assertIn('history_time = "4s"', self.command("show config s0"))
        self.command("stream set s0 path_skew 2s heaps.history_time 1s", "raise `history_time`")
        self.command("stream set s0 paths p0,p7", "no port `p7`")
        self.command("stream set s0 paths p0,p0 path_endpoints default", "same endpoints")
        config = self.command("show config s0")
        self.assertIn('paths = ["p0", "p0"]', config)
        self.command("stream set s0 paths default path_endpoints default", "s0")
        redundant = self.numbers("stream", "s0")["packets.redundant"]
        self.wait_for_more("heaps.complete")
        self.assertEqual(self.numbers("stream", "s0")["packets.redundant"], redundant)
        self.assertEqual(self.assert_stream(self.end(), "s0")["info"]["wrong"], 0)

    def test_packets_are_judged_by_the_format_of_their_time(self):
        self.wait_for_more("heaps.complete")
        self.command("stream set s0 format vdif", "the sink `verify` knows what SPEAD senders")
        self.command("stream set s0 format vdif sink.kind null", "s0")
        self.wait_for_more("packets.malformed")
        self.command("stream set s0 format default", "s0")
        malformed = self.numbers("stream", "s0")["packets.malformed"]
        self.wait_for_more("heaps.complete")
        self.assertEqual(self.numbers("stream", "s0")["packets.malformed"], malformed)
        causes = {finding["cause"] for finding in self.end()["findings"]}
        self.assertIn("not_in_format", causes)


class SameEndpoints(Busy):
    """Two rings, with the same groups on both."""

    def config(self):
        path = super().config()
        text = path.read_text(encoding="utf-8").replace('port = "p0"\nendpoints', 'paths = ["p0", "p1"]\nendpoints', 1)
        path.write_text(text.replace("[[receive]]", """[[port]]
name = "p1"
device = "net_ring1"
[[receive]]""") + """[[send]]
name = "d1"
port = "p1"
copy_of = "d0"
""", encoding="utf-8")
        return path

    def test_one_command_adds_an_endpoint_to_both_paths(self):
        fresh = self.endpoint(12)
        for listed in (False, True):
            with self.subTest(listed=listed):
                if listed:
                    self.command(f"stream set s0 path_endpoints {self.endpoint(10, '+1')}", "s0")
                self.command(f"endpoint add s0 {fresh}", f"stream s0 also receives {fresh}, on both paths")
                config = self.command("show config s0")
                self.assertEqual(config.count(fresh), 1 + listed, config)
                before = self.numbers("stream", "s0")
                self.wait_for(lambda: self.numbers("stream", "s0")["heaps.complete"] >= before["heaps.complete"] + 30,
                              "more heaps")
                self.command(f"endpoint delete s0 {fresh}", f"stream s0 no longer receives {fresh}, on both paths")
                self.assertNotIn(fresh, self.command("show config s0"))
        stream = self.assert_stream(self.end(), "s0")
        self.assertEqual(stream["info"]["wrong"], 0)
        self.assertGreater(sum(path["redundant"] for path in stream["paths"]), 0)


if __name__ == "__main__":
    harness.main()
