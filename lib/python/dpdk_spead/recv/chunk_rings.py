# SPDX-License-Identifier: BSD-3-Clause
"""Rings of chunks that their users bring, for streams and alone."""

import asyncio
import collections
import weakref
from typing import Any, Callable, Deque, Tuple, Type

from .._native import Chunk, ChunkRing, Empty, Full, Stopped

__all__ = ["AsyncChunkRingbuffer", "Chunk", "ChunkRingPair", "ChunkRingbuffer"]

_Waiting = Deque["asyncio.Future[None]"]


def _chunk(value: Any) -> Chunk:
    if not isinstance(value, Chunk):
        raise TypeError(f"chunk ring: {value!r} is no Chunk")
    return value


class ChunkRingbuffer(ChunkRing):
    """Carries chunks between users and streams, and keeps them alive: the same objects come out that went in.

    A stream that puts a chunk in finds room always, beyond `maxsize` if need be, and never waits.
    """

    def get(self) -> Chunk:
        """Takes the oldest chunk. Waits for one. Raises Stopped at the end."""
        return self._get()

    def put(self, chunk: Chunk) -> None:
        """Puts a chunk in. Waits for room. Raises Stopped, and ValueError for a chunk without memory."""
        self._put(_chunk(chunk))

    def put_nowait(self, chunk: Chunk) -> None:
        """Puts a chunk in. Raises Full without room, Stopped, and ValueError for a chunk without memory."""
        super().put_nowait(_chunk(chunk))

    def __iter__(self) -> "ChunkRingbuffer":
        return self

    def __next__(self) -> Chunk:
        try:
            return self._get()
        except Stopped:
            raise StopIteration from None


class Turns:
    """Lets coroutines wait until a call does not raise `busy`, as soon as a descriptor is readable."""

    def __init__(self, fd: int, busy: Type[Exception]) -> None:
        self._fd = fd
        self._busy = busy
        self._waiting: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiting]" = weakref.WeakKeyDictionary()

    async def until_done(self, attempt: Callable[..., Any], *args: Any) -> Any:
        """Returns the result of the first attempt that is not too early. Lets other coroutines run before it."""
        await asyncio.sleep(0)
        while True:
            try:
                return attempt(*args)
            except self._busy:
                await self._wait()

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        waiting = self._waiting.setdefault(loop, collections.deque())
        future: "asyncio.Future[None]" = loop.create_future()
        waiting.append(future)
        if len(waiting) == 1:
            loop.add_reader(self._fd, self._wake, loop)
        try:
            await future
        except BaseException:
            if future in waiting:
                self._leave(loop, waiting, future)
            elif not future.cancelled():
                # Another one has its turn now. The descriptor may be clear.
                self._wake(loop)
            raise

    def _leave(self, loop: asyncio.AbstractEventLoop, waiting: _Waiting, future: "asyncio.Future[None]") -> None:
        waiting.remove(future)
        if not waiting:
            loop.remove_reader(self._fd)

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        waiting = self._waiting.get(loop)
        if not waiting:
            return
        future = waiting[0]
        self._leave(loop, waiting, future)
        if not future.done():
            future.set_result(None)


class AsyncChunkRingbuffer(ChunkRingbuffer):
    """Does what ChunkRingbuffer does, for coroutines."""

    def __init__(self, maxsize: int) -> None:
        super().__init__(maxsize)
        self._getting = Turns(self.data_fd, Empty)
        self._putting = Turns(self.space_fd, Full)

    async def get(self) -> Chunk:  # type: ignore[override]
        """Takes the oldest chunk. Waits for one. Raises Stopped at the end."""
        return await self._getting.until_done(self.get_nowait)

    async def put(self, chunk: Chunk) -> None:  # type: ignore[override]
        """Puts a chunk in. Waits for room. Raises Stopped, and ValueError for a chunk without memory."""
        await self._putting.until_done(self.put_nowait, chunk)

    def __aiter__(self) -> "AsyncChunkRingbuffer":
        return self

    async def __anext__(self) -> Chunk:
        try:
            return await self.get()
        except Stopped:
            raise StopAsyncIteration from None


class ChunkRingPair:
    """Has a ring of free chunks, and one of those with data."""

    def __init__(self, data_ringbuffer: ChunkRing, free_ringbuffer: ChunkRing) -> None:
        for name, ring in [("data_ringbuffer", data_ringbuffer), ("free_ringbuffer", free_ringbuffer)]:
            if not isinstance(ring, ChunkRing):
                raise TypeError(f"{name}: {ring!r} is no ChunkRingbuffer")
        self._rings: Tuple[ChunkRing, ChunkRing] = (data_ringbuffer, free_ringbuffer)

    @property
    def data_ringbuffer(self) -> Any:
        """Is the ring that streams put chunks with data into."""
        return self._rings[0]

    @property
    def free_ringbuffer(self) -> Any:
        """Is the ring that streams take chunks from."""
        return self._rings[1]

    def add_free_chunk(self, chunk: Chunk) -> None:
        """Zeroes `chunk.present`, and gives the chunk to the streams. Raises Full if the ring is.

        Does nothing when the ring has been stopped.
        """
        chunk._zero()
        try:
            self.free_ringbuffer.put_nowait(chunk)
        except Stopped:
            pass

    def _stop_rings(self) -> None:
        for ring in self._rings:
            ring.stop()
