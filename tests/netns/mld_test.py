#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""IPv6 on net_tap as a port that the kernel does not see, with our own MLD and NDP hosts: its kernel-side interface is
plugged into a bridge that snoops and queries, and the peer's veth is another port of that bridge."""

import socket
import struct
import subprocess
import time

import namespaces  # first: it makes tests/system importable
import harness
import igmp_test
import wire

DEVICE = igmp_test.DEVICE
OURS, THEIRS = "fd00:9::1", "fd00:9::2"
IS_IN, IS_EX, TO_IN, TO_EX, ALLOW, BLOCK = range(1, 7)
V1_REPORT, V1_DONE, V2_REPORT = 131, 132, 143


def ntop(packed):
    return socket.inet_ntop(socket.AF_INET6, packed)


def checksum_of(ip, message):
    """The one's complement sum of an ICMPv6 message and its pseudo header: 0xffff if it is right (RFC 8200 8.1)."""
    data = ip[8:40] + struct.pack("!II", len(message), socket.IPPROTO_ICMPV6) + message + b"\0" * (len(message) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def mld_of(frame):
    """(version, record type or message type, group, sources) of each thing that a host says in a frame, after a look at
    what RFC 3810 5 demands of all messages."""
    ip = frame[14:]
    if frame[12:14] != b"\x86\xdd" or ip[6] != 0 or ip[40] != socket.IPPROTO_ICMPV6:
        return []
    message = ip[48 : 40 + struct.unpack("!H", ip[4:6])[0]]
    if message[0] not in (V1_REPORT, V1_DONE, V2_REPORT):
        return []
    said = []
    if message[0] == V2_REPORT:
        assert ntop(ip[24:40]) == "ff02::16", "reports of version 2 go to ff02::16"
        at = 8
        for _ in range(struct.unpack("!H", message[6:8])[0]):
            kind, auxiliary, count = struct.unpack("!BBH", message[at : at + 4])
            sources = tuple(ntop(message[at + 20 + 16 * n : at + 36 + 16 * n]) for n in range(count))
            said.append((2, kind, ntop(message[at + 4 : at + 20]), sources))
            at += 20 + 16 * count + 4 * auxiliary
        assert at == len(message), "the records fill the report"
    else:
        said.append((1, message[0], ntop(message[8:24]), ()))
    if any(one[2].startswith("ff15") for one in said):  # the program's; a kernel's may come from ::
        assert ip[7] == 1 and ip[41] == 0 and b"\x05\x02\x00\x00" in ip[42:48], "hop limit and router alert"
        assert ip[8:10] == b"\xfe\x80" and checksum_of(ip, message) == 0xFFFF, "a link-local source, the checksum"
    return said


class Bridge6Test(igmp_test.BridgeTest):
    """That of the IGMP test, with IPv6: the peer is fd00:9::2."""

    def setUp(self):
        super().setUp()
        for name in (self.near, self.far):
            self.inside_of(name, "sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/all/disable_ipv6")
        self.inside_of(self.far, "sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/peer/accept_dad")
        # The querier of MLD asks once it has a link-local address.
        self.inside_of(self.near, "sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/br0/accept_dad")
        for name, device in ((self.near, "br0"), (self.far, "peer")):
            namespaces.ip("link", "set", device, "down", namespace=name)
            namespaces.ip("link", "set", device, "up", namespace=name)
        self.bridge("mcast_mld_version", 2)
        namespaces.ip("-6", "addr", "add", f"{THEIRS}/64", "dev", "peer", "nodad", namespace=self.far)

    def listen(self):
        self.listener = self.far_socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x86DD))
        self.listener.bind(("peer", 0))
        self.listener.setblocking(False)

    def heard(self):
        said = []
        while True:
            try:
                said += [one for one in mld_of(self.listener.recv(2048)) if one[2].startswith("ff15")]
            except BlockingIOError:
                return said

    def sender6(self, source=THEIRS):
        made = self.far_socket(socket.AF_INET6, socket.SOCK_DGRAM)
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF,
                        self.within(self.far, lambda: socket.if_nametoindex("peer")))
        made.bind((source, 0))
        return made

    def send_heaps6(self, to, counts, source=THEIRS, stop=True):
        sender = self.sender6(source)
        for count in counts:
            for packet in wire.packetise(count, [(0x1000, wire.verify_words(count, 1000))]):
                sender.sendto(packet, (to, 7148))
        if stop:
            sender.sendto(wire.stop(10**6), (to, 7148))

    def neighbour(self, address):
        return namespaces.ip("-6", "neigh", "show", address, "dev", "peer", namespace=self.far)


