# SPDX-License-Identifier: BSD-3-Clause
"""Configurations of senders."""

import enum
import math
import operator
from typing import Any, ClassVar, List, Optional, Tuple

from .. import _native
from ..pools import ThreadPool

Endpoints = List[Tuple[str, int]]


class RateMethod(enum.Enum):
    """Asks for a way to keep to the rate. All mean the library's own, which needs no hardware."""

    SW = 0
    HW = 1
    AUTO = 2


class GroupMode(enum.Enum):
    """Says how the heaps of a group follow each other: a packet of each in turn, or one heap after the other."""

    ROUND_ROBIN = 0
    SERIAL = 1


def size(name: str, value: Any, least: int = 0) -> int:
    """Returns a size. Raises TypeError for what is none, as a negative one, and ValueError below `least`."""
    number = operator.index(value)
    if number < 0:
        raise TypeError(f"{name} is {number}; it cannot be negative")
    if number < least:
        raise ValueError(f"{name} is {number}; give at least {least}")
    return number


class StreamConfig:
    """Describes a sender, whatever its transport.

    `max_packet_size`: bytes of UDP payload; None: 1472, and 1452 to addresses of IPv6. `rate`: bytes of it per second;
    0: unlimited. `burst_size`: bytes sent between two looks at the clock. `burst_rate_ratio`: how much faster late
    packets catch up. `max_heaps`: in flight. Raises ValueError, and TypeError for negative sizes.
    """

    DEFAULT_MAX_PACKET_SIZE: ClassVar[int] = 1472
    DEFAULT_MAX_HEAPS: ClassVar[int] = 4
    DEFAULT_BURST_SIZE: ClassVar[int] = 65536
    DEFAULT_BURST_RATE_RATIO: ClassVar[float] = 1.05
    DEFAULT_RATE_METHOD: ClassVar[RateMethod] = RateMethod.AUTO

    __slots__ = ("_max_packet_size", "_rate", "_burst_size", "_max_heaps", "_burst_rate_ratio", "_rate_method")

    def __init__(self, *, max_packet_size: Optional[int] = None, rate: float = 0.0,
                 burst_size: int = DEFAULT_BURST_SIZE, max_heaps: int = DEFAULT_MAX_HEAPS,
                 burst_rate_ratio: float = DEFAULT_BURST_RATE_RATIO,
                 rate_method: RateMethod = DEFAULT_RATE_METHOD) -> None:
        self._max_packet_size: Optional[int] = None
        if max_packet_size is not None:
            self.max_packet_size = max_packet_size
        self.rate = rate
        self.burst_size = burst_size
        self.max_heaps = max_heaps
        self.burst_rate_ratio = burst_rate_ratio
        self.rate_method = rate_method

    @property
    def max_packet_size(self) -> int:
        """The bytes of a packet at most: UDP payload. To addresses of IPv6 it is 1452 if no value was set."""
        return self.DEFAULT_MAX_PACKET_SIZE if self._max_packet_size is None else self._max_packet_size

    @max_packet_size.setter
    def max_packet_size(self, value: int) -> None:
        self._max_packet_size = size("max_packet_size", value, 56)

    @property
    def rate(self) -> float:
        """The bytes of UDP payload per second; 0: unlimited."""
        return self._rate

    @rate.setter
    def rate(self, value: float) -> None:
        number = float(value)
        if not math.isfinite(number) or number < 0:
            raise ValueError(f"rate is {number}; give bytes per second, or 0 for no limit")
        self._rate = number

    @property
    def burst_size(self) -> int:
        """The bytes that are sent between two looks at the clock."""
        return self._burst_size

    @burst_size.setter
    def burst_size(self, value: int) -> None:
        self._burst_size = size("burst_size", value)

    @property
    def max_heaps(self) -> int:
        """The heaps in flight at most."""
        return self._max_heaps

    @max_heaps.setter
    def max_heaps(self, value: int) -> None:
        self._max_heaps = size("max_heaps", value, 1)

    @property
    def burst_rate_ratio(self) -> float:
        """The rate at which late packets catch up, by `rate`."""
        return self._burst_rate_ratio

    @burst_rate_ratio.setter
    def burst_rate_ratio(self, value: float) -> None:
        number = float(value)
        if not math.isfinite(number) or number < 1:
            raise ValueError(f"burst_rate_ratio is {number}; give at least 1")
        self._burst_rate_ratio = number

    @property
    def rate_method(self) -> RateMethod:
        """How the rate is kept; without effect."""
        return self._rate_method

    @rate_method.setter
    def rate_method(self, value: RateMethod) -> None:
        if not isinstance(value, RateMethod):
            raise TypeError(f"rate_method is {value!r}; give a RateMethod")
        self._rate_method = value

    @property
    def burst_rate(self) -> float:
        """The bytes per second at which late packets catch up."""
        return self.rate * self.burst_rate_ratio

    def __repr__(self) -> str:
        names = ("max_packet_size", "rate", "burst_size", "max_heaps", "burst_rate_ratio")
        return f"StreamConfig({', '.join(f'{n}={getattr(self, n)!r}' for n in names)})"


