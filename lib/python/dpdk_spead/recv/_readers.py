# SPDX-License-Identifier: BSD-3-Clause
"""The sources that every stream may have."""

import os
import socket as sockets
from typing import Any, Dict, Sequence, Tuple

from .._addresses import port_interface, resolve
from .._arguments import by_name
from .._native import InprocQueue, Reader
from . import _sockets
from ._chunk_settings import descriptor
from ._config import UdpIbvConfig

#: The environment that turns IPv4 readers into ports: ours, and spead2's.
_INTERFACE_VARIABLES = ("DPDK_SPEAD_INTERFACE", "SPEAD2_IBV_INTERFACE")


def _number(name: str, value: Any, most: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= value.__index__() <= most:
        raise TypeError(f"{name} is {value!r}, which is not a whole number of 0 to {most}")
    return value.__index__()


class _Stream:
    """Adds sources to a stream. Each may have any number of them; when one ends, the stream ends.

    A stream receives from readers, or from one port.
    """

    DEFAULT_UDP_MAX_SIZE = 9200
    DEFAULT_UDP_BUFFER_SIZE = 8 * 1024 * 1024
    DEFAULT_TCP_MAX_SIZE = 65536
    DEFAULT_TCP_BUFFER_SIZE = 208 * 1024

    def _add_reader(self, reader: Reader) -> None:
        raise NotImplementedError

    def _add_port(self, interface: str, endpoints: Sequence[str], buffer_size: int, max_size: int,
                  busy: bool) -> None:
        raise NotImplementedError

    def add_buffer_reader(self, buffer: Any) -> None:
        """Receives the packets that stand one after the other in a buffer, which is pinned meanwhile."""
        self._add_reader(Reader.buffer(buffer))

    def add_inproc_reader(self, queue: InprocQueue) -> None:
        """Receives the packets of a queue."""
        if not isinstance(queue, InprocQueue):
            raise TypeError(f"add_inproc_reader: {queue!r} is no InprocQueue")
        self._add_reader(Reader.queue(queue))

    def add_udp_pcap_file_reader(self, filename: str, filter: str = "") -> None:
        """Receives the UDP packets of a pcap file of Ethernet frames, as fast as the user takes heaps.

        `filter`: "udp", "host A", "src host A", "dst host A", and the same with "port N", joined by "and"; else raises
        ValueError. Raises RuntimeError when the file cannot be read.
        """
        self._add_reader(Reader.pcap(os.fspath(filename), **_sockets.pcap_match(filter)))

    def add_udp_reader(self, *args: Any, **kwargs: Any) -> None:
        """Receives UDP packets, through a socket of the kernel.

        add_udp_reader(port, max_size, buffer_size, bind_hostname): a port of this machine or of a group.
        add_udp_reader(multicast_group, port, max_size, buffer_size, interface_address): an IPv4 group.
        add_udp_reader(multicast_group, port, max_size, buffer_size, interface_index): an IPv6 group.
        add_udp_reader(socket, max_size): a bound socket, which is duplicated.

        In the place of a group, interface_address itself or "0.0.0.0" receives at interface_address.
        With SPEAD2_IBV_INTERFACE or DPDK_SPEAD_INTERFACE in the environment, IPv4 comes from a port of that interface.
        Raises TypeError; ValueError for an interface that is not the address's; RuntimeError when the kernel refuses.
        """
        if "socket" in kwargs or (args and isinstance(args[0], sockets.socket)):
            values = by_name("add_udp_reader", ["socket", "max_size"], args, kwargs)
            self._add_reader(Reader.socket(descriptor(values["socket"]), self._max_size_of(values)))
            return
        group = "multicast_group" in kwargs or (args and isinstance(args[0], str))
        names = ["port", "max_size", "buffer_size", "bind_hostname"]
        if group:
            on = "interface_index" if "interface_index" in kwargs or (len(args) > 4 and isinstance(args[4], int)) \
                else "interface_address"
            names = ["multicast_group", "port", "max_size", "buffer_size", on]
        values = by_name("add_udp_reader", names, args, kwargs)
        if "port" not in values:
            raise TypeError("add_udp_reader needs a port, a group and a port, or a socket")
        port = _number("port", values["port"], 65535)
        most = self._max_size_of(values)
        room = _number("buffer_size", values.get("buffer_size", self.DEFAULT_UDP_BUFFER_SIZE), 1 << 40)
        host = str(values["multicast_group"] if group else values.get("bind_hostname", ""))
        if self._is_for_port(host, port, room, most):
            return
        sock = _sockets.udp_socket(host, port, room, str(values.get("interface_address", "")),
                                   _number("interface_index", values.get("interface_index", 0), 1 << 31))
        with sock:
            self._add_reader(Reader.socket(sock.fileno(), most))

    def _max_size_of(self, values: Dict[str, Any]) -> int:
        """Returns `max_size`: a datagram has 65507 bytes at most."""
        return min(_number("max_size", values.get("max_size", self.DEFAULT_UDP_MAX_SIZE), 1 << 32), 65507)

    def _is_for_port(self, host: str, port: int, buffer_size: int, max_size: int) -> bool:
        """Receives IPv4 from a port instead, if the environment says so. Returns whether it does."""
        interface = next((os.environ[name] for name in _INTERFACE_VARIABLES if os.environ.get(name)), "")
        if not interface:
            return False
        name = port_interface(interface)
        family, address = resolve(host or name, port) if host or name[0].isdigit() else (0, ())
        if family != sockets.AF_INET:
            return False
        busy = int(os.environ.get("SPEAD2_IBV_COMP_VECTOR", "0") or "0") < 0
        self._add_port(name, [f"{address[0]}:{port}"], buffer_size, max_size, busy)
        return True

    def add_udp_ibv_reader(self, config: UdpIbvConfig) -> None:
        """Receives endpoints from a port of DPDK's. Further calls add endpoints of the same interface.

        Starts EAL if it does not run. Raises ValueError for an invalid configuration, and RuntimeError, with the fix,
        when the port cannot be opened.
        """
        endpoints = _sockets.port_endpoints(config.endpoints)
        interface = port_interface(config.interface_address)
        self._add_port(interface, endpoints, config.buffer_size, config.max_size, config.comp_vector < 0)

    def add_tcp_reader(self, *args: Any, **kwargs: Any) -> None:
        """Raises RuntimeError: TCP is not carried. Use UDP, or a queue between threads of one process."""
        raise RuntimeError("TCP is not supported; use add_udp_reader, or add_inproc_reader within a process")
