#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`dpdk-spead send` into a pcap file: the packets byte for byte, and the way back through `recv`."""

import json
import struct

import harness
import wire


class Send(harness.ProgramTest):
    def send(self, *words):
        """send into a file; (report, frames)"""
        capture = self.directory / f"sent{self._runs}.pcap"
        finished = self.run_program("send", *words, "--port", f"net_pcap0,tx_pcap={capture}")
        return finished.report, wire.read_pcap(capture)

    def expected_heap(self, count, heap_size, items, max_packet_size, bits):
        words = heap_size // items // 4
        whole = wire.verify_words(count, words * items)
        parts = [(0x1000 + i, whole[i * words * 4 : (i + 1) * words * 4]) for i in range(items)]
        return wire.packetise(count, parts, max_packet_size, bits)

    def test_verified_heaps_are_the_specified_bytes(self):
        for items, size, packet_size, bits in ((1, 50000, 1472, 40), (3, 50000, 1472, 48), (5, 100000, 8900, 40)):
            with self.subTest(items=items, size=size, packet_size=packet_size, bits=bits):
                report, frames = self.send("239.1.1.1:7148", "--heaps", 4, "--heap-size", size, "--items", items,
                                           "--max-packet-size", packet_size, "--addr-bits", bits, "--verify")
                packets = [wire.udp_payload(frame) for frame in frames]
                by_count = {}
                for packet in packets:
                    # the heap count is the first pointer of every packet
                    count = struct.unpack(">Q", packet[8:16])[0] & (2**bits - 1)
                    by_count.setdefault(count, []).append(packet)
                for count in (2, 3, 4):  # the first heap also carries the descriptors
                    self.assertEqual(by_count[count], self.expected_heap(count, size, items, packet_size, bits))
                self.assertEqual(packets[-1], wire.stop(5, bits))
                self.assertEqual(report["sends"][0]["packets"], len(frames))
                self.assertLessEqual(max(map(len, packets)), packet_size)

    def test_the_first_heap_carries_a_descriptor_of_each_item(self):
        _, frames = self.send("239.1.1.1:7148", "--heaps", 1, "--heap-size", 6000, "--items", 2, "--verify")
        first = wire.udp_payload(frames[0])
        pointers = [struct.unpack(">Q", first[8 + 8 * i : 16 + 8 * i])[0]
                    for i in range(struct.unpack(">H", first[6:8])[0])]
        ids = [(pointer & (2**63 - 1)) >> 40 for pointer in pointers]
        self.assertEqual(ids.count(wire.DESCRIPTOR), 2, ids)
        self.assertEqual([item for item in ids if item >= 0x1000], [0x1000, 0x1001])

    def test_more_items_than_fit_beside_their_descriptors_have_them_in_a_heap_of_their_own(self):
        # A heap may have 8192 item pointers: 4096 items with their descriptors fit, one more does not.
        for items, apart in ((4096, 0), (4097, 1), (8000, 1), (8192, 1)):
            with self.subTest(items=items):
                capture = self.directory / f"items{items}.pcap"
                sent = self.run_program("send", "239.1.1.0+1:7148", "--port", f"net_pcap0,tx_pcap={capture}", "--heaps",
                                        6, "--heap-size", "128KiB", "--items", items, "--verify")
                self.assertEqual(sent.report["sends"][0]["heaps"], 6)
                self.assertEqual(sent.report["sends"][0]["info"]["control_heaps"], 2 + 2 * apart)
                sink = self.directory / f"out{items}"
                received = self.run_program("recv", "239.1.1.0+1:7148", "--port", f"net_pcap0,rx_pcap={capture}",
                                            "--sink", "verify")
                self.assert_stream(received.report, "s0", complete=6 + 2 * apart, evicted=0, flushed=0, no_memory=0)
                self.assertEqual(received.report["streams"][0]["info"]["verified"], 6)
                self.assertEqual(received.report["findings"], [])
                self.run_program("recv", "239.1.1.0+1:7148", "--port", f"net_pcap0,rx_pcap={capture}", "--sink",
                                 f"file:{sink}")
                heaps = [json.loads(line) for line in (sink / "heaps.jsonl").read_text("utf-8").splitlines()]
                ids = {heap["cnt"]: [item["id"] for item in heap["items"]] for heap in heaps}
                for count in (1, 2):
                    self.assertEqual(ids[count].count(wire.DESCRIPTOR), items)
                    self.assertEqual(len(ids[count]), items if apart else 2 * items)
                for count in range(3, 9):
                    self.assertEqual(ids.get(count, ids[3]), [0x1000 + i for i in range(items)])
                for count in range(1 + 2 * apart, 7 + 2 * apart):
                    data = (sink / f"s0-{count}.bin").read_bytes()
                    words = 128 * 1024 // items // 4 * items
                    self.assertEqual(data[-4 * words:], wire.verify_words(count, words), count)

    def test_a_heap_of_more_items_than_a_receiver_takes_is_told_with_its_limit(self):
        capture = self.directory / "many.pcap"
        sent = self.run_program("send", "239.1.1.1:7148", "--port", f"net_pcap0,tx_pcap={capture}", "--heaps", 2,
                                "--heap-size", "128KiB", "--items", 9000, "--verify")
        self.assertIn("9000 items; dpdk-spead receives heaps of up to 8192", sent.err)
        received = self.run_program("recv", "239.1.1.1:7148", "--port", f"net_pcap0,rx_pcap={capture}")
        finding = next(f for f in received.report["findings"] if f["cause"] == "heap_limits")
        self.assertIn("8192 different item pointers", finding["sentence"])
        self.assertNotIn("--memory", finding["sentence"])
        self.assertNotIn("pool_too_small", [f["cause"] for f in received.report["findings"]])
        self.refused("loopback", "--items", 9000, "--heap-size", "128KiB", says=("9000 items", "8192"))

    def test_heaps_go_round_the_endpoints_and_each_gets_a_stop(self):
        _, frames = self.send("239.1.1.0+1:7148", "239.1.2.3:7149", "--heaps", 6, "--heap-size", 2000, "--verify")
        seen = {}
        for frame in frames:
            packet = wire.udp_payload(frame)
            destination = (".".join(map(str, frame[30:34])), struct.unpack(">H", frame[36:38])[0])
            count = struct.unpack(">Q", packet[8:16])[0] & (2**40 - 1)
            if count not in seen.setdefault(destination, []):
                seen[destination].append(count)
        self.assertEqual({destination: counts[:2] for destination, counts in seen.items()}, {
            ("239.1.1.0", 7148): [1, 4], ("239.1.1.1", 7148): [2, 5], ("239.1.2.3", 7149): [3, 6]})
        self.assertEqual([len(counts) for counts in seen.values()], [3, 3, 3])

    def test_headers_of_the_frames(self):
        _, frames = self.send("239.129.2.3:7148", "--heaps", 2, "--heap-size", 4000, "--ttl", 7, "--verify")
        for frame in frames:
            self.assertEqual(frame[0:6], bytes([0x01, 0x00, 0x5E, 0x01, 0x02, 0x03]))
            self.assertEqual(frame[22], 7)
            wire.udp_payload(frame)

    def test_a_vlan_tag_and_a_class_are_in_every_frame_and_the_packets_are_the_same(self):
        words = ("239.1.1.1:7148", "--heaps", 3, "--heap-size", 20000, "--verify")
        _, plain = self.send(*words)
        _, tagged = self.send(*words, "--vlan", 42, "--dscp", 46)
        self.assertEqual(len(tagged), len(plain))
        for bare, frame in zip(plain, tagged):
            self.assertEqual(frame[12:18], struct.pack(">HHH", 0x8100, 42, 0x0800))
            self.assertEqual(frame[19], 46 << 2)
            self.assertEqual(frame[:12] + frame[46:], bare[:12] + bare[42:])
            self.assertEqual(sum(struct.unpack(">10H", frame[18:38])) % 0xFFFF, 0, "the sum of the IPv4 header")

    def test_tagged_packets_come_back(self):
        capture = self.directory / "tagged.pcap"
        self.run_program("send", "239.1.1.1:7148", "--heaps", 5, "--heap-size", 9000, "--verify", "--vlan", 42,
                         "--max-packet-size", 9000, "--port", f"net_pcap0,tx_pcap={capture}")
        finished = self.run_program("recv", "239.1.1.1:7148", "--sink", "verify", "--port", f"net_pcap0,rx_pcap={capture}")
        stream = self.assert_stream(finished.report, "s0", complete=5)
        self.assertEqual(stream["info"]["verified"], 5)
        port = finished.report["ports"][0]
        self.assertEqual(port["info"]["vlan_tagged"], port["rx"]["packets"])

    def test_unicast_goes_to_the_mac_address_given_and_multicast_to_its_own(self):
        words = ("10.1.1.5:7148", "239.129.2.3:7148", "--dst-mac", "02:53:50:44:00:05")
        _, frames = self.send(*words, "--heaps", 2, "--heap-size", 4000)
        macs = {frame[30:34]: set() for frame in frames}
        for frame in frames:
            macs[frame[30:34]].add(frame[0:6].hex(":"))
        self.assertEqual(macs, {bytes([10, 1, 1, 5]): {"02:53:50:44:00:05"},
                                bytes([239, 129, 2, 3]): {"01:00:5e:01:02:03"}})
        checked = self.run_program("send", *words, "--port", "net_null0", "--check", report=False)
        self.assertIn('dst_mac = "02:53:50:44:00:05"', checked.out)

    def test_what_was_sent_is_received_and_verified(self):
        for bits, endpoints in ((40, ["239.1.1.1:7148"]), (48, ["239.1.1.0+3:7148", "239.1.2.1:7148"])):
            with self.subTest(bits=bits, endpoints=endpoints):
                capture = self.directory / f"both{bits}.pcap"
                self.run_program("send", *endpoints, "--heaps", 40, "--heap-size", "100KiB", "--items", 3, "--verify",
                                 "--addr-bits", bits, "--port", f"net_pcap0,tx_pcap={capture}")
                report = self.run_program("recv", *endpoints, "--sink", "verify", "--port",
                                          f"net_pcap0,rx_pcap={capture}").report
                self.assertEqual(sum(stream["heaps"]["complete"] for stream in report["streams"]), 40)

    def test_one_wrong_byte_is_found(self):
        capture = self.directory / "wrong.pcap"
        self.run_program("send", "239.1.1.1:7148", "--heaps", 20, "--heap-size", "50KiB", "--verify", "--port",
                         f"net_pcap0,tx_pcap={capture}")
        frames = wire.read_pcap(capture)
        frames[400] = frames[400][:-1] + bytes([frames[400][-1] ^ 1])
        wire.write_pcap(capture, frames)
        finished = self.run_program("recv", "239.1.1.1:7148", "--sink", "verify", "--port",
                                    f"net_pcap0,rx_pcap={capture}", status=1)
        self.assertIn("heap", finished.err.lower(), str(finished))

    def test_packets_of_which_no_heap_can_be_verified_are_a_failure(self):
        capture = self.directory / "begun.pcap"
        self.run_program("send", "239.1.1.1:7148", "--heaps", 1, "--heap-size", "50KiB", "--verify", "--port",
                         f"net_pcap0,tx_pcap={capture}")
        wire.write_pcap(capture, wire.read_pcap(capture)[:-2])  # nor the stop heap
        finished = self.run_program("recv", "239.1.1.1:7148", "--sink", "verify", "--port",
                                    f"net_pcap0,rx_pcap={capture}", status=1)
        self.assertIn("not one heap was verified", finished.err)
        wire.write_pcap(capture, [])
        self.run_program("recv", "239.1.1.1:7148", "--sink", "verify", "--port", f"net_pcap0,rx_pcap={capture}")

    def test_a_rate_is_kept_to(self):
        # The amount per burst limits. The duration depends on the machine and is not asserted.
        report, frames = self.send("239.1.1.1:7148", "--heaps", 4, "--heap-size", "64KiB", "--rate", "400Mbps")
        self.assertEqual(report["sends"][0]["packets"], len(frames))

    def test_a_sender_at_a_low_rate_is_not_mistaken_for_a_port_that_is_stuck(self):
        finished = self.run_program("send", "239.1.1.1:7148", "--port", "net_null0", "--rate", "100kbps",
                                    "--duration", "0.3")
        self.assertNotIn("takes no more packets", finished.err)

    def test_heaps_that_take_too_long_are_given_up_with_a_word_and_a_stop(self):
        capture = self.directory / "cut.pcap"
        finished = self.run_program("send", "239.1.1.0+1:7148", "--rate", "100kbps", "--duration", "0.3",
                                    "--port", f"net_pcap0,tx_pcap={capture}")
        self.assertIn("heaps were given up", finished.err)
        send = finished.report["sends"][0]
        self.assertEqual((send["heaps"], send["info"]["control_heaps"]), (0, 2))
        stop = wire.pointer(wire.IMMEDIATE, wire.STREAM_CTRL, 2)
        last = [wire.udp_payload(frame) for frame in wire.read_pcap(capture)[-2:]]
        self.assertTrue(all(stop in packet[:64] for packet in last))


if __name__ == "__main__":
    harness.main()
