#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Unicast over a veth pair, to and from plain kernel UDP sockets."""

import socket
import struct
import subprocess

import namespaces  # first: it makes tests/system importable
import harness
import wire

DEVICE = "net_af_packet0,iface=dut"


class HostsTest(namespaces.NamespaceTest):
    def host(self, number):
        return self.FAMILY.host(number)

    def endpoint(self, number, more=""):
        return self.FAMILY.endpoint(self.host(number), more=more)

    def receiver(self, address="", port=7148):
        made = self.far_socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUFFORCE if hasattr(socket, "SO_RCVBUFFORCE") else 33, 1 << 26)
        made.bind((address, port))
        made.settimeout(20)
        return made

    def hear(self, receiver, *words, heaps=20):
        """Sends heaps, and checks that the socket hears each of them, byte for byte."""
        self.run_program("send", *words, "--port", DEVICE, "--verify", "--heaps", heaps, "--heap-size", 40000, "--rate",
                         "200Mbps", prefix=self.inside)
        packets = [receiver.recv(65536)]
        while wire.pointer(wire.IMMEDIATE, wire.STREAM_CTRL, 2) not in packets[-1][:64]:
            packets.append(receiver.recv(65536))
        for count in range(2, heaps + 1):
            own = [packet for packet in packets if struct.unpack(">Q", packet[8:16])[0] & (2**40 - 1) == count]
            self.assertEqual(own, wire.packetise(count, [(0x1000, wire.verify_words(count, 10000))],
                                                 max_packet_size=1500 - self.FAMILY.headers))


class Send(HostsTest):
    def mac_of_the_peer(self):
        return namespaces.ip("-o", "link", "show", "peer", namespace=self.far).split("link/ether ")[1].split()[0]

    def tell_the_kernel(self, mac):
        namespaces.ip("neigh", "replace", self.FAMILY.far, "lladdr", mac, "nud", "permanent", "dev", "dut",
                      namespace=self.near)

    def test_to_a_host_whose_mac_address_the_kernel_finds(self):
        namespaces.ip("neigh", "flush", "dev", "dut", namespace=self.near)
        self.hear(self.receiver(), self.endpoint(2))

    def test_to_a_host_that_the_neighbour_table_knows(self):
        self.tell_the_kernel(self.mac_of_the_peer())
        namespaces.ip("link", "set", "peer", "arp", "off", namespace=self.far)  # asking would be in vain
        self.hear(self.receiver(), self.endpoint(2))

    def test_to_a_host_behind_a_router(self):
        beyond = "fd00:77::1" if self.FAMILY.is_v6 else "10.77.0.1"
        namespaces.ip("addr", "add", beyond, "dev", "lo", namespace=self.far)
        namespaces.ip("route", "add", beyond, "via", self.FAMILY.far, namespace=self.near)
        self.hear(self.receiver(), self.FAMILY.endpoint(beyond))

    def test_to_several_hosts_at_once(self):
        for last in range(10, 20):
            self.FAMILY.add(self.host(last), "peer", self.far)
        receivers = [self.receiver(self.host(last)) for last in range(10, 20)]
        self.run_program("send", self.endpoint(10, "+9"), "--port", DEVICE, "--heaps", 10, "--heap-size", 4000,
                         prefix=self.inside)
        for number, receiver in enumerate(receivers):
            self.assertEqual(struct.unpack(">Q", receiver.recv(65536)[8:16])[0] & (2**40 - 1), number + 1)

    def test_a_mac_address_given_counts_more_than_the_neighbour_table(self):
        self.tell_the_kernel("02:00:00:00:00:99")
        self.hear(self.receiver(), self.endpoint(2), "--dst-mac", self.mac_of_the_peer())

    def test_a_host_is_followed_to_a_new_mac_address(self):
        running = self.start("send", self.endpoint(2), "--port", DEVICE, "--heap-size", 4000, "--rate", "2Mbps",
                             prefix=self.inside)
        receiver = self.receiver()
        receiver.recv(65536)
        receiver.close()
        namespaces.ip("link", "set", "peer", "address", "02:53:50:44:ff:77", namespace=self.far)
        self.tell_the_kernel("02:53:50:44:ff:77")
        self.receiver().recv(65536)  # a new socket: what it hears was sent after the change
        running.interrupt()
        running.wait()

    def test_a_start_that_waits_for_an_answer_can_be_interrupted(self):
        running = self.start("send", self.endpoint(77), "--port", DEVICE, prefix=self.inside)
        running.wait_for(lambda: self.host(77) in namespaces.ip("neigh", namespace=self.near), "question")
        running.interrupt()
        finished = running.wait(status=1)
        self.assertRegex(finished.err, "dut: interrupted while .*addresses")
        self.assertFalse(finished.has_report())

    def test_nobody_at_the_address_is_said_with_what_was_tried(self):
        self.refused("send", self.endpoint(99), "--port", DEVICE, "--heaps", 1, status=1, prefix=self.inside,
                     says=("send d0", "dut", f"no MAC address for {self.host(99)}", "neighbour table",
                           "neighbour solicitations" if self.FAMILY.is_v6 else "ARP", "--dst-mac"))

    def test_an_address_of_this_machine_is_refused(self):
        self.refused("send", self.endpoint(1), "--port", DEVICE, "--heaps", 1, status=1, prefix=self.inside,
                     says=(f"{self.host(1)} is an address of this machine",))


class Receive(HostsTest):
    def test_a_connected_kernel_sender_is_not_refused(self):
        running = self.start("recv", self.endpoint(1), "--sink", "verify", "--exit-on-stop", "--port", DEVICE,
                             prefix=self.inside)
        running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "start")
        sender = self.far_socket()
        sender.connect((self.host(1), 7148))
        for count in range(1, 41):
            for packet in wire.packetise(count, [(0x1000, wire.verify_words(count, 4000))]):
                sender.send(packet)  # an ICMP "port unreachable" makes this fail
        self.assertEqual(sender.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), 0)
        sender.send(wire.stop(41))
        self.assert_stream(running.wait().report, "s0", complete=40, started=40, malformed=0)

    def test_the_port_is_free_again_afterwards(self):
        self.run_program("recv", self.endpoint(1), "--duration", "0.2", "--port", DEVICE, prefix=self.inside)
        for name in ("udp", "udp6"):
            listed = subprocess.run([*self.inside, "cat", f"/proc/net/{name}"], check=True, capture_output=True,
                                    text=True).stdout
            self.assertNotIn(":1BEC", listed)


class Send6(Send):
    FAMILY = namespaces.V6


class Receive6(Receive):
    FAMILY = namespaces.V6


class Routes(HostsTest):
    """Of IPv4, the kernel takes a destination without a route for a host on the link."""

    def test_a_destination_without_a_route_is_said_to_have_none(self):
        said = self.refused("send", "10.88.0.1:7148", "--port", DEVICE, "--heaps", 1, status=1, prefix=self.inside,
                            says=("send d0", "dut", "no MAC address for 10.88.0.1", "no route leads there",
                                  "ip route add 10.88.0.1 via ROUTER dev dut", "--dst-mac"))
        self.assertNotIn("start it", said.err)
        # The kernel asks for it all the same, and a host on the link may answer.
        namespaces.ip("addr", "add", "10.88.0.1/32", "dev", "peer", namespace=self.far)
        namespaces.ip("route", "add", "10.9.0.1/32", "dev", "peer", namespace=self.far)
        self.hear(self.receiver(), "10.88.0.1:7148")


if __name__ == "__main__":
    harness.main()
