# SPDX-License-Identifier: BSD-3-Clause
"""Chunks whose heaps a declared placement places, as numpy arrays."""

import atexit
import collections.abc
import math
import weakref
from typing import Any, AsyncIterator, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

from .. import _native
from .._native import Empty, Stopped
from ._chunk_settings import SOURCE, WINDOW, settings_of
from .chunk_rings import Turns
from .placement import Placement

__all__ = ["ChunkStream", "ChunkStreamGroup", "Chunks", "ReceivedChunk"]


class ReceivedChunk:
    """Is a chunk that was taken: numpy arrays over the memory that lcores wrote to, without a copy.

    It goes back for new heaps with release(), at the end of `with`, or with its last reference. Arrays that are left,
    and their slices, keep it: they never change under you.
    """

    def __init__(self, lent: Any, shapes: "_Shapes") -> None:
        self._lent: Any = lent
        self._shapes = shapes
        #: Is the number of the chunk in time; gaps are chunks that nothing came for.
        self.id: int = lent.id
        #: Is the number that the stream which filled it was given.
        self.stream: int = lent.stream
        #: Counts the heaps that arrived as a whole, and those that it has room for.
        self.heaps_present: int = lent.heaps_present
        self.heaps_expected: int = lent.heaps_expected
        #: Counts the packets in it, and those of them that two lcores placed at the same time.
        self.packets: int = lent.packets
        self.doubled: int = lent.doubled
        #: Tell when the first and the last packet came, in nanoseconds since 1970; 0: there was none.
        self.first_time: int = lent.first_time
        self.last_time: int = lent.last_time
        #: Is the place of its memory in the `buffers` that were given.
        self.index: int = lent.index

    def _held(self) -> Any:
        if self._lent is None:
            raise ValueError(f"chunk {self.id}: it was released; copy what you need before")
        return self._lent

    @property
    def complete(self) -> bool:
        """Says whether all heaps are there."""
        return self.heaps_present == self.heaps_expected

    @property
    def data(self) -> np.ndarray:
        """Is the payload: by the axes and then the bytes (or values of `dtype`) of a heap.

        It has one dimension where the placement does not lay heaps in order. It is undefined where `present` is 0.
        """
        return self._shapes.data(self._held().data())

    @property
    def present(self) -> np.ndarray:
        """Is 1 for each heap that arrived, by the axes; with packet presence, for each packet, with one axis more."""
        return self._shapes.present(self._held().present())

    @property
    def extra(self) -> np.ndarray:
        """Has the extra values of each heap, by the axes: of one, numbers; of several, records of `x0`, `x1`..."""
        return self._shapes.extra(self._held().extra())

    def release(self) -> None:
        """Gives the chunk back, as soon as no array of it is left."""
        self._lent = None

    def __enter__(self) -> "ReceivedChunk":
        return self

    def __exit__(self, *_: Any) -> None:
        self.release()

    def __repr__(self) -> str:
        state = "" if self._lent is not None else ", released"
        return f"<chunk {self.id}: {self.heaps_present} of {self.heaps_expected} heaps{state}>"


