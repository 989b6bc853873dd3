# SPDX-License-Identifier: BSD-3-Clause
"""Streams of heaps."""

from typing import Any, Dict, Iterator, Optional, Sequence

from .._native import Empty, HeapStream, Reader, UsageError
from ..pools import MemoryPool, ThreadPool
from ._chunk_settings import SecondPath, check_setting
from ._config import RingStreamConfig, StreamConfig
from ._readers import _Stream
from ._stats import StreamStats, core_values

#: The memory for the heaps of a stream, that on each lcore of a port, and the longest heap, without a MemoryPool. The
#: first grows with max_heaps up to the second, and becomes resident as heaps use it. A port's is resident at once.
DEFAULT_MEMORY = 256 << 20
DEFAULT_MOST_MEMORY = 4 << 30
DEFAULT_PORT_MEMORY = 128 << 20
DEFAULT_MAX_HEAP_BYTES = 64 << 20

#: The longest heap at all, and the room that descriptors beside the item of a MemoryPool get.
_LONGEST_HEAP = 2 << 30
_DESCRIPTORS = 65536

#: Heaps that may wait in any case. With fewer, the threads of the stream and of its user would wait for each other at
#: nearly every heap.
_LEAST_QUEUE = 16


def _power_of_two(number: int) -> int:
    return 1 << max(number - 1, 255).bit_length()


def heap_memory(config: StreamConfig, waiting: int) -> Dict[str, int]:
    """Returns the memory for heaps, and the longest heap, by the stream's allocator. `waiting`: heaps in queues."""
    pool = config.memory_allocator
    live = config.max_heaps * config.substreams
    if not isinstance(pool, MemoryPool):
        # Heaps in the user's hands may keep a quarter, and one of them waits.
        needed = (live + 1) * DEFAULT_MAX_HEAP_BYTES * 4 // 3
        return {"memory": min(max(needed, DEFAULT_MEMORY), DEFAULT_MOST_MEMORY), "resident": 0,
                "port_memory": DEFAULT_PORT_MEMORY, "max_heap_bytes": DEFAULT_MAX_HEAP_BYTES}
    # Descriptors may come with the item that the pool was made for.
    longest = min(_power_of_two(pool.upper + _DESCRIPTORS), _LONGEST_HEAP)
    heaps = max(pool.max_free, pool.initial) + live + waiting + 4
    # A heap has a block of a power of two, and the first ones lie at the beginning.
    resident = pool.initial * min(max(1 << max(pool.upper - 1, 0).bit_length(), 4096), _LONGEST_HEAP)
    return {"memory": max(longest * heaps, DEFAULT_MEMORY), "resident": resident,
            "port_memory": max(longest * heaps, DEFAULT_PORT_MEMORY),
            "max_heap_bytes": max(longest, DEFAULT_MAX_HEAP_BYTES)}


def _check_two_paths(config: StreamConfig, lend: int) -> None:
    """Raises UsageError for what two paths exclude, with the names of settings here."""
    if not config.allow_out_of_order:
        raise UsageError("stream: it has two paths, and a packet that only one of them brings is behind those of the "
                         "other; set `allow_out_of_order` of its StreamConfig to True")
    if config.stop_on_stop_item:
        raise UsageError("stream: it has two paths, and the first stop item would end it before the other path's "
                         "packets; set `stop_on_stop_item` of its StreamConfig to False")
    if lend:
        raise UsageError("stream: it has two paths, and buffers of two ports in one heap cannot be lent; leave `lend` "
                         "out")


class Ringbuffer:
    """Tells how many heaps wait for the user of a stream."""

    def __init__(self, stream: "_RingStream") -> None:
        self._stream = stream

    def size(self) -> int:
        """Returns how many heaps wait; at most capacity()."""
        return min(self._stream._native.waiting(), self.capacity())

    def capacity(self) -> int:
        """Returns how many heaps may wait."""
        return self._stream.ring_config.heaps


_Ringbuffer = Ringbuffer


