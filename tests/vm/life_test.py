# SPDX-License-Identifier: BSD-3-Clause
"""net_tap's other way, and what can happen to its interface while the program runs."""

import json
import socket
import struct

import namespaces
import tap_device
import wire

CONFIGURATION = """
version = 1
[memory]
heaps = "32MiB"
[[port]]
name = "p0"
device = "{device}"
[[receive]]
name = "s"
port = "p0"
endpoints = ["239.1.1.1:7148"]
max_packet_size = 1472
buffer_size = "256KiB"
[receive.heaps]
max_bytes = "64KiB"
[[send]]
name = "own"
port = "p0"
endpoints = ["239.1.1.2:7148"]
heap_size = 10000
verify = true
rate = "2Mbps"
[end]
duration = 300
"""


class Life(tap_device.TapTest):
    def running(self):
        file = self.directory / "run.toml"
        file.write_text(CONFIGURATION.format(device=tap_device.DEVICE), encoding="utf-8")
        running = self.start("run", "--config", file)
        running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "start")
        self.bring_up()
        return running

    def test_a_kernel_socket_hears_what_is_sent_while_the_port_receives(self):
        running = self.running()
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(receiver.close)
        receiver.bind(("239.1.1.2", 7148))
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                            struct.pack("4s4s", socket.inet_aton("239.1.1.2"), socket.inet_aton(tap_device.ADDRESS)))
        receiver.settimeout(60)
        heaps = {}
        # The first heap has the descriptors, and the first that is heard may lack its beginning.
        while not (whole := [count for count, packets in heaps.items() if count > 1 and len(packets) == 7]):
            packet = receiver.recv(65536)
            heaps.setdefault(struct.unpack(">Q", packet[8:16])[0] & (2**40 - 1), []).append(packet)
        self.assertEqual(heaps[whole[0]], wire.packetise(whole[0], [(0x1000, wire.verify_words(whole[0], 2500))]))
        sender = self.sender()
        for packet in wire.heap(1, bytes(5000)):
            sender.sendto(packet, ("239.1.1.1", 7148))
        running.interrupt()
        report = running.wait().report
        self.assert_stream(report, "s", started=1, received=5)
        self.assertEqual(tap_device.packets_of_streams(report["ports"][0]["rx"]), 5, json.dumps(report["ports"]))

    def test_selftest_finds_every_shape_of_rule_taken(self):
        document = json.loads(self.run_program("selftest", "--port", tap_device.DEVICE, "--json", report=False).out)
        found = {finding["subject"]: finding for finding in document["findings"]}
        self.assertEqual(document["failed"], 0, json.dumps(document, indent=1))
        for shape in ("group", "group to another queue", "group from one source", "group in VLAN 5", "unicast",
                      "group of IPv6", "group of IPv6 from one source", "unicast of IPv6"):
            self.assertIn("taken: flow create", found[f"rule: {shape}"]["text"])
        self.assertEqual(found["rules: 128 at once"]["text"], "added, listed, removed")
        self.assertEqual(found["start"]["text"], "isolated")
        self.assertIn("can be waited for", found["receive queue 1"]["text"])

    def test_an_interface_that_is_deleted_is_made_anew(self):
        running = self.running()
        namespaces.ip("link", "delete", tap_device.INTERFACE)
        running.wait_for(lambda: "is back, and it receives and sends again" in running.text(1), "a new interface")
        self.assertEqual(sorted(tap_device.rules()), [("239.1.1.1", 7148)])
        running.interrupt()
        finished = running.wait()
        self.assertIn("its network interface dtap0 has disappeared", finished.err)
        self.assertTrue(finished.has_report())

    def test_a_program_that_was_killed_leaves_nothing_in_the_way_of_the_next(self):
        running = self.running()
        running.process.kill()
        running.wait(status=-9)
        running = self.running()
        self.assertEqual(sorted(tap_device.rules()), [("239.1.1.1", 7148)])
        running.interrupt()
        running.wait()
