#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packets of plain kernel sockets that are longer than the MTU of the wire: they come as IP fragments, and are put
together."""

import re
import socket
import struct
import subprocess

import namespaces  # first: it makes tests/system importable
import harness
import wire

FRAMES = "net_af_packet0,iface=dut"
PCAP = "net_pcap0,rx_iface_in=dut"
XDP = "net_af_xdp0,iface=dut"
WORDS = 10000  # of a heap: 40 kB
PACKET = 8192
GROUP4, GROUP6 = "239.1.1.1", "ff15::1"


class FragmentTest(namespaces.NamespaceTest):
    MTU = 1500

    def setUp(self):
        super().setUp()
        try:
            for name, device, address in ((self.near, "dut", "fd00:9::1"), (self.far, "peer", "fd00:9::2")):
                namespaces.ip("-6", "addr", "add", f"{address}/64", "dev", device, "nodad", namespace=name)
        except OSError as error:
            self.skipTest(f"no IPv6 here: {error}")

    def joined6(self):
        text = self.within(self.near, lambda: open("/proc/thread-self/net/igmp6", encoding="ascii").read())
        return {socket.inet_ntop(socket.AF_INET6, bytes.fromhex(line.split()[2])) for line in text.splitlines()}

    def sender6(self):
        made = self.far_socket(socket.AF_INET6, socket.SOCK_DGRAM)
        index = self.within(self.far, lambda: socket.if_nametoindex("peer"))
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        made.bind(("fd00:9::2", 0))
        return made

    def receiving(self, device, endpoint, *words):
        running = self.start("recv", endpoint, "--port", device, "--sink", "verify", *words, prefix=self.inside)
        group = endpoint.rsplit(":", 1)[0].strip("[]")
        running.wait_for(lambda: group in self.groups_joined() | self.joined6(), f"membership of {group}")
        return running

    def send(self, sender, group, counts, stop=True):
        """Sends verified heaps. Returns the number of their packets that do not fit the MTU, and of all."""
        cut = sent = 0
        for count in counts:
            for packet in wire.packetise(count, [(0x1000, wire.verify_words(count, WORDS))], PACKET):
                sender.sendto(packet, (group, 7148))
                cut += len(packet) > 1400
                sent += 1
        if stop:
            sender.sendto(wire.stop(10**6), (group, 7148))
        return cut, sent + stop

    def assert_whole(self, report, heaps, cut, sent):
        stream = self.assert_stream(report, "s0", complete=heaps, started=heaps, malformed=0)
        port = report["ports"][0]
        self.assertEqual((stream["info"]["verified"], stream["info"]["wrong"]), (heaps, 0))
        self.assertEqual(port["info"]["to_streams"], sent)
        self.assertEqual(port["info"]["reassembly"]["datagrams"], cut)
        self.assertEqual(port["info"]["reassembly"]["given_up"], 0)
        self.assertEqual(port["info"]["reassembly"]["held_now"], 0)
        self.assertEqual((port["rx"]["fragment"], port["rx"]["incomplete"]), (0, 0))
        self.assertGreater(port["rx"]["reassembled"], 4 * cut)
        self.assertEqual(port["info"]["oversized_frames"], 0)


class Receive(FragmentTest):
    def test_heaps_of_ipv4(self):
        running = self.receiving(PCAP, f"{GROUP4}:7148", "--reassemble", "--exit-on-stop")
        cut, sent = self.send(self.sender(), GROUP4, range(1, 21))
        self.assert_whole(running.wait().report, 20, cut, sent)

    def test_heaps_of_ipv6(self):
        running = self.receiving(FRAMES, f"[{GROUP6}]:7148", "--reassemble", "--exit-on-stop")
        cut, sent = self.send(self.sender6(), GROUP6, range(1, 21))
        self.assert_whole(running.wait().report, 20, cut, sent)

    def test_the_kernel_puts_fragments_of_ipv4_together_for_af_packet(self):
        running = self.receiving(FRAMES, f"{GROUP4}:7148", "--reassemble", "--exit-on-stop")
        _, sent = self.send(self.sender(), GROUP4, range(1, 21))
        report = running.wait().report
        self.assert_stream(report, "s0", complete=20, started=20, malformed=0)
        port = report["ports"][0]
        self.assertEqual(port["info"]["to_streams"], sent)
        self.assertEqual((port["info"]["reassembly"]["datagrams"], port["info"]["oversized_frames"]), (0, 0))

    def test_without_the_key_they_are_counted_and_it_is_named(self):
        running = self.receiving(FRAMES, f"[{GROUP6}]:7148", "--idle-exit", "1", "--exit-on-stop")
        cut, _ = self.send(self.sender6(), GROUP6, range(1, 3))
        finished = running.wait()
        port = finished.report["ports"][0]
        self.assertGreater(port["rx"]["fragment"], 5 * cut)
        self.assertEqual((port["rx"]["reassembled"], port["rx"]["incomplete"], port["info"]["reassembly"]), (0, 0, None))
        self.assertEqual(harness.losses(finished.report["findings"]), {"fragments"})
        finding, = [f for f in finished.report["findings"] if f["cause"] == "fragments"]
        self.assertEqual(finding["count"], port["rx"]["fragment"])
        self.assertIn("restart with `--reassemble`", finding["cures"])

    def only_fragments(self, device, endpoint, sender, words):
        """Sends nothing but packets that are longer than the MTU. Returns why nothing came."""
        group = endpoint.rsplit(":", 1)[0].strip("[]")
        running = self.receiving(device, endpoint, "--duration", "5")
        for count in range(1, 11):
            sender.sendto(bytes([count]) * 4000, (group, 7148))
        report = running.wait(None).report
        self.assert_stream(report, "s0", received=0)
        finding = next(f for f in report["findings"] if f["cause"] == "nothing_came")
        for text in words:
            self.assertIn(text, finding["what"])
        return report, finding["cures"]

    def test_a_stream_of_which_only_fragments_come_is_told_of_them(self):
        for device, endpoint, sender in ((FRAMES, f"[{GROUP6}]:7148", self.sender6()), (PCAP, f"{GROUP4}:7148", self.sender())):
            with self.subTest(device=device):
                report, cures = self.only_fragments(device, endpoint, sender, ["p0 had 30 IP fragments"])
                self.assertEqual(report["ports"][0]["rx"]["fragment"], 30)
                self.assertEqual(cures[0], "restart with `--reassemble`")
                self.assertIn("fragments", [f["cause"] for f in report["findings"]])

    def test_so_is_one_whose_rules_leave_them_to_the_kernel(self):
        probe = self.run_program("recv", f"{GROUP4}:7148", "--port", XDP, "--check", prefix=self.inside, status=None,
                                 report=False)
        if "built without its XDP program" in probe.err:
            self.skipTest("built without the XDP program (clang, libbpf)")
        for endpoint, sender, source in ((f"[{GROUP6}]:7148", self.sender6(), "fd00:9::2"),
                                         (f"{GROUP4}:7148", self.sender(), "10.9.0.2")):
            with self.subTest(endpoint=endpoint):
                _, cures = self.only_fragments(XDP, endpoint, sender, [f"some for {endpoint} to the kernel (10, the last "
                                                                       f"from {source})", "IP fragments"])
                # The check comes before the change.
                self.assertIn("`ethtool -l dut`", cures[0])
                self.assertIn("restart with `--port net_kernel0,iface=dut`", cures[1])

    def test_the_kernels_sockets_have_whole_packets(self):
        running = self.receiving("net_kernel0,iface=dut", f"[{GROUP6}]:7148", "--exit-on-stop")
        _, sent = self.send(self.sender6(), GROUP6, range(1, 3))
        self.assert_stream(running.wait().report, "s0", complete=2, received=sent)

    def test_fragments_that_the_kernel_puts_together_without_the_key_are_told_of(self):
        running = self.receiving(FRAMES, f"{GROUP4}:7148", "--exit-on-stop")
        self.send(self.sender(), GROUP4, [1])
        finding = next(f for f in running.wait().report["findings"] if f["cause"] == "gso_frames")
        self.assertIn("if they come as IP fragments, restart with `--reassemble`", finding["cures"])


def fragment6(ident, begin, body, more, source="fd00:9::77"):
    """A frame with a fragment of a datagram to the group."""
    data = struct.pack("!BBHI", 17, 0, begin | more, ident) + body
    head = struct.pack("!IHBB", 6 << 28, len(data), 44, 1)
    return (bytes.fromhex("333300000001020000000009") + b"\x86\xdd" + head + socket.inet_pton(socket.AF_INET6, source) +
            socket.inet_pton(socket.AF_INET6, GROUP6) + data)


class Hostile(FragmentTest):
    def raw(self):
        made = self.far_socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        made.bind(("peer", 0))
        return made

    def test_a_flood_of_first_fragments_stops_nobody_else(self):
        running = self.receiving(FRAMES, f"[{GROUP6}]:7148", "--reassemble", "--exit-on-stop")
        raw, sender = self.raw(), self.sender6()
        udp = struct.pack("!HHHH", 50000, 7148, 4000, 0xBEEF)
        flood = 0
        for count in range(1, 21):
            for _ in range(100):
                raw.send(fragment6(flood, 0, udp + bytes(40), True))
                flood += 1
            self.send(sender, GROUP6, [count], stop=False)
        sender.sendto(wire.stop(10**6), (GROUP6, 7148))
        report = running.wait().report
        self.assert_stream(report, "s0", complete=20, started=20)
        port = report["ports"][0]
        self.assertEqual(port["rx"]["incomplete"], flood)
        self.assertEqual(port["info"]["reassembly"]["given_up"], flood)
        # If both senders have the same set, each honest datagram takes one place of the flood.
        self.assertIn(port["info"]["reassembly"]["crowded_out"], (0, 20))
        self.assertIn("datagrams_incomplete", [f["cause"] for f in report["findings"]])

    def test_what_cannot_be_put_together_is_counted_once(self):
        running = self.receiving(FRAMES, f"[{GROUP6}]:7148", "--reassemble", "--exit-on-stop")
        raw = self.raw()
        udp = struct.pack("!HHHH", 50000, 7148, 408, 0xBEEF) + bytes(192)  # the first 200 of 408 bytes
        for number, begin, body, more in ((1, 0, udp, True),          # never more
                                          (2, 0, udp, True), (2, 192, bytes(216), False),  # they overlap
                                          (3, 0, udp[:7], True),      # no UDP header
                                          (4, 65528, bytes(16), False),  # too long a datagram
                                          (5, 0, udp, True), (5, 0, udp, True),  # twice
                                          (6, 0, udp, True), (6, 200, bytes(208), False)):  # a wrong checksum
            raw.send(fragment6(number, begin, body, more))
        for part in range(10):
            raw.send(fragment6(7, 200 + 8 * part, bytes(8), True))
        self.send(self.sender6(), GROUP6, [1])
        report = running.wait().report
        self.assert_stream(report, "s0", complete=1)
        rx = report["ports"][0]["rx"]
        self.assertEqual((rx["fragment"], rx["incomplete"], rx["bad_checksum"]), (8, 9, 1))
        info = report["ports"][0]["info"]["reassembly"]
        self.assertEqual((info["given_up"], info["conflicting"], info["too_many"]), (4, 1, 1))


class Moves(FragmentTest):
    CONFIG = """version = 1
