# SPDX-License-Identifier: BSD-3-Clause
"""Makes kernel sockets for senders."""

import logging
import socket
import struct
from typing import Any, Dict, List, Optional, Sequence, Tuple

_log = logging.getLogger("dpdk_spead")

DEFAULT_BUFFER_SIZE = 512 * 1024


def resolve(endpoints: Sequence[Tuple[str, int]], family: int = socket.AF_UNSPEC) -> Tuple[int, List[tuple]]:
    """Returns the address family of the endpoints, and their addresses. Raises ValueError and OSError."""
    addresses: List[tuple] = []
    for endpoint in endpoints:
        try:
            host, port = endpoint
        except (TypeError, ValueError):
            raise TypeError(f"endpoints has {endpoint!r}; "
                            "give pairs of a host and a port, as [('10.0.0.1', 7148)]") from None
        if isinstance(port, bool) or not hasattr(port, "__index__") or not 0 <= port.__index__() <= 65535:
            raise TypeError(f"endpoint {host}: the port is {port!r}; give a number of 0 to 65535")
        try:
            found = socket.getaddrinfo(host or None, port, socket.AF_UNSPEC, socket.SOCK_DGRAM)
        except socket.gaierror as error:
            raise OSError(error.errno, f"endpoint {host}:{port}: {error.strerror}") from error
        family = family or found[0][0]
        suitable = [place[4] for place in found if place[0] == family]
        if not suitable:
            raise ValueError(f"endpoint {host}:{port} is not of the same IP version as the socket or the others")
        addresses.append(suitable[0])
    if not addresses:
        raise ValueError("endpoints is empty; give at least one")
    return family, addresses


def sockaddr(family: int, address: tuple) -> bytes:
    """Returns the address as bytes of a sockaddr."""
    if family == socket.AF_INET:
        return struct.pack("=HH4s8x", family, socket.htons(address[1]), socket.inet_aton(address[0]))
    flow, scope = (tuple(address[2:]) + (0, 0))[:2]
    packed = socket.inet_pton(family, address[0].partition("%")[0])
    return struct.pack("=HHI16sI", family, socket.htons(address[1]), socket.htonl(flow), packed, scope)


def _interface_address(family: int, name: str) -> str:
    try:
        return socket.getaddrinfo(name, 0, family, socket.SOCK_DGRAM)[0][4][0]
    except socket.gaierror as error:
        raise OSError(error.errno, f"interface_address {name}: {error.strerror}") from error


def _set_way(sock: socket.socket, family: int, options: Dict[str, Any]) -> None:
    ttl, interface, index = (options.get(n) for n in ("ttl", "interface_address", "interface_index"))
    if ttl is not None:
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, ttl)
        else:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, ttl)
    if index is not None:
        if family != socket.AF_INET6:
            raise ValueError("interface_index is for IPv6; give an interface_address for IPv4")
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
    if interface:
        if ttl is not None and family != socket.AF_INET:
            raise ValueError("interface_address with a ttl is for IPv4; give an interface_index for IPv6")
        address = _interface_address(family, interface)
        sock.bind((address, 0))
        if family == socket.AF_INET:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))


def make(family: int, buffer_size: int, options: Dict[str, Any]) -> socket.socket:
    """Makes a socket with these options: ttl, interface_address, interface_index. Raises ValueError and OSError."""
    sock = socket.socket(family, socket.SOCK_DGRAM)
    try:
        if buffer_size:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer_size)
            granted = sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2
            if granted < buffer_size:
                _log.warning("the socket's buffer has %d bytes, and not %d; raise net.core.wmem_max", granted,
                             buffer_size)
        _set_way(sock, family, options)
    except BaseException:
        sock.close()
        raise
    return sock


def parse_arguments(args: Sequence[Any], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """Returns the arguments of UdpStream by name, whichever of its forms was used. Raises TypeError."""
    rest = list(args)
    names = ["endpoints", "config", "buffer_size"]
    given: Dict[str, Any] = {}
    if rest and isinstance(rest[0], socket.socket) or "socket" in kwargs and not rest:
        names = ["socket", "endpoints", "config"]
    elif rest and isinstance(rest[0], str) or "hostname" in kwargs:
        names[:1] = ["hostname", "port"]
    if len(rest) > len(names):
        extra = rest[len(names):]
        if isinstance(extra[0], socket.socket):
            names.append("socket")
        elif isinstance(extra[0], str):
            names.append("interface_address")
        else:
            names.append("ttl")
            if len(extra) > 1:
                names.append("interface_address" if isinstance(extra[1], str) else "interface_index")
    if len(rest) > len(names):
        raise TypeError(f"UdpStream was given {len(rest) + 1} arguments, and takes fewer")
    given.update(zip(names, rest))
    known = {"endpoints", "hostname", "port", "config", "buffer_size", "ttl", "interface_address", "interface_index",
             "socket"}
    for name, value in kwargs.items():
        if name not in known or name in given:
            raise TypeError(f"UdpStream: the argument {name!r} is unknown, or was given twice")
        given[name] = value
    if "hostname" in given:
        given["endpoints"] = [(given.pop("hostname"), given.pop("port", None))]
    if "endpoints" not in given:
        raise TypeError("UdpStream needs endpoints")
    return given


def family_of(sock: Optional[socket.socket]) -> int:
    """Returns the address family of a socket; AF_UNSPEC without one."""
    return socket.AF_UNSPEC if sock is None else sock.family
