# SPDX-License-Identifier: BSD-3-Clause
"""The ground under the other tests here: this kernel, net_tap and rte_flow do what is said of them, seen with DPDK's
own testpmd. If one of these fails, look here before looking at the program."""

import re
import subprocess
import tempfile
import time

import harness
import tap_device


class Testpmd:
    """An interactive dpdk-testpmd on net_tap."""

    def __init__(self, test, *words):
        self._test = test
        self._output = tempfile.TemporaryFile(dir=test.directory)
        command = ["stdbuf", "-oL", "dpdk-testpmd", "--no-huge", "-m", "256", "--no-pci", "--no-shconf", "--no-telemetry",
                   "--vdev", tap_device.DEVICE, "-l", "0,1", "--", "-i", "--total-num-mbufs=8192", *words]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=self._output, stderr=subprocess.STDOUT,
                                        text=True)
        test.addCleanup(self.close)
        self.expect("testpmd> ", 0)

    def text(self):
        return harness.printed(self._output)

    def expect(self, pattern, start, timeout=30):
        """The match of `pattern` in what was printed from `start` on."""
        end = time.monotonic() + timeout * harness.PATIENCE
        while not (found := re.compile(pattern).search(self.text(), start)):
            if self.process.poll() is not None or time.monotonic() > end:
                self._test.fail(f"testpmd does not say {pattern}:\n{self.text()}")
            time.sleep(0.02)
        return found

    def do(self, command, answer):
        """Types a command; the match of what it must answer."""
        start = len(self.text())
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.expect(answer, start)

    def received(self):
        """Packets by queue, as net_tap counts them."""
        found = self.do("show port xstats 0", r"tx_q1_bytes: \d+").string
        return [int(re.findall(rf"rx_q{queue}_packets: (\d+)", found)[-1]) for queue in range(2)]

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._output.close()


def rule(group, port, queue, vlan="", source=""):
    """Returns a rule in the words in which the program shows it: they must be testpmd's."""
    last = ":".join(f"{int(byte):02x}" for byte in group.split(".")[1:])
    return (f"flow create 0 ingress pattern eth dst is 01:00:5e:{last} /{vlan} ipv4 dst is {group}{source} / "
            f"udp dst is {port} / end actions queue index {queue} / end")


class NetTap(tap_device.TapTest):
    def setUp(self):
        super().setUp()
        if tap_device.find("dpdk-testpmd") is None:
            self.skipTest("needs dpdk-testpmd (package dpdk-dev)")

    def wait_for(self, pmd, counts):
        end = time.monotonic() + 20 * harness.PATIENCE
        while (found := pmd.received()) != counts and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(found, counts)

    def test_rules_steer_isolate_and_go(self):
        tap_device.silence_ipv6(self)
        pmd = Testpmd(self, "--rxq=2", "--txq=2", "--forward-mode=rxonly")
        # Isolation wants the queues to be there: asked for before, it is accepted and does nothing.
        pmd.do("port stop 0", "Done")
        pmd.do("flow isolate 0 1", "restricted to the defined flow rules")
        pmd.do("port start 0", "Done")
        self.bring_up()
        pmd.do("start", "rxonly packet forwarding")
        pmd.do(rule("239.1.1.1", 7148, 0), "rule #0 created")
        pmd.do(rule("239.1.1.2", 7148, 1), "rule #1 created")
        sender = self.sender()
        ruled = (("239.1.1.1", 7148), ("239.1.1.2", 7148), ("239.1.1.2", 7148))
        unruled = (("239.1.1.3", 7148), ("239.1.1.1", 7149))
        for _ in range(20):
            for endpoint in unruled + ruled:
                sender.sendto(bytes(100), endpoint)
        self.wait_for(pmd, [20, 40])

        pmd.do("flow destroy 0 rule 0", "rule #0 destroyed")
        for _ in range(10):
            for endpoint in ruled:
                sender.sendto(bytes(100), endpoint)
        self.wait_for(pmd, [20, 60])

        # The other shapes of rules are understood too. The kernel takes no VLAN at a priority that has rules without.
        pmd.do(rule("239.1.1.1", 7148, 1, source=f" src is {tap_device.ADDRESS}"), "rule #2 created")
        pmd.do(rule("239.1.1.4", 7148, 1, vlan=" vlan vid is 5 /"), "PMD error.*overlapping rules")
        pmd.do(rule("239.1.1.4", 7148, 1, vlan=" vlan vid is 5 /").replace("ingress", "ingress priority 1"), "#3 created")
        spread = rule("239.1.1.5", 7148, 1).replace("queue index 1", "rss types ipv4 l3-src-only end queues 0 1 end")
        self.assertNotIn("Bad arguments", pmd.do(spread, "Bad arguments|PMD error|created").group())

        six = "flow create 0 ingress pattern eth dst is 33:33:00:00:00:01 / ipv6 dst is ff15::1 / udp dst is 7148"
        pmd.do(f"{six} / end actions queue index 1 / end", "rule #[0-9]+ created")

        # It cannot count: a user of the rule must do without.
        pmd.do(rule("239.1.1.1", 7148, 0).replace("queue index", "count / queue index"), "not supported")
