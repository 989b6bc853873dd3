#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`dpdk-spead recv --filter`: which packets of a capture become heaps, and how the others count."""

import harness
import wire

GROUP = "239.1.1.1"
ENDPOINT = f"{GROUP}:7148"


def frames(group=GROUP, odd="10.0.0.1", even="10.9.0.1"):
    """20 heaps of 4 packets; item 0x1600 is heap % 5, in every packet; odd and even heaps come from different hosts."""
    made = []
    for number in range(1, 21):
        payload = bytes([number]) * 4000
        for offset in range(0, 4000, 1000):
            items = [(wire.ADDRESSED, 0x1000, 0), (wire.IMMEDIATE, 0x1600, number % 5)]
            data = wire.packet(number, offset, payload[offset:offset + 1000], 4000, items)
            made.append(wire.frame(data, group, source=odd if number % 2 else even))
    made.append(wire.frame(wire.stop(1000), group))
    return made


class Filters(harness.ProgramTest):
    def receive(self, *options, status=0):
        capture = self.directory / "in.pcap"
        wire.write_pcap(capture, frames())
        return self.run_program("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}", *options, status=status)

    def test_kept_is_what_matches(self):
        for expression, heaps, control in (
            ("item 0x1600 == 3", {3, 8, 13, 18}, 0),
            ("item 0x1600 & 1 == 1 and source in 10.0.0.0/16", {1, 3, 11, 13}, 0),
            ("control or heap % 4 == 1", {1, 5, 9, 13, 17}, 1),
            ("not (source == 10.0.0.1 or control)", set(range(2, 21, 2)), 0),
            ("payload < 1000", set(), 1),
        ):
            with self.subTest(expression=expression):
                sink = self.directory / f"out{self._runs}"
                report = self.receive("--filter", expression, "--sink", f"file:{sink}").report
                self.assertEqual({path.name for path in sink.glob("*.bin")}, {f"s0-{n}.bin" for n in heaps})
                for number in heaps:
                    self.assertEqual((sink / f"s0-{number}.bin").read_bytes(), bytes([number]) * 4000)
                self.assert_stream(report, "s0", received=81, placed=4 * len(heaps), control=control,
                                   filtered=81 - 4 * len(heaps) - control, complete=len(heaps), held=0)
                self.assertEqual(harness.broken_identities(report), [])

    def test_addresses_of_ipv6(self):
        capture = self.directory / "six.pcap"
        wire.write_pcap(capture, frames("ff15::1", "fd00:0:0:1::7", "fd00:0:0:2::7") + frames())
        for expression, six, four in (("source in fd00:0:0:1::/64", 10, 0), ("source != fd00:0:0:2::7", 10, 20),
                                      ("destination == ff15::1", 20, 0), ("source in 10.0.0.0/16", 0, 10)):
            with self.subTest(expression=expression):
                report = self.run_program("recv", "[ff15::1]:7148", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}",
                                          "--filter", expression).report
                self.assert_stream(report, "s0", complete=six, malformed=0)
                self.assert_stream(report, "s1", complete=four, malformed=0)

    def test_a_configuration_may_hold_one(self):
        capture = self.directory / "in.pcap"
        wire.write_pcap(capture, frames())
        configuration = self.directory / "recv.toml"
        text = f'''version = 1
[[port]]
name = "p0"
device = "net_pcap0,rx_pcap={capture}"
[[receive]]
name = "fives"
port = "p0"
endpoints = ["{ENDPOINT}"]
filter = "item 0x1600 == 0"
'''
        configuration.write_text(text)
        report = self.run_program("run", "--config", configuration).report
        self.assert_stream(report, "fives", received=81, placed=16, filtered=65, complete=4)
        configuration.write_text(text.replace("0x1600 ==", "0x1600 =="[:-1]))
        self.refused("run", "--config", configuration, says=("recv.toml:9:10", "`=` at character 13", "`==`"))

    def test_what_is_no_expression_is_refused_with_the_place(self):
        self.refused("recv", ENDPOINT, "--port", "net_null0", "--filter", "heep % 4 == 1",
                     says=("--filter", "`heep` at character 1", "did you mean `heap`"))


if __name__ == "__main__":
    harness.main()
