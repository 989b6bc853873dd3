#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ports that split packets into headers and data: the data lie in memory of an engine, which the CPU may not touch."""

import harness
import wire

ENDPOINT = "239.1.1.1:7148"


class Split(harness.ProgramTest):
    def check_verified(self, finished, heaps, name="s0"):
        stream = self.assert_stream(finished.report, name, complete=heaps, header_in_device=0, device_error=0)
        self.assertEqual((stream["info"]["verified"], stream["info"]["wrong"]), (heaps, 0), str(finished))
        self.assertGreater(finished.report["ports"][0]["info"]["multi_segment"], 0)

    def test_a_loopback_verifies_every_heap(self):
        for size, split in (("64KiB", 138), ("1000", 134), ("200KiB", 1000)):
            with self.subTest(size=size, split=split):
                finished = self.run_program("loopback", "--heaps", 200, "--heap-size", size, "--heap-memory", "fake",
                                            "--split", split)
                self.check_verified(finished, 200)
                self.assertIn("which is for tests", finished.err + finished.out)

    def test_a_capture_file_is_verified(self):
        capture = self.directory / "sent.pcap"
        self.run_program("send", ENDPOINT, "--port", f"net_pcap0,tx_pcap={capture}", "--heaps", 50, "--heap-size", "64KiB",
                         "--verify")
        finished = self.run_program("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}", "--split", 138,
                                    "--heap-memory", "fake", "--sink", "verify")
        self.check_verified(finished, 50)

    def test_headers_beyond_the_cut_are_counted_and_the_cure_cures(self):
        items = [(wire.IMMEDIATE, 0x1000 + n, n) for n in range(30)]
        capture = self.directory / "items.pcap"
        frames = [wire.frame(data, "239.1.1.1") for number in range(1, 21) for data in
                  wire.heap(number, bytes(4000), items)]
        wire.write_pcap(capture, frames)
        words = ("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}", "--heap-memory", "fake", "--sink", "null")
        finished = self.run_program(*words, "--split", 138)
        stream = finished.report["streams"][0]
        self.assertEqual(stream["packets"]["header_in_device"], 20, str(finished))
        found = [f for f in finished.report["findings"] if f["cause"] == "header_in_device"]
        self.assertEqual(len(found), 1, str(finished))
        longest = stream["info"]["longest_header"]
        self.assertEqual(longest, 42 + 8 + 8 * 34)
        self.assertIn(f"restart with `--split {longest}`", str(found[0]))
        cured = self.run_program(*words, "--split", longest)
        self.assert_stream(cured.report, "s0", header_in_device=0, complete=20)

    def test_a_header_longer_than_its_packet_is_malformed(self):
        capture = self.directory / "forged.pcap"
        data = bytearray(wire.heap(1, bytes(4000))[0])
        data[6:8] = (60000).to_bytes(2, "big")
        wire.write_pcap(capture, [wire.frame(bytes(data), "239.1.1.1")] * 10)
        stream = self.run_program("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}", "--split", 138,
                                  "--heap-memory", "fake", "--sink", "null").report["streams"][0]
        self.assertEqual((stream["packets"]["malformed"], stream["packets"]["header_in_device"]), (10, 0), stream)

    def test_what_would_read_the_data_is_refused(self):
        capture = self.directory / "one.pcap"
        wire.write_pcap(capture, [wire.frame(data, "239.1.1.1") for data in wire.heap(1, bytes(1000))])
        words = ("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}", "--split", 138)
        self.refused(*words, says=("`gather`", "--heap-memory"))
        self.refused(*words, "--heap-memory", "cpu", says=("copies on the CPU",))
        self.refused(*words, "--heap-memory", "fake", "--udp-checksum", says=("leave out `udp_checksum`",))
        self.refused(*words, "--heap-memory", "fake", "--reassemble", says=("leave out `reassemble`",))
        self.refused(*words, "--heap-memory", "fake", "--sink", f"raw:{self.directory}", says=("reads payload",))
        self.refused("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}", "--split", 100, "--heap-memory", "fake",
                     says=("134 to 9216",))
        self.refused("recv", ENDPOINT, "--port", "net_memif0,role=client", "--split", 138, "--heap-memory", "fake",
                     says=("net_memif cannot cut packets", "net_mlx5"))


if __name__ == "__main__":
    harness.main()
