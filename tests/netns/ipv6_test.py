#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""IPv6 from plain kernel sockets over a veth pair: joins, receiving by frames and by sockets, what is refused."""

import socket
import struct

import namespaces  # first: it makes tests/system importable
import harness
import wire

FRAMES = "net_af_packet0,iface=dut"
SOCKETS = "net_kernel0,iface=dut"
MLDV2_REPORT = 143
TO_EXCLUDE, TO_INCLUDE, ALLOW, BLOCK = 4, 3, 5, 6


def packed(address):
    return socket.inet_pton(socket.AF_INET6, address)


def records_of(frame):
    """The records of an MLDv2 report in an Ethernet frame: {(type, group, sources...)}; RFC 3810 5.2."""
    ip = frame[14:]
    if struct.unpack("!H", frame[12:14])[0] != 0x86DD or ip[6] != 0:
        return set()
    icmp = ip[40 + 8 * (1 + ip[41]):]
    if ip[40] != socket.IPPROTO_ICMPV6 or not icmp or icmp[0] != MLDV2_REPORT:
        return set()
    assert ip[7] == 1 and ip[24:40] == packed("ff02::16")
    records, at = set(), 8
    for _ in range(struct.unpack("!H", icmp[6:8])[0]):
        kind, auxiliary, count = struct.unpack("!BBH", icmp[at:at + 4])
        addresses = [socket.inet_ntop(socket.AF_INET6, icmp[at + 4 + 16 * i:at + 20 + 16 * i]) for i in range(count + 1)]
        records.add((kind, *addresses))
        at += 20 + 16 * count + 4 * auxiliary
    return records


class Ipv6Test(namespaces.NamespaceTest):
    def setUp(self):
        super().setUp()
        try:
            for name, device, address in ((self.near, "dut", "fd00:9::1"), (self.far, "peer", "fd00:9::2")):
                namespaces.ip("-6", "addr", "add", f"{address}/64", "dev", device, "nodad", namespace=name)
        except OSError as error:
            self.skipTest(f"no IPv6 here: {error}")

    def joined(self):
        """The IPv6 groups the kernel has joined on the program's interface."""
        text = self.within(self.near, lambda: open("/proc/thread-self/net/igmp6", encoding="ascii").read())
        words = [line.split() for line in text.splitlines()]
        return {socket.inet_ntop(socket.AF_INET6, bytes.fromhex(w[2])) for w in words if w[1] == "dut"}

    def listening(self, *words, device=FRAMES, groups=()):
        running = self.start("recv", *words, "--port", device, prefix=self.inside)
        running.wait_for(lambda: set(groups) <= self.joined(), f"membership of {groups}")
        return running

    def sender6(self):
        made = self.far_socket(socket.AF_INET6, socket.SOCK_DGRAM)
        index = self.within(self.far, lambda: socket.if_nametoindex("peer"))
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        made.bind(("fd00:9::2", 0))
        return made

    def send_heaps(self, sender, to, counts, stop=True):
        for count in counts:
            for packet in wire.packetise(count, [(0x1000, wire.verify_words(count, 4000))]):
                sender.sendto(packet, to)
        if stop:
            sender.sendto(wire.stop(10**6), to)

    def holds_port(self):
        text = self.within(self.near, lambda: open("/proc/thread-self/net/udp6", encoding="ascii").read())
        return any(line.split()[1].endswith(":1BEC") for line in text.splitlines()[1:])

    def make_link_local(self):
        """Gives both ends link-local addresses, and the program's address to another interface, too."""
        namespaces.ip("link", "add", "aaa", "type", "veth", "peer", "name", "aab", namespace=self.near)
        namespaces.ip("link", "set", "aaa", "up", namespace=self.near)
        for name, device, address in ((self.near, "aaa", "fe80::9:1"), (self.near, "dut", "fe80::9:1"),
                                      (self.far, "peer", "fe80::9:2")):
            namespaces.ip("-6", "addr", "add", f"{address}/64", "dev", device, "nodad", namespace=name)

    def check_link_local(self, device):
        running = self.listening("[ff02::7:1]:7148", "[fe80::9:1]:7148", "[ff02::7:2]:7148@fe80::9:2", "--joint",
                                 "--exit-on-stop", device=device, groups=["ff02::7:1", "ff02::7:2"])
        running.wait_for(self.holds_port, "a socket of the endpoint")
        sender = self.far_socket(socket.AF_INET6, socket.SOCK_DGRAM)
        index = self.within(self.far, lambda: socket.if_nametoindex("peer"))
        sender.bind(("fe80::9:2", 0, 0, index))
        destinations = [(to, 7148, 0, index) for to in ("ff02::7:1", "fe80::9:1", "ff02::7:2")]
        for count, to in enumerate(destinations, start=1):
            self.send_heaps(sender, to, [count], stop=False)
        for to in destinations:
            sender.sendto(wire.stop(10**6), to)
        self.assert_stream(running.wait().report, "s0", complete=3, malformed=0)

    def wire_tap(self):
        """A socket that sees every frame on the peer's end."""
        made = self.far_socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        made.bind(("peer", 0))
        made.settimeout(10)
        return made

    def hear_record(self, tap, wanted):
        while True:
            if wanted in records_of(tap.recv(4096)):
                return


