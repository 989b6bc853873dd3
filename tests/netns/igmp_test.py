#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""net_tap as a port that the kernel does not see, with our own IGMP and ARP hosts: its kernel-side interface is
plugged into a bridge that snoops and queries, and the peer's veth is another port of that bridge."""

import json
import os
import socket
import struct
import subprocess
import time

import namespaces  # first: it makes tests/system importable
import harness
import wire

DEVICE = "net_tap0,iface=dtap0"
QUERY, V1_REPORT, V2_REPORT, V2_LEAVE, V3_REPORT = 0x11, 0x12, 0x16, 0x17, 0x22
IS_IN, IS_EX, TO_IN, TO_EX, ALLOW, BLOCK = range(1, 7)


def igmp_of(frame):
    """(version, record type or message type, group, sources) of each thing that a host says in a frame."""
    header = (frame[14] & 15) * 4
    if frame[12:14] != b"\x08\x00" or frame[23] != 2:
        return []
    length = struct.unpack(">H", frame[16:18])[0]
    message = frame[14 + header : 14 + length]
    assert frame[22] == 1 and frame[34:38] == b"\x94\x04\0\0", "TTL and router alert"
    if message[0] in (V1_REPORT, V2_REPORT, V2_LEAVE):
        return [(2, message[0], socket.inet_ntoa(message[4:8]), ())]
    if message[0] != V3_REPORT:
        return []
    said, at = [], 8
    for _ in range(struct.unpack(">H", message[6:8])[0]):
        kind, _, count = struct.unpack(">BBH", message[at : at + 4])
        sources = [socket.inet_ntoa(message[at + 8 + 4 * n : at + 12 + 4 * n]) for n in range(count)]
        said.append((3, kind, socket.inet_ntoa(message[at + 4 : at + 8]), tuple(sources)))
        at += 8 + 4 * count
    return said