class UdpIbvConfig:
    """Describes a sender on a port: the destinations, and the network interface by its address or name.

    `memory_regions`: objects whose memory the port reads directly where it can; heaps from other memory are copied.
    `buffer_size`, `comp_vector` and `max_poll` are accepted, and have no effect.
    """

    DEFAULT_BUFFER_SIZE: ClassVar[int] = 512 * 1024
    DEFAULT_MAX_POLL: ClassVar[int] = 10

    def __init__(self, *, endpoints: Endpoints = (), interface_address: str = "",  # type: ignore[assignment]
                 buffer_size: int = DEFAULT_BUFFER_SIZE, ttl: int = 1, comp_vector: int = 0,
                 max_poll: int = DEFAULT_MAX_POLL, memory_regions: Any = ()) -> None:
        self.endpoints: Endpoints = list(endpoints)
        self.interface_address = interface_address
        self.buffer_size = buffer_size
        self.ttl = ttl
        self.comp_vector = int(comp_vector)
        self.max_poll = max_poll
        self.memory_regions: List[Any] = list(memory_regions)

    @property
    def buffer_size(self) -> int:
        """A size without effect; 0: the default."""
        return self._buffer_size

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        self._buffer_size = size("buffer_size", value) or self.DEFAULT_BUFFER_SIZE

    @property
    def ttl(self) -> int:
        """The TTL of packets."""
        return self._ttl

    @ttl.setter
    def ttl(self, value: int) -> None:
        number = size("ttl", value)
        if number > 255:
            raise ValueError(f"ttl is {number}; give 0 to 255")
        self._ttl = number

    @property
    def max_poll(self) -> int:
        """A count without effect."""
        return self._max_poll

    @max_poll.setter
    def max_poll(self, value: int) -> None:
        number = int(value)
        if number < 1:
            raise ValueError(f"max_poll is {number}; give at least 1")
        self._max_poll = number


def native_config(thread_pool: ThreadPool, config: StreamConfig) -> "_native.SendConfig":
    """Returns the configuration as the library takes it. The pool's affinity names the CPU."""
    if not isinstance(thread_pool, ThreadPool):
        raise TypeError(f"the first argument is {type(thread_pool).__name__}; give a ThreadPool")
    if not isinstance(config, StreamConfig):
        raise TypeError(f"config is {type(config).__name__}; give a StreamConfig")
    native = _native.SendConfig()
    if config._max_packet_size is not None:
        native.max_packet_size = min(config._max_packet_size, 0xFFFFFFFF)
    native.rate = config.rate
    native.burst_size = max(config.burst_size, 1)
    native.burst_rate_ratio = config.burst_rate_ratio
    native.max_heaps = config.max_heaps
    if thread_pool.affinity:
        native.lcore = thread_pool.affinity[0]
    return native
