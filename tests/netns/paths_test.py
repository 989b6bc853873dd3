#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two paths over two veth pairs, from plain kernel sockets: each path has its own loss and repeats, and one dies."""

import random
import socket

import namespaces  # first: it makes tests/system importable
import harness
import wire

PORT = 7148
GROUPS = ("239.1.2.3", "239.129.2.3")
GROUPS6 = ("ff15::7:1", "ff15::7:2")
HEAPS = 100
PAYLOAD = 4096  # of a heap: four packets


class TwoPaths(namespaces.NamespaceTest):
    def setUp(self):
        super().setUp()
        namespaces.ip("link", "add", "dut2", "type", "veth", "peer", "name", "peer2", "netns", self.far, namespace=self.near)
        for name, device, address in ((self.near, "dut2", "10.9.1.1"), (self.far, "peer2", "10.9.1.2")):
            namespaces.ip("addr", "add", f"{address}/24", "dev", device, namespace=name)
            namespaces.ip("link", "set", device, "mtu", self.MTU, "up", namespace=name)

    def give_ipv6(self):
        try:
            for name, device, address in ((self.near, "dut", "fd00:9::1"), (self.far, "peer", "fd00:9::2"),
                                          (self.near, "dut2", "fd00:a::1"), (self.far, "peer2", "fd00:a::2")):
                namespaces.ip("-6", "addr", "add", f"{address}/64", "dev", device, "nodad", namespace=name)
        except OSError as error:
            self.skipTest(f"no IPv6 here: {error}")

    def joined(self, groups):
        """Whether the kernel has joined each group on its path's interface."""
        for device, group in zip(("dut", "dut2"), groups):
            text = namespaces.ip("maddr", "show", "dev", device, namespace=self.near)
            if group not in {line.split()[1] for line in text.splitlines() if line.split()[:1] in (["inet"], ["inet6"])}:
                return False
        return True

    def senders(self):
        made = []
        for address in ("10.9.0.2", "10.9.1.2"):
            made.append(self.far_socket())
            made[-1].setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
        return made

    def senders6(self):
        made = []
        for device in ("peer", "peer2"):
            made.append(self.far_socket(socket.AF_INET6, socket.SOCK_DGRAM))
            index = self.within(self.far, lambda device=device: socket.if_nametoindex(device))
            made[-1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        return made

    def start_receiver(self, groups, driver="af_packet"):
        plan = self.directory / "paths.toml"
        written = [f"[{group}]:{PORT}" if ":" in group else f"{group}:{PORT}" for group in groups]
        plan.write_text(
            f"""version = 1
            [[port]]
            name = "p0"
            device = "net_{driver}0,iface=dut"
            [[port]]
            name = "p1"
            device = "net_{driver}1,iface=dut2"
            [[receive]]
            name = "s0"
            paths = ["p0", "p1"]
            endpoints = ["{written[0]}"]
            path_endpoints = ["{written[1]}"]
            path_skew = "2s"
            [receive.heaps]
            max_live = {HEAPS + 1}
            history_time = "20s"
            [receive.sink]
            kind = "verify"
            [end]
            exit_on_stop = true
            """, encoding="utf-8")
        running = self.start("run", "--config", plan, prefix=self.inside)
        running.wait_for(lambda: self.joined(groups), f"membership of {groups}")
        running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "reception")
        self.assertIn(f"{written[0]} on p0 and {written[1]} on p1", running.text(1))
        return running

    def check(self, groups, senders, driver="af_packet"):
        """Sends all heaps by both paths, but for what each loses; the second one dies in the middle."""
        source = random.Random(7)
        running = self.start_receiver(groups, driver)
        packets = [packet for number in range(1, HEAPS + 1)
                   for packet in wire.heap(number, wire.verify_words(number, PAYLOAD // 4))]
        brought, repeated = (set(), set()), [0, 0]
        for at, packet in enumerate(packets):
            for path, sender in enumerate(senders):
                if source.random() < 0.05 or (path == 1 and at >= len(packets) // 2):
                    continue
                sender.sendto(packet, (groups[path], PORT))
                brought[path].add(at)
                if source.random() < 0.05:
                    sender.sendto(packet, (groups[path], PORT))
                    repeated[path] += 1
            if at == len(packets) // 2:
                namespaces.ip("link", "set", "peer2", "down", namespace=self.far)
        senders[0].sendto(wire.stop(10**6), (groups[0], PORT))
        report = running.wait().report
        any_of_them = brought[0] | brought[1]
        stream = report["streams"][0]
        self.assert_stream(report, "s0", placed=len(any_of_them), control=1, late=0, duplicate=sum(repeated),
                           redundant=len(brought[0] & brought[1]))
        for path in range(2):
            self.assertEqual(
                {name: stream["paths"][path][name] for name in ("received", "repeated", "late", "missing")},
                {"received": len(brought[path]) + repeated[path] + (path == 0), "repeated": repeated[path], "late": 0,
                 "missing": len(any_of_them - brought[path]) + (path == 1)}, f"path {path}")
        self.assertEqual([path["endpoints"] for path in stream["paths"]],
                         [[f"[{group}]:{PORT}" if ":" in group else f"{group}:{PORT}"] for group in groups])
        whole = sum(all(4 * heap + part in any_of_them for part in range(4)) for heap in range(HEAPS))
        self.assert_stream(report, "s0", complete=whole)
        self.assertEqual((stream["info"]["verified"], stream["info"]["wrong"]), (whole, 0))
        self.assertEqual(harness.broken_identities(report), [])

    def test_each_loses_repeats_and_one_dies(self):
        self.check(GROUPS, self.senders())

    def test_of_ipv6_too(self):
        self.give_ipv6()
        self.check(GROUPS6, self.senders6())

    # The group is the same on both interfaces, so that only these tell the paths apart.
    def test_sockets_hear_one_group_on_two_interfaces_apart(self):
        self.check(GROUPS[:1] * 2, self.senders(), "kernel")

    def test_sockets_of_ipv6_do_so_too(self):
        self.give_ipv6()
        self.check(GROUPS6[:1] * 2, self.senders6(), "kernel")


if __name__ == "__main__":
    harness.main()
