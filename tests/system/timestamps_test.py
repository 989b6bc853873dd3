#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""When heaps came, by the port's word: in heaps.jsonl, where it was asked for."""

import json

import harness
import wire

GROUP = "239.1.1.1"


class Timestamps(harness.ProgramTest):
    def heaps(self, timestamps):
        """Lines of heaps.jsonl; packet n of the capture came n microseconds after 1970 began."""
        capture, sink = self.directory / "in.pcap", self.directory / f"out-{timestamps}"
        frames = [wire.frame(data, GROUP) for number in range(1, 4) for data in wire.heap(number, bytes(5000))]
        wire.write_pcap(capture, frames)
        configuration = self.directory / "recv.toml"
        configuration.write_text(f'''version = 1
[[port]]
name = "p0"
device = "net_pcap0,rx_pcap={capture}"
{f'timestamps = "{timestamps}"' if timestamps else ''}
[[receive]]
name = "s0"
port = "p0"
endpoints = ["{GROUP}:7148"]
[receive.sink]
kind = "file"
directory = "{sink}"
''')
        self.run_program("run", "--config", configuration)
        return [json.loads(line) for line in (sink / "heaps.jsonl").read_text(encoding="utf-8").splitlines()]

    def test_a_heap_tells_when_its_first_and_last_packet_came(self):
        for timestamps in ("hardware", "auto"):
            heaps = self.heaps(timestamps)
            self.assertEqual([heap["cnt"] for heap in heaps], [1, 2, 3])
            self.assertEqual(heaps[1]["arrival"], {"first_ns": 5000, "last_ns": 9000})
            self.assertEqual(heaps[2]["arrival"], {"first_ns": 10000, "last_ns": 14000})

    def test_without_the_ports_word_nothing_is_told(self):
        for timestamps in ("software", ""):
            for heap in self.heaps(timestamps):
                self.assertNotIn("arrival", heap)

    def test_a_port_that_does_not_tell_is_refused_when_it_must(self):
        configuration = self.directory / "recv.toml"
        text = '''version = 1
[[port]]
name = "p0"
device = "net_null0"
timestamps = "hardware"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["239.1.1.1:7148"]
'''
        configuration.write_text(text)
        self.refused("run", "--config", configuration, "--check",
                     says=("port p0", "net_null has no times of arrival", "net_pcap", "net_mlx5"))
        self.refused("send", "--port", "net_null0", "--pacer", "hardware", "239.1.1.1:7148", "--check",
                     says=("net_null cannot send packets at a given time", "net_mlx5"))


if __name__ == "__main__":
    harness.main()
