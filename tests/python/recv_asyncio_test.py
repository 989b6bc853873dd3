# SPDX-License-Identifier: BSD-3-Clause
"""Streams of heaps in coroutines."""

import asyncio
import select

import numpy as np
import packets
import pytest
from coroutines import until_they_wait

import dpdk_spead as ds
import dpdk_spead.recv.asyncio
from dpdk_spead import recv

PATIENCE = 60


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, PATIENCE))


def stream_of(*queues):
    s = recv.asyncio.Stream(ds.ThreadPool())
    for queue in queues:
        s.add_inproc_reader(queue)
    return s


async def count_in(turns):
    """Adds an element whenever other coroutines may run."""
    while True:
        turns.append(None)
        await asyncio.sleep(0)


def test_heaps_come_while_others_work():
    async def work():
        queue = ds.InprocQueue()
        s = stream_of(queue)

        async def feed():
            for cnt in range(1, 201):
                queue.add_packet(packets.heap(cnt, b"abc")[0])
                await asyncio.sleep(0)
            queue.stop()

        feeding = asyncio.ensure_future(feed())
        counts = [heap.cnt async for heap in s]
        await feeding
        assert counts == list(range(1, 201))
        with pytest.raises(ds.Stopped):
            await s.get()

    run(work())


def test_others_work_while_heaps_are_there():
    async def work():
        heaps = 100
        queue = ds.InprocQueue()
        s = recv.asyncio.Stream(ds.ThreadPool(), recv.StreamConfig(), recv.RingStreamConfig(heaps=heaps))
        s.add_inproc_reader(queue)
        for cnt in range(1, heaps + 1):
            queue.add_packet(packets.heap(cnt, b"abc")[0])
        while s.ringbuffer.size() < heaps:
            await asyncio.sleep(0)
        turns = []
        counting = asyncio.ensure_future(count_in(turns))
        for _ in range(heaps):
            await s.get()
        counting.cancel()
        assert len(turns) >= heaps // 2

        for cnt in range(heaps + 1, heaps + 3):
            queue.add_packet(packets.heap(cnt, b"abc")[0])
        while s.ringbuffer.size() < 2:
            await asyncio.sleep(0)
        cancelled = asyncio.ensure_future(s.get())
        await asyncio.sleep(0)
        cancelled.cancel()
        assert (await s.get()).cnt == heaps + 1

    run(work())


def test_others_work_while_a_ring_has_chunks_and_room():
    async def work():
        ring = recv.asyncio.ChunkRingbuffer(4)
        chunk = recv.Chunk(data=np.zeros(8, np.uint8), present=np.zeros(1, np.uint8))
        turns = []
        counting = asyncio.ensure_future(count_in(turns))
        for _ in range(50):
            await ring.put(chunk)
            chunk = await ring.get()
        counting.cancel()
        assert len(turns) >= 50

    run(work())


def test_waiting_coroutines_are_served_in_their_order():
    async def work():
        queue = ds.InprocQueue()
        s = stream_of(queue)
        tasks = [asyncio.ensure_future(s.get()) for _ in range(5)]
        await until_they_wait()
        tasks[1].cancel()
        await asyncio.sleep(0)
        for cnt in range(1, 5):
            queue.add_packet(packets.heap(cnt, b"abc")[0])
        others = [tasks[0], tasks[2], tasks[3], tasks[4]]
        assert [(await task).cnt for task in others] == [1, 2, 3, 4]
        assert tasks[1].cancelled()
        last = asyncio.ensure_future(s.get())
        await asyncio.sleep(0)
        last.cancel()
        with pytest.raises(asyncio.CancelledError):
            await last
        queue.add_packet(packets.heap(9, b"abc")[0])
        assert (await s.get()).cnt == 9

    run(work())


def test_the_end_reaches_all_that_wait():
    async def work():
        queue = ds.InprocQueue()
        s = stream_of(queue)
        tasks = [asyncio.ensure_future(s.get()) for _ in range(3)]
        await until_they_wait()
        s.stop()
        for task in tasks:
            with pytest.raises(ds.Stopped):
                await task
        assert [heap async for heap in s] == []

    run(work())


def test_two_streams_and_two_loops():
    async def work():
        first, second = ds.InprocQueue(), ds.InprocQueue()
        one, two = stream_of(first), stream_of(second)
        waiting = [asyncio.ensure_future(one.get()), asyncio.ensure_future(two.get())]
        await until_they_wait()
        second.add_packet(packets.heap(2, b"abc")[0])
        first.add_packet(packets.heap(1, b"abc")[0])
        assert [(await w).cnt for w in waiting] == [1, 2]
        return first, one

    queue, s = run(work())
    queue.add_packet(packets.heap(3, b"abc")[0])

    async def again():
        return (await s.get()).cnt

    assert run(again()) == 3


def test_a_stream_without_a_reader_waits():
    async def work():
        s = recv.asyncio.Stream(ds.ThreadPool())
        task = asyncio.ensure_future(s.get())
        await until_they_wait()
        s.add_buffer_reader(packets.heaps(2, 100))
        assert (await task).cnt == 1
        assert (await s.get()).cnt == 2

    run(work())


def test_a_heap_whose_coroutine_is_cancelled_goes_to_the_next():
    async def work():
        queue = ds.InprocQueue()
        s = stream_of(queue)
        first, second = (asyncio.ensure_future(s.get()) for _ in range(2))
        await until_they_wait()
        queue.add_packet(packets.heap(1, b"abc")[0])
        select.select([s.fd], [], [], PATIENCE)
        # The loop calls timers after readers, and before the coroutines that these have woken.
        asyncio.get_running_loop().call_later(0, first.cancel)
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await second).cnt == 1

    run(work())


def test_a_second_loop_is_refused_while_the_first_one_waits():
    queue = ds.InprocQueue()
    s = stream_of(queue)
    first = asyncio.new_event_loop()
    waiting = first.create_task(s.get())
    first.run_until_complete(asyncio.sleep(0))
    with pytest.raises(RuntimeError, match="another event loop"):
        run(s.get())
    queue.add_packet(packets.heap(1, b"abc")[0])
    assert first.run_until_complete(asyncio.wait_for(waiting, PATIENCE)).cnt == 1
    first.close()


def test_coroutines_that_their_loop_left_behind_keep_no_heap():
    queue = ds.InprocQueue()
    s = stream_of(queue)
    first = asyncio.new_event_loop()
    left = first.create_task(s.get())
    first.run_until_complete(asyncio.sleep(0))
    first.close()
    queue.add_packet(packets.heap(1, b"abc")[0])
    assert run(s.get()).cnt == 1
    assert not left.done()