class Receive(Ipv6Test):
    def test_heaps_of_a_kernel_sender_arrive_whole(self):
        for device in (FRAMES, SOCKETS):
            with self.subTest(device=device):
                running = self.listening("[ff15::1]:7148", "--sink", "verify", "--exit-on-stop", device=device,
                                         groups=["ff15::1"])
                self.send_heaps(self.sender6(), ("ff15::1", 7148), range(1, 41))
                self.assert_stream(running.wait().report, "s0", complete=40, started=40, malformed=0)
                self.assertNotIn("ff15::1", self.joined())

    def test_both_families_in_one_stream(self):
        for device in (FRAMES, SOCKETS):
            with self.subTest(device=device):
                running = self.listening("[ff15::1]+1:7148", "239.1.1.1:7148", "--joint", "--exit-on-stop", device=device,
                                         groups=["ff15::1", "ff15::2"])
                running.wait_for(lambda: "239.1.1.1" in self.groups_joined(), "membership")
                six = self.sender6()
                four = self.sender()
                self.send_heaps(six, ("ff15::1", 7148), range(1, 11), stop=False)
                self.send_heaps(six, ("ff15::2", 7148), range(11, 21), stop=False)
                self.send_heaps(four, ("239.1.1.1", 7148), range(21, 31), stop=False)
                for sender, group in ((six, "ff15::1"), (six, "ff15::2"), (four, "239.1.1.1")):
                    sender.sendto(wire.stop(10**6), (group, 7148))
                self.assert_stream(running.wait().report, "s0", complete=30, malformed=0)

    def test_a_unicast_endpoint(self):
        for device in (FRAMES, SOCKETS):
            with self.subTest(device=device):
                running = self.start("recv", "[fd00:9::1]:7148", "--exit-on-stop", "--port", device, prefix=self.inside)
                running.wait_for(self.holds_port, "a socket of the endpoint")
                self.send_heaps(self.sender6(), ("fd00:9::1", 7148), range(1, 11))
                self.assert_stream(running.wait().report, "s0", complete=10, malformed=0)

    def test_a_source_specific_group_hears_its_source_only(self):
        for device in (FRAMES, SOCKETS):
            with self.subTest(device=device):
                running = self.listening("[ff15::1]:7148@fd00:9::2", "[ff15::2]:7148@fd00:9::99", "--exit-on-stop",
                                         "--idle-exit", "1", device=device, groups=["ff15::1", "ff15::2"])
                sender = self.sender6()
                for group in ("ff15::2", "ff15::1"):
                    self.send_heaps(sender, (group, 7148), [1], stop=False)
                report = running.wait().report
                self.assert_stream(report, "s0", complete=1)
                self.assert_stream(report, "s1", received=0)

    def test_link_local_addresses_and_groups_are_those_of_the_ports_interface(self):
        self.make_link_local()
        for device in (FRAMES, SOCKETS):
            with self.subTest(device=device):
                self.check_link_local(device)


class Membership(Ipv6Test):
    def test_joins_and_leaves_are_on_the_wire(self):
        tap = self.wire_tap()
        running = self.listening("[ff15::1]:7148", "[ff15::2]:7148@fd00:9::2", groups=["ff15::1", "ff15::2"])
        self.hear_record(tap, (TO_EXCLUDE, "ff15::1"))
        tap = self.wire_tap()
        running.interrupt()
        running.wait()
        self.hear_record(tap, (TO_INCLUDE, "ff15::1"))
        self.assertFalse({"ff15::1", "ff15::2"} & self.joined())


class Hostile(Ipv6Test):
    def test_what_is_no_whole_datagram_is_counted(self):
        running = self.listening("[ff15::1]:7148", "--exit-on-stop", groups=["ff15::1"])
        raw = self.wire_tap()

        def frame(next_header, body, version=0x60):
            ip = bytes([version, 0, 0, 0]) + struct.pack("!HBB", len(body), next_header, 1)
            return (bytes.fromhex("333300000001020000000009") + b"\x86\xdd" + ip + packed("fd00:9::2") + packed("ff15::1") +
                    body)

        udp = struct.pack("!HHHH", 50000, 7148, 12, 0xBEEF) + b"abcd"
        for _ in range(5):
            raw.send(frame(44, bytes([17, 0, 0, 1]) + bytes(4) + udp))  # a first fragment
        for _ in range(4):
            raw.send(frame(17, udp[:6] + b"\0\0" + udp[8:]))  # no checksum
        for _ in range(3):
            raw.send(frame(17, udp, version=0x50))
        self.send_heaps(self.sender6(), ("ff15::1", 7148), [1])
        report = running.wait().report
        self.assert_stream(report, "s0", complete=1)
        packets = report["ports"][0]["rx"]
        self.assertEqual(packets["fragment"], 5)
        self.assertEqual(packets["bad_checksum"], 4)
        self.assertEqual(packets["malformed"], 3)