class _Shapes:
    """Knows how arrays of a placement's chunks look."""

    def __init__(self, placement: Placement, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        if self._dtype.hasobject or self._dtype.itemsize == 0:
            raise ValueError(f"dtype {self._dtype} has Python objects, or no bytes; give a type of numbers, as int8")
        counts = tuple(count for _, count in placement.axes)
        whole = placement.data_shape
        if placement.heap_bytes % self._dtype.itemsize != 0:
            raise ValueError(
                f"dtype {self._dtype} has {self._dtype.itemsize} bytes, and the {placement.heap_bytes} bytes of a heap "
                "are no multiple of that"
            )
        self._data = None if whole is None else (*whole[:-1], whole[-1] // self._dtype.itemsize)
        packets = placement.present_bytes // placement.heaps
        self._present = counts if packets == 1 else (*counts, packets)
        bits = placement.extras
        kinds = [f"u{b // 8}" for b in bits]
        records: Any = [(f"x{i}", kind) for i, kind in enumerate(kinds)]
        self._extra_type = np.dtype(kinds[0] if len(kinds) == 1 else records)
        self._extra = counts if bits else (0,)

    def data(self, raw: np.ndarray) -> np.ndarray:
        if raw.nbytes % self._dtype.itemsize != 0:
            return raw
        values = raw.view(self._dtype)
        return values if self._data is None else values.reshape(self._data)

    def present(self, raw: np.ndarray) -> np.ndarray:
        return raw.reshape(self._present)

    def extra(self, raw: np.ndarray) -> np.ndarray:
        return raw.view(self._extra_type).reshape(self._extra) if raw.size else raw


def _each(buffers: Any) -> Iterator[Any]:
    if not isinstance(buffers, collections.abc.Iterable):
        raise TypeError(f"buffers is {buffers!r}; give a list with an array for each chunk")
    return iter(buffers)


class Chunks:
    """Holds chunks: free ones, those that streams fill, and those that wait for you. Any thread may take some.

    `chunks`: how many, in memory of the library's (huge pages where some are free). `buffers`: writable contiguous
    arrays of Placement.bytes instead, which get the payload.
    """

    def __init__(
        self,
        placement: Union[Placement, str],
        chunks: int = 8,
        *,
        buffers: Optional[Iterable[Any]] = None,
        dtype: Any = np.uint8,
    ) -> None:
        self.placement = Placement(placement)
        self._made = self.placement._made()
        self._shapes = _Shapes(self.placement, dtype)
        if not hasattr(chunks, "__index__"):
            raise TypeError(f"chunks: {chunks!r} is no whole number, and no Chunks")
        if not 0 <= chunks < 1 << 32:
            raise ValueError(f"chunks is {chunks}; give the number of chunks, as 8")
        if buffers is None:
            self._ring = _native.LentChunkRing(self._made, chunks)
        else:
            extra = self.placement.extra_bytes
            parts = [
                (b, np.zeros(self.placement.present_bytes, np.uint8), np.zeros(extra, np.uint8) if extra else None)
                for b in _each(buffers)
            ]
            self._ring = _native.LentChunkRing(self._made, parts)
        self._turns: Optional[Turns] = None

    def get(self, timeout: Optional[float] = None) -> ReceivedChunk:
        """Waits for the next chunk. Raises Stopped at the end, and Empty when `timeout` seconds are over."""
        if timeout is not None and math.isnan(timeout):
            raise ValueError("timeout is nan; give seconds, or None for no limit")
        lent = self._ring.get(timeout)
        if lent is None:
            raise Empty(f"chunks: none came within {timeout} s")
        return ReceivedChunk(lent, self._shapes)

    def get_nowait(self) -> ReceivedChunk:
        """Takes a waiting chunk. Raises Empty and Stopped."""
        lent = self._ring.try_get()
        if lent is None:
            raise Empty("chunks: none waits")
        return ReceivedChunk(lent, self._shapes)

    async def aget(self) -> ReceivedChunk:
        """Does what get() does, for coroutines."""
        if self._turns is None:
            self._turns = Turns(self.fd, Empty)
        return await self._turns.until_done(self.get_nowait)

    def __iter__(self) -> Iterator[ReceivedChunk]:
        while True:
            try:
                chunk = self.get()
            except Stopped:
                return
            yield chunk
            del chunk

    async def __aiter__(self) -> AsyncIterator[ReceivedChunk]:
        while True:
            try:
                chunk = await self.aget()
            except Stopped:
                return
            yield chunk
            del chunk

    @property
    def fd(self) -> int:
        """Is a descriptor that is readable when a chunk or the end may have come after get_nowait() found none."""
        return self._ring.fd

    @property
    def ended(self) -> bool:
        """Says whether all streams have ended, and all their chunks were taken."""
        return self._ring.ended

    @property
    def places(self) -> Dict[str, int]:
        """Counts the chunks by where they are: free, open, waiting, held."""
        return self._ring.counts()

    def stop(self) -> None:
        """Ends the taking of chunks at once. Those that wait stay."""
        self._ring.stop()

    def __repr__(self) -> str:
        return f"<chunks: {', '.join(f'{n} {name}' for name, n in self.places.items())}>"


class _Taking:
    """Takes chunks from `chunks`, for streams and groups."""

    chunks: Chunks

    def get(self, timeout: Optional[float] = None) -> ReceivedChunk:
        """Waits for the next chunk. Raises Stopped at the end, and Empty when `timeout` seconds are over."""
        return self.chunks.get(timeout)

    def get_nowait(self) -> ReceivedChunk:
        """Takes a waiting chunk. Raises Empty and Stopped."""
        return self.chunks.get_nowait()

    async def aget(self) -> ReceivedChunk:
        """Does what get() does, for coroutines."""
        return await self.chunks.aget()

    def __iter__(self) -> Iterator[ReceivedChunk]:
        return iter(self.chunks)

    def __aiter__(self) -> AsyncIterator[ReceivedChunk]:
        return self.chunks.__aiter__()

    def stop(self) -> None:
        """Receives no more, and hands the open chunks over."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()


def _chunks_of(
    placement: Union[Placement, str, None], chunks: Union[int, Chunks], buffers: Any, dtype: Any
) -> Tuple[Chunks, Placement]:
    if isinstance(chunks, Chunks):
        return chunks, chunks.placement if placement is None else Placement(placement)
    if placement is None:
        raise ValueError('chunk stream: it has no placement; give one, as "heap 1024; time: item 0x1600 / 4096 [512]"')
    made = Placement(placement)
    return Chunks(made, chunks, buffers=buffers, dtype=dtype), made


_live: "weakref.WeakSet[ChunkStream]" = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """Ends all streams before the interpreter does."""
    for stream in list(_live):
        if stream._native is not None:
            stream.stop()


class ChunkStream(_Taking):
    """Receives heaps into chunks, each at the place that a placement declares. Iterate over it, or get() chunks.

    `placement`: a Placement, or its text. `chunks`: how many; or Chunks that several streams fill. `buffers`, `dtype`:
    see Chunks.

    Its packets come from `endpoints` ("239.10.10.0+15:7148") on `interface`: through DPDK, or with backend="kernel"
    through sockets. Otherwise from an InprocQueue (`queue`), packets in memory (`buffer`), a bound UDP `socket`, or a
    file (`pcap`): of that, all UDP packets, or those to `endpoints`. `second_path`: a SecondPath that brings copies of
    them. `format`: of packets that are not SPEAD (docs/formats.md). `filter`: an expression (docs/hooks.md).

    `window` chunks are open at a time. `lossless`: sources that can wait do so for each other, at most `patience`
    seconds (0: for ever). `timeout`: hands a chunk over after so many seconds without a packet. `max_jump`: chunks past
    the window that a single packet is believed; 0: any number. `back_fill`: chunks that nothing came for come, too.
    `on_full`: "block", "drop", or by the source. `lcores`: CPUs. `stream`: a number, for ReceivedChunk.stream.
    """

    _native: Any = None

    def __init__(
        self,
        placement: Union[Placement, str, None] = None,
        *,
        chunks: Union[int, Chunks] = 8,
        buffers: Optional[Iterable[Any]] = None,
        dtype: Any = np.uint8,
        start: bool = True,
        **settings: Any,
    ) -> None:
        all_settings = settings_of("ChunkStream", settings)
        self.chunks, self.placement = _chunks_of(placement, chunks, buffers, dtype)
        _live.add(self)
        self._native = _native.ChunkStream(all_settings, self.placement._made(), self.chunks._ring)
        if start:
            self.start()

    @property
    def name(self) -> str:
        """Is its name in logs and reports."""
        return self._native.name

    def start(self) -> None:
        """Receives (again)."""
        self._native.start()

    def stop(self) -> None:
        """Receives no more, and hands the open chunks over."""
        self._native.stop()

    @property
    def counters(self) -> Dict[str, Any]:
        """Counts since it was made (docs/counters.md): of packets, each is in exactly one; of chunks."""
        return self._native.stats()

    def __repr__(self) -> str:
        c = self.counters
        return (
            f"<chunk stream {self.name}: {c['packets_placed']} of {c['packets']} packets placed, "
            f"{c['chunks_handed_over']} chunks handed over, {c['chunks_complete']} of {c['chunks_taken']} taken ones "
            "complete>"
        )


class ChunkStreamGroup(_Taking):
    """Lets several streams fill the same chunks. add() them, then start(). Settings of the window are its own."""

    def __init__(
        self,
        placement: Union[Placement, str, None] = None,
        *,
        chunks: Union[int, Chunks] = 8,
        buffers: Optional[Iterable[Any]] = None,
        dtype: Any = np.uint8,
        backend: str = "port",
        **window: Any,
    ) -> None:
        self.chunks, self.placement = _chunks_of(placement, chunks, buffers, dtype)
        self._backend = backend
        settings = settings_of("ChunkStreamGroup", window, WINDOW)
        self._native = _native.ChunkGroup(settings, backend == "port", self.placement._made(), self.chunks._ring)
        self.streams: List[ChunkStream] = []

    def add(self, *, placement: Union[Placement, str, None] = None, **settings: Any) -> ChunkStream:
        """Adds a stream, with the settings of a ChunkStream's source. A placement differs in `constant` terms alone."""
        member = ChunkStream.__new__(ChunkStream)
        settings.setdefault("backend", self._backend)
        own = None if placement is None else Placement(placement)
        member.chunks = self.chunks
        _live.add(member)
        member.placement = own or self.placement
        all_settings = settings_of("a stream of a group", settings, SOURCE)
        member._native = self._native.add(all_settings, None if own is None else own._made())
        self.streams.append(member)
        return member

    def start(self) -> None:
        """Starts all streams at once; those that have ended, again."""
        self._native.start()

    def stop(self) -> None:
        """Stops all streams, and hands the open chunks over."""
        self._native.stop()

    def __repr__(self) -> str:
        return f"<group of {len(self.streams)} chunk streams: {self.chunks!r}>"
