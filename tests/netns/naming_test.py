#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which interface a port is, and what info and check say of it, in a namespace whose interfaces are known."""

import json
import shutil

import namespaces  # first: it makes tests/system importable
import harness

ENDPOINT = "239.1.1.1:7148"
SEND = ("send", ENDPOINT, "--heaps", 2, "--heap-size", "4000")


class NothingNamed(namespaces.NamespaceTest):
    def second_interface(self):
        namespaces.ip("link", "add", "other", "type", "veth", "peer", "name", "other-peer", namespace=self.near)
        for device in ("other", "other-peer"):
            namespaces.ip("link", "set", device, "up", namespace=self.near)

    def test_the_only_interface_is_taken_and_that_is_said(self):
        finished = self.run_program(*SEND, prefix=self.inside)
        self.assertEqual(finished.report["ports"][0]["driver"], "net_af_packet")
        self.assertIn("no port is named: using dut", finished.err)

    def test_among_several_none_is_guessed(self):
        self.second_interface()
        self.refused(*SEND, status=1, says=("needs a port", "dut", "other", "all qualify", "10.9.0.1"),
                     prefix=self.inside)

    def test_an_interface_with_the_default_route_is_left_alone(self):
        self.second_interface()
        namespaces.ip("link", "set", "other-peer", "down", namespace=self.near)
        namespaces.ip("link", "set", "other", "down", namespace=self.near)
        namespaces.ip("route", "add", "default", "via", "10.9.0.2", namespace=self.near)
        self.refused(*SEND, status=1, says=("dut: it carries the default route", "other: it is down"),
                     prefix=self.inside)


class BadPorts(namespaces.NamespaceTest):
    def test_an_interface_that_is_down_is_refused_with_the_command(self):
        namespaces.ip("link", "set", "dut", "down", namespace=self.near)
        self.refused(*SEND, "--port", "dut", status=1, says=("dut is down", "ip link set dut up"), prefix=self.inside)

    def test_sockets_on_an_interface_that_is_down_wait_with_a_remark(self):
        namespaces.ip("link", "set", "dut", "down", namespace=self.near)
        words = ("recv", "--backend", "kernel", "--port", "dut", "239.1.2.3:7148", "--check")
        finished = self.run_program(*words, report=False, prefix=self.inside)
        self.assertIn("dut is down, so nothing comes; run `ip link set dut up`", finished.out)

    def test_a_missing_capability_is_named(self):
        if shutil.which("setpriv") is None:
            self.skipTest("needs setpriv (package util-linux)")
        for missing in ("net_raw", "net_admin"):
            with self.subTest(missing=missing):
                without = (*self.inside, "setpriv", "--bounding-set", f"-{missing}", "--inh-caps", f"-{missing}")
                self.refused(*SEND, "--port", "dut", status=1, says=(f"CAP_{missing.upper()}", "setcap"),
                             prefix=without)


class Look(namespaces.NamespaceTest):
    def test_info_of_an_interface(self):
        document = json.loads(self.run_program("info", "10.9.0.1", "--json", report=False, prefix=self.inside).out)
        (port,) = document["ports"]
        self.assertEqual(port["netdev"], "dut")
        self.assertEqual(port["address"], "10.9.0.1")
        self.assertEqual(port["mtu"]["now"], self.MTU)
        self.assertIn("up", port["link"])

    def test_check_names_the_command_for_an_mtu(self):
        namespaces.ip("link", "set", "dut", "mtu", 9228, namespace=self.near)
        good = self.run_program("check", "dut", report=False, prefix=self.inside)
        self.assertIn("ok    p0 MTU", good.out)
        namespaces.ip("link", "set", "dut", "mtu", 1500, namespace=self.near)
        finished = self.run_program("check", "dut", report=False, prefix=self.inside)
        self.assertIn("warn  p0 MTU", finished.out)
        self.assertIn("run: ip link set dut mtu 9228", finished.out)

    def test_check_fails_for_an_interface_that_is_down(self):
        namespaces.ip("link", "set", "dut", "down", namespace=self.near)
        finished = self.run_program("check", "dut", status=1, report=False, prefix=self.inside)
        self.assertIn("fail  plan", finished.out)


if __name__ == "__main__":
    harness.main()