class Send(Ipv6Test):
    """Packets of our frames, which a plain socket hears only if the kernel finds their checksums right."""

    def hearer(self, address, group=None):
        made = self.far_socket(socket.AF_INET6, socket.SOCK_DGRAM)
        made.bind(("::" if group else address, 7148))
        if group:
            index = self.within(self.far, lambda: socket.if_nametoindex("peer"))
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, packed(group) + struct.pack("@I", index))
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        made.settimeout(10)
        return made

    def sends(self, endpoint, *words, hearer):
        """Sources, hop limits and classes of the packets of 20 heaps, all of which the hearer gets."""
        running = self.start("send", endpoint, "--port", FRAMES, "--heaps", "20", "--heap-size", "2000", *words,
                             prefix=self.inside)
        report = running.wait().report
        sent = report["sends"][0]["packets"]
        heard = set()
        for _ in range(sent):
            _, facts, _, source = hearer.recvmsg(65536, 256)
            values = {kind: struct.unpack("@i", data)[0] for _, kind, data in facts}
            heard.add((source[0].partition("%")[0], values[socket.IPV6_HOPLIMIT], values[socket.IPV6_TCLASS]))
        return heard

    def test_a_group(self):
        hearer = self.hearer("::", "ff15::1")
        self.assertEqual(self.sends("[ff15::1]:7148", "--ttl", "5", "--dscp", "46", hearer=hearer),
                         {("fd00:9::1", 5, 46 << 2)})

    def test_a_host_that_the_kernel_asks_for(self):
        hearer = self.hearer("fd00:9::2")
        self.assertEqual(self.sends("[fd00:9::2]:7148", hearer=hearer), {("fd00:9::1", 1, 0)})

    def test_a_capture_goes_to_another_host(self):
        capture = self.directory / "a.pcap"
        packets = wire.heap(1, bytes(range(256)) * 20, packet_payload=1023)
        wire.write_pcap(capture, [wire.frame(packet, "ff15::1") for packet in packets])
        hearer = self.hearer("fd00:9::2")
        self.run_program("replay", capture, "--port", FRAMES, "--to", "[fd00:9::2]:7148", "--own-source", "--ttl", "9",
                         "--rate", "0", prefix=self.inside)
        heard = [hearer.recvmsg(65536, 256) for _ in packets]
        self.assertEqual([data for data, *_ in heard], packets)
        self.assertEqual({source[0] for *_, source in heard}, {"fd00:9::1"})

    def test_a_host_that_does_not_answer(self):
        running = self.start("send", "[fd00:9::77]:7148", "--port", FRAMES, "--heaps", "1", prefix=self.inside)
        said = running.wait(1).err
        self.assertIn("fd00:9::77", said)
        self.assertIn("did not answer neighbour solicitations", said)

    def test_the_programs_understand_each_other(self):
        receiver = self.listening("[ff15::1]+1:7148", "--joint", "--sink", "verify", "--exit-on-stop", groups=["ff15::1"])
        outside = ["ip", "netns", "exec", self.far]
        sender = self.start("send", "[ff15::1]+1:7148", "--port", "net_af_packet0,iface=peer", "--heaps", "100", "--verify",
                            "--heap-size", "20000", "--rate", "200Mbps", prefix=outside)
        sender.wait()
        self.assert_stream(receiver.wait().report, "s0", complete=100, malformed=0)


class Refused(Ipv6Test):
    def test_senders_have_one_version(self):
        self.refused("send", "[ff15::1]:7148", "239.1.1.1:7148", "--port", FRAMES, prefix=self.inside,
                     says=["239.1.1.1:7148", "[ff15::1]:7148", "a sender of its own"])

    def test_an_endpoint_of_two_families_is_refused(self):
        self.refused("recv", "[ff15::1]:7148@10.9.0.2", "--port", FRAMES, prefix=self.inside,
                     says=["10.9.0.2", "ff15::1", "`@fd00::7`"])

    def test_groups_that_no_other_host_hears_are_refused(self):
        for command in ("recv", "send"):
            for group in ("ff01::1", "ff10::1", "ff00::1", "ff1f::1"):
                self.refused(command, f"[{group}]:7148", "--port", FRAMES, prefix=self.inside,
                             says=[group, "scope", "ff15::1", "ff1e::1"])

    def test_a_link_local_endpoint_of_sockets_needs_an_interface(self):
        for address in ("ff02::7:1", "fe80::9:1"):
            self.refused("recv", f"[{address}]:7148", "--backend", "kernel", prefix=self.inside,
                         says=[f"[{address}]:7148 is link-local", "--port NETDEV", "net_kernel0,iface=NETDEV"])


if __name__ == "__main__":
    harness.main()
