#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""IPv6 on net_af_xdp: packets of endpoints come to the program, NDP, MLD, ICMP, TCP and other UDP stay with the kernel."""

import json
import os
import socket
import struct

import namespaces  # first: it makes tests/system importable
import af_xdp_test
import harness
import ipv6_test
import wire

DEVICE = af_xdp_test.DEVICE
GROUP = "ff15::1"
NEAR, FAR = "fd00:9::1", "fd00:9::2"


class Xdp6Test(af_xdp_test.XdpTest, ipv6_test.Ipv6Test):
    def listening(self, *words, groups=(GROUP,), device=DEVICE):
        return ipv6_test.Ipv6Test.listening(self, *words, groups=groups, device=device)

    def send_heaps(self, sender, to, counts, stop=True):
        """Heaps in packets that fit the usual MTU."""
        for count in counts:
            for packet in wire.packetise(count, [(0x1000, wire.verify_words(count, 4000))], max_packet_size=1452):
                sender.sendto(packet, to)
        if stop:
            sender.sendto(wire.stop(10**6), to)

    def six(self, namespace, kind=socket.SOCK_DGRAM, protocol=0):
        made = self.socket_in(namespace, socket.AF_INET6, kind, protocol)
        made.settimeout(10)
        return made


class ReceiveAsIpv4(af_xdp_test.Receive):
    FAMILY = namespaces.V6


class VethQueues6(af_xdp_test.VethQueues):
    FAMILY = namespaces.V6


class Queues6(af_xdp_test.Queues):
    FAMILY = namespaces.V6


class Receive(Xdp6Test):
    def test_heaps_of_a_kernel_sender_arrive_whole(self):
        for poll in ("busy", "interrupt"):
            with self.subTest(poll=poll):
                running = self.listening(f"[{GROUP}]:7148", "--sink", "verify", "--exit-on-stop", "--poll", poll)
                self.send_heaps(self.sender6(), (GROUP, 7148), range(1, 41))
                report = running.wait().report
                self.assert_stream(report, "s0", complete=40, started=40, malformed=0)
                port = report["ports"][0]
                self.assertEqual(port["nic"], {"missed": 0, "no_mbuf": 0, "errors": 0})
                self.assertIn(f"[{GROUP}]:7148", port["rules"][0]["rule"])
                self.assertEqual(port["rules"][0]["hits"], report["streams"][0]["packets"]["received"])
                self.assertNotIn(GROUP, self.joined())

    def test_groups_a_source_hosts_and_both_versions(self):
        running = self.listening("[ff15::1]+1:7148", "[ff15::5]:7148@fd00:9::2", "[ff15::6]:7148@fd00:9::99",
                                 f"[{NEAR}]:7148", "239.1.1.1:7148", "--idle-exit", "1",
                                 groups=["ff15::1", "ff15::2", "ff15::5", "ff15::6"])
        running.wait_for(lambda: "239.1.1.1" in self.groups_joined(), "membership")
        sender = self.sender6()
        for count, group in enumerate(("ff15::1", "ff15::2", "ff15::5", "ff15::6", NEAR), start=1):
            self.send_heaps(sender, (group, 7148), [count], stop=False)
        self.send_heaps(self.sender(), ("239.1.1.1", 7148), [7], stop=False)
        report = running.wait().report
        for name, complete in (("s0", 2), ("s1", 1), ("s3", 1), ("s4", 1)):
            self.assert_stream(report, name, complete=complete, malformed=0)
        self.assert_stream(report, "s2", received=0)

    def test_link_local_addresses_and_groups_are_those_of_the_ports_interface(self):
        self.make_link_local()
        self.check_link_local(DEVICE)

    def test_an_endpoint_that_comes_later(self):
        script = self.directory / "commands"
        script.write_text("stream add late port p0 endpoints [ff15::7]:7148\n", encoding="utf-8")
        running = self.start("recv", f"[{GROUP}]:7148", "--port", DEVICE, "--duration", "3", "--cmdline-file", script,
                             prefix=self.inside)
        running.wait_for(lambda: "ff15::7" in self.joined(), "membership of the endpoint that came later")
        self.send_heaps(self.sender6(), ("ff15::7", 7148), [1, 2], stop=False)
        self.assert_stream(running.wait(None).report, "late", complete=2, malformed=0)

    def test_a_silent_stream_is_told_of_what_went_to_the_kernel(self):
        running = self.listening(f"[{GROUP}]:7148", "--duration", "4")
        sender = self.sender6()
        for _ in range(50):
            sender.sendto(b"elsewhere", (GROUP, 7149))
        report = running.wait(None).report
        finding = {f["cause"]: f for f in report["findings"]}["nothing_came"]
        self.assertIn(f"[{GROUP}]:7149 from {FAR}", finding["what"])
        self.assertIn("(50)", finding["what"])


