# SPDX-License-Identifier: BSD-3-Clause
"""Threads, memory and contexts, as spead2's users name them."""

import logging
import operator
import os
from typing import Any, List, Optional, Sequence

from ._arguments import by_name

_log = logging.getLogger("dpdk_spead")

#: Ask for copies into the cache, or past it. Both are accepted: a stream chooses by the memory that it writes.
MEMCPY_STD = 0
MEMCPY_NONTEMPORAL = 1


class ThreadPool:
    """Names the CPUs of streams. Each stream without a port has a thread of its own; on a port it has lcores.

    `affinity`: the CPUs on which streams of this pool may run; empty: any.
    """

    def __init__(self, threads: int = 1, affinity: Sequence[int] = ()) -> None:
        if not hasattr(threads, "__index__"):
            raise TypeError(f"thread pool: `threads` is {threads!r}; give a whole number")
        if threads < 1:
            raise ValueError(f"thread pool: it has {threads} threads; give at least 1")
        self.threads = int(threads)
        try:
            self.affinity: List[int] = [operator.index(cpu) for cpu in affinity]
        except TypeError:
            raise TypeError(f"thread pool: `affinity` is {affinity!r}; give a list of CPUs, as [2, 3]") from None
        for cpu in self.affinity:
            if not 0 <= cpu < 4096:
                raise ValueError(f"thread pool: the CPU {cpu} of `affinity` does not exist; CPUs count from 0")

    def stop(self) -> None:
        """Does nothing: each stream ends its own thread."""

    @staticmethod
    def set_affinity(core: int) -> None:
        """Binds the calling thread to a CPU. Logs a warning when it may not run there."""
        try:
            os.sched_setaffinity(0, {core})
        except (OSError, ValueError) as error:
            _log.warning("the thread cannot be bound to CPU %s: %s", core, error)

    def __repr__(self) -> str:
        return f"ThreadPool({self.threads}, {self.affinity})"


class MemoryAllocator:
    """Stands for the memory of a stream's heaps, which the library maps."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class MmapAllocator(MemoryAllocator):
    """Stands for mapped memory. Huge pages are used if enough are free, whatever `prefer_huge` says."""

    def __init__(self, flags: int = 0, prefer_huge: bool = False) -> None:
        self.flags = flags
        self.prefer_huge = prefer_huge


def _size(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"memory pool: {name} is {value!r}; give a whole number") from None
    if number < 0:
        raise ValueError(f"memory pool: {name} is {number}, which is negative")
    return number


class MemoryPool(MemoryAllocator):
    """Sizes the memory of a stream's heaps: `max_free` buffers of `upper` bytes, in one mapping.

    MemoryPool(lower, upper, max_free, initial, allocator=None), or with a thread pool before them and `low_water` after
    `initial`. Each stream has a memory of its own. `initial` buffers of it are resident when the stream gets its first
    reader, the others as heaps first use them; on a port all are. `low_water` has no effect.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = ["lower", "upper", "max_free", "initial", "allocator"]
        if "thread_pool" in kwargs or (args and isinstance(args[0], ThreadPool)):
            names = ["thread_pool", "lower", "upper", "max_free", "initial", "low_water", "allocator"]
        values = by_name("MemoryPool", names, args, kwargs)
        missing = [name for name in names[:-1] if name not in values]
        if missing:
            raise TypeError(f"MemoryPool needs {', '.join(missing)}")
        self.lower, self.upper, self.max_free, self.initial, self.low_water = (
            _size(name, values.get(name, 0)) for name in ("lower", "upper", "max_free", "initial", "low_water"))
        self.allocator: Optional[MemoryAllocator] = values.get("allocator")
        if not isinstance(self.allocator, (MemoryAllocator, type(None))):
            raise TypeError(f"memory pool: allocator is {self.allocator!r}; give a MmapAllocator, or leave it out")
        self.warn_on_empty = True
        if self.upper * max(self.max_free, self.initial, 1) > 1 << 46:
            raise ValueError(f"memory pool: {self.max_free} buffers of {self.upper} bytes are more than machines have")
        if self.upper < self.lower:
            raise ValueError(f"memory pool: upper is {self.upper}, and lower {self.lower}; upper is at least lower")

    @property
    def bytes(self) -> int:
        """The memory that the pool stands for."""
        return self.upper * max(self.max_free, self.initial, 1)

    def __repr__(self) -> str:
        return f"MemoryPool({self.lower}, {self.upper}, {self.max_free}, {self.initial})"


class IbvContext:
    """Does nothing: a port is opened when a stream names its interface."""

    def __init__(self, interface_address: str) -> None:
        self.interface_address = interface_address

    def reset(self) -> None:
        """Does nothing."""


def parse_range_list(ranges: str) -> List[int]:
    """Returns the numbers of a list as "1,4-6". Raises ValueError."""
    numbers: List[int] = []
    for part in ranges.split(",") if ranges else []:
        first, dash, last = part.partition("-")
        numbers.extend(range(int(first), int(last) + 1) if dash else [int(first)])
    return numbers
