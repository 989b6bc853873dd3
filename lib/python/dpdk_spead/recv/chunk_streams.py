# SPDX-License-Identifier: BSD-3-Clause
"""Streams that fill chunks of a ring, with compiled place callbacks, as spead2's users know them."""

import atexit
import collections.abc
import enum
import itertools
import operator
import weakref
from typing import Any, Dict, List, Optional, Sequence, Union

from .. import _native
from .._native import Chunk, ChunkRing
from ..pools import ThreadPool
from ._config import StreamConfig, _whole
from ._readers import _Stream
from ._stats import StreamStatConfig, StreamStats
from .chunk_rings import ChunkRingPair

_numbers = itertools.count(1)


class ChunkStreamConfig:
    """Describes how a stream fills chunks.

    `items`: ids of the items whose immediate values the place callback gets. `max_chunks`: those that are open at a
    time. `place`: the callback, a scipy.LowLevelCallable or another tuple that begins with a capsule.
    `max_heap_extra`: bytes that the callback may store beside a heap.
    """

    DEFAULT_MAX_CHUNKS = 2

    def __init__(
        self,
        *,
        items: Sequence[int] = (),
        max_chunks: int = DEFAULT_MAX_CHUNKS,
        place: Optional[tuple] = None,
        max_heap_extra: int = 0,
    ) -> None:
        self.items = items  # type: ignore[assignment]  # any iterable
        self.max_chunks = max_chunks
        self.place = place
        self.max_heap_extra = max_heap_extra
        self._packet_bytes = 0

    @property
    def items(self) -> List[int]:
        """Lists the ids. It is a copy: assign another list."""
        return list(self._items)

    @items.setter
    def items(self, value: Sequence[int]) -> None:
        if not isinstance(value, collections.abc.Iterable):
            raise TypeError(f"items is {value!r}; give a list of ids, as [0x1600]")
        check = _whole("an id of items", 0, (1 << 64) - 1)
        self._items = [check(item) for item in value]

    @property
    def max_chunks(self) -> int:
        """Tells how many chunks are open at a time."""
        return self._max_chunks

    @max_chunks.setter
    def max_chunks(self, value: int) -> None:
        self._max_chunks = _positive("max_chunks", value)

    @property
    def place(self) -> Optional[tuple]:
        """Is the place callback."""
        return self._place

    @place.setter
    def place(self, value: Optional[tuple]) -> None:
        if value is not None:
            _native.check_place(value)
        self._place = value

    @property
    def max_heap_extra(self) -> int:
        """Tells how many bytes the callback may store beside a heap."""
        return self._max_heap_extra

    @max_heap_extra.setter
    def max_heap_extra(self, value: int) -> None:
        self._max_heap_extra = _whole("max_heap_extra", 0, (1 << 64) - 1)(value)

    def enable_packet_presence(self, payload_size: int) -> "ChunkStreamConfig":
        """Notes presence by packet, for packets of so many payload bytes but a heap's last. Returns the configuration.

        The callback's heap index is then that of the heap's first packet.
        """
        self._packet_bytes = _positive("payload_size", payload_size)
        return self

    def disable_packet_presence(self) -> "ChunkStreamConfig":
        """Notes presence by heap. Returns the configuration."""
        self._packet_bytes = 0
        return self

    @property
    def packet_presence_payload_size(self) -> int:
        """Tells what enable_packet_presence() was given; 0: presence is by heap."""
        return self._packet_bytes

    def _native_place(self, config: StreamConfig) -> Any:
        if self._place is None:
            raise ValueError("place: it has no place callback; give a scipy.LowLevelCallable")
        maxima = [stat.mode is StreamStatConfig.MAXIMUM for stat in config.stats]
        return _native.Place(self._place, self._items, self._packet_bytes, self._max_heap_extra, maxima)


def _positive(name: str, value: int) -> int:
    return _whole(name, 1, (1 << 32) - 1)(value)


#: What streams of chunks count besides.
_OWN_STATS = ("too_old_heaps", "rejected_heaps")

#: The streams and groups that may receive.
_live: "weakref.WeakSet[Any]" = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """Ends all streams before the interpreter does."""
    for stream in list(_live):
        if stream._native is not None:
            stream._native.stop()