class Kernel(Xdp6Test):
    def ping6(self):
        """Has the kernel beside the program answer an ICMPv6 echo request; a neighbour solicitation comes first."""
        namespaces.ip("-6", "neigh", "flush", "dev", "peer", namespace=self.far)
        made = self.six(self.far, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        body = struct.pack(">BBHHH", 128, 0, 0, os.getpid() & 0xFFFF, 1) + bytes(range(56))
        made.sendto(body, (NEAR, 0))
        while True:
            answer = made.recv(2048)
            if answer[0] == 129:
                return answer[4:] == body[4:]

    def connects(self):
        """Has a TCP connection, as that of a login, carry some bytes to the kernel beside the program and back."""
        listener = self.six(self.near, socket.SOCK_STREAM)
        listener.bind((NEAR, 2222))
        listener.listen()
        client = self.six(self.far, socket.SOCK_STREAM)
        client.connect((NEAR, 2222))
        server, _ = listener.accept()
        with server:
            client.sendall(b"login")
            received = server.recv(5)
            server.sendall(received)
        return client.recv(5) == b"login"

    def test_the_kernel_keeps_what_is_not_ours(self):
        other = self.six(self.near)
        other.bind(("::", 7149))
        running = self.listening(f"[{GROUP}]:7148", f"[{NEAR}]:7148", "--sink", "verify", "--exit-on-stop")
        self.assertEqual(self.attached(), af_xdp_test.OURS)
        self.assertTrue(self.ping6())
        self.assertTrue(self.connects())
        self.assertTrue(self.ping())
        sender = self.sender6()
        sender.sendto(b"for the kernel", (NEAR, 7149))
        self.assertEqual(other.recv(100), b"for the kernel")
        sender.sendto(bytes(5000), (NEAR, 7149))  # in fragments, which the kernel puts together
        self.assertEqual(other.recv(6000), bytes(5000))
        for to in (GROUP, NEAR):
            self.send_heaps(sender, (to, 7148), range(1, 21))
        report = running.wait().report
        for name in ("s0", "s1"):
            self.assert_stream(report, name, complete=20)
        port = report["ports"][0]["rx"]
        self.assertEqual([port[name] for name in ("not_udp", "unmatched", "fragment", "malformed")], [0, 0, 0, 0])
        self.assertEqual(port["packets"], sum(s["packets"]["received"] for s in report["streams"]))
        self.assertIsNone(self.attached())

    def test_short_options_are_passed_over_and_fragments_stay_with_the_kernel(self):
        running = self.listening(f"[{GROUP}]:7148", "--exit-on-stop")
        with_options, sender = self.sender6(), self.sender6()
        with_options.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_DSTOPTS, bytes([0, 0, 1, 4, 0, 0, 0, 0]))
        for packet in wire.packetise(1, [(0x1000, wire.verify_words(1, 4000))], max_packet_size=1400):
            with_options.sendto(packet, (GROUP, 7148))
        sender.sendto(bytes(5000), (GROUP, 7148))
        self.send_heaps(sender, (GROUP, 7148), [2])
        report = running.wait().report
        self.assert_stream(report, "s0", complete=2, started=2, malformed=0)
        self.assertEqual(report["ports"][0]["rx"]["fragment"], 0)


class Selftest(Xdp6Test):
    def test_rules_of_both_versions_are_tried(self):
        finished = self.run_program("selftest", "--port", DEVICE, "--json", prefix=self.inside, report=False)
        found = {one["subject"]: one for one in json.loads(finished.out)["findings"]}
        for shape in ("group", "group of IPv6", "group of IPv6 from one source", "unicast of IPv6"):
            self.assertEqual(found[f"rule: {shape}"]["verdict"], "ok", found[f"rule: {shape}"])
        self.assertIn("[ff15::4d06]:7148", found["rule: group of IPv6"]["text"])


class Send(Xdp6Test):
    def test_a_kernel_socket_hears_every_packet_of_a_group_and_a_host(self):
        for to in (GROUP, FAR):
            with self.subTest(to=to):
                hearer = self.six(self.far)
                hearer.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
                hearer.bind(("::", 7148))
                if to == GROUP:
                    index = self.within(self.far, lambda: socket.if_nametoindex("peer"))
                    hearer.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                                      ipv6_test.packed(GROUP) + struct.pack("@I", index))
                finished = self.run_program("send", f"[{to}]:7148", "--port", DEVICE, "--verify", "--heaps", 20,
                                            "--heap-size", 40000, "--rate", "200Mbps", prefix=self.inside)
                sent = finished.report["sends"][0]["packets"]
                heard = [hearer.recvfrom(65536) for _ in range(sent)]
                hearer.close()
                self.assertEqual({source[0] for _, source in heard}, {NEAR})
                self.assertEqual(max(len(packet) for packet, _ in heard), 1448)
                self.assertIsNone(self.attached())


if __name__ == "__main__":
    harness.main()
