# SPDX-License-Identifier: BSD-3-Clause
"""A wire between the program and the kernel: two network namespaces joined by a veth pair, made and removed by the
test. The program runs in one (`self.inside`), plain kernel sockets of the test stand in the other."""

import contextlib
import ctypes
import itertools
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "system"))
import harness  # noqa: E402

PATH = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
_numbers = itertools.count()
_libc = ctypes.CDLL(None, use_errno=True)


def ip(*words, namespace=None):
    command = ["ip", *(["-n", namespace] if namespace else []), *map(str, words)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def enter(namespace):
    """Moves this thread into the network namespace of an open file."""
    if _libc.setns(namespace.fileno(), harness.CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def inside(name):
    """Puts this thread into the network namespace of that name for the length of a `with`."""
    with open("/proc/self/ns/net", "rb") as here, open(f"/run/netns/{name}", "rb") as there:
        enter(there)
        try:
            yield
        finally:
            enter(here)


def why_not():
    """Why namespaces cannot be had here, or None."""
    if os.geteuid() != 0:
        return "needs root, for network namespaces"
    if shutil.which("ip") is None:
        return "needs ip (package iproute2)"
    name = f"spead-{os.getpid()}-try"
    try:
        ip("netns", "add", name)
        try:
            ip("link", "add", "spead0", "type", "veth", "peer", "name", "spead1", namespace=name)
        finally:
            ip("netns", "delete", name)
    except OSError as error:
        return f"no network namespaces or veth here: {error}"
    return None


class Family:
    """A version of IP, with the addresses that tests of it use."""

    def __init__(self, kind, hosts, groups, bits):
        self.kind, self.bits = kind, bits
        self._hosts, self._groups = hosts, groups
        self.near, self.far = self.host(1), self.host(2)
        self.is_v6 = kind == socket.AF_INET6
        self.headers = 48 if self.is_v6 else 28  # of a packet, with UDP

    def host(self, number):
        """The address of a host on the link: 1 is the program's, 2 the peer's."""
        return f"{self._hosts}{number}"

    def group(self, number):
        return f"{self._groups}{number}"

    def endpoint(self, address, port=7148, more=""):
        """An endpoint's text; `more`: the range after the address."""
        return f"[{address}]{more}:{port}" if self.is_v6 else f"{address}{more}:{port}"

    def add(self, address, device, namespace):
        """Adds an address. The kernel delivers packets to it from then on."""
        ip("addr", "add", f"{address}/{self.bits}", "dev", device, *(["nodad"] if self.is_v6 else []), namespace=namespace)
        # Of IPv6, a work queue of the kernel adds the route later (Ip6InAddrErrors counts packets before).
        end = time.monotonic() + 10 * harness.PATIENCE
        while self.is_v6 and f"local {address} " not in ip("-6", "route", "show", "table", "local", namespace=namespace):
            if time.monotonic() > end:
                raise OSError(f"the kernel has no route to its own {address} on {device}")
            time.sleep(0.001)

    def packed(self, address):
        return socket.inet_pton(self.kind, address)


V4 = Family(socket.AF_INET, "10.9.0.", "239.1.1.", 24)
V6 = Family(socket.AF_INET6, "fd00:9::", "ff15::", 64)


class NamespaceTest(harness.ProgramTest):
    """Names: the program's interface is `dut` (10.9.0.1) in namespace self.near; the peer's is `peer` (10.9.0.2) in
    self.far. A subclass with FAMILY = V6 runs the same tests over IPv6 (fd00:9::1, fd00:9::2)."""

    MTU = 9216
    FAMILY = V4

    def setUp(self):
        super().setUp()
        reason = why_not()
        if reason:
            self.skipTest(reason)
        stem = f"spead-{os.getpid()}-{next(_numbers)}"
        self.near, self.far = f"{stem}-near", f"{stem}-far"
        for name in (self.near, self.far):
            ip("netns", "add", name)
            self.addCleanup(ip, "netns", "delete", name)
            ip("link", "set", "lo", "up", namespace=name)
        ip("link", "add", "dut", "type", "veth", "peer", "name", "peer", "netns", self.far, namespace=self.near)
        for name, device, address in ((self.near, "dut", "10.9.0.1"), (self.far, "peer", "10.9.0.2")):
            ip("addr", "add", f"{address}/24", "dev", device, namespace=name)
            ip("link", "set", device, "mtu", self.MTU, "up", namespace=name)
            ip("route", "add", "224.0.0.0/4", "dev", device, namespace=name)
        if self.FAMILY.is_v6:
            self.add_ipv6()
        self.inside = ("ip", "netns", "exec", self.near)

    def add_ipv6(self):
        try:
            V6.add(V6.near, "dut", self.near)
            V6.add(V6.far, "peer", self.far)
        except OSError as error:
            self.skipTest(f"no IPv6 here: {error}")

    def within(self, namespace, action):
        """Returns the result of `action` in the namespace; this process is back afterwards."""
        with inside(namespace):
            return action()

    def far_socket(self, *kind):
        """A socket in the peer's namespace, wherever this process is; UDP unless another kind is named."""
        return self.socket_in(self.far, *kind)

    def far_index(self):
        """The kernel's number of the peer's interface."""
        return self.within(self.far, lambda: socket.if_nametoindex("peer"))

    def socket_in(self, namespace, *kind):
        made = self.within(namespace, lambda: socket.socket(*(kind or (self.FAMILY.kind, socket.SOCK_DGRAM))))
        self.addCleanup(made.close)
        return made

    def sender(self, ttl=1, source=None):
        """A socket that sends multicast towards the program, from an address of the peer."""
        made = self.far_socket()
        if self.FAMILY.is_v6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, self.far_index())
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, ttl)
            made.bind((source or V6.far, 0))
            return made
        made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("10.9.0.2"))
        made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, ttl)
        if source is not None:
            made.bind((source, 0))
        return made

    def receiver(self, groups, port):
        """A socket that has joined the groups and hears the program. Its buffer holds all a test sends."""
        made = self.far_socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUFFORCE if hasattr(socket, "SO_RCVBUFFORCE") else 33, 1 << 26)
        made.bind(("", port))
        for group in groups:
            if self.FAMILY.is_v6:
                made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                                V6.packed(group) + struct.pack("@I", self.far_index()))
            else:
                made.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                                struct.pack("4s4s", socket.inet_aton(group), socket.inet_aton("10.9.0.2")))
        made.settimeout(20)
        return made

    def groups_joined(self):
        """The multicast groups the kernel has joined on the program's interface."""
        text = ip("maddr", "show", "dev", "dut", namespace=self.near)
        return {line.split()[1] for line in text.splitlines() if line.split()[:1] in (["inet"], ["inet6"])}
