#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sizes of packets of IPv6, whose headers are 20 bytes longer than those of IPv4, and the MTU."""

import socket

import namespaces  # first: it makes tests/system importable
import harness
import ipv6_test

FRAMES = ipv6_test.FRAMES
GROUP = "ff15::1"


class UsualMtu(ipv6_test.Ipv6Test):
    MTU = 1500

    def mtu(self):
        return int(namespaces.ip("-o", "link", "show", "dut", namespace=self.near).split(" mtu ")[1].split()[0])

    def hearer(self):
        made = self.far_socket(socket.AF_INET6, socket.SOCK_DGRAM)
        made.bind(("::", 7148))
        index = self.within(self.far, lambda: socket.if_nametoindex("peer"))
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                        ipv6_test.packed(GROUP) + index.to_bytes(4, "little"))
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        made.settimeout(10)
        return made

    def test_a_sender_that_names_no_size_fits(self):
        for device in (FRAMES, "net_af_xdp0,iface=dut"):
            with self.subTest(device=device):
                hearer = self.hearer()
                words = ("send", f"[{GROUP}]:7148", "--port", device, "--heaps", "5", "--heap-size", "20000")
                checked = self.start(*words, "--check", prefix=self.inside).wait(None)
                if "built without its XDP program" in checked.err:
                    continue
                self.assertNotIn("is raised", checked.out + checked.err)
                running = self.start(*words, prefix=self.inside)
                sizes = [len(hearer.recv(9000)) for _ in range(70)]
                report = running.wait().report
                self.assertEqual(max(sizes), 1448)
                self.assertGreaterEqual(report["sends"][0]["packets"], 70)
                self.assertEqual(self.mtu(), 1500)
                hearer.close()

    def with_commands(self, *commands, device=FRAMES):
        """The end of a receiver's run that is given commands at its start."""
        script = self.directory / "commands"
        script.write_text("".join(f"{command}\n" for command in commands), encoding="utf-8")
        running = self.start("recv", "239.1.1.1:7148", "--port", device, "--duration", "1", "--cmdline-file", script,
                             prefix=self.inside)
        return running.wait(None)

    def test_a_sender_that_comes_later_must_fit_the_mtu(self):
        for endpoint, size, most, mtu in ((f"[{GROUP}]:7148", 1453, 1452, 1501), ("239.1.1.9:7148", 1473, 1472, 1501)):
            with self.subTest(endpoint=endpoint):
                finished = self.with_commands(f"send add d0 port p0 endpoints {endpoint} heaps 3 max_packet_size {size}")
                said = finished.out + finished.err
                self.assertIn(f"packets of {size} bytes", said, str(finished))
                self.assertIn("do not fit the MTU 1500 of dut", said)
                self.assertIn(f"at most {most}", said)
                self.assertIn(f"`ip link set dut mtu {mtu}`", said)
                self.assertNotEqual(finished.status, 0)

    def test_a_sender_that_comes_later_and_names_no_size_fits(self):
        hearer = self.hearer()
        finished = self.with_commands(f"send add d0 port p0 endpoints [{GROUP}]:7148 heaps 3 heap_size 20000")
        sizes = [len(hearer.recv(9000)) for _ in range(finished.report["sends"][0]["packets"])]
        self.assertEqual(max(sizes), 1448)

    def test_a_port_that_asks_for_itself_takes_no_host_that_does_not_answer(self):
        finished = self.with_commands("send add d0 port p0 endpoints [fd00:9::2]:7148 heaps 3",
                                      device="net_tap0,iface=sd0")
        self.assertIn("did not answer neighbour solicitations", finished.out + finished.err, str(finished))
        self.assertIn("dst_mac", finished.out + finished.err)

    def test_the_remark_on_the_mtu_counts_headers_of_ipv6(self):
        finished = self.run_program("recv", f"[{GROUP}]:7148", "--port", FRAMES, "--check", prefix=self.inside)
        said = finished.out + finished.err
        self.assertIn("packets above 1452 bytes of UDP payload over IPv6 will not arrive", said, str(finished))
        self.assertIn("to receive up to 9200, run `ip link set dut mtu 9248` first", said)


if __name__ == "__main__":
    harness.main()
