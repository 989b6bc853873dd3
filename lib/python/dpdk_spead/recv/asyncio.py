# SPDX-License-Identifier: BSD-3-Clause
"""Streams whose heaps coroutines wait for."""

import asyncio
import collections
from typing import Any, Deque

from .._native import Stopped
from . import _stream
from .chunk_rings import AsyncChunkRingbuffer as ChunkRingbuffer

__all__ = ["ChunkRingbuffer", "Stream"]


class Stream(_stream.Stream):
    """Receives heaps for coroutines of one event loop. Several may wait at once, and are served in their order."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiters: Deque["asyncio.Future[None]"] = collections.deque()

    async def get(self) -> Any:
        """Waits for the next heap. Raises Stopped at the end of the stream.

        Lets other coroutines run first, also where a heap is there. A cancelled call takes no heap. Raises RuntimeError
        while coroutines of another event loop wait.
        """
        loop = asyncio.get_running_loop()
        # Of a sender that is faster, a heap is always there: timers and cancellations would never have a turn.
        await asyncio.sleep(0)
        if not self._has_waiters(loop):
            heap = self._native.try_get()
            if heap is not None:
                return heap
            loop.add_reader(self.fd, self._wake)
        turn: "asyncio.Future[None]" = loop.create_future()
        self._waiters.append(turn)
        try:
            while True:
                await turn
                heap = self._native.try_get()
                if heap is not None:
                    return heap
                turn = self._waiters[0] = loop.create_future()
        finally:
            self._leave(turn)

    def _has_waiters(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Returns whether coroutines wait in this loop. Raises RuntimeError if some wait in another one."""
        if self._waiters and (other := self._waiters[0].get_loop()) is not loop:
            if not other.is_closed():
                raise RuntimeError("stream: coroutines of another event loop wait for its heaps; "
                                   "use the stream in one loop at a time")
            self._waiters.clear()  # nothing ends those of a closed loop
        return bool(self._waiters)

    def _wake(self) -> None:
        """Lets the first coroutine look for a heap: the descriptor is readable as long as one waits, and at the end."""
        if not self._waiters[0].done():
            self._waiters[0].set_result(None)

    def _leave(self, turn: "asyncio.Future[None]") -> None:
        if turn not in self._waiters:
            return
        self._waiters.remove(turn)
        if not self._waiters and not turn.get_loop().is_closed():
            turn.get_loop().remove_reader(self.fd)

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.get()
        except Stopped:
            raise StopAsyncIteration from None