[runtime]
live = true
lcores = [0, 1]
control = "{control}"
[[port]]
name = "p0"
device = "{device}"
reassemble = true
[[receive]]
name = "s0"
port = "p0"
endpoints = ["{group}:7148"]
lcores = [0]
[receive.sink]
kind = "verify"
[end]
exit_on_stop = true
"""

    def test_a_stream_moves_and_its_packets_are_put_together_there(self):
        control, plan = self.directory / "control", self.directory / "plan.toml"
        plan.write_text(self.CONFIG.format(control=control, device=PCAP, group=GROUP4), encoding="utf-8")
        running = self.start("run", "--config", plan, prefix=self.inside)
        running.wait_for(lambda: GROUP4 in self.groups_joined(), f"membership of {GROUP4}")
        sender, heaps, cut, sent = self.sender(), 0, 0, 0
        for lcore in (0, 1, 0, 1):
            subprocess.run([harness.program(), "attach", str(control), "--", "stream", "set", "s0", "lcores", str(lcore)],
                           check=True, timeout=60, stdout=subprocess.DEVNULL)
            counts = range(heaps + 1, heaps + 11)
            more = self.send(sender, GROUP4, counts, stop=lcore == 1 and heaps == 30)
            heaps, cut, sent = heaps + 10, cut + more[0], sent + more[1]
            if heaps < 40:
                running.wait_for(lambda: self.placed(control) == sent, f"{sent} packets")
        self.assert_whole(running.wait().report, heaps, cut, sent)

    @staticmethod
    def placed(control):
        shown = subprocess.run([harness.program(), "attach", str(control), "--", "show", "stream", "s0"], check=True,
                               timeout=60, capture_output=True, text=True).stdout
        return int(re.search(r"^packets.placed +(\d+)$", shown, re.M)[1])


class Refused(FragmentTest):
    def test_where_fragments_do_not_come(self):
        self.refused("recv", f"{GROUP4}:7148", "--port", "net_kernel0,iface=dut", "--reassemble", "--check",
                     prefix=self.inside, says=("port", "`reassemble`", "whole datagrams already"))

    def test_with_several_lcores(self):
        self.refused("recv", f"{GROUP4}:7148", "--port", FRAMES, "--reassemble", "--lcores", "0,1", "--check",
                     prefix=self.inside, says=("`reassemble`", "one lcore", "CPUs"))


if __name__ == "__main__":
    harness.main()
