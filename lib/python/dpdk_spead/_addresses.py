# SPDX-License-Identifier: BSD-3-Clause
"""Hosts, groups, and the names of ports' interfaces."""

import ipaddress
import re
import socket
from typing import Any, Tuple

from ._native import Error

#: Names that are no host: network devices of DPDK, PCI addresses, RDMA devices.
_DEVICE = re.compile(r"net_\w+|([0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|mlx\w+")


def resolve(host: str, port: int, family: int = 0) -> Tuple[int, Tuple[Any, ...]]:
    """Returns the family and the first address of a host. Raises Error."""
    try:
        found = socket.getaddrinfo(host, port, family, socket.SOCK_DGRAM, 0, socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise Error(f"Host not found: {host!r}: {error}") from None
    return found[0][0], found[0][4]


def is_multicast(address: str) -> bool:
    """Returns whether the address is that of a group."""
    return ipaddress.ip_address(address.partition("%")[0]).is_multicast


def port_interface(text: str) -> str:
    """Returns the name of a port's interface: an IPv4 address if it is a host. Raises ValueError, Error."""
    if not text:
        raise ValueError("the interface address is empty; give an address of the interface, as \"10.0.0.1\"")
    if _DEVICE.match(text) or text in [name for _, name in socket.if_nameindex()]:
        return text
    try:
        return resolve(text, 0, socket.AF_INET)[1][0]
    except Error:
        resolve(text, 0)
        raise ValueError(
            f"the interface address {text} is not an IPv4 address; give one, or the interface's name") from None
