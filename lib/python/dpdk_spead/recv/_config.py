# SPDX-License-Identifier: BSD-3-Clause
"""Configurations of streams, under spead2's names."""

from typing import Any, Callable, List, Optional, Sequence, Tuple

from ..pools import MEMCPY_NONTEMPORAL, MEMCPY_STD, MemoryAllocator
from ..protocol import BUG_COMPAT_PYSPEAD_0_5_2
from ._stats import CORE_STATS, StreamStatConfig


def _whole(name: str, least: int, most: int) -> Callable[[Any], int]:
    """Returns what checks a number. The name is that of the error."""

    def check(value: Any) -> int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"{name} is {value!r}, which is no whole number")
        number = value.__index__()
        if not least <= number <= most:
            raise ValueError(f"{name} is {number}, which is not in {least} to {most}")
        return number

    return check


def _flag(value: Any) -> bool:
    return bool(value)


def _field(name: str, check: Callable[[Any], Any], doc: str) -> property:
    """Makes a property whose values are checked."""
    attribute = "_" + name

    def get(self: Any) -> Any:
        return getattr(self, attribute)

    def put(self: Any, value: Any) -> None:
        setattr(self, attribute, check(value))

    return property(get, put, doc=doc)


class _Configuration:
    """Takes values by keyword, and lets nothing else be set."""

    __slots__ = ()
    _NAMES: Sequence[str] = ()

    def _set_all(self, values: dict, names: Sequence[str]) -> None:
        for name, value in values.items():
            if name not in names:
                raise TypeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(names)}")
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._NAMES)})"


def _bug_compat(value: Any) -> int:
    number = _whole("bug_compat", 0, (1 << 32) - 1)(value)
    if number & ~BUG_COMPAT_PYSPEAD_0_5_2:
        raise ValueError(f"bug_compat is {number:#x}, which has bits that mean nothing")
    return number


def _memcpy(value: Any) -> int:
    if value not in (MEMCPY_STD, MEMCPY_NONTEMPORAL):
        raise ValueError(f"memcpy is {value!r}; give MEMCPY_STD or MEMCPY_NONTEMPORAL")
    return int(value)


def _allocator(value: Any) -> MemoryAllocator:
    if not isinstance(value, MemoryAllocator):
        raise TypeError(f"memory_allocator is {value!r}, which is no MemoryAllocator")
    return value


class StreamConfig(_Configuration):
    """Describes how a stream makes heaps of packets."""

    DEFAULT_MAX_HEAPS = 4
    _NAMES = ("max_heaps", "substreams", "bug_compat", "memcpy", "memory_allocator", "stop_on_stop_item",
              "allow_unsized_heaps", "allow_out_of_order", "stream_id", "explicit_start")
    __slots__ = tuple("_" + name for name in _NAMES) + ("_stats",)

    max_heaps = _field("max_heaps", _whole("max_heaps", 1, 1 << 20), "Incomplete heaps of each substream.")
    substreams = _field("substreams", _whole("substreams", 1, 65536), "Windows; the heap count chooses one.")
    bug_compat = _field("bug_compat", _bug_compat, "Bits of deviations from SPEAD.")
    memcpy = _field("memcpy", _memcpy, "How payload is copied; the stream chooses by itself.")
    memory_allocator = _field("memory_allocator", _allocator, "A MemoryPool sets the memory for heaps.")
    stop_on_stop_item = _field("stop_on_stop_item", _flag, "Whether a stop item ends the stream.")
    allow_unsized_heaps = _field("allow_unsized_heaps", _flag, "Whether packets may lack the length of the heap.")
    allow_out_of_order = _field("allow_out_of_order", _flag, "Whether packets of a heap may come in any order.")
    stream_id = _field("stream_id", _whole("stream_id", -(1 << 63), (1 << 64) - 1), "A number for chunks.")
    explicit_start = _field("explicit_start", _flag, "Whether the stream receives from start() on.")

    def __init__(self, **kwargs: Any) -> None:
        self.max_heaps = self.DEFAULT_MAX_HEAPS
        self.substreams = 1
        self.bug_compat = 0
        self.memcpy = MEMCPY_STD
        self._memory_allocator: Optional[MemoryAllocator] = None
        self.stop_on_stop_item = True
        self.allow_unsized_heaps = True
        self.allow_out_of_order = False
        self.stream_id = 0
        self.explicit_start = False
        self._stats: List[StreamStatConfig] = list(CORE_STATS)
        self._memory_allocator = MemoryAllocator()
        self._set_all(kwargs, self._NAMES)

    @property
    def stats(self) -> List[StreamStatConfig]:
        """Describes the statistics of the stream."""
        return list(self._stats)

    def add_stat(self, name: str, mode: Any = StreamStatConfig.COUNTER) -> int:
        """Adds a statistic for place callbacks, and returns its index. Raises ValueError for a name that is there."""
        if any(stat.name == name for stat in self._stats):
            raise ValueError(f"the statistic {name!r} is there already; give another name")
        self._stats.append(StreamStatConfig(name, mode))
        return len(self._stats) - 1

    def get_stat_index(self, name: str) -> int:
        """Returns the index of a statistic. Raises IndexError when there is none of this name."""
        for index, stat in enumerate(self._stats):
            if stat.name == name:
                return index
        raise IndexError(f"there is no statistic {name!r}")

    def next_stat_index(self) -> int:
        """Returns the index that add_stat() gives next."""
        return len(self._stats)

    def _copy(self) -> "StreamConfig":
        copy = StreamConfig(**{name: getattr(self, name) for name in self._NAMES})
        copy._stats = list(self._stats)
        return copy


