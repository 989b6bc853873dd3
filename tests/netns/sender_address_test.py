#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Addresses that come and go while the program runs: packets of senders come from those of their interface, and sockets
of receivers hear those that the machine gets later."""

import socket
import time

import namespaces  # first: it makes tests/system importable
import harness
import wire

FRAMES = "net_af_packet0,iface=dut"
SOCKETS = "net_kernel0,iface=dut"


class AddressTest(namespaces.NamespaceTest):
    def add(self, number):
        self.FAMILY.add(self.FAMILY.host(number), "dut", self.near)

    def remove(self, number):
        namespaces.ip("addr", "del", f"{self.FAMILY.host(number)}/{self.FAMILY.bits}", "dev", "dut", namespace=self.near)

    def has(self, number):
        return f" {self.FAMILY.host(number)}/" in namespaces.ip("addr", "show", "dev", "dut", namespace=self.near)


class Senders(AddressTest):
    def sending(self):
        running = self.start("send", self.FAMILY.endpoint(self.FAMILY.group(1)), "--port", FRAMES, "--heap-size", "4000",
                             "--rate", "2Mbps", prefix=self.inside)
        running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "start")
        return running

    def hearer(self):
        return self.receiver([self.FAMILY.group(1)], 7148)

    def sources_until(self, hearer, address):
        """The sources of packets, until one comes from the address."""
        end = time.monotonic() + 20 * harness.PATIENCE
        seen = set()
        while address not in seen:
            self.assertLess(time.monotonic(), end, f"no packet came from {address}, but from {seen}")
            seen.add(hearer.recvfrom(65536)[1][0].partition("%")[0])
        return seen

    def test_an_address_that_comes_later_is_used(self):
        self.remove(1)
        hearer = self.hearer()
        running = self.sending()
        self.add(1)
        self.sources_until(hearer, self.FAMILY.near)
        running.interrupt()
        self.assertIn(f"packets come from {self.FAMILY.near} now", running.wait().err)

    def test_an_address_that_goes_is_followed_by_another(self):
        hearer = self.hearer()
        running = self.sending()
        self.assertEqual(self.sources_until(hearer, self.FAMILY.near), {self.FAMILY.near})
        self.add(7)
        self.remove(1)
        if not self.has(7):  # of IPv4, the second one goes with the first
            self.add(7)
        self.sources_until(hearer, self.FAMILY.host(7))
        running.interrupt()
        running.wait()

    def test_an_interface_that_is_made_anew_has_the_same_source(self):
        hearer = self.hearer()
        running = self.sending()
        self.sources_until(hearer, self.FAMILY.near)
        hearer.close()
        namespaces.ip("link", "delete", "dut", namespace=self.near)
        running.wait_for(lambda: "has disappeared" in running.text(1), "loss of the interface")
        namespaces.ip("link", "add", "dut", "type", "veth", "peer", "name", "peer", "netns", self.far, namespace=self.near)
        for name, device in ((self.far, "peer"), (self.near, "dut")):
            namespaces.ip("link", "set", device, "mtu", self.MTU, "up", namespace=name)
        self.FAMILY.add(self.FAMILY.far, "peer", self.far)
        self.assertEqual(self.sources_until(self.hearer(), self.FAMILY.near), {self.FAMILY.near})
        running.interrupt()
        running.wait()


class Senders6(Senders):
    FAMILY = namespaces.V6


class Receivers(AddressTest):
    def test_an_address_that_comes_later_is_heard(self):
        for device in (FRAMES, SOCKETS):
            with self.subTest(device=device):
                running = self.start("recv", self.FAMILY.endpoint(self.FAMILY.host(7)), "--exit-on-stop", "--port", device,
                                     prefix=self.inside)
                running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "start")
                self.add(7)
                sender = self.far_socket()
                sender.connect((self.FAMILY.host(7), 7148))
                for packet in wire.packetise(1, [(0x1000, wire.verify_words(1, 100))]) + [wire.stop(10**6)]:
                    sender.send(packet)  # an ICMP "port unreachable" makes this fail
                self.assert_stream(running.wait().report, "s0", complete=1)
                self.assertEqual(sender.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)
                self.remove(7)


class Receivers6(Receivers):
    FAMILY = namespaces.V6


if __name__ == "__main__":
    harness.main()