class BridgeTest(namespaces.NamespaceTest):
    """The bridge `br0` is in self.near, with the ports `dut` (its peer is 10.9.0.2 in self.far) and `dtap0`."""

    def setUp(self):
        super().setUp()
        if not os.path.exists("/dev/net/tun"):
            self.skipTest("needs /dev/net/tun (kernel module tun)")
        for name in (self.near, self.far):
            self.inside_of(name, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6")
        namespaces.ip("addr", "flush", "dev", "dut", namespace=self.near)
        try:
            namespaces.ip("link", "add", "br0", "type", "bridge", "mcast_snooping", 1, namespace=self.near)
        except OSError as error:
            self.skipTest(f"no bridge here: {error}")
        # In hundredths of a second. The querier comes last: the times count from when it is turned on.
        self.bridge("mcast_query_interval", 100, "mcast_query_response_interval", 50, "mcast_membership_interval", 250,
                    "mcast_startup_query_interval", 50, "mcast_last_member_interval", 20)
        self.bridge("mcast_igmp_version", 3, "mcast_querier", 1)
        namespaces.ip("link", "set", "dut", "master", "br0", namespace=self.near)
        namespaces.ip("link", "set", "br0", "up", namespace=self.near)
        # A router behind the peer's port: reports are forwarded there.
        self.inside_of(self.near, "bridge", "link", "set", "dev", "dut", "mcast_router", "2")
        self.listener = None
        self.probes = 0  # packets that no stream wants

    def inside_of(self, namespace, *words):
        done = subprocess.run(["ip", "netns", "exec", namespace, *words], check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def bridge(self, *words):
        namespaces.ip("link", "set", "br0", "type", "bridge", *words, namespace=self.near)

    def tap(self):
        """Returns the facts that `ip` lists of the program's interface; None before it is there and up."""
        try:
            link = json.loads(namespaces.ip("-j", "link", "show", "dtap0", namespace=self.near))[0]
        except OSError:
            return None
        return link if "UP" in link["flags"] else None

    def plug(self):
        """Plugs dtap0 in as soon as it is there. True when it is done."""
        link = self.tap()
        if link and link.get("master") != "br0":
            namespaces.ip("link", "set", "dtap0", "master", "br0", namespace=self.near)
        return link is not None

    def listening(self, *words, groups=()):
        """recv, started, plugged in and known to the bridge as a member."""
        self.listen()
        running = self.start("recv", *words, "--port", DEVICE, prefix=self.inside)
        running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "start")
        running.wait_for(self.plug, "interface")
        running.wait_for(lambda: set(groups) <= set(self.members()), f"membership of {groups}")
        return running

    def members(self):
        """Returns the members that the bridge knows behind dtap0: (group, source or None) -> seconds until the end."""
        listed = json.loads(self.inside_of(self.near, "bridge", "-j", "-d", "-s", "mdb", "show", "dev", "br0"))
        entries = [e for table in listed for e in table.get("mdb", []) if e["port"] == "dtap0"]
        return {(e["grp"], e.get("src")): float(e.get("timer", 0)) for e in entries}

    def listen(self):
        """Hears what the router behind the peer's port hears."""
        with open("/proc/self/ns/net", "rb") as here, open(f"/run/netns/{self.far}", "rb") as there:
            namespaces.enter(there)
            try:
                self.listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
                self.listener.bind(("peer", 0))
            finally:
                namespaces.enter(here)
        self.addCleanup(self.listener.close)
        self.listener.setblocking(False)

    def heard(self):
        """Returns the messages on groups since the last call; the bridge itself is a member of some of 224.0.0."""
        said = []
        while True:
            try:
                said += [one for one in igmp_of(self.listener.recv(2048)) if one[2].startswith("239.")]
            except BlockingIOError:
                return said

    def bytes_through_the_tap(self):
        return int(self.inside_of(self.near, "cat", "/sys/class/net/dtap0/statistics/tx_bytes"))

    def filters(self, member):
        """Whether a packet of a group that nobody joined stays away from dtap0: a new querier lets them pass for a
        while. A larger packet of a group that is joined follows it. Its bytes alone must be there when it is."""
        group, source = member
        sender = self.sender()
        if source:
            sender.bind((source, 0))
        before = self.bytes_through_the_tap()
        payload, headers = 1000, 14 + 20 + 8
        for to, size in (("239.99.99.99", 0), (group, payload)):
            sender.sendto(bytes(size), (to, 9))
            self.probes += 1
        end, passed = time.monotonic() + 1, 0
        while passed < payload and time.monotonic() < end:
            passed = self.bytes_through_the_tap() - before
        return passed == headers + payload

    def send_heaps(self, to, counts, source=None):
        sender = self.sender()
        if source:
            sender.bind((source, 0))
        for count in counts:
            for packet in wire.packetise(count, [(0x1000, wire.verify_words(count, 1000))]):
                sender.sendto(packet, (to, 7148))

    def send_stop(self, *to):
        for address in to:
            self.sender().sendto(wire.stop(10**6), (address, 7148))


class Igmp(BridgeTest):
    def test_joined_groups_arrive_and_others_do_not(self):
        running = self.listening("239.1.1.1+1:7148", "--sink", "verify", "--exit-on-stop",
                                 groups=[("239.1.1.1", None), ("239.1.1.2", None)])
        running.wait_for(lambda: self.filters(("239.1.1.1", None)), "the bridge to filter")
        self.send_heaps("239.1.1.3", range(1, 201))
        self.send_heaps("239.1.1.1", range(1, 21))
        self.send_heaps("239.1.1.2", range(21, 41))
        self.send_stop("239.1.1.1", "239.1.1.2")
        report = running.wait().report
        self.assert_stream(report, "s0", complete=40, malformed=0)
        port = report["ports"][0]
        self.assertLessEqual(port["rx"]["unmatched"], self.probes)
        self.assertGreater(port["rx"]["igmp"], 0)
        self.assertGreater(port["info"]["host_frames"], 0)
        self.assertEqual(port["info"]["hosts_full"], 0)

    def test_answers_keep_the_membership_alive_and_the_end_ends_it(self):
        running = self.listening("239.1.1.1:7148", groups=[("239.1.1.1", None)])
        # The bridge forgets a member after 2.5 s; each answer winds its clock up again.
        began, last, answers = time.monotonic(), 100.0, 0

        def answered():
            nonlocal last, answers
            members = self.members()
            self.assertIn(("239.1.1.1", None), members)
            answers += members[("239.1.1.1", None)] > last
            last = members[("239.1.1.1", None)]
            return answers >= 4 and time.monotonic() - began > 2 * 2.5

        running.wait_for(answered, "answers")
        before = self.heard()
        self.assertIn((3, IS_EX, "239.1.1.1", ()), before)
        running.interrupt()
        running.wait()
        self.assertEqual([s for s in self.heard() if s[1] != IS_EX], 2 * [(3, TO_IN, "239.1.1.1", ())])
        self.assertEqual(self.members(), {})

    def test_a_source_specific_join(self):
        for last in (7, 8):
            namespaces.ip("addr", "add", f"10.9.0.{last}/24", "dev", "peer", namespace=self.far)
        running = self.listening("239.1.1.1:7148@10.9.0.7", "--sink", "verify", "--exit-on-stop",
                                 groups=[("239.1.1.1", "10.9.0.7")])
        self.assertNotIn(("239.1.1.1", "10.9.0.8"), self.members())
        running.wait_for(lambda: self.filters(("239.1.1.1", "10.9.0.7")), "the bridge to filter")
        self.send_heaps("239.1.1.1", range(1, 201), source="10.9.0.8")
        self.send_heaps("239.1.1.1", range(1, 21), source="10.9.0.7")
        sender = self.sender()
        sender.bind(("10.9.0.7", 0))
        sender.sendto(wire.stop(10**6), ("239.1.1.1", 7148))
        report = running.wait().report
        self.assert_stream(report, "s0", complete=20, started=20)
        self.assertLessEqual(report["ports"][0]["rx"]["unmatched"], self.probes)
        said = self.heard()
        # Whether it says so of itself or in answer to a query comes first is the bridge's affair.
        self.assertIn(said[0], [(3, kind, "239.1.1.1", ("10.9.0.7",)) for kind in (ALLOW, IS_IN)])
        self.assertEqual(said[-2:], 2 * [(3, BLOCK, "239.1.1.1", ("10.9.0.7",))])

    def test_an_interface_that_is_deleted_is_made_anew_and_its_groups_are_joined_again(self):
        running = self.listening("239.1.1.1:7148", "--sink", "verify", "--exit-on-stop", groups=[("239.1.1.1", None)])
        namespaces.ip("link", "delete", "dtap0", namespace=self.near)
        running.wait_for(lambda: "interface dtap0 is back, and it receives again" in running.text(1), "a new interface")
        running.wait_for(self.plug, "interface")
        running.wait_for(lambda: ("239.1.1.1", None) in self.members(), "membership")
        self.send_heaps("239.1.1.1", range(1, 21))
        self.send_stop("239.1.1.1")
        finished = running.wait()
        self.assert_stream(finished.report, "s0", complete=20)
        self.assertIn("was detached 1 time", finished.err)

    def test_a_version_2_querier_is_answered_in_version_2(self):
        self.bridge("mcast_igmp_version", 2)
        running = self.listening("239.1.1.1:7148", "--sink", "verify", "--exit-on-stop", groups=[("239.1.1.1", None)])
        said = []

        def in_version_2():
            said.extend(self.heard())
            return said.count((2, V2_REPORT, "239.1.1.1", ())) >= 3

        running.wait_for(in_version_2, "reports of version 2")
        self.send_heaps("239.1.1.1", range(1, 21))
        self.send_stop("239.1.1.1")
        self.assert_stream(running.wait().report, "s0", complete=20)
        self.assertEqual(self.heard()[-1], (2, V2_LEAVE, "239.1.1.1", ()))


class Arp(BridgeTest):
    def test_a_kernel_sender_finds_our_address(self):
        running = self.listening("10.9.0.1:7148", "--sink", "verify", "--exit-on-stop", "--address", "10.9.0.1")
        # The kernel keeps few packets until it has the answer.
        self.sender().sendto(b"", ("10.9.0.1", 9))
        running.wait_for(lambda: "lladdr" in namespaces.ip("neigh", "show", "10.9.0.1", namespace=self.far), "an answer")
        self.send_heaps("10.9.0.1", range(1, 41))
        self.send_stop("10.9.0.1")
        report = running.wait().report
        self.assert_stream(report, "s0", complete=40, started=40)
        self.assertGreater(report["ports"][0]["rx"]["arp"], 0)

    def test_without_an_address_nobody_answers_and_that_is_said(self):
        running = self.listening("10.9.0.1:7148", "--idle-exit", "1")
        self.assertIn("ARP requests for 10.9.0.1:7148 get no answer", running.text(0) + running.text(1))
        self.send_heaps("10.9.0.1", [1])
        running.wait_for(lambda: "FAILED" in namespaces.ip("neigh", "show", "10.9.0.1", namespace=self.far),
                         "the kernel to give up")
        running.interrupt()
        self.assert_stream(running.wait().report, "s0", received=0)

    def hear(self, running, receiver):
        """Packets until the end of the run."""
        running.wait_for(lambda: self.plug() and self.arrives(receiver), "packets")
        packets = [receiver.recv(65536)]
        while wire.pointer(wire.IMMEDIATE, wire.STREAM_CTRL, 2) not in packets[-1][:64]:
            packets.append(receiver.recv(65536))
        return packets

    @staticmethod
    def arrives(receiver):
        try:
            receiver.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            return True
        except BlockingIOError:
            return False

    def unicast_receiver(self):
        made = self.far_socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUFFORCE if hasattr(socket, "SO_RCVBUFFORCE") else 33, 1 << 26)
        made.bind(("10.9.0.2", 7148))
        made.settimeout(20)
        return made

    def test_a_sender_finds_a_host(self):
        receiver = self.unicast_receiver()
        running = self.start("send", "10.9.0.2:7148", "--port", DEVICE, "--address", "10.9.0.1", "--verify", "--heaps", 20,
                             "--heap-size", 40000, "--rate", "100Mbps", prefix=self.inside)
        packets = self.hear(running, receiver)
        for count in range(2, 21):
            own = [packet for packet in packets if struct.unpack(">Q", packet[8:16])[0] & (2**40 - 1) == count]
            self.assertEqual(own, wire.packetise(count, [(0x1000, wire.verify_words(count, 10000))]))
        report = running.wait().report
        self.assertGreater(report["ports"][0]["rx"]["arp"], 0)
        self.assertIn("10.9.0.1", namespaces.ip("neigh", "show", "dev", "peer", namespace=self.far))

    def test_a_sender_follows_a_host_to_a_new_mac_address(self):
        self.inside_of(self.far, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/peer/arp_notify")
        receiver = self.unicast_receiver()
        running = self.start("send", "10.9.0.2:7148", "--port", DEVICE, "--address", "10.9.0.1", "--heap-size", 4000,
                             "--rate", "2Mbps", prefix=self.inside)
        running.wait_for(lambda: self.plug() and self.arrives(receiver), "packets")
        receiver.close()
        namespaces.ip("link", "set", "peer", "address", "02:53:50:44:ff:77", namespace=self.far)
        receiver = self.unicast_receiver()
        running.wait_for(lambda: self.arrives(receiver), "packets to the new address")
        self.assertIn("02:53:50:44:ff:77", running.text(0) + running.text(1))
        running.interrupt()
        running.wait()

    def test_nobody_at_the_address_is_said_with_what_was_tried(self):
        self.refused("send", "10.9.0.99:7148", "--port", DEVICE, "--heaps", 1, status=1, prefix=self.inside,
                     says=("send d0", "no MAC address for 10.9.0.99", "ARP", "p0", "--address", "--dst-mac"))


if __name__ == "__main__":
    harness.main()
