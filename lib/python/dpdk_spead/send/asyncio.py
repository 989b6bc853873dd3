# SPDX-License-Identifier: BSD-3-Clause
"""Streams for asyncio: their calls return futures."""

import asyncio as _asyncio
from typing import Any, Deque, List, Optional, Tuple, Union
from collections import deque

from .._native import HeapReference
from . import _streams, _transports
from ._config import GroupMode
from ._heap import Heap, HeapReferenceList

__all__ = ["AsyncStream", "InprocStream", "Stream", "TcpStream", "UdpIbvStream", "UdpStream"]


class AsyncStream(_streams.BaseStream):
    """Sends heaps without waiting. Use it within one event loop at a time."""

    _started = 0  #: heaps and groups that were submitted
    _ended = 0  #: of them, those that are no longer in flight
    _loop: Optional[_asyncio.AbstractEventLoop] = None  #: that watches the descriptor

    @property
    def fd(self) -> int:
        """The descriptor that becomes readable when heaps have been sent."""
        return self._stream.fd

    @property
    def _active(self) -> int:
        return self._started - self._ended

    def async_send_heap(self, heap: Heap, cnt: int = -1, substream_index: int = 0,
                        rate: float = -1.0) -> "_asyncio.Future[int]":
        """Submits a heap, and returns a future of the bytes of its packets.

        The arguments are those of SyncStream.send_heap(). The future has an OSError if the heap cannot be sent;
        BlockingIOError if max_heaps are in flight. A cancelled future leaves the heap in flight.
        """
        loop, future = self._new_future()
        try:
            self._stream.submit_one(heap, cnt, substream_index, rate, future)
        except TypeError as error:
            raise _streams.refused(error, cnt, substream_index, rate) from None
        except OSError as error:
            future.set_exception(error)
            return future
        self._begun(loop)
        return future

    def async_send_heaps(self, heaps: Union[List[HeapReference], HeapReferenceList],
                         mode: GroupMode) -> "_asyncio.Future[int]":
        """Submits a group of heaps, all or none, and returns a future as async_send_heap()."""
        loop, future = self._new_future()
        try:
            self._stream.submit(_streams.references(heaps), _streams.is_round_robin(mode), future)
        except OSError as error:
            future.set_exception(error)
            return future
        self._begun(loop)
        return future

    def flush(self) -> None:
        """Waits until no heap is in flight, without the event loop."""
        self._stream.flush()
        self.process_callbacks()

    async def async_flush(self) -> None:
        """Waits until the heaps that were submitted before have been sent, or dropped."""
        if self._active == 0:
            return
        loop, future = self._new_future()
        self._flushes.append((self._started, future))
        self._watch(loop)
        await future

    def _new_future(self) -> Tuple[_asyncio.AbstractEventLoop, "_asyncio.Future[Any]"]:
        loop = _asyncio.get_event_loop()
        return loop, loop.create_future()

    @property
    def _flushes(self) -> "Deque[Tuple[int, _asyncio.Future[None]]]":
        return self.__dict__.setdefault("_waiting_flushes", deque())

    def _begun(self, loop: _asyncio.AbstractEventLoop) -> None:
        self._started += 1
        self._watch(loop)

    def _watch(self, loop: _asyncio.AbstractEventLoop) -> None:
        if self._loop is loop:
            return
        self._unwatch()
        # The loop has a stream as long as heaps are in flight.
        loop.add_reader(self._stream.fd, self.process_callbacks)
        self._loop = loop
        # Some may have been sent before the descriptor was asked for.
        loop.call_soon(self.process_callbacks)

    def _unwatch(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._stream.fd)
        self._loop = None

    def process_callbacks(self) -> None:
        """Settles the futures of heaps that have been sent. Event loops call it when `fd` is readable."""
        for future, sent, failure in self._stream.take():
            self._ended += 1
            if failure is None:
                _settle(future, sent, None)
            else:
                _settle(future, None, failure)
        while self._flushes and self._flushes[0][0] <= self._ended:
            _settle(self._flushes.popleft()[1], None, None)
        if self._active == 0:
            self._unwatch()

    def close(self) -> None:
        """Ends the stream, as BaseStream.close(), and settles the futures."""
        self._unwatch()
        self._stream.close()
        self.process_callbacks()


def _settle(future: "_asyncio.Future[Any]", result: Any, failure: Optional[BaseException]) -> None:
    """Gives a future its result, unless its user or its loop has ended it."""
    loop = future.get_loop()
    if loop.is_closed():
        return

    def settle() -> None:
        if future.done():
            return
        if failure is not None:
            future.set_exception(failure)
        else:
            future.set_result(result)

    try:
        running = _asyncio.get_running_loop()
    except RuntimeError:
        running = None  # type: ignore[assignment]
    if running is loop:
        settle()
    else:
        loop.call_soon_threadsafe(settle)


class UdpStream(_transports.UdpTransport, AsyncStream):
    __doc__ = _transports.UdpTransport.__doc__


class UdpIbvStream(_transports.UdpIbvTransport, AsyncStream):
    __doc__ = _transports.UdpIbvTransport.__doc__


class InprocStream(_transports.InprocTransport, AsyncStream):
    __doc__ = _transports.InprocTransport.__doc__


class TcpStream(_transports.TcpTransport, AsyncStream):
    __doc__ = _transports.TcpTransport.__doc__

    @classmethod
    async def connect(cls, *args: Any, **kwargs: Any) -> "TcpStream":
        """Refuses, as the class does."""
        return cls(*args, **kwargs)


class Stream(AsyncStream):
    __doc__ = _streams.Stream.__doc__

    def __init__(self, endpoints: Union[str, List[str]], interface: Optional[str] = None, **options: Any) -> None:
        self._stream = _streams.open_stream(endpoints, interface, options)

    def stop(self) -> None:
        """Gives up unsent heaps."""
        self._stream.stop()
