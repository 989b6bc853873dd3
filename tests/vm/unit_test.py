#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The shipped unit under a real systemd: every kind of port, captures, sessions and metrics inside its sandbox, what it
does about exit statuses, and that root finds its processes."""

import itertools
import os
import shutil
import socket
import unittest
import urllib.request
from pathlib import Path

import harness
import namespaces
import systemd_guest
import tap_device
import wire

UNIT = Path(os.environ["DPDK_SPEAD_SOURCE_ROOT"]) / "config/dpdk-spead@.service"
DROP_IN = UNIT.parent / "deploy/systemd/shard.conf"
CONFIGURATIONS = Path("/etc/dpdk-spead")
GROUP, PORT = "239.1.1.1", 7148
HEAP = 5000
RUN = """version = 1
[runtime]
name = "{name}"
metrics = "127.0.0.1:9155"
on_event = ["/bin/sh", "-c", "grep -E 'CapPrm|NoNewPrivs' /proc/self/status >> events"]
[[port]]
name = "p0"
device = "{device}"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["{group}:{port}"]
silent_after = "500ms"
expected_rate = "1kbps"
heaps = {{ max_bytes = "64KiB" }}
[receive.sink]
kind = "file"
directory = "heaps"
[receive.capture]
files = ["all.pcap"]
[[send]]
name = "d0"
port = "p0"
endpoints = ["239.1.1.9:7148"]
heap_size = "4KiB"
max_packet_size = 1400
rate = "1Mbps"
"""


class Unit(unittest.TestCase):
    manager = None
    numbers = itertools.count()

    @classmethod
    def setUpClass(cls):
        if not tap_device.in_guest():
            raise unittest.SkipTest("runs in the guest of scripts/vm only")
        cls.manager = systemd_guest.Systemd()
        cls.manager.install(UNIT)
        CONFIGURATIONS.mkdir(exist_ok=True)

    @classmethod
    def tearDownClass(cls):
        if cls.manager:
            cls.manager.end()

    def setUp(self):
        self.name = f"unit{next(self.numbers)}"
        self.unit = f"dpdk-spead@{self.name}.service"

    def configure(self, text):
        (CONFIGURATIONS / f"{self.name}.toml").write_text(text, encoding="utf-8")

    def start(self, *options):
        self.addCleanup(self.stop)
        self.manager.run("systemctl", "start", *options, self.unit)
        return self.manager.properties(self.unit)

    def stop(self):
        self.manager.run("systemctl", "stop", self.unit, check=False)

    def wire_to(self, device):
        """A veth pair whose far end sends to the unit's port."""
        namespaces.ip("link", "add", device, "type", "veth", "peer", "name", f"{device}x")
        self.addCleanup(namespaces.ip, "link", "delete", device)
        for end in (device, f"{device}x"):
            namespaces.ip("link", "set", end, "up")
        namespaces.ip("addr", "add", "10.9.7.2/24", "dev", f"{device}x")
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(sender.close)
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("10.9.7.2"))
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
        return sender

    def threads(self, pid):
        """/proc/PID/task/*/status as dictionaries."""
        tasks = self.manager.run("sh", "-c", f"for t in /proc/{pid}/task/*; do cat $t/status; echo; done").stdout
        return [dict(line.split(":\t", 1) for line in task.splitlines() if ":\t" in line)
                for task in tasks.split("\n\n") if task.strip()]

    def works(self, device, sender, kept):
        """Starts a unit on the device and tries everything that a user does with it."""
        self.configure(RUN.format(name=self.name, device=device, group=GROUP, port=PORT))
        pid = self.start()["MainPID"]
        state = Path("/var/lib/private/dpdk-spead") / self.name
        for count in (1, 2, 3):
            for packet in wire.heap(count, bytes(HEAP)):
                sender.sendto(packet, (GROUP, PORT))
        self.manager.wait_for(self.unit, lambda _: len(list((state / "heaps").glob("*.bin"))) >= 3, "heaps in the sink")
        # Root finds it by name and by number, and its session changes it.
        for wanted in (self.name, pid):
            self.assertIn(f"(pid {pid})", self.manager.run("dpdk-spead", "top", "--once", wanted).stdout)
        self.assertIn("s0", self.manager.run("dpdk-spead", "attach", self.name, "--", "show", "stream").stdout)
        self.manager.run("dpdk-spead", "attach", self.name, "--", "capture", "stop", "s0")
        self.manager.run("dpdk-spead", "attach", self.name, "--", "stream", "set", "s0", "endpoints", f"{GROUP}:{PORT},239.1.1.3:{PORT}")
        self.manager.run("dpdk-spead", "attach", self.name, "--", "send", "set", "d0", "rate", "2Mbps")
        with urllib.request.urlopen("http://127.0.0.1:9155/metrics", timeout=60) as answer:
            self.assertIn(b"spead_", answer.read())
        # The rights that every thread still has.
        threads = self.threads(pid)
        self.assertGreater(len(threads), 4)
        for thread in threads:
            self.assertEqual((int(thread["CapPrm"], 16), int(thread["CapAmb"], 16)), (kept, 0), thread["Name"])
            self.assertEqual((thread["NoNewPrivs"], thread["Seccomp"]), ("1", "2"), thread["Name"])
        # The same file with another rate, taken over.
        self.configure(RUN.format(name=self.name, device=device, group=GROUP, port=PORT).replace("1Mbps", "3Mbps"))
        self.manager.run("systemctl", "reload", self.unit)
        self.manager.wait_for(self.unit, lambda p: p["ActiveState"] == "active", "end of the reload")
        # Silence is an event, whose program has no privilege.
        self.manager.wait_for(self.unit, lambda _: (state / "events").exists(), "event")
        self.stop()
        ended = self.manager.properties(self.unit)
        self.assertEqual((ended["Result"], ended["ExecMainStatus"], ended["NRestarts"]), ("success", "0", "0"),
                         systemd_guest.LOG.read_text(encoding="utf-8"))
        lines = (state / "events").read_text(encoding="ascii").splitlines()
        self.assertEqual(set(lines), {"CapPrm:\t0000000000000000", "NoNewPrivs:\t1"})
        self.assertGreater((state / "all.pcap").stat().st_size, 3 * HEAP)
        self.assertEqual((state / "all.pcap").stat().st_mode & 0o777, 0o600)

    @staticmethod
    def mask(*names):
        numbers = {"net_admin": 12, "net_raw": 13, "ipc_lock": 14, "perfmon": 38, "bpf": 39}
        return sum(1 << numbers[name] for name in names)

    def test_af_packet(self):
        sender = self.wire_to("sd0")
        self.works("net_af_packet0,iface=sd0", sender, self.mask("net_raw", "net_admin", "ipc_lock"))

    def test_af_xdp(self):
        sender = self.wire_to("sd1")
        self.works("net_af_xdp0,iface=sd1", sender, self.mask("net_raw", "net_admin", "ipc_lock", "bpf", "perfmon"))

    def test_tap(self):
        os.chmod("/dev/net/tun", 0o666)  # as udev has it
        self.configure(RUN.format(name=self.name, device="net_tap0,iface=sd2", group=GROUP, port=PORT))
        properties = self.start()
        self.assertEqual(properties["ActiveState"], "active")
        self.assertTrue(all(int(t["CapPrm"], 16) == self.mask("net_admin") for t in self.threads(properties["MainPID"])))

    def test_ring_keeps_nothing(self):
        self.configure(RUN.format(name=self.name, device="net_ring0", group=GROUP, port=PORT))
        properties = self.start()
        self.assertTrue(all(int(t["CapPrm"], 16) == 0 for t in self.threads(properties["MainPID"])))
        self.assertIn("s0", self.manager.run("dpdk-spead", "attach", self.name, "--", "show", "stream").stdout)

    def test_two_units_over_memif_would_have_to_be_one_user(self):
        self.configure(RUN.format(name=self.name, device="net_memif0,role=server", group=GROUP, port=PORT))
        self.start()
        sockets = list(Path("/run/dpdk-spead").glob(f"{self.name}/dpdk-spead/memif.sock"))
        self.assertEqual([path.stat().st_mode & 0o777 for path in sockets], [0o600])

    def test_an_interface_that_comes_late_is_waited_for(self):
        self.configure(RUN.format(name=self.name, device="late0", group=GROUP, port=PORT))
        self.start("--no-block")
        self.manager.wait_for(self.unit, lambda p: int(p["NRestarts"]) >= 3, "third try")
        self.manager.wait_for(self.unit, lambda p: p["ExecMainStatus"] == "1", "try that has ended")
        self.wire_to("late0")
        self.manager.wait_for(self.unit, lambda p: p["ActiveState"] == "active", "start once the interface is there")
        self.stop()

    def test_a_configuration_that_cannot_work_is_not_tried_again(self):
        self.configure("version = 1\nnonsense = true\n")
        self.assertNotEqual(self.manager.run("systemctl", "start", self.unit, check=False).returncode, 0)
        ended = self.manager.wait_for(self.unit, lambda p: p["ActiveState"] == "failed", "failure")
        self.assertEqual((ended["ExecMainStatus"], ended["NRestarts"]), ("2", "0"))

    def test_a_configuration_that_is_not_there_is_not_tried_again(self):
        self.assertNotEqual(self.manager.run("systemctl", "start", self.unit, check=False).returncode, 0)
        ended = self.manager.properties(self.unit)
        self.assertEqual((ended["ActiveState"], ended["NRestarts"], ended["AssertResult"]), ("inactive", "0", "no"))


    def test_a_shard_starts_again_and_takes_a_changed_plan(self):
        """The drop-in of config/deploy/systemd as docs/many-hosts.md installs it, on the first of two hosts."""
        drop_in = systemd_guest.UNITS / f"{self.unit}.d"
        drop_in.mkdir()
        shutil.copy(DROP_IN, drop_in)
        self.manager.run("systemctl", "daemon-reload")
        text = RUN.format(name=self.name, device="net_ring0", group="239.1.1.0+3", port=PORT)
        self.configure(text)
        # Without the file that says the shard, the whole plan would take the other host's endpoints.
        self.assertNotEqual(self.manager.run("systemctl", "start", self.unit, check=False).returncode, 0)
        self.assertEqual(self.manager.properties(self.unit)["AssertResult"], "no")
        (CONFIGURATIONS / f"{self.name}.shard").write_text("DPDK_SPEAD_SHARD=0/2\n", encoding="ascii")
        pid = self.start()["MainPID"]

        def shown():
            # A shard's name has its number.
            return self.manager.run("dpdk-spead", "attach", f"{self.name}-0", "--", "show", "stream").stdout

        self.assertIn("shard 0/2: 2 of 4 endpoints of the plan", shown())
        self.manager.run("kill", "-9", pid)
        self.manager.wait_for(self.unit, lambda p: p["NRestarts"] == "1" and p["ActiveState"] == "active", "another start")
        self.assertIn("shard 0/2: 2 of 4 endpoints of the plan", shown())
        self.configure(text.replace("239.1.1.0+3", "239.1.1.0+7"))
        self.manager.run("systemctl", "reload", self.unit)
        self.manager.wait_for(self.unit, lambda p: p["ActiveState"] == "active", "end of the reload")
        self.assertIn("shard 0/2: 4 of 8 endpoints of the plan", shown())


if __name__ == "__main__":
    harness.main()
