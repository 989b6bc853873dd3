# SPDX-License-Identifier: BSD-3-Clause
"""Opens the transports of senders."""

import atexit
import ipaddress
import logging
import os
from typing import Any, ClassVar, List, Sequence

from .. import _native, _session
from .._addresses import is_multicast, port_interface
from .._native import InprocQueue, OutgoingStream
from ..pools import ThreadPool
from . import _sockets
from ._config import StreamConfig, UdpIbvConfig, native_config

_log = logging.getLogger("dpdk_spead")

_TCP = ("TCP is not supported: the library sends datagrams; use UdpStream over a lossless network, or InprocStream "
        "within a process")


class UdpTransport:
    """Sends to a kernel socket.

    UdpStream(thread_pool, endpoints, config, buffer_size, interface_address), or with ttl in the place of
    interface_address, and after it interface_address (IPv4) or interface_index (IPv6). UdpStream(thread_pool, socket,
    endpoints, config) duplicates a socket. `endpoints`: (host, port) of each substream.
    """

    DEFAULT_BUFFER_SIZE: ClassVar[int] = _sockets.DEFAULT_BUFFER_SIZE

    def __init__(self, thread_pool: ThreadPool, *args: Any, **kwargs: Any) -> None:
        given = _sockets.parse_arguments(args, kwargs)
        config = native_config(thread_pool, given.get("config", StreamConfig()))
        sock = given.get("socket")
        family, addresses = _sockets.resolve(given["endpoints"], _sockets.family_of(sock))
        destinations = [_sockets.sockaddr(family, address) for address in addresses]
        if sock is not None:
            self._stream = OutgoingStream.to_socket(config, sock.fileno(), destinations)
            return
        if given.get("ttl") is not None and not all(is_multicast(a[0]) for a in addresses):
            raise ValueError("ttl is for multicast, and an endpoint is none; leave it out")
        with _sockets.make(family, given.get("buffer_size", self.DEFAULT_BUFFER_SIZE), given) as made:
            self._stream = OutgoingStream.to_socket(config, made.fileno(), destinations)


class UdpIbvTransport:
    """Sends on a port of DPDK: that of the network interface which the configuration names."""

    def __init__(self, thread_pool: ThreadPool, config: StreamConfig, udp_ibv_config: UdpIbvConfig) -> None:
        native = native_config(thread_pool, config)
        native.endpoints = _port_endpoints(udp_ibv_config)
        native.interface = port_interface(udp_ibv_config.interface_address)
        native.ttl = udp_ibv_config.ttl
        check_regions(udp_ibv_config.memory_regions)
        process = _session.shared()
        kept = [process, *register(process, udp_ibv_config.memory_regions)]
        self._stream = OutgoingStream.to_port(native, process, kept)


def _port_endpoints(config: UdpIbvConfig) -> List[str]:
    if not config.endpoints:
        raise ValueError("endpoints is empty; give at least one")
    texts = []
    for host, port in config.endpoints:
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            address = ipaddress.ip_address(_sockets.resolve([(host, port)])[1][0][0])
        if address.version != 4 or not address.is_multicast:
            raise ValueError(f"{host}: endpoint is not an IPv4 multicast address; send.Stream takes unicast addresses")
        texts.append(f"{address}:{port}")
    return texts


def check_regions(regions: Sequence[Any]) -> None:
    """Raises TypeError for an object without memory, and ValueError for memory that is empty or there twice."""
    spans = sorted((_span(region) for region in regions))
    for begin, end in spans:
        if begin == end:
            raise ValueError("memory region must have non-zero size")
    for (_, end), (begin, _) in zip(spans, spans[1:]):
        if begin < end:
            raise ValueError("memory regions overlap")


def _span(region: Any) -> "tuple[int, int]":
    begin, length = _native.span_of(region)
    return begin, begin + length


def register(process: Any, regions: Sequence[Any]) -> List[Any]:
    """Registers memory with the session until the result goes. Logs a warning for memory that is copied from.

    Raises Error for memory of a GPU that cannot be sent from, since nothing copies that.
    """
    kept = []
    for region in regions:
        try:
            kept.append(_native.RegisteredMemory(process, region))
        except _native.Error as error:
            if _native.is_on_gpu(region):
                raise
            _log.warning("a memory region is copied from: %s", error)
    return kept


class BytesTransport:
    """Sends into memory."""

    def __init__(self, thread_pool: ThreadPool, config: StreamConfig = StreamConfig()) -> None:
        self._packets = _native.PacketBytes()
        self._stream = OutgoingStream.to_memory(native_config(thread_pool, config), self._packets)

    def getvalue(self) -> bytes:
        """Returns the packets so far, one after the other."""
        return self._packets.getvalue()


class InprocTransport:
    """Sends to queues of this process, one for each substream."""

    def __init__(self, thread_pool: ThreadPool, queues: List[InprocQueue],
                 config: StreamConfig = StreamConfig()) -> None:
        try:
            self._queues = list(queues)
        except TypeError:
            raise TypeError(f"queues is {queues!r}; give a list with a queue for each substream") from None
        for queue in self._queues:
            if not isinstance(queue, InprocQueue):
                raise TypeError(f"queues: {queue!r} is no InprocQueue; give a queue for each substream")
        if not self._queues:
            raise ValueError("queues is empty; give one for each substream")
        self._stream = OutgoingStream.to_queues(native_config(thread_pool, config), self._queues)

    @property
    def queues(self) -> Sequence[InprocQueue]:
        """The queues."""
        return list(self._queues)


class TcpTransport:
    """Refuses: the library sends datagrams."""

    DEFAULT_BUFFER_SIZE: ClassVar[int] = 208 * 1024

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotTransported(_TCP)


class NotTransported(NotImplementedError, OSError):
    """Says that a transport does not exist here, and what to use."""


def default_interface() -> str:
    """Returns the interface of streams that name none: DPDK_SPEAD_INTERFACE."""
    return os.environ.get("DPDK_SPEAD_INTERFACE", "")


# Registered after the session's end, so it runs before: heaps on ports are still sent.
atexit.register(_native.close_senders)