class RingStreamConfig(_Configuration):
    """Describes the queue between a stream and its user."""

    DEFAULT_HEAPS = 4
    _NAMES = ("heaps", "contiguous_only", "incomplete_keep_payload_ranges")
    __slots__ = tuple("_" + name for name in _NAMES)

    heaps = _field("heaps", _whole("heaps", 1, 1 << 20), "Heaps that may wait.")
    contiguous_only = _field("contiguous_only", _flag, "Whether incomplete heaps are dropped.")
    incomplete_keep_payload_ranges = _field("incomplete_keep_payload_ranges", _flag,
                                            "Whether incomplete heaps tell what arrived.")

    def __init__(self, **kwargs: Any) -> None:
        self.heaps = self.DEFAULT_HEAPS
        self.contiguous_only = True
        self.incomplete_keep_payload_ranges = False
        self._set_all(kwargs, self._NAMES)

    def _copy(self) -> "RingStreamConfig":
        return RingStreamConfig(**{name: getattr(self, name) for name in self._NAMES})


def _endpoints(value: Any) -> List[Tuple[str, int]]:
    out = []
    for endpoint in value:
        host, port = endpoint
        if not isinstance(host, str) or isinstance(port, bool) or not isinstance(port, int):
            raise TypeError(f"the endpoint {endpoint!r} is not a host and a port")
        out.append((host, _whole("port", 0, 65535)(port)))
    return out


class UdpIbvConfig(_Configuration):
    """Describes what a stream receives from a port."""

    DEFAULT_BUFFER_SIZE = 16 * 1024 * 1024
    DEFAULT_MAX_SIZE = 9200
    DEFAULT_MAX_POLL = 10
    _NAMES = ("endpoints", "interface_address", "buffer_size", "max_size", "comp_vector", "max_poll")
    __slots__ = tuple("_" + name for name in _NAMES)

    endpoints = _field("endpoints", _endpoints, "Pairs of an IPv4 address and a port.")
    interface_address = _field("interface_address", str, "An address or a name of the interface, or a device.")
    buffer_size = _field("buffer_size", lambda value: _whole("buffer_size", 0, 1 << 36)(value)
                         or UdpIbvConfig.DEFAULT_BUFFER_SIZE, "Bytes of the port's queue; 0: the default.")
    max_size = _field("max_size", _whole("max_size", 1, 65507), "UDP payload bytes of the longest packet.")
    comp_vector = _field("comp_vector", _whole("comp_vector", -(1 << 31), (1 << 31) - 1),
                         "Negative: the lcore polls without a pause.")
    max_poll = _field("max_poll", _whole("max_poll", 1, (1 << 31) - 1), "Has no effect.")

    def __init__(self, **kwargs: Any) -> None:
        self.endpoints = []
        self.interface_address = ""
        self.buffer_size = self.DEFAULT_BUFFER_SIZE
        self.max_size = self.DEFAULT_MAX_SIZE
        self.comp_vector = 0
        self.max_poll = self.DEFAULT_MAX_POLL
        self._set_all(kwargs, self._NAMES)
