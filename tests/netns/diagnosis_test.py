#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The findings of the program on packets that were lost, or never came, over a veth pair: the test makes the cause."""

import os
import signal
import time
from pathlib import Path

import namespaces  # first: it makes tests/system importable
import harness
import wire

GROUP = "239.1.2.3"
FRAMES, XDP = "net_af_packet0,iface=dut", "net_af_xdp0,iface=dut"


def state_of(pid):
    """'R', 'S', 'T' (stopped)... of a process."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]


class DiagnosisTest(namespaces.NamespaceTest):
    MTU = 3498  # XDP takes no larger frames

    def findings(self, report):
        return {finding["cause"]: finding for finding in report["findings"]}

    def receive(self, device, endpoint, *words):
        """The program, which has joined and waits."""
        running = self.start("recv", "--port", device, "--sink", "null", *words, endpoint, prefix=self.inside)
        running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "it waits")
        return running

    def send(self, group, times, source=None, port=7148):
        """As fast as the kernel takes them, which is faster than any queue is long."""
        if source is not None:
            self.FAMILY.add(source, "peer", self.far)
        sender = self.sender(source=source)
        for count in range(times):
            for packet in wire.packetise(count + 1, [(0x1000, bytes(2000))]):
                sender.sendto(packet, (group, port))

    def ended(self, running):
        running.interrupt()
        return running.wait().report


class Diagnosis(DiagnosisTest):
    def test_a_program_that_was_stopped_says_for_how_long(self):
        running = self.receive(FRAMES, f"{GROUP}:7148", "--buffer-size", "64KiB")
        self.send(GROUP, 1)
        os.kill(running.process.pid, signal.SIGSTOP)
        running.wait_for(lambda: state_of(running.process.pid) == "T", "it stops")
        stopped = time.monotonic()
        self.send(GROUP, 3000)
        while time.monotonic() < stopped + 0.6:
            self.send(GROUP, 10)
        away = time.monotonic() - stopped
        os.kill(running.process.pid, signal.SIGCONT)
        report = self.ended(running)
        findings = self.findings(report)
        self.assertGreater(report["ports"][0]["nic"]["missed"], 0)
        self.assertIn("lcore_interrupted", findings)
        self.assertEqual(findings["lcore_interrupted"]["count"], report["ports"][0]["nic"]["missed"], findings)
        self.assertIn("SIGSTOP", "; ".join(findings["lcore_interrupted"]["cures"]))
        self.assertGreaterEqual(max(lcore["longest_loop_s"] for lcore in report["lcores"]), away - 0.03)

    def test_a_queue_that_is_too_short_is_not_blamed_on_an_lcore_that_has_time(self):
        # In interrupt mode the lcore sleeps until a packet comes, and is hardly busy at all.
        running = self.receive(FRAMES, f"{GROUP}:7148", "--buffer-size", "16KiB", "--poll", "interrupt")
        for _ in range(200):
            self.send(GROUP, 20)
            time.sleep(0.005)
        report = self.ended(running)
        for lcore in report["lcores"]:
            if lcore["busy_s"] < 0.5 * (lcore["busy_s"] + lcore["idle_s"]):
                self.assertNotIn("lcore_too_slow", self.findings(report), report["findings"])


class NothingCame(DiagnosisTest):
    def group(self, number):
        return self.FAMILY.group(number)

    def endpoint(self, number=3, port=7148):
        """The endpoint of a group."""
        return self.FAMILY.endpoint(self.group(number), port=port)

    def test_a_wrong_group_on_a_port_whose_rules_leave_it_to_the_kernel(self):
        running = self.receive(XDP, self.endpoint(), "--duration", 4)
        self.send(self.group(4), 50, source=self.FAMILY.host(9))
        finding = self.findings(running.wait().report)["nothing_came"]
        self.assertEqual(finding["where"], "s0")
        self.assertIn(f"{self.endpoint(4)} from {self.FAMILY.host(9)}", finding["what"])
        self.assertIn("(100)", finding["what"])

    def test_what_was_seen_counts_although_the_end_takes_long(self):
        running = self.receive(XDP, self.endpoint(), "--duration", 4)
        self.send(self.group(3), 50, port=7149)
        time.sleep(2.5)  # some looks
        os.kill(running.process.pid, signal.SIGSTOP)
        time.sleep(3)  # past the end of the run, and long after the last look
        os.kill(running.process.pid, signal.SIGCONT)
        self.assertIn(f"{self.endpoint(port=7149)} from {self.FAMILY.far}",
                      self.findings(running.wait().report)["nothing_came"]["what"])

    def test_a_wrong_port_on_such_a_port(self):
        running = self.receive(XDP, self.endpoint(), "--duration", 4)
        self.send(self.group(3), 50, port=7149)
        self.assertIn(f"{self.endpoint(port=7149)} from {self.FAMILY.far}",
                      self.findings(running.wait().report)["nothing_came"]["what"])

    def test_packets_of_another_source_than_the_endpoint_names(self):
        running = self.receive(XDP, f"{self.endpoint()}@{self.FAMILY.host(77)}", "--duration", 4)
        self.send(self.group(3), 50)
        self.assertIn(f"{self.endpoint()} from {self.FAMILY.far}",
                      self.findings(running.wait().report)["nothing_came"]["what"])

    def test_an_address_that_no_interface_has(self):
        address = self.FAMILY.host(55)
        running = self.receive(FRAMES, self.FAMILY.endpoint(address), "--duration", 4)
        finding = self.findings(running.wait().report)["nothing_came"]
        self.assertIn(f"no network interface here has the address {address}", finding["what"])

    def test_a_silent_network(self):
        running = self.receive(XDP, self.endpoint(), "--duration", 4)
        finding = self.findings(running.wait().report)["nothing_came"]
        self.assertIn("had none at all", finding["what"])
        self.assertIn("MLD" if self.FAMILY.is_v6 else "IGMP", "; ".join(finding["cures"]))

    def test_a_wrong_group_where_software_steers(self):
        running = self.receive(FRAMES, self.endpoint(), "--duration", 4)
        self.send(self.group(4), 50)
        findings = self.findings(running.wait().report)
        self.assertIn(f"from {self.FAMILY.far}", findings["unmatched"]["what"])
        self.assertNotIn("nothing_came", findings)


class NothingCame6(NothingCame):
    FAMILY = namespaces.V6


if __name__ == "__main__":
    harness.main()
