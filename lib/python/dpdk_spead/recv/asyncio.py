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
        self._waiters: Deque["asyncio.Future[Any]"] = collections.deque()

    async def get(self) -> Any:
        """Waits for the next heap. Raises Stopped at the end of the stream."""
        if not self._waiters:
            heap = self._native.try_get()
            if heap is not None:
                return heap
        loop = asyncio.get_running_loop()
        waiter: "asyncio.Future[Any]" = loop.create_future()
        if not self._waiters:
            loop.add_reader(self.fd, self._serve, loop)
        self._waiters.append(waiter)
        try:
            return await waiter
        finally:
            # A waiter that was cancelled is left in the queue: _serve() passes over it.
            if self._waiters and all(other.done() for other in self._waiters):
                self._waiters.clear()
                loop.remove_reader(self.fd)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Gives heaps to the coroutines that wait."""
        while self._waiters:
            waiter = self._waiters[0]
            if not waiter.done():
                try:
                    heap = self._native.try_get()
                except Exception as error:  # noqa: BLE001: it belongs to the waiting coroutine
                    waiter.set_exception(error)
                else:
                    if heap is None:
                        return
                    waiter.set_result(heap)
            self._waiters.popleft()
        loop.remove_reader(self.fd)

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.get()
        except Stopped:
            raise StopAsyncIteration from None
