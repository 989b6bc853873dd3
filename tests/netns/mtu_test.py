#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A sender whose packets are longer than its peer holds."""

import namespaces  # first: it makes tests/system importable
import harness


class SmallerPeer(namespaces.NamespaceTest):
    def test_the_mtu_is_named_while_the_sender_stands_still(self):
        namespaces.ip("link", "set", "peer", "mtu", "1500", namespace=self.far)
        running = self.start("send", self.FAMILY.endpoint(self.FAMILY.group(1)), "--port", "net_af_packet0,iface=dut", "--max-packet-size", 9000 - self.FAMILY.headers,
                             prefix=self.inside)
        running.wait_for(lambda: "send d0 is stuck: port p0 has taken nothing for a second; the first suspect is the MTU"
                         in running.text(1), "event")
        self.assertIn("9000 bytes", running.text(1))
        running.interrupt()
        finished = running.wait()
        self.assertEqual(harness.losses(finished.report["findings"]), {"port_takes_nothing"})
        self.assertIn(f"lower its `max_packet_size` ({1500 - self.FAMILY.headers} fits 1500)", finished.out)


class SmallerPeer6(SmallerPeer):
    FAMILY = namespaces.V6


if __name__ == "__main__":
    harness.main()