class _RingStream(_Stream):
    """Receives heaps, and lets them wait in a queue.

    From readers, a full queue makes the source wait: nothing is lost in files, buffers and queues, and the kernel drops
    packets of sockets (`counters["packets_lost"]`). From a port, heaps that find no room are dropped (`heaps_dropped`).

    `lend`: heaps may keep so many of a port's receive buffers instead of copies. `format`: of packets that are not
    SPEAD (docs/formats.md): each is a heap, whose `payload` has its data. `second_path`: a SecondPath that brings copies
    of a port's packets (docs/paths.md). A stream with two paths and no `config` takes packets in any order, and does not
    end with a stop item.
    """

    Ringbuffer = Ringbuffer

    def __init__(self, thread_pool: Optional[ThreadPool] = None, config: Optional[StreamConfig] = None,
                 ring_config: Optional[RingStreamConfig] = None, *, lend: int = 0, format: str = "",
                 second_path: Optional[SecondPath] = None) -> None:
        for value, kind, name in ((thread_pool, ThreadPool, "thread_pool"), (config, StreamConfig, "config"),
                                  (ring_config, RingStreamConfig, "ring_config")):
            if value is not None and not isinstance(value, kind):
                raise TypeError(f"stream: {name} is {value!r}, which is no {kind.__name__}")
        for name, given in (("format", format), ("second_path", second_path), ("lend", lend)):
            check_setting(name, given, "stream")
        if config is None and second_path is not None:
            config = StreamConfig(allow_out_of_order=True, stop_on_stop_item=False)
        self._config = (config or StreamConfig())._copy()
        if second_path is not None:
            _check_two_paths(self._config, lend)
        self._ring_config = (ring_config or RingStreamConfig())._copy()
        self._was_full = False
        self._native = HeapStream(
            max_heaps=self._config.max_heaps,
            substreams=self._config.substreams,
            in_order=not self._config.allow_out_of_order,
            stop_on_stop_item=self._config.stop_on_stop_item,
            allow_unsized_heaps=self._config.allow_unsized_heaps,
            explicit_start=self._config.explicit_start,
            bug_compat=self._config.bug_compat,
            queue_depth=max(self._ring_config.heaps, _LEAST_QUEUE),
            contiguous_only=self._ring_config.contiguous_only,
            keep_ranges=self._ring_config.incomplete_keep_payload_ranges,
            max_packet_size=65507,
            lend=lend,
            format=format,
            second_path=second_path,
            lcores=thread_pool.affinity if thread_pool is not None else [],
            **heap_memory(self._config, max(self._ring_config.heaps, _LEAST_QUEUE)))

    def _add_reader(self, reader: Reader) -> None:
        self._native.add_reader(reader)

    def _add_port(self, interface: str, endpoints: Sequence[str], buffer_size: int, max_size: int,
                  busy: bool) -> None:
        self._native.add_port(interface, endpoints, buffer_size, max_size, busy)

    @property
    def config(self) -> StreamConfig:
        """The configuration of the stream, as it was made."""
        return self._config

    @property
    def ring_config(self) -> RingStreamConfig:
        """The configuration of its queue, as it was made."""
        return self._ring_config

    @property
    def ringbuffer(self) -> "_Ringbuffer":
        """The queue of heaps."""
        return Ringbuffer(self)

    @property
    def fd(self) -> int:
        """A descriptor that is readable while a heap waits, and at the end. Do not read from it."""
        return self._native.fd()

    @property
    def stats(self) -> StreamStats:
        """The statistics of the stream."""
        counters = self.counters
        # More heaps wait than `heaps` allows: a worker of spead2's would wait for room by now.
        self._was_full |= counters["heaps_waiting"] > self._ring_config.heaps
        counters["blocked"] = max(counters["blocked"], int(self._was_full))
        return StreamStats(self._config.stats, core_values(counters, self._config.stop_on_stop_item))

    @property
    def counters(self) -> Dict[str, int]:
        """All counters of the stream, by name. Each packet is in one of those of packets, `packets_lost` apart."""
        return self._native.counters()

    def start(self) -> None:
        """Receives from now on, if the stream was made with explicit_start. No readers can be added then."""
        self._native.start()

    def stop(self) -> None:
        """Receives no more. Heaps that wait may still be taken."""
        self._native.stop()

    def add_endpoint(self, endpoint: str, twin: str = "") -> None:
        """Receives one more endpoint of its port ("239.1.2.3:7148"), while it runs.

        `twin`: that of the second path, if its endpoints are others.
        """
        self._native.add_endpoint(endpoint, twin)

    def remove_endpoint(self, endpoint: str) -> None:
        """Leaves an endpoint of its port, and its twin on a second path, while it runs."""
        self._native.remove_endpoint(endpoint)

    def get_nowait(self) -> Any:
        """Returns a waiting heap. Raises Empty when there is none, and Stopped at the end."""
        heap = self._native.try_get()
        if heap is None:
            raise Empty("no heap is waiting")
        return heap

    def __iter__(self) -> Iterator[Any]:
        return iter(self._native)

    def __next__(self) -> Any:
        return next(self._native)

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__qualname__} {self._native.ended() and 'ended' or 'receiving'}>"


class Stream(_RingStream):
    """Receives heaps. Any number of threads may take them."""

    def get(self) -> Any:
        """Waits for the next heap. Raises Stopped at the end of the stream."""
        return self._native.get()