class Mld(Bridge6Test):
    def test_answers_keep_the_membership_alive_and_the_end_ends_it(self):
        running = self.listening("[ff15::1]:7148", "--sink", "verify", groups=[("ff15::1", None)])
        # The bridge forgets a member after 2.5 s; each answer winds its clock up again.
        began, last, answers = time.monotonic(), 100.0, 0

        def answered():
            nonlocal last, answers
            members = self.members()
            self.assertIn(("ff15::1", None), members)
            answers += members[("ff15::1", None)] > last
            last = members[("ff15::1", None)]
            return answers >= 4 and time.monotonic() - began > 2 * 2.5

        running.wait_for(answered, "answers")
        self.send_heaps6("ff15::1", range(1, 21), stop=False)
        self.assertIn((2, IS_EX, "ff15::1", ()), self.heard())
        running.interrupt()
        report = running.wait().report
        self.assert_stream(report, "s0", complete=20, malformed=0)
        port = report["ports"][0]
        self.assertGreater(port["rx"]["mld"], 0)
        self.assertGreater(port["info"]["host_frames"], 0)
        self.assertEqual([s for s in self.heard() if s[1] != IS_EX], 2 * [(2, TO_IN, "ff15::1", ())])
        self.assertEqual([m for m in self.members() if m[0].startswith("ff15")], [])

    def test_a_source_specific_join(self):
        for last in (7, 8):
            namespaces.ip("-6", "addr", "add", f"fd00:9::{last}/64", "dev", "peer", "nodad", namespace=self.far)
        running = self.listening("[ff15::1]:7148@fd00:9::7", "--sink", "verify", "--exit-on-stop",
                                 groups=[("ff15::1", "fd00:9::7")])
        self.assertNotIn(("ff15::1", "fd00:9::8"), self.members())
        self.send_heaps6("ff15::1", range(1, 201), source="fd00:9::8", stop=False)
        self.send_heaps6("ff15::1", range(1, 21), source="fd00:9::7")
        self.assert_stream(running.wait().report, "s0", complete=20, started=20)
        said = self.heard()
        # Whether it says so of itself or in answer to a query comes first is the bridge's affair.
        self.assertIn(said[0], [(2, kind, "ff15::1", ("fd00:9::7",)) for kind in (ALLOW, IS_IN)])
        self.assertEqual(said[-2:], 2 * [(2, BLOCK, "ff15::1", ("fd00:9::7",))])

    def test_a_version_1_querier_is_answered_in_version_1(self):
        self.bridge("mcast_mld_version", 1)
        running = self.listening("[ff15::1]:7148", "--sink", "verify", "--exit-on-stop", groups=[("ff15::1", None)])
        said = []

        def in_version_1():
            said.extend(self.heard())
            return said.count((1, V1_REPORT, "ff15::1", ())) >= 3

        running.wait_for(in_version_1, "reports of version 1")
        self.send_heaps6("ff15::1", range(1, 21))
        self.assert_stream(running.wait().report, "s0", complete=20)
        self.assertEqual(self.heard()[-1], (1, V1_DONE, "ff15::1", ()))

    def test_both_families_in_one_stream(self):
        running = self.listening("[ff15::1]:7148", "239.1.1.1:7148", "--joint", "--exit-on-stop",
                                 groups=[("ff15::1", None), ("239.1.1.1", None)])
        self.send_heaps6("ff15::1", range(1, 21), stop=False)
        self.send_heaps("239.1.1.1", range(21, 41))
        self.sender6().sendto(wire.stop(10**6), ("ff15::1", 7148))
        self.send_stop("239.1.1.1")
        self.assert_stream(running.wait().report, "s0", complete=40, malformed=0)

    def test_a_removed_endpoint_is_left(self):
        path = self.directory / "run.toml"
        control = self.directory / "control"
        path.write_text(f"""version = 1
[runtime]
live = true
control = "{control}"
[[port]]
name = "p0"
device = "{DEVICE}"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["[ff15::1]+1:7148"]
""", encoding="utf-8")
        self.listen()
        running = self.start("run", "--config", path, prefix=self.inside)
        running.wait_for(self.plug, "interface")
        running.wait_for(lambda: {("ff15::1", None), ("ff15::2", None)} <= set(self.members()), "membership")
        self.heard()
        subprocess.run([harness.program(), "attach", str(control), "--", *"endpoint delete s0 [ff15::2]:7148".split()],
                       check=True, capture_output=True)
        said = []

        def left():
            said.extend(self.heard())
            return said.count((2, TO_IN, "ff15::2", ())) == 2

        running.wait_for(left, "a report of the change, twice")
        running.interrupt()
        running.wait()
        self.assertNotIn((2, TO_IN, "ff15::1", ()), said)


