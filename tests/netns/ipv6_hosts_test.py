#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Addresses, routes and neighbours of IPv6 that are not the usual ones: tentative, of a VLAN, of the other family."""

import socket

import namespaces  # first: it makes tests/system importable
import harness
import ipv6_test
import wire

FRAMES = ipv6_test.FRAMES
SOCKETS = ipv6_test.SOCKETS


class HostsTest(ipv6_test.Ipv6Test):
    def setting(self, namespace, name, value):
        def write():
            with open(f"/proc/sys/net/{name}", "w", encoding="ascii") as file:
                file.write(str(value))
        self.within(namespace, write)

    def hearer(self, address, family=socket.AF_INET6):
        made = self.far_socket(family, socket.SOCK_DGRAM)
        made.bind((address, 7148))
        made.settimeout(10)
        return made

    def source_of_heaps_to(self, endpoint, *words, hearer, device=FRAMES):
        """The source of packets that the hearer gets."""
        self.run_program("send", endpoint, "--port", device, "--heaps", "2", "--heap-size", "2000", *words,
                         prefix=self.inside)
        return hearer.recvfrom(9000)[1][0]


class Tentative(HostsTest):
    """The kernel lets nobody use an address while it asks whether another host has it."""

    def setUp(self):
        super().setUp()
        # It asks at once, and for four seconds.
        self.setting(self.near, "ipv6/conf/dut/router_solicitation_delay", 0)
        self.setting(self.near, "ipv6/conf/dut/dad_transmits", 4)

    def add_tentative(self, address):
        namespaces.ip("-6", "addr", "add", f"{address}/64", "dev", "dut", namespace=self.near)

    def tentative(self, address):
        shown = namespaces.ip("-6", "addr", "show", "dev", "dut", namespace=self.near)
        return any(f" {address}/" in line and "tentative" in line for line in shown.splitlines())

    def test_a_receiver_hears_its_address_once_that_may_be_used(self):
        for number, device in enumerate((FRAMES, SOCKETS), 5):
            with self.subTest(device=device):
                address = f"fd00:9::{number}"
                self.add_tentative(address)
                running = self.start("recv", f"[{address}]:7148", "--exit-on-stop", "--port", device, prefix=self.inside)
                running.wait_for(self.holds_port, "a socket of the endpoint")
                running.wait_for(lambda: not self.tentative(address), "the end of the search for duplicates")
                sender = self.sender6()
                for packet in wire.packetise(1, [(0x1000, wire.verify_words(1, 100))]) + [wire.stop(10**6)]:
                    sender.sendto(packet, (address, 7148))
                finished = running.wait()
                self.assert_stream(finished.report, "s0", complete=1)
                self.assertNotIn("port unreachable", finished.err)
                self.assertNotIn("does not have the address", finished.err)

    def holds_port(self):
        text = self.within(self.near, lambda: open("/proc/thread-self/net/udp6", encoding="ascii").read())
        return any(line.split()[1].endswith(":1BEC") for line in text.splitlines()[1:])

    def test_a_sender_waits_for_an_address_to_ask_from(self):
        self.setting(self.near, "ipv6/conf/dut/dad_transmits", 2)  # within the patience for a host's answer
        namespaces.ip("-6", "addr", "flush", "dev", "dut", namespace=self.near)
        self.add_tentative("fd00:9::1")
        self.assertEqual(self.source_of_heaps_to("[fd00:9::2]:7148", hearer=self.hearer("fd00:9::2")), "fd00:9::1")

    def test_a_source_that_may_be_used_comes_first(self):
        namespaces.ip("-6", "addr", "flush", "dev", "dut", namespace=self.near)
        for address, words in (("fd00:9::8", ("preferred_lft", "0")), ("fd00:9::1", ())):
            namespaces.ip("-6", "addr", "add", f"{address}/64", "dev", "dut", "nodad", *words, namespace=self.near)
        self.setting(self.near, "ipv6/conf/dut/dad_transmits", 20)
        self.add_tentative("fd00:9::9")
        self.assertEqual(self.source_of_heaps_to("[fd00:9::2]:7148", hearer=self.hearer("fd00:9::2")), "fd00:9::1")


class Elsewhere(HostsTest):
    def test_addresses_and_neighbours_of_a_vlan_are_those_of_its_interface(self):
        for name, device, end in ((self.near, "dut", 1), (self.far, "peer", 2)):
            try:
                namespaces.ip("link", "add", "link", device, "name", f"{device}.42", "type", "vlan", "id", "42",
                              namespace=name)
            except OSError as error:
                self.skipTest(f"no VLAN interfaces here: {error}")
            namespaces.ip("link", "set", f"{device}.42", "up", namespace=name)
            namespaces.ip("-6", "addr", "add", f"fd00:42::{end}/64", "dev", f"{device}.42", "nodad", namespace=name)
            namespaces.ip("addr", "add", f"10.42.0.{end}/24", "dev", f"{device}.42", namespace=name)
        self.assertEqual(self.source_of_heaps_to("[fd00:42::2]:7148", "--vlan", "42", hearer=self.hearer("fd00:42::2")),
                         "fd00:42::1")
        self.assertEqual(self.source_of_heaps_to("10.42.0.2:7148", "--vlan", "42",
                                                 hearer=self.hearer("10.42.0.2", socket.AF_INET)), "10.42.0.1")

    def test_a_host_of_ipv4_behind_a_router_of_ipv6(self):
        namespaces.ip("addr", "add", "10.77.0.1/32", "dev", "lo", namespace=self.far)
        self.setting(self.far, "ipv4/conf/all/arp_announce", 2)  # else its own requests tell its MAC address
        try:
            namespaces.ip("route", "add", "10.77.0.0/24", "via", "inet6", "fd00:9::2", "dev", "dut", namespace=self.near)
        except OSError as error:
            self.skipTest(f"no such routes here: {error}")
        self.assertEqual(self.source_of_heaps_to("10.77.0.1:7148", hearer=self.hearer("10.77.0.1", socket.AF_INET)),
                         "10.9.0.1")

    def test_a_port_is_named_by_its_address(self):
        hearer = self.hearer("fd00:9::2")
        for name in ("fd00:9::1", "[fd00:9::1]"):
            self.assertEqual(self.source_of_heaps_to("[fd00:9::2]:7148", hearer=hearer, device=name), "fd00:9::1")

    def test_an_interface_without_ipv6_is_told(self):
        self.setting(self.near, "ipv6/conf/dut/disable_ipv6", 1)
        finished = self.run_program("recv", "[ff15::1]:7148", "--port", FRAMES, "--check", prefix=self.inside)
        self.assertIn("the kernel speaks no IPv6 on dut", finished.out + finished.err, str(finished))
        self.assertIn("sysctl -w net/ipv6/conf/dut/disable_ipv6=0", finished.out + finished.err)


if __name__ == "__main__":
    harness.main()
