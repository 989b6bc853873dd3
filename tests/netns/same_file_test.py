#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One configuration file on every kind of port: nothing but the device's name is changed. Two endpoints, two lcores,
one of which has a queue of its own only where the port can steer."""

import json
import os
import socket
import struct
import subprocess

import namespaces  # first: it makes tests/system importable
import harness
import wire

CONFIGURATION = """
version = 1
[memory]
heaps = "32MiB"
[[port]]
name = "p0"
device = "{device}"
[[receive]]
name = "s"
port = "p0"
endpoints = ["{endpoints}"]
lcores = {lcores}
max_packet_size = 1472
buffer_size = "256KiB"
[receive.heaps]
max_bytes = "64KiB"
[receive.sink]
kind = "file"
directory = "{directory}"
[[send]]
name = "own"
port = "p0"
endpoints = ["{endpoints}"]
heap_size = 10000
verify = true
rate = "10Mbps"
[end]
heaps = 12
duration = 300
"""

HEAPS = range(1, 13)


class SameFile(namespaces.NamespaceTest):
    MTU = 1500  # of both ends, which an XDP program wants below a page

    def groups(self):
        return [self.FAMILY.group(number) for number in (1, 2)]

    def begin(self, device):
        lcores = sorted(os.sched_getaffinity(0))[:2]
        self.sink = self.directory / "heaps"
        file = self.directory / "run.toml"
        file.write_text(CONFIGURATION.format(device=device, lcores=json.dumps(lcores), directory=self.sink,
                                             endpoints=self.FAMILY.endpoint(self.FAMILY.group(1), more="+1")),
                        encoding="utf-8")
        return self.start("run", "--config", file, prefix=self.inside)

    def begin_and_hear(self, device):
        running = self.begin(device)
        running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "start")
        return running

    def feed(self, sender):
        """The heaps that the file's own sender makes, from a kernel socket."""
        packets = 0
        for count in HEAPS:
            for packet in wire.packetise(count, [(0x1000, wire.verify_words(count, 2500))],
                                         max_packet_size=1500 - self.FAMILY.headers):
                sender.sendto(packet, (self.groups()[(count - 1) % 2], 7148))
                packets += 1
        return packets

    def assert_received(self, running):
        finished = running.wait()
        stream = self.assert_stream(finished.report, "s", evicted=0, timed_out=0, malformed=0, inconsistent=0)
        found = {int(path.stem.rsplit("-", 1)[1]): path.read_bytes() for path in self.sink.glob("*.bin")}
        self.assertGreaterEqual(len(found), len(HEAPS), "two lcores: which heaps come first is not given")
        for count, payload in found.items():
            words = wire.verify_words(count, 2500)
            # The program's first heap to each endpoint has its descriptor in front.
            self.assertEqual(payload[-len(words) :], words, f"heap {count}")
        return finished.report, stream

    def test_ring(self):
        self.assert_received(self.begin("net_ring0"))

    def test_af_packet(self):
        running = self.begin_and_hear("net_af_packet0,iface=dut")
        running.wait_for(lambda: set(self.groups()) <= self.groups_joined(), "membership")
        packets = self.feed(self.sender())
        _, stream = self.assert_received(running)
        self.assertEqual(stream["packets"]["received"], packets)

    def test_af_xdp(self):
        probe = subprocess.run([harness.program(), "recv", "239.1.1.0:7148", "--port", "net_af_xdp0,iface=nothing"],
                               check=False, capture_output=True, text=True)
        if "built without its XDP program" in probe.stderr:
            self.skipTest("built without the XDP program (clang, libbpf)")
        running = self.begin_and_hear("net_af_xdp0,iface=dut")
        running.wait_for(lambda: set(self.groups()) <= self.groups_joined(), "membership")
        packets = self.feed(self.sender())
        report, stream = self.assert_received(running)
        self.assertEqual(stream["packets"]["received"], packets)
        self.assertEqual(report["ports"][0]["driver"], "net_af_xdp")

    def test_tap(self):
        if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
            self.skipTest("needs /dev/net/tun (module tun)")
        running = self.begin_and_hear("net_tap0,iface=dtap0")
        namespaces.ip("addr", "add", "10.9.1.2/24", "dev", "dtap0", namespace=self.near)
        namespaces.ip("link", "set", "dtap0", "up", namespace=self.near)
        sender = self.socket_in(self.near)
        index = int(namespaces.ip("-o", "link", "show", "dtap0", namespace=self.near).split(":")[0])
        if self.FAMILY.is_v6:
            self.FAMILY.add("fd00:a::2", "dtap0", self.near)
            sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        else:
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, struct.pack("=4s4si", bytes(4), bytes(4), index))
        packets = self.feed(sender)
        _, stream = self.assert_received(running)
        self.assertEqual(stream["packets"]["received"], packets)


class SameFile6(SameFile):
    FAMILY = namespaces.V6


if __name__ == "__main__":
    harness.main()
