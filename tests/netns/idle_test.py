#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The idling of lcores, in every mode of polling, and that it loses no packet."""

import os

import namespaces  # first: it makes tests/system importable
import harness
import threads
import wire

EPOLL_WAIT, EPOLL_PWAIT = 232, 281  # numbers of the system calls on x86-64


def program_pid(running):
    """The program's, which `ip netns exec` has become."""
    return running.process.pid


def waits_for_events(running):
    """An lcore of the program is in epoll_wait."""
    for task in threads.workers(running).values():
        try:
            call = (task / "syscall").read_text().split()[0]
        except (OSError, IndexError):
            continue
        if call in (str(EPOLL_WAIT), str(EPOLL_PWAIT)):
            return True
    return False


class Idle(namespaces.NamespaceTest):
    def receive(self, mode, device, *words):
        group = self.FAMILY.group(1)
        running = self.start("recv", self.FAMILY.endpoint(group), "--sink", "verify", "--exit-on-stop", "--poll", mode, "--port", device,
                             *words, prefix=self.inside)
        running.wait_for(lambda: group in self.groups_joined(), "membership")
        return running

    def send(self, heaps):
        sender = self.sender()
        for count in range(1, heaps + 1):
            for packet in wire.packetise(count, [(0x1000, wire.verify_words(count, 2000))], max_packet_size=1452):
                sender.sendto(packet, (self.FAMILY.group(1), 7148))
        sender.sendto(wire.stop(heaps + 1), (self.FAMILY.group(1), 7148))

    def test_every_mode_receives_everything(self):
        for mode in ("busy", "adaptive", "interrupt"):
            with self.subTest(mode=mode):
                running = self.receive(mode, "net_af_packet0,iface=dut")
                self.send(30)
                finished = running.wait()
                self.assert_stream(finished.report, "s0", complete=30, started=30)
                self.assertEqual(finished.report["streams"][0]["info"]["verified"], 30)
                self.assertNotIn("polls adaptively", finished.err)

    def test_an_idle_lcore_in_interrupt_mode_sleeps_in_the_kernel(self):
        for name, device in ((self.near, "dut"), (self.far, "peer")):
            namespaces.ip("link", "set", device, "mtu", 1500, namespace=name)
        for device in ("net_af_packet0,iface=dut", "net_af_xdp0,iface=dut"):
            with self.subTest(device=device):
                running = self.receive("interrupt", device, "--max-packet-size", 1472)
                if not os.access(f"/proc/{program_pid(running)}/syscall", os.R_OK):
                    self.skipTest("the kernel does not tell what threads are in")
                running.wait_for(lambda: waits_for_events(running), "an lcore in epoll_wait")
                self.send(10)
                self.assert_stream(running.wait().report, "s0", complete=10)

    def test_an_idle_lcore_in_another_mode_does_not(self):
        running = self.receive("adaptive", "net_af_packet0,iface=dut")
        seen = [waits_for_events(running) for _ in range(200)]
        self.assertFalse(any(seen))
        self.send(10)
        self.assert_stream(running.wait().report, "s0", complete=10)

    def test_who_also_sends_polls_and_says_so(self):
        finished = self.run_program("loopback", "--poll", "interrupt", "--heaps", 10)
        self.assertRegex(finished.err, r"lcore 1 polls adaptively: it also sends")


class Idle6(Idle):
    FAMILY = namespaces.V6


if __name__ == "__main__":
    harness.main()
