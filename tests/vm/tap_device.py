# SPDX-License-Identifier: BSD-3-Clause
"""A wire between the program and the kernel that knows rte_flow: net_tap, whose rules tc flower carries out. The
program's port appears to the kernel as interface dtap0; what the kernel sends out of it is what the port receives.

Only in the guest of scripts/vm: interfaces and routes are made without asking."""

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import harness
import namespaces

DEVICE = "net_tap0,iface=dtap0"
INTERFACE = "dtap0"
ADDRESS = "10.9.0.2"
# Counts of packets that the port's own hosts are there for, and that the kernel sends by itself.
OF_HOSTS = ("igmp", "arp", "mld", "ndp")


def in_guest():
    return "guest.job=" in Path("/proc/cmdline").read_text(encoding="ascii")


def packets_of_streams(rx):
    """The packets of a port's report that no host of its own took."""
    return rx["packets"] - sum(rx[name] for name in OF_HOSTS)


class TapTest(harness.ProgramTest):
    """A subclass with FAMILY = V6 runs the same tests over IPv6."""

    FAMILY = namespaces.V4

    def setUp(self):
        super().setUp()
        if not in_guest():
            self.skipTest("runs in the guest of scripts/vm only")

    def bring_up(self):
        """The kernel's end of the wire: an address, and all multicast goes this way."""
        namespaces.ip("addr", "add", f"{ADDRESS}/24", "dev", INTERFACE)
        if self.FAMILY.is_v6:
            namespaces.ip("addr", "add", f"{self.FAMILY.far}/{self.FAMILY.bits}", "dev", INTERFACE, "nodad")
        namespaces.ip("link", "set", INTERFACE, "up")
        namespaces.ip("route", "add", "224.0.0.0/4", "dev", INTERFACE)

    def sender(self):
        """A socket that sends multicast towards the program."""
        made = socket.socket(self.FAMILY.kind, socket.SOCK_DGRAM)
        self.addCleanup(made.close)
        if self.FAMILY.is_v6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex(INTERFACE))
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
            made.bind((self.FAMILY.far, 0))
            return made
        made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(ADDRESS))
        made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
        return made


def silence_ipv6(test):
    """Interfaces made from now on send nothing by themselves: no router is looked for."""
    setting = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
    before = setting.read_text(encoding="ascii")
    setting.write_text("1", encoding="ascii")
    test.addCleanup(setting.write_text, before, encoding="ascii")


def interface_is_there():
    return Path(f"/sys/class/net/{INTERFACE}").exists()


def rules():
    """The rules of endpoints as the kernel has them: {(group, port): {"queue", "packets"}}. Those that bring the port
    its own ARP, IGMP, MLD and NDP are left out."""
    done = subprocess.run(["tc", "-statistics", "-json", "filter", "show", "dev", INTERFACE, "parent", "1:"], check=True,
                          capture_output=True, text=True, env={**os.environ, "PATH": namespaces.PATH})
    found = {}
    for rule in json.loads(done.stdout):
        keys = rule.get("options", {}).get("keys", {})
        for action in rule.get("options", {}).get("actions", []):
            if action["kind"] == "skbedit" and "dst_ip" in keys:
                found[keys["dst_ip"], keys["dst_port"]] = {"queue": action["queue_mapping"],
                                                           "packets": action["stats"]["packets"]}
    return found


def find(command):
    return shutil.which(command, path=namespaces.PATH)
