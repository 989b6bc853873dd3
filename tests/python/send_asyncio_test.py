# SPDX-License-Identifier: BSD-3-Clause
"""Streams whose calls return futures."""

import asyncio
import gc
import socket
import weakref

import numpy as np
import pytest

import dpdk_spead as ds
from dpdk_spead import send
from dpdk_spead.send import asyncio as send_asyncio

POOL = ds.ThreadPool()


def heap_of(n):
    heap = send.Heap()
    heap.add_item(ds.Item(0x1000, "x", "", (n,), np.uint8, value=np.zeros(n, np.uint8)))
    return heap


def size_of(heap):
    return len(b"".join(send.PacketGenerator(heap, 1, 1472)))


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 60))


def stream_of(**options):
    return send_asyncio.InprocStream(POOL, [ds.InprocQueue(), ds.InprocQueue()], send.StreamConfig(**options))


def test_futures_have_the_bytes():
    async def main():
        stream = stream_of()
        heap = heap_of(3000)
        assert await stream.async_send_heap(heap, substream_index=1) == size_of(heap)
        group = [send.HeapReference(heap), send.HeapReference(heap, substream_index=1)]
        assert await stream.async_send_heaps(group, send.GroupMode.ROUND_ROBIN) == 2 * size_of(heap)
        assert await stream.async_send_heaps(send.HeapReferenceList(group), send.GroupMode.SERIAL) == 2 * size_of(heap)
        assert stream._active == 0 and stream._loop is None
        assert stream.num_substreams == 2
        assert stream.fd >= 0

    run(main())


def test_many_heaps_in_turn():
    async def main():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.bind(("127.0.0.1", 0))
            stream = send_asyncio.UdpStream(POOL, [sock.getsockname()], send.StreamConfig(max_heaps=4))
            await many(stream)

    async def many(stream):
        heap = heap_of(100)
        pending = set()
        for _ in range(5000):
            if len(pending) == 4:
                _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            pending.add(stream.async_send_heap(heap))
        await stream.async_flush()
        assert all(future.done() and not future.exception() for future in pending)
        assert stream.stats()["heaps"] == 5000

    run(main())


def test_errors_come_by_the_future():
    async def main():
        stream = stream_of(rate=1, max_heaps=2)
        heap = heap_of(1 << 20)
        with pytest.raises(OSError, match="substream 2"):
            await stream.async_send_heap(heap, substream_index=2)
        futures = [stream.async_send_heap(heap) for _ in range(3)]
        with pytest.raises(BlockingIOError):
            await futures[2]
        with pytest.raises(OSError, match="empty"):
            await stream.async_send_heaps([], send.GroupMode.SERIAL)
        with pytest.raises(TypeError):
            stream.async_send_heap("no heap")
        flush = asyncio.ensure_future(stream.async_flush())
        await asyncio.sleep(0)
        stream._stream.stop()
        await flush
        for future in futures[:2]:
            with pytest.raises(OSError, match="ended"):
                await future

    run(main())


def test_a_cancelled_future_leaves_the_heap_in_flight():
    async def main():
        stream = stream_of(rate=1e6)
        array = heap_of(200_000)
        alive = weakref.ref(array)
        future = stream.async_send_heap(array)
        del array
        future.cancel()
        with pytest.raises(asyncio.CancelledError):
            await future
        assert stream._active == 1
        await stream.async_flush()
        assert stream._active == 0
        assert stream.stats()["heaps"] == 1
        gc.collect()
        assert alive() is None

    run(main())


def test_flush_waits_without_the_loop():
    async def main():
        stream = stream_of(rate=1e6)
        future = stream.async_send_heap(heap_of(100_000))
        stream.flush()
        assert future.done() and stream._active == 0

    run(main())


def test_closing_settles_the_futures():
    async def main():
        stream = stream_of(rate=1e6)
        sent, late = stream.async_send_heap(heap_of(10)), stream.async_send_heap(heap_of(10))
        flush = asyncio.ensure_future(stream.async_flush())
        await asyncio.sleep(0)
        stream.close()
        await flush
        assert await sent == await late
        with pytest.raises(OSError, match="closed"):
            await stream.async_send_heap(heap_of(1))

    run(main())


def test_one_loop_after_the_other():
    stream = stream_of()
    heap = heap_of(1000)

    async def main():
        return await stream.async_send_heap(heap)

    assert run(main()) == run(main()) == size_of(heap)

    async def leave():
        # The loop ends before the heap.
        stream.async_send_heap(heap_of(1000))

    slow = stream_of(rate=1e6)
    stream = slow
    asyncio.run(leave())
    assert run(main()) == size_of(heap)


def test_tcp_is_refused():
    async def main():
        with pytest.raises(OSError, match="UdpStream"):
            await send_asyncio.TcpStream.connect(POOL, [("127.0.0.1", 1)])

    run(main())