class Ndp(Bridge6Test):
    def test_a_kernel_sender_finds_our_address(self):
        running = self.listening(f"[{OURS}]:7148", "--sink", "verify", "--exit-on-stop", "--address", OURS,
                                 groups=[("ff02::1:ff00:1", None)])
        # The kernel keeps few packets until it has the answer.
        self.sender6().sendto(b"", (OURS, 9))
        running.wait_for(lambda: "lladdr" in self.neighbour(OURS), "an answer")
        self.send_heaps6(OURS, range(1, 41))
        report = running.wait().report
        self.assert_stream(report, "s0", complete=40, started=40)
        self.assertGreater(report["ports"][0]["rx"]["ndp"], 0)

    def test_the_kernel_refreshes_our_address_and_keeps_from_taking_it(self):
        for setting in ("base_reachable_time_ms", "delay_first_probe_time"):
            value = 500 if setting.endswith("ms") else 1
            self.inside_of(self.far, "sh", "-c", f"echo {value} > /proc/sys/net/ipv6/neigh/peer/{setting}")
        running = self.listening(f"[{OURS}]:7148", "--address", OURS, groups=[("ff02::1:ff00:1", None)])
        states = []

        def refreshed():
            self.sender6().sendto(b"", (OURS, 9))
            states.extend(state for state in self.neighbour(OURS).split()[-1:] if state not in states[-1:])
            return "REACHABLE" in states and states[-1] == "REACHABLE" and {"STALE", "DELAY", "PROBE"} & set(states)

        running.wait_for(refreshed, "a neighbour that is asked again, and answers")
        self.inside_of(self.far, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/peer/accept_dad")
        namespaces.ip("-6", "addr", "add", f"{OURS}/128", "dev", "peer", namespace=self.far)
        running.wait_for(lambda: "dadfailed" in namespaces.ip("-6", "addr", "show", "dev", "peer", namespace=self.far),
                         "the kernel to notice that the address is taken")
        running.wait_for(lambda: "uses our address, too" in running.text(0) + running.text(1), "the warning")
        running.interrupt()
        running.wait()

    def test_without_an_address_nobody_answers_and_that_is_said(self):
        running = self.listening(f"[{OURS}]:7148", "--idle-exit", "1")
        said = running.text(0) + running.text(1)
        self.assertIn(f"neighbour solicitations for [{OURS}]:7148 get no answer", said)
        self.assertIn("address6", said)
        running.interrupt()
        running.wait()

    def receiver6(self, address=THEIRS):
        made = self.far_socket(socket.AF_INET6, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUFFORCE if hasattr(socket, "SO_RCVBUFFORCE") else 33, 1 << 26)
        made.bind((address, 7148))
        made.settimeout(20)
        return made

    @staticmethod
    def arrives(receiver):
        try:
            receiver.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            return True
        except BlockingIOError:
            return False

    def hear(self, running, receiver, source=OURS):
        running.wait_for(lambda: self.plug() and self.arrives(receiver), "packets")
        packets = []
        while not packets or wire.pointer(wire.IMMEDIATE, wire.STREAM_CTRL, 2) not in packets[-1][:64]:
            packet, sender = receiver.recvfrom(65536)
            self.assertEqual(sender[0], source)
            packets.append(packet)
        for count in range(2, 21):
            own = [packet for packet in packets if struct.unpack(">Q", packet[8:16])[0] & (2**40 - 1) == count]
            self.assertEqual(own, wire.packetise(count, [(0x1000, wire.verify_words(count, 10000))], max_packet_size=1452))

    def sending(self, to, *words):
        return self.start("send", to, "--port", DEVICE, "--verify", "--heaps", 20, "--heap-size", 40000, "--rate", "100Mbps",
                          *words, prefix=self.inside)

    def test_a_sender_finds_a_host(self):
        receiver = self.receiver6()
        running = self.sending(f"[{THEIRS}]:7148", "--address", OURS)
        self.hear(running, receiver)
        report = running.wait().report
        self.assertGreater(report["ports"][0]["rx"]["ndp"], 0)
        self.assertIn("lladdr", self.neighbour(OURS))

    def test_a_sender_to_a_group_comes_from_the_port_s_address(self):
        receiver = self.receiver6("::")
        index = self.within(self.far, lambda: socket.if_nametoindex("peer"))
        receiver.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                            socket.inet_pton(socket.AF_INET6, "ff15::1") + struct.pack("@I", index))
        running = self.start("send", "[ff15::1]:7148", "--port", DEVICE, "--address", OURS, "--verify", "--heap-size",
                             40000, "--rate", "10Mbps", prefix=self.inside)
        running.wait_for(lambda: self.plug() and self.arrives(receiver), "packets")
        self.assertEqual(receiver.recvfrom(65536)[1][0], OURS)
        running.interrupt()
        running.wait()

    def test_nobody_at_the_address_is_said_with_what_was_tried(self):
        self.refused("send", "[fd00:9::99]:7148", "--port", DEVICE, "--heaps", 1, status=1, prefix=self.inside,
                     says=("send d0", "no MAC address for fd00:9::99", "neighbour solicitations", "p0", "address6",
                           "--dst-mac"))


if __name__ == "__main__":
    harness.main()