class _ChunkStream(_Stream):
    """Has what streams of chunks and members of groups share. `_native` is its compiled part."""

    _native: Any = None

    def _set_up(
        self, thread_pool: Optional[ThreadPool], config: Optional[StreamConfig], chunks: ChunkStreamConfig
    ) -> None:
        for value, kind, name in ((thread_pool, ThreadPool, "thread_pool"), (config, StreamConfig, "config"),
                                  (chunks, ChunkStreamConfig, "chunk_stream_config")):
            if not isinstance(value, kind) and (value is not None or value is chunks):
                raise TypeError(f"chunk stream: {name} is {value!r}, which is no {kind.__name__}")
        self._pool = thread_pool
        self._config = (config or StreamConfig())._copy()
        for name in _OWN_STATS:
            if all(stat.name != name for stat in self._config.stats):
                self._config.add_stat(name)
        self._place = chunks._native_place(self._config)
        self._started = False
        self._stopped = False
        self._has_port = False
        self._has_reader = False
        _live.add(self)

    @property
    def config(self) -> StreamConfig:
        """Is the configuration of the stream, with all of its statistics."""
        return self._config

    def _settings(self, kind: str, port: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        return {
            "name": f"{kind}-{next(_numbers)}",
            "max_heaps": self._config.max_heaps,
            "substreams": self._config.substreams,
            "in_order": not self._config.allow_out_of_order,
            "stop_on_stop_item": self._config.stop_on_stop_item,
            "lcores": list(self._pool.affinity) if self._pool is not None else [],
            **(port or {}),
        }

    @property
    def _stream_id(self) -> int:
        if not 0 <= self._config.stream_id < 1 << 32:
            raise ValueError(f"stream_id is {self._config.stream_id}; streams of chunks have 0 to {(1 << 32) - 1}")
        return self._config.stream_id

    def _make_native(self, port: Optional[Dict[str, Any]] = None) -> None:
        """Makes the compiled part, for a port or for readers."""
        raise NotImplementedError

    @property
    def _compiled(self) -> Any:
        if self._native is None:
            self._make_native()
        return self._native

    def _add_reader(self, reader: Any) -> None:
        if self._has_port:
            raise ValueError("stream: it receives from a port, and takes no reader; use another stream")
        self._compiled.add_reader(reader)
        self._has_reader = True
        if not self._config.explicit_start:
            self.start()

    def _add_port(
        self, interface: str, endpoints: Sequence[str], buffer_size: int, max_size: int, busy: bool
    ) -> None:
        if self._has_port or self._has_reader:
            raise ValueError("stream: it has a source, and takes no further port; name all endpoints at once")
        self._make_native(
            {
                "interface": interface,
                "endpoints": list(endpoints),
                "buffer_size": buffer_size,
                "max_size": max_size,
                "busy": busy,
            }
        )
        self._has_port = True
        if not self._config.explicit_start:
            self.start()

    def start(self) -> None:
        """Receives from the readers. Streams do so with their first reader, unless `explicit_start` is set."""
        if not self._started and not self._stopped:
            self._compiled.start()
            self._started = True

    @property
    def stats(self) -> StreamStats:
        """Counts since the stream was made.

        `heaps` are those that the callback was asked about, and those of stream control. `rejected_heaps` are among them.
        """
        counters = self.counters
        values = {stat.name: value for stat, value in zip(self._config.stats, counters["callback_stats"])}
        refused = counters["callback_rejected"] + counters["callback_nonsense"]
        values.update(
            heaps=counters["callback_heaps"] + counters["packets_control"],
            incomplete_heaps_evicted=counters["heaps_evicted"],
            incomplete_heaps_flushed=counters["heaps_flushed"],
            packets=counters["packets"] - counters["packets_stopped"],
            batches=counters["bursts"],
            max_batch=counters["largest_burst"],
            worker_blocked=counters["blocked"],
            too_old_heaps=counters["heaps_late"],
            rejected_heaps=refused + counters["packets_control"],
        )
        return StreamStats(self._config.stats, values)

    @property
    def counters(self) -> Dict[str, Any]:
        """Counts by the library's own names (docs/counters.md). All are 0 before the first reader of a group's member."""
        if self._native is None:
            # What makes the compiled part decides whether its group has ports.
            return {**_native.no_chunk_counts(), "callback_stats": [0] * len(self._config.stats)}
        return self._native.stats()


class ChunkRingStream(_ChunkStream, ChunkRingPair):
    """Fills chunks of `free_ringbuffer`, and puts them into `data_ringbuffer`.

    Its end by the network ends the data ring, when that has no other producer. stop() ends both rings.
    """

    def __init__(
        self,
        thread_pool: ThreadPool,
        config: StreamConfig,
        chunk_stream_config: ChunkStreamConfig,
        data_ringbuffer: ChunkRing,
        free_ringbuffer: ChunkRing,
    ) -> None:
        ChunkRingPair.__init__(self, data_ringbuffer, free_ringbuffer)
        self._set_up(thread_pool, config, chunk_stream_config)
        self._max_chunks = chunk_stream_config.max_chunks
        self._make_native()

    def _make_native(self, port: Optional[Dict[str, Any]] = None) -> None:
        # The new one counts as a producer before the old one goes.
        self._native = _native.ChunkRingStream(
            self._settings("chunks", port),
            self._place,
            self.free_ringbuffer,
            self.data_ringbuffer,
            self._max_chunks,
            self._stream_id,
        )

    def stop(self) -> None:
        """Receives no more, hands the open chunks over, and stops both rings."""
        self._stopped = True
        self._native.stop()
        self._stop_rings()

    def __del__(self) -> None:
        if self._native is not None:
            self.stop()


class ChunkStreamGroupConfig:
    """Describes how the streams of a group fill chunks together."""

    class EvictionMode(enum.Enum):
        """Says when a chunk leaves the window: at once when a newer one needs its place, or when all have passed it."""

        LOSSY = 0
        LOSSLESS = 1

    DEFAULT_MAX_CHUNKS = 2

    def __init__(
        self, *, max_chunks: int = DEFAULT_MAX_CHUNKS, eviction_mode: EvictionMode = EvictionMode.LOSSY
    ) -> None:
        self.max_chunks = max_chunks
        self.eviction_mode = eviction_mode

    @property
    def max_chunks(self) -> int:
        """Tells how many chunks are open at a time."""
        return self._max_chunks

    @max_chunks.setter
    def max_chunks(self, value: int) -> None:
        self._max_chunks = _positive("max_chunks", value)

    @property
    def eviction_mode(self) -> EvictionMode:
        """Tells when a chunk leaves the window."""
        return self._eviction_mode

    @eviction_mode.setter
    def eviction_mode(self, value: EvictionMode) -> None:
        self._eviction_mode = self.EvictionMode(value)


class ChunkStreamGroupMember(_ChunkStream):
    """Is a stream of a group: ChunkStreamRingGroup.emplace_back() makes it. It keeps the group.

    Its attributes but the group belong to the group, too, which can so end without the garbage collector.
    """

    __slots__ = ("_group",)
    _group: "ChunkStreamRingGroup"
    _promise: Optional[_native.Producer]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("ChunkStreamGroupMember: use ChunkStreamRingGroup.emplace_back()")

    @classmethod
    def _make(
        cls,
        group: "ChunkStreamRingGroup",
        thread_pool: ThreadPool,
        config: StreamConfig,
        chunk_stream_config: ChunkStreamConfig,
    ) -> "ChunkStreamGroupMember":
        """Makes a member, which receives nothing yet and counts as a producer."""
        self = cls.__new__(cls)
        self._set_up(thread_pool, config, chunk_stream_config)
        self._group = group
        self._promise = _native.Producer(group.data_ringbuffer)
        return self

    @classmethod
    def _with(cls, group: "ChunkStreamRingGroup", attributes: Dict[str, Any]) -> "ChunkStreamGroupMember":
        """Makes another object of a member, of which there is none any more."""
        self = cls.__new__(cls)
        self.__dict__ = attributes
        self._group = group
        return self

    def _make_native(self, port: Optional[Dict[str, Any]] = None) -> None:
        self._native = self._group._native.add(self._settings("member", port), self._place, self._stream_id)
        self._promise = None

    def stop(self) -> None:
        """Stops the whole group."""
        self._group.stop()


class ChunkStreamRingGroup(ChunkRingPair, collections.abc.Sequence):
    """Lets several streams fill the same chunks: a sequence of them. Add all before the first reader.

    The window is the group's: a stream that lags loses its heaps (lossy), or others wait for it (lossless).
    """

    _native: Any = None

    def __init__(
        self, config: ChunkStreamGroupConfig, data_ringbuffer: ChunkRing, free_ringbuffer: ChunkRing
    ) -> None:
        ChunkRingPair.__init__(self, data_ringbuffer, free_ringbuffer)
        self._config = config
        self._attributes: List[Dict[str, Any]] = []  # of the members
        self._members: "weakref.WeakValueDictionary[int, ChunkStreamGroupMember]" = weakref.WeakValueDictionary()
        lossless = config.eviction_mode == ChunkStreamGroupConfig.EvictionMode.LOSSLESS
        self._native = _native.ChunkRingGroup(free_ringbuffer, data_ringbuffer, config.max_chunks, lossless)
        _live.add(self)

    @property
    def config(self) -> ChunkStreamGroupConfig:
        """Is the configuration that it was made with."""
        return self._config

    def emplace_back(
        self, thread_pool: ThreadPool, config: StreamConfig, chunk_stream_config: ChunkStreamConfig
    ) -> ChunkStreamGroupMember:
        """Adds a stream, and returns it."""
        member = ChunkStreamGroupMember._make(self, thread_pool, config, chunk_stream_config)
        self._attributes.append(member.__dict__)
        self._members[len(self._attributes) - 1] = member
        return member

    def stop(self) -> None:
        """Stops all streams, hands the open chunks over, and stops both rings."""
        for attributes in self._attributes:
            attributes["_stopped"] = True
        self._native.stop()
        self._stop_rings()

    def __del__(self) -> None:
        if self._native is not None:
            self.stop()

    def __len__(self) -> int:
        return len(self._attributes)

    def __getitem__(self, index: Union[int, slice]) -> Any:
        if isinstance(index, slice):
            return [self._member(i) for i in range(*index.indices(len(self)))]
        at = operator.index(index)
        if not -len(self) <= at < len(self):
            raise IndexError(f"chunk stream group: it has no member {at}; there are {len(self)}")
        return self._member(at % len(self))

    def _member(self, index: int) -> ChunkStreamGroupMember:
        member = self._members.get(index)
        if member is None:
            member = self._members[index] = ChunkStreamGroupMember._with(self, self._attributes[index])
        return member


__all__ = [
    "Chunk",
    "ChunkRingStream",
    "ChunkStreamConfig",
    "ChunkStreamGroupConfig",
    "ChunkStreamGroupMember",
    "ChunkStreamRingGroup",
]
