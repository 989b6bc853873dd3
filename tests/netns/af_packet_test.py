#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""net_af_packet on a veth pair against plain kernel UDP sockets, both ways."""

import re
import shutil
import signal
import socket
import struct
import subprocess

import namespaces  # first: it makes tests/system importable
import harness
import wire

DEVICE = "net_af_packet0,iface=dut"


class FamilyTest(namespaces.NamespaceTest):
    def group(self, number):
        return self.FAMILY.group(number)

    def endpoint(self, number, port=7148, more=""):
        """The endpoint of a group."""
        return self.FAMILY.endpoint(self.group(number), port, more)

    def destination_of(self, frame):
        return socket.inet_ntop(self.FAMILY.kind, frame[38:54] if self.FAMILY.is_v6 else frame[30:34])


class Receive(FamilyTest):
    def listening(self, *words, groups):
        """recv, started, and its groups joined: from then on what is sent arrives."""
        running = self.start("recv", *words, "--port", DEVICE, prefix=self.inside)
        running.wait_for(lambda: set(groups) <= self.groups_joined(), f"membership of {groups}")
        return running

    def test_heaps_of_a_kernel_sender_arrive_whole(self):
        running = self.listening(self.endpoint(1), "--sink", "verify", "--exit-on-stop", groups=[self.group(1)])
        sender = self.sender()
        for count in range(1, 41):
            for packet in wire.packetise(count, [(0x1000, wire.verify_words(count, 4000))]):
                sender.sendto(packet, (self.group(1), 7148))
        sender.sendto(wire.stop(41), (self.group(1), 7148))
        report = running.wait().report
        self.assert_stream(report, "s0", complete=40, started=40, malformed=0)

    def test_jumbo_packets(self):
        running = self.listening(self.endpoint(1), "--sink", "verify", "--exit-on-stop", "--max-packet-size", 9000,
                                 groups=[self.group(1)])
        sender = self.sender()
        for count in range(1, 41):
            for packet in wire.packetise(count, [(0x1000, wire.verify_words(count, 20000))], max_packet_size=9000):
                sender.sendto(packet, (self.group(1), 7148))
        sender.sendto(wire.stop(41), (self.group(1), 7148))
        self.assert_stream(running.wait().report, "s0", complete=40, started=40, malformed=0, oversize=0)

    def test_several_groups_are_joined_told_apart_and_left(self):
        groups = [self.group(number) for number in range(1, 9)] + [self.group(77)]
        running = self.listening(self.endpoint(1, more="+7"), self.endpoint(77), "--exit-on-stop", groups=groups)
        sender = self.sender()
        for number, group in enumerate(groups):
            for count in range(1 + number * 10, 11 + number * 10):
                for packet in wire.heap(count, bytes(5000)):
                    sender.sendto(packet, (group, 7148))
            sender.sendto(wire.stop(10**6 + number), (group, 7148))
        report = running.wait().report
        self.assert_stream(report, "s0", complete=80)
        self.assert_stream(report, "s1", complete=10)
        self.assertEqual(self.groups_joined() & set(groups), set())

    def test_a_source_specific_group_hears_its_source_only(self):
        running = self.listening(f"{self.endpoint(1)}@{self.FAMILY.far}", f"{self.endpoint(2)}@{self.FAMILY.host(99)}",
                                 "--exit-on-stop", "--idle-exit", "1", groups=[self.group(1)])
        sender = self.sender()
        for group in (self.group(2), self.group(1)):
            for packet in wire.heap(1, bytes(5000)):
                sender.sendto(packet, (group, 7148))
        report = running.wait().report
        self.assert_stream(report, "s0", complete=1)
        self.assert_stream(report, "s1", received=0)

    def send_super_packet(self, sender, packets, running):
        """All packets, which have one length, as one that the kernel or an interface is to cut."""
        udp_segment = 103
        self.assertEqual(len({len(packet) for packet in packets}), 1)
        try:
            sender.sendmsg([b"".join(packets)], [(socket.IPPROTO_UDP, udp_segment, struct.pack("=H", len(packets[0])))],
                           0, (self.group(1), 7148))
        except OSError as error:
            running.interrupt()
            running.wait()
            self.skipTest(f"the kernel has no UDP segmentation: {error}")

    def test_a_kernel_sender_with_segmentation_offload_is_not_mistaken_for_heaps(self):
        for mtu in (self.MTU, 1500):  # the frame comes whole, or cut
            with self.subTest(mtu=mtu):
                for name, device in ((self.near, "dut"), (self.far, "peer")):
                    namespaces.ip("link", "set", device, "mtu", mtu, namespace=name)
                running = self.listening(self.endpoint(1), "--idle-exit", "1", "--duration", "5", groups=[self.group(1)])
                self.send_super_packet(self.sender(), wire.heap(1, bytes(10240), items=()), running)
                finished = running.wait()
                self.assert_stream(finished.report, "s0", started=0)
                self.assertEqual(finished.report["ports"][0]["info"]["oversized_frames"], 1)
                self.assertRegex(finished.out, "(?s)p0: 1 frame .*ethtool -K .* tx-udp-segmentation off")

    def test_heaps_arrive_whole_when_the_sender_is_told_to_cut_its_packets_itself(self):
        if shutil.which("ethtool", path=namespaces.PATH) is None:
            self.skipTest("needs ethtool (package ethtool)")
        subprocess.run(["ip", "netns", "exec", self.far, "ethtool", "-K", "peer", "tx-udp-segmentation", "off"], check=True,
                       env={"PATH": namespaces.PATH})
        running = self.listening(self.endpoint(1), "--exit-on-stop", groups=[self.group(1)])
        sender = self.sender()
        self.send_super_packet(sender, wire.heap(1, bytes(10240), items=()), running)
        sender.sendto(wire.stop(2), (self.group(1), 7148))
        finished = running.wait()
        self.assert_stream(finished.report, "s0", complete=1)
        self.assertEqual(finished.report["ports"][0]["info"]["oversized_frames"], 0)

    def test_frames_as_long_as_the_mtu_allows_are_not_oversized(self):
        running = self.listening(self.endpoint(1), "--exit-on-stop", "--max-packet-size", self.MTU - self.FAMILY.headers,
                                 groups=[self.group(1)])
        sender = self.sender()
        payload = self.MTU - self.FAMILY.headers - 72
        for packet in wire.heap(1, bytes(5 * payload), packet_payload=payload):
            sender.sendto(packet, (self.group(1), 7148))
        sender.sendto(wire.stop(2), (self.group(1), 7148))
        finished = running.wait()
        self.assert_stream(finished.report, "s0", complete=1)
        self.assertEqual(finished.report["ports"][0]["info"]["oversized_frames"], 0)


