# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of streams, under spead2's names."""

import enum
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union


class StreamStatConfig:
    """Describes a statistic: its name, and whether samples are added or the largest counts."""

    class Mode(enum.Enum):
        """Says how samples become one."""

        COUNTER = 0
        MAXIMUM = 1

    COUNTER = Mode.COUNTER
    MAXIMUM = Mode.MAXIMUM
    __slots__ = ("_mode", "_name")

    def __init__(self, name: str, mode: Mode = Mode.COUNTER) -> None:
        self._name = str(name)
        self._mode = self.Mode(mode)

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def mode(self) -> Mode:
        """COUNTER or MAXIMUM."""
        return self._mode

    def combine(self, a: int, b: int) -> int:
        """Returns the sum of two samples, or the larger one."""
        return a + b if self._mode is self.Mode.COUNTER else max(a, b)

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, StreamStatConfig):
            return NotImplemented
        return (self._name, self._mode) == (other._name, other._mode)

    def __hash__(self) -> int:
        return hash((self._name, self._mode))

    def __repr__(self) -> str:
        return f"StreamStatConfig({self._name!r}, {self._mode})"


#: The statistics of every stream, in the order of stream_stat_indices.
CORE_STATS: Tuple[StreamStatConfig, ...] = (
    StreamStatConfig("heaps"),
    StreamStatConfig("incomplete_heaps_evicted"),
    StreamStatConfig("incomplete_heaps_flushed"),
    StreamStatConfig("packets"),
    StreamStatConfig("batches"),
    StreamStatConfig("max_batch", StreamStatConfig.MAXIMUM),
    StreamStatConfig("single_packet_heaps"),
    StreamStatConfig("search_dist"),
    StreamStatConfig("worker_blocked"),
)


class StreamStats:
    """Holds statistics of a stream: a mapping by name, a sequence by index, and an attribute for each.

    Sums of two have the same statistics. `search_dist` is always 0. `single_packet_heaps` counts the heaps that the user
    has taken. On a port, `batches`, `max_batch` and `worker_blocked` are 0.
    """

    __slots__ = ("_config", "_index", "_values")

    def __init__(self, config: Sequence[StreamStatConfig], values: Optional[Dict[str, int]] = None) -> None:
        self._config = list(config)
        self._index = {stat.name: i for i, stat in enumerate(self._config)}
        values = values or {}
        self._values = [values.get(stat.name, 0) for stat in self._config]

    @property
    def config(self) -> List[StreamStatConfig]:
        """Describes the statistics."""
        return list(self._config)

    def _at(self, key: Union[int, str]) -> int:
        if isinstance(key, str):
            return self._index[key]
        if not 0 <= key < len(self._values):
            raise IndexError(f"statistics: index {key} is not in 0 to {len(self._values) - 1}")
        return key

    def __getitem__(self, key: Union[int, str]) -> int:
        return self._values[self._at(key)]

    def __setitem__(self, key: Union[int, str], value: int) -> None:
        self._values[self._at(key)] = int(value)

    def __contains__(self, name: str) -> bool:
        return name in self._index

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the value of the statistic; `default` if there is none of this name."""
        return self[name] if name in self._index else default

    def keys(self) -> List[str]:
        """Returns the names."""
        return [stat.name for stat in self._config]

    def values(self) -> List[int]:
        """Returns the values, in the order of the names."""
        return list(self._values)

    def items(self) -> List[Tuple[str, int]]:
        """Returns names and values."""
        return list(zip(self.keys(), self._values))

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._values)

    def __add__(self, other: "StreamStats") -> "StreamStats":
        if not isinstance(other, StreamStats):
            return NotImplemented
        if self._config != other._config:
            raise ValueError("statistics: only those of streams with the same statistics can be added")
        total = StreamStats(self._config)
        total._values = [stat.combine(a, b) for stat, a, b in zip(self._config, self._values, other._values)]
        return total

    def __iadd__(self, other: "StreamStats") -> "StreamStats":
        self._values = (self + other)._values
        return self

    def __repr__(self) -> str:
        return f"StreamStats({dict(self.items())})"


def _attribute(index: int) -> property:
    def get(self: StreamStats) -> int:
        return self._values[index]

    def put(self: StreamStats, value: int) -> None:
        self._values[index] = int(value)

    return property(get, put, doc=f"The statistic {CORE_STATS[index].name}.")


for _i, _stat in enumerate(CORE_STATS):
    setattr(StreamStats, _stat.name, _attribute(_i))


def core_values(counters: Dict[str, int], stop_on_stop_item: bool) -> Dict[str, int]:
    """Returns a stream's counters as the statistics of every stream."""
    stopped = 1 if stop_on_stop_item and counters["stop_items"] else 0
    return {
        # The heap that ends the stream is not one of its heaps.
        "heaps": max(counters["heaps"] + counters["heaps_incomplete"] - stopped, 0),
        "incomplete_heaps_evicted": counters["heaps_evicted"],
        "incomplete_heaps_flushed": counters["heaps_flushed"],
        "packets": counters["packets"] - counters["packets_stopped"],
        "batches": counters["bursts"],
        "max_batch": counters["largest_burst"],
        "single_packet_heaps": counters["heaps_of_one_packet"],
        "worker_blocked": counters["blocked"],
    }
