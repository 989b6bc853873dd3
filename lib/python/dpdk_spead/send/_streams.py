# SPDX-License-Identifier: BSD-3-Clause
"""Streams whose calls wait."""

from typing import Any, Dict, List, Optional, Union

from .. import _native, _session
from .._native import HeapReference, OutgoingStream
from . import _transports
from ._config import GroupMode, size
from ._heap import Heap, HeapReferenceList

_MASK = (1 << 64) - 1


class BaseStream:
    """Has what all senders have."""

    _stream: OutgoingStream

    def set_cnt_sequence(self, next: int, step: int) -> None:
        """Gives the next heap without a count of its own the count `next`, and `step` more to each after it."""
        self._stream.set_cnt_sequence(int(next) & _MASK, int(step) & _MASK)

    @property
    def num_substreams(self) -> int:
        """The number of substreams."""
        return self._stream.substreams

    def stats(self) -> Dict[str, int]:
        """Returns counts since the stream was made: heaps, packets, bytes, and what was not sent."""
        return self._stream.stats()

    def set_rate(self, rate: float) -> None:
        """Changes the rate while the stream sends: bytes of UDP payload per second; 0: unlimited."""
        self._stream.set_rate(rate)

    def set_ttl(self, ttl: int) -> None:
        """Changes the TTL of packets while the stream sends."""
        self._stream.set_ttl(ttl)

    def close(self) -> None:
        """Ends the stream: waits 5 s for heaps in flight, and gives up the rest. Further heaps are refused."""
        self._stream.close()


def references(heaps: Union[List[HeapReference], HeapReferenceList]) -> List[HeapReference]:
    """Returns the references as a list. Raises TypeError."""
    return (heaps if isinstance(heaps, HeapReferenceList) else HeapReferenceList(heaps))._references


def is_round_robin(mode: GroupMode) -> bool:
    """Returns whether packets of the heaps take turns. Raises TypeError."""
    if not isinstance(mode, GroupMode):
        raise TypeError(f"mode is {mode!r}; give a GroupMode")
    return mode is GroupMode.ROUND_ROBIN


def refused(error: TypeError, cnt: Any, substream_index: Any, rate: Any) -> TypeError:
    """Returns the error of send_heap() that names the argument which the compiled part does not take."""
    for name, value, least, most in (("cnt", cnt, -1 << 63, _MASK >> 1), ("substream_index", substream_index, 0, _MASK)):
        if not hasattr(value, "__index__") or not least <= value <= most:
            return TypeError(f"{name} is {value!r}; give a whole number of {least} to {most}")
    return error if hasattr(rate, "__float__") else TypeError(f"rate is {rate!r}; give bytes per second")


class SyncStream(BaseStream):
    """Sends heaps, and waits for each. Several threads may send at once, up to max_heaps."""

    def send_heap(self, heap: Heap, cnt: int = -1, substream_index: int = 0, rate: float = -1.0) -> int:
        """Sends a heap, and returns the bytes of its packets.

        `cnt`: the heap count; -1: the next of the sequence. `rate`: bytes per second; 0: unlimited, -1: the stream's.
        Raises OSError when it cannot be sent; BlockingIOError when max_heaps are in flight.
        """
        try:
            return self._stream.send_one(heap, cnt, substream_index, rate)
        except TypeError as error:
            raise refused(error, cnt, substream_index, rate) from None

    def send_heaps(self, heaps: Union[List[HeapReference], HeapReferenceList], mode: GroupMode) -> int:
        """Sends a group of heaps, all or none, and returns the bytes of their packets. Raises as send_heap()."""
        return self._stream.send(references(heaps), is_round_robin(mode))


class UdpStream(_transports.UdpTransport, SyncStream):
    __doc__ = _transports.UdpTransport.__doc__


class UdpIbvStream(_transports.UdpIbvTransport, SyncStream):
    __doc__ = _transports.UdpIbvTransport.__doc__


class BytesStream(_transports.BytesTransport, SyncStream):
    __doc__ = _transports.BytesTransport.__doc__


class InprocStream(_transports.InprocTransport, SyncStream):
    __doc__ = _transports.InprocTransport.__doc__


class TcpStream(_transports.TcpTransport, SyncStream):
    __doc__ = _transports.TcpTransport.__doc__


def open_stream(endpoints: Union[str, List[str]], interface: Optional[str], options: Dict[str, Any]) -> OutgoingStream:
    """Opens a stream on a port, or on kernel sockets when no interface is named."""
    regions = list(options.pop("memory_regions", ()))
    _transports.check_regions(regions)
    config = _native.SendConfig()
    try:
        config.endpoints = [endpoints] if isinstance(endpoints, str) else list(endpoints)
    except TypeError:
        raise TypeError(f"send stream: endpoints is {endpoints!r}; "
                        'give a text, as "239.20.0.0+63:7148", or a list of them') from None
    for name, value in options.items():
        if not hasattr(config, name):
            raise TypeError(f"a stream has no option {name!r}")
        try:
            setattr(config, name, value)
        except TypeError as error:
            raise TypeError(f"send stream: the option {name} cannot be {value!r}") from error
    size("max_heaps", config.max_heaps, 1)
    config.interface = _transports.default_interface() if interface is None else interface
    if not config.interface:
        return OutgoingStream.to_sockets(config)
    process = _session.shared()
    return OutgoingStream.to_port(config, process, [process, *_transports.register(process, regions)])


class _BaseOfAll(type):
    """Lets isinstance() and issubclass() find all senders under `Stream`: the one of spead2 is their base."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return cls is Stream and isinstance(instance, BaseStream) or super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return cls is Stream and issubclass(subclass, BaseStream) or super().__subclasscheck__(subclass)


class Stream(SyncStream, metaclass=_BaseOfAll):
    """Sends to endpoints, as `["239.20.0.0+63:7148"]`: one substream for each address.

    `interface`: the network interface of a port, by name, address or device; None: that of DPDK_SPEAD_INTERFACE. "", or
    None without that variable: kernel sockets. `options`: rate, burst_size, burst_rate_ratio, ttl, dscp, dst_mac, udp_checksum,
    max_packet_size, max_heaps, timeout, first_cnt, cnt_step, lcore, name. `memory_regions`: objects whose memory the port
    reads directly where it can. Raises Error and UsageError.
    """

    def __init__(self, endpoints: Union[str, List[str]], interface: Optional[str] = None, **options: Any) -> None:
        self._stream = open_stream(endpoints, interface, options)

    def end(self) -> None:
        """Sends a heap with a stop item to every endpoint, and waits for it."""
        self._stream.end()

    def stop(self) -> None:
        """Gives up unsent heaps."""
        self._stream.stop()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()