class Send(FamilyTest):
    def hear(self, sockets, *words):
        """Packets that kernel sockets heard of one run of send: [[packet...] per socket]"""
        finished = self.run_program("send", *words, "--port", DEVICE, "--verify", prefix=self.inside)
        heard = []
        for receiver in sockets:
            packets = [receiver.recv(65536)]
            while wire.pointer(wire.IMMEDIATE, wire.STREAM_CTRL, 2) not in packets[-1][:64]:
                packets.append(receiver.recv(65536))
            heard.append(packets)
        return finished.report, heard

    def test_a_kernel_socket_hears_every_packet(self):
        report, (packets,) = self.hear([self.receiver([self.group(1)], 7148)], self.endpoint(1), "--heaps", 20,
                                       "--heap-size", 40000, "--rate", "200Mbps")
        self.assertEqual(len(packets), report["sends"][0]["packets"])
        for count in (2, 20):
            own = [packet for packet in packets if struct.unpack(">Q", packet[8:16])[0] & (2**40 - 1) == count]
            self.assertEqual(own, wire.packetise(count, [(0x1000, wire.verify_words(count, 10000))],
                                                 max_packet_size=1500 - self.FAMILY.headers))

    def test_jumbo_packets(self):
        report, (packets,) = self.hear([self.receiver([self.group(1)], 7148)], self.endpoint(1), "--heaps", 20,
                                       "--heap-size", 200000, "--max-packet-size", 9000, "--rate", "500Mbps")
        self.assertEqual(len(packets), report["sends"][0]["packets"])
        self.assertEqual(max(map(len, packets)), 9000)
        own = [packet for packet in packets if struct.unpack(">Q", packet[8:16])[0] & (2**40 - 1) == 9]
        self.assertEqual(own, wire.packetise(9, [(0x1000, wire.verify_words(9, 50000))], max_packet_size=9000))

    def test_each_group_hears_its_heaps(self):
        sockets = [self.receiver([self.group(number)], 7148 + number) for number in range(3)]
        words = [self.endpoint(number, 7148 + number) for number in range(3)]
        _, heard = self.hear(sockets, *words, "--heaps", 9, "--heap-size", 4000, "--rate", "100Mbps")
        for number, packets in enumerate(heard):
            counts = [struct.unpack(">Q", packet[8:16])[0] & (2**40 - 1) for packet in packets]
            self.assertEqual(sorted(set(counts))[:3], [1 + number, 4 + number, 7 + number])

    def mtu(self):
        return int(namespaces.ip("-o", "link", "show", "dut", namespace=self.near).split(" mtu ")[1].split()[0])

    def test_an_mtu_that_is_too_small_is_raised_said_and_put_back(self):
        namespaces.ip("link", "set", "dut", "mtu", 1500, namespace=self.near)
        finished = self.run_program("send", self.endpoint(1), "--port", DEVICE, "--max-packet-size", 9000, "--heaps", 1,
                                    prefix=self.inside)
        raised = f"port p0: the MTU of dut is raised from 1500 to {9000 + self.FAMILY.headers}"
        self.assertEqual(finished.err.count(raised), 1, finished.err)
        self.assertNotIn("port p0: port p0", finished.err)
        self.assertEqual(self.mtu(), 1500)

    def test_a_second_signal_puts_the_mtu_back_too(self):
        namespaces.ip("link", "set", "dut", "mtu", 1500, namespace=self.near)
        # Four heaps of a second each are in flight, for which an orderly end waits.
        running = self.start("send", self.endpoint(1), "--port", DEVICE, "--max-packet-size", 9000, "--rate", "160kbps",
                             "--heap-size", 20000, "--burst-size", 9000, "--log-level", "info", prefix=self.inside)
        running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "start")
        self.assertEqual(self.mtu(), 9000 + self.FAMILY.headers)
        running.interrupt()
        running.wait_for(lambda: "ending: interrupted" in running.text(1), "the orderly end")
        running.interrupt()
        running.wait(status=-signal.SIGINT)
        self.assertEqual(self.mtu(), 1500)


    def test_a_sender_comes_to_a_port_that_only_received(self):
        commands = self.directory / "commands"
        commands.write_text(f"send add d0 port p0 endpoints {self.endpoint(9)} heaps 3 heap_size 4000 verify true\n",
                            encoding="utf-8")
        receiver = self.receiver([self.group(9)], 7148)
        running = self.start("recv", self.endpoint(1), "--port", DEVICE, "--cmdline-file", commands, prefix=self.inside)
        packets = [receiver.recv(65536)]
        while wire.pointer(wire.IMMEDIATE, wire.STREAM_CTRL, 2) not in packets[-1][:64]:
            packets.append(receiver.recv(65536))
        running.interrupt()
        finished = running.wait()
        self.assertEqual(len(packets), finished.report["sends"][0]["packets"])


