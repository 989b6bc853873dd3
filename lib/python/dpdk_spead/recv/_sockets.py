# SPDX-License-Identifier: BSD-3-Clause
"""Addresses and sockets of readers."""

import contextlib
import logging
import re
import socket
import struct
from typing import Any, Dict, List, Optional, Tuple

from .._addresses import is_multicast, resolve

_log = logging.getLogger("dpdk_spead.recv")

_SO_RCVBUFFORCE = 33
_IP_MULTICAST_ALL = 49
_UDP_GRO = 104


def set_buffer(sock: socket.socket, size: int) -> None:
    """Asks for a receive buffer of `size` bytes, and logs a warning if the kernel grants less."""
    if size == 0:
        return
    size = min(size, (1 << 30) - 1)
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, size)
    except OSError:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
    granted = sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2
    if granted < size:
        _log.warning("the kernel grants a receive buffer of %d bytes, and %d were wanted; raise net.core.rmem_max",
                     granted, size)


def udp_socket(host: str, port: int, buffer_size: int, interface_address: str = "",
               interface_index: int = 0) -> socket.socket:
    """Returns a socket that receives a port of an address or a group. Raises RuntimeError, ValueError."""
    family, address = resolve(host, port) if host else (socket.AF_INET, ("0.0.0.0", port))
    address = _on_interface(family, address, interface_address, interface_index)
    sock = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        set_buffer(sock, buffer_size)
        with contextlib.suppress(OSError):  # datagrams of a flow come together: a system call for many
            sock.setsockopt(socket.IPPROTO_UDP, _UDP_GRO, 1)
        group = is_multicast(address[0])
        if group:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        if group:
            _join(sock, family, address[0], interface_address, interface_index)
    except OSError as error:
        sock.close()
        on = interface_address or interface_index
        raise RuntimeError(f"cannot receive {host or '0.0.0.0'} port {port}"
                           f"{f' on the interface {on}' if on else ''}: {error}") from None
    except BaseException:
        sock.close()
        raise
    return sock


def _on_interface(family: int, address: Tuple[Any, ...], interface_address: str,
                  interface_index: int) -> Tuple[Any, ...]:
    """Returns the address to bind to: in the place of 0.0.0.0, that of the interface. Raises ValueError, Error.

    The kernel joins groups on an interface. Packets to another address come from all interfaces: one that has not this
    address would be ignored without a word.
    """
    group = is_multicast(address[0])
    if interface_index and not (group and family == socket.AF_INET6):
        raise ValueError(f"interface_index {interface_index} is for groups of IPv6, and {address[0]} is none; "
                         "leave it out")
    if not interface_address:
        return address
    if family != socket.AF_INET:
        raise ValueError(f"interface_address {interface_address} is for IPv4, and {address[0]} is IPv6; "
                         "give a group its interface_index")
    if ":" in interface_address:
        raise ValueError(f"interface_address {interface_address} is not an IPv4 address; give one, as \"10.0.0.1\"")
    own = resolve(interface_address, 0, family)[1][0]
    if group:
        return address
    if address[0] not in ("0.0.0.0", own):
        raise ValueError(f"{address[0]} is neither a group nor the interface_address {interface_address}; "
                         f"receive {own}, or leave the interface out")
    return (own, *address[1:])


def _join(sock: socket.socket, family: int, group: str, interface_address: str, interface_index: int) -> None:
    if family == socket.AF_INET:
        on = resolve(interface_address, 0, family)[1][0] if interface_address else "0.0.0.0"
        sock.setsockopt(socket.IPPROTO_IP, _IP_MULTICAST_ALL, 0)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(on))
        return
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                    socket.inet_pton(family, group.partition("%")[0]) + struct.pack("@I", interface_index))


def port_endpoints(endpoints: List[Tuple[str, int]]) -> List[str]:
    """Returns the endpoints of a port as texts. Raises ValueError, RuntimeError."""
    if not endpoints:
        raise ValueError("endpoints is empty; give pairs of an address and a port")
    texts = []
    for host, port in endpoints:
        family, address = resolve(host, port)
        if family != socket.AF_INET:
            raise ValueError(f"endpoint is not an IPv4 address: {host}; a port receives IPv4")
        texts.append(f"{address[0]}:{port}")
    return texts


_TERM = re.compile(r"(?:(src|dst)\s+)?(host|port)\s+(\S+)")


def _is_port(word: str) -> bool:
    return re.fullmatch("[0-9]{1,5}", word) is not None and int(word) <= 65535


def pcap_match(expression: str) -> Dict[str, Any]:
    """Reads a filter of pcap files, as "udp dst port 7148 and src host 10.0.0.1". Raises ValueError for others."""
    names = {(None, "host"): "host", ("src", "host"): "source", ("dst", "host"): "destination",
             (None, "port"): "port", ("src", "port"): "source_port", ("dst", "port"): "destination_port"}
    match: Dict[str, Any] = {}
    for part in re.split(r"\s+and\s+|\s*&&\s*", expression.strip()) if expression.strip() else []:
        part = re.sub(r"^(ip\s+)?(proto\s+\\)?udp\b\s*", "", part.strip())
        if not part or part == "ip":
            continue
        found = _TERM.fullmatch(part)
        name: Optional[str] = names[found[1], found[2]] if found else None
        a_port = found is not None and found[2] == "port"
        if found is None or name is None or name in match or (a_port and not _is_port(found[3])):
            raise ValueError(f"filter: {expression!r} is not understood; it may have `udp`, `host A`, `src host A`, "
                             "`dst host A`, and the same with `port N` (0 to 65535), joined by `and`")
        match[name] = int(found[3]) if a_port else found[3]
    return match
