#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`backend = "kernel"`: streams through ordinary UDP sockets, over loopback, without any privilege."""

import ipaddress
import json
import os
import socket

import harness
import wire

GROUP = "239.255.77.9"
HEAPS = 40
WORDS = 5000


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class KernelBackend(harness.ProgramTest):
    def send(self, address, port, heaps=HEAPS, stop=True):
        """Sends verified heaps at a pace that a small buffer of the kernel stands."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
            for count in range(1, heaps + 1):
                self.assertEqual(self.running.process.poll(), None)
                for packet in wire.packetise(count, [(0x1000, wire.verify_words(count, WORDS))]):
                    sender.sendto(packet, (address, port))
            if stop:
                sender.sendto(wire.stop(HEAPS + heaps + 1), (address, port))

    def bound(self, port):
        """Whether a socket of this machine has the port."""
        with open("/proc/net/udp", encoding="ascii") as table:
            return any(f":{port:04X} " in line.split(None, 2)[1] + " " for line in list(table)[1:])

    def joined(self, address):
        """Whether the kernel has joined the group, which comes after the bind; other addresses need no join."""
        number = ipaddress.ip_address(address)
        if not number.is_multicast:
            return True
        with open("/proc/net/igmp", encoding="ascii") as table:
            return f"{int.from_bytes(number.packed, 'little'):08X}" in table.read()

    def receive(self, *words, address="127.0.0.1", port=None):
        port = port or free_port()
        self.running = self.start("recv", f"{address}:{port}", "--sink", "verify", "--exit-on-stop", *words)
        self.running.wait_for(lambda: self.bound(port) and self.joined(address), "socket")
        self.send(address, port)
        return self.running.wait().report

    def assert_all(self, report, name="s0"):
        stream = self.assert_stream(report, name, complete=HEAPS, duplicate=0)
        self.assertEqual(stream["packets"]["placed"], sum(len(wire.packetise(1, [(0x1000, bytes(4 * WORDS))]))
                                                          for _ in range(HEAPS)))

    def test_without_a_port(self):
        self.assert_all(self.receive("--backend", "kernel"))

    def test_on_an_interface_or_its_address(self):
        for port in ("lo", "127.0.0.1", "net_kernel0", "net_kernel,iface=lo"):
            with self.subTest(port=port):
                self.assert_all(self.receive("--backend", "kernel", "--port", port))

    def test_a_group(self):
        self.assert_all(self.receive("--backend", "kernel", "--port", "lo", address=GROUP))

    def test_an_lcore_that_sleeps(self):
        self.assert_all(self.receive("--backend", "kernel", "--poll", "interrupt"))

    def test_the_configuration_puts_one_stream_there_and_leaves_the_others(self):
        ports = free_port(), free_port()
        config = self.directory / "run.toml"
        config.write_text(f"""version = 1

[[port]]
name = "p0"
device = "net_ring0"

[[port]]
name = "k"
device = "net_kernel0,iface=lo"

[[receive]]
name = "through_the_ring"
port = "p0"
endpoints = ["239.1.1.1:7148"]
[receive.sink]
kind = "verify"

[[receive]]
name = "through_the_kernel"
port = "k"
backend = "kernel"
endpoints = ["127.0.0.1:{ports[0]}", "{GROUP}:{ports[1]}"]
[receive.sink]
kind = "verify"

[[send]]
name = "d0"
port = "p0"
endpoints = ["239.1.1.1:7148"]
heaps = {HEAPS}
heap_size = 20000
verify = true

[end]
exit_on_stop = true
""")
        self.running = self.start("run", "--config", config)
        self.running.wait_for(lambda: self.bound(ports[1]) and self.joined(GROUP), "socket")
        self.send("127.0.0.1", ports[0])
        self.send(GROUP, ports[1], heaps=0)
        report = self.running.wait().report
        self.assert_all(report, "through_the_kernel")
        self.assert_stream(report, "through_the_ring", complete=HEAPS)

    def test_what_the_kernel_dropped_is_missed(self):
        port = free_port()
        self.running = self.start("recv", f"127.0.0.1:{port}", "--backend", "kernel", "--buffer-size", "4KiB",
                                  "--exit-on-stop", "--idle-exit", "5s")
        self.running.wait_for(lambda: self.bound(port), "socket")
        heaps = 2000
        self.send("127.0.0.1", port, heaps=heaps)
        report = self.running.wait(status=None).report
        sent = heaps * len(wire.packetise(1, [(0x1000, bytes(4 * WORDS))])) + 1
        port_counts = report["ports"][0]
        self.assertGreater(port_counts["nic"]["missed"], 0)
        self.assertEqual(port_counts["rx"]["packets"] + port_counts["nic"]["missed"], sent, json.dumps(port_counts))

    def test_what_cannot_be_is_refused_with_the_reason(self):
        self.refused("recv", "239.1.1.1:7148", "--backend", "kernel", "--port", "net_ring0",
                     says=["stream `s0` wants kernel sockets", "net_ring0", "net_kernel0,iface=NETDEV"])
        self.refused("recv", "239.1.1.1:7148", "--backend", "kernel", "--port", "nonesuch", status=1,
                     says=["`nonesuch` is no network interface", "ip address"])
        self.refused("recv", "239.1.1.1:7148", "--backend", "sockets", says=["sockets", "kernel"])
        self.refused("send", "239.1.1.1:7148", "--port", "net_kernel0", says=["only receives", "net_af_packet0"])

    def test_an_address_may_come_later(self):
        finished = self.run_program("recv", "192.0.2.77:7148", "--backend", "kernel", "--duration", "0.1")
        self.assertIn("does not have the address of 192.0.2.77:7148 yet", finished.err)
        self.assertIn("`ip address` lists its addresses", finished.err)

    def test_an_address_that_never_comes_is_a_finding(self):
        finished = self.run_program("recv", "192.0.2.77:7148", "--backend", "kernel", "--duration", "4")
        self.assertIn("no network interface here has the address 192.0.2.77", finished.out)

    def test_sources_of_an_address_share_its_socket(self):
        """Also when the lcores are two."""
        port = free_port()
        cpus = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0))[:2])
        self.running = self.start("recv", f"127.0.0.1:{port}@127.0.0.2", f"127.0.0.1:{port}@127.0.0.1", "--backend",
                                  "kernel", "--joint", "--lcores", cpus, "--sink", "verify", "--heaps", str(HEAPS))
        self.running.wait_for(lambda: self.bound(port), "socket")
        self.send("127.0.0.1", port)
        self.assert_all(self.running.wait().report)

    def test_too_few_descriptors_are_told_at_the_start(self):
        self.refused("recv", f"{GROUP}+200:7152", "--backend", "kernel", "--port", "lo", "--check", status=1,
                     prefix=("prlimit", "--nofile=110:110"), says=["may open 110 file descriptors", "ulimit -n"])

    def test_a_vlan_is_refused_before_the_start(self):
        self.refused("recv", f"{GROUP}:7148", "--backend", "kernel", "--port", "lo", "--vlan", "5", "--check",
                     says=["in VLAN 5", "the kernel takes tags off"])

    def test_an_address_that_is_taken(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", 0))
            self.refused("recv", f"127.0.0.1:{taken.getsockname()[1]}", "--backend", "kernel", status=1,
                         says=["Address already in use", "ss -lunp"])


if __name__ == "__main__":
    harness.main()