class Links(FamilyTest):
    def test_a_link_that_goes_and_returns_is_told_and_the_run_goes_on(self):
        running = self.start("recv", self.endpoint(1), "--port", DEVICE, prefix=self.inside)
        running.wait_for(lambda: self.group(1) in self.groups_joined(), "membership")
        for _ in range(2):
            namespaces.ip("link", "set", "peer", "down", namespace=self.far)
            running.wait_for(lambda: "its link is down" in running.text(1), "word of the loss")
            namespaces.ip("link", "set", "peer", "up", namespace=self.far)
            running.wait_for(lambda: "its link is up again" in running.text(1), "word of the return")
        running.interrupt()
        finished = running.wait()
        self.assertEqual(finished.err.count("its link is down"), 1, str(finished))
        self.assertEqual(finished.err.count("its link is up again"), 1, str(finished))

    def test_an_interface_that_comes_back_is_sent_to_again(self):
        receiver = self.receiver([self.group(1)], 7148)
        listener = self.far_socket(socket.AF_PACKET, socket.SOCK_RAW)
        listener.bind(("peer", 0x86DD if self.FAMILY.is_v6 else 0x0800))
        listener.setblocking(False)

        def packets_from(address):
            while True:
                try:
                    frame = listener.recv(65536)
                except BlockingIOError:
                    return False
                if frame[6:12] == bytes.fromhex(address) and self.destination_of(frame) == self.group(1):
                    return True

        running = self.start("send", self.endpoint(1), "--rate", "10Mbps", "--heap-size", 4000, "--verify", "--port",
                             DEVICE, prefix=self.inside)
        receiver.recv(65536)
        for times, address in ((1, "020000000077"), (2, "020000000078")):
            namespaces.ip("link", "set", "dut", "down", namespace=self.near)
            namespaces.ip("link", "set", "dut", "name", "gone", namespace=self.near)
            running.wait_for(lambda: running.text(1).count("interface dut has disappeared") == times, "word of the loss")
            namespaces.ip("link", "set", "gone", "name", "dut", namespace=self.near)
            namespaces.ip("link", "set", "dut", "address", ":".join(re.findall("..", address)), namespace=self.near)
            namespaces.ip("link", "set", "dut", "up", namespace=self.near)
            running.wait_for(lambda: running.text(1).count("and it sends again") == times, "word of the return")
            running.wait_for(lambda: packets_from(address), "packets from the new address")
        running.interrupt()
        finished = running.wait()
        self.assertIn("was detached 2 times", finished.err)
        send = finished.report["sends"][0]
        self.assertEqual((send["aborted"], send["timed_out"], send["info"]["dropped"]), (0, 0, 0))
        # The last heaps are whole: what was under way waited, and nothing of it is of another heap.
        packets = []
        receiver.setblocking(False)
        while True:
            try:
                packets.append(receiver.recv(65536))
            except BlockingIOError:
                break
        last = send["heaps"]
        own = [packet for packet in packets if struct.unpack(">Q", packet[8:16])[0] & (2**40 - 1) == last]
        self.assertEqual(own, wire.packetise(last, [(0x1000, wire.verify_words(last, 1000))],
                                             max_packet_size=1500 - self.FAMILY.headers))

    def test_a_run_that_sends_to_an_interface_that_does_not_come_back_ends_when_it_is_told_to(self):
        running = self.start("send", self.endpoint(1), "--rate", "10Mbps", "--port", DEVICE, prefix=self.inside)
        running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "start")
        namespaces.ip("link", "set", "dut", "name", "gone", namespace=self.near)
        running.wait_for(lambda: "interface dut has disappeared" in running.text(1), "word of the loss")
        running.interrupt()
        finished = running.wait(status=1)
        self.assertIn("has not come back", finished.err)
        self.assertTrue(finished.has_report())

    def test_an_interface_that_comes_back_is_received_from_again(self):
        running = self.start("recv", self.endpoint(1), "--port", DEVICE, prefix=self.inside)
        running.wait_for(lambda: self.group(1) in self.groups_joined(), "membership")
        for times in (1, 2):
            namespaces.ip("link", "set", "dut", "down", namespace=self.near)
            namespaces.ip("link", "set", "dut", "name", "gone", namespace=self.near)
            running.wait_for(lambda: running.text(1).count("interface dut has disappeared") == times, "word of the loss")
            namespaces.ip("link", "set", "gone", "name", "dut", namespace=self.near)
            namespaces.ip("link", "set", "dut", "up", namespace=self.near)
            running.wait_for(lambda: running.text(1).count("receives again") == times, "word of the return")
            self.assertIn(self.group(1), self.groups_joined())
        running.interrupt()
        finished = running.wait()
        self.assertIn("was detached 2 times", finished.err)
        self.assertTrue(finished.has_report())

    def test_an_interface_that_does_not_come_back_fails_the_run(self):
        running = self.start("recv", self.endpoint(1), "--port", DEVICE, prefix=self.inside)
        running.wait_for(lambda: self.group(1) in self.groups_joined(), "membership")
        namespaces.ip("link", "delete", "dut", namespace=self.near)
        running.wait_for(lambda: "interface dut has disappeared" in running.text(1), "word of the loss")
        running.interrupt()
        finished = running.wait(status=1)
        self.assertIn("has not come back", finished.err)
        self.assertTrue(finished.has_report())


class Receive6(Receive):
    FAMILY = namespaces.V6


class Send6(Send):
    FAMILY = namespaces.V6


class Links6(Links):
    FAMILY = namespaces.V6


class Names(namespaces.NamespaceTest):
    def test_an_interface_may_be_named_by_name_or_address(self):
        for name in ("dut", "10.9.0.1"):
            with self.subTest(name=name):
                finished = self.run_program("send", "239.1.1.1:7148", "--port", name, "--heaps", 2, "--heap-size",
                                            "4000", prefix=self.inside)
                self.assertEqual(finished.report["ports"][0]["driver"], "net_af_packet")


if __name__ == "__main__":
    harness.main()
