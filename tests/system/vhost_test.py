#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""send to recv between two processes over a vhost-user socket: net_vhost at one end, net_virtio_user at the other."""

import json

import harness

ENDPOINT = "239.1.1.1:7148"


class VhostUser(harness.ProgramTest):
    def exchange(self, receiver, sender, *words):
        """Everything that is sent arrives, verified; the sender starts when the socket is there."""
        socket = self.directory / "vhost.sock"
        heaps = 200
        received = self.start("recv", ENDPOINT, "--port", receiver.format(socket), "--sink", "verify", "--exit-on-stop",
                              *words)
        received.wait_for(socket.exists, "the socket")
        sent = self.start("send", ENDPOINT, "--port", sender.format(socket), "--heaps", heaps, "--heap-size", "256KiB",
                          "--verify", *words).wait(timeout=120)
        report = received.wait(timeout=120).report
        self.assertEqual(sent.report["sends"][0]["heaps"], heaps, str(sent))
        port = report["ports"][0]
        self.assertEqual(sent.report["sends"][0]["packets"], port["rx"]["packets"],
                         json.dumps([report["ports"], report["findings"], sent.report["ports"]]))
        self.assert_stream(report, "s0", complete=heaps, started=heaps, duplicate=0, malformed=0)

    def test_the_host_receives(self):
        self.exchange("net_vhost0,iface={}", "net_virtio_user0,path={}")

    def test_jumbo_packets_to_the_host(self):
        self.exchange("net_vhost0,iface={}", "net_virtio_user0,path={}", "--max-packet-size", 8900)

    def test_jumbo_packets_to_the_card(self):
        self.exchange("net_virtio_user0,path={},server=1", "net_vhost0,iface={},client=1", "--max-packet-size", 8900)


if __name__ == "__main__":
    harness.main()
