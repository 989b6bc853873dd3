# SPDX-License-Identifier: BSD-3-Clause
"""Tests chunks that users bring, their rings, and streams with compiled place callbacks."""

import asyncio
import ctypes
import gc
import os
import select
import sys
import threading
import weakref

import numpy as np
import programs
import pytest
from coroutines import until_they_wait
from packets import part, stop_packet

import dpdk_spead
from dpdk_spead import recv
from dpdk_spead.recv.asyncio import ChunkRingbuffer as AsyncRing

HEAP = 64
HEAPS = 4  # of a chunk
NUMBER = 0x1000


class Mine(recv.Chunk):
    """Carries a label."""

    def __init__(self, label, heaps=HEAPS, **kwargs):
        data = np.zeros(heaps * HEAP, np.uint8)
        super().__init__(**{"data": data, "present": np.zeros(HEAPS, np.uint8), **kwargs})
        self.label = label


def test_the_same_objects_come_out():
    ring = recv.ChunkRingbuffer(2)
    chunks = [Mine("a", chunk_id=5), Mine("b")]
    for chunk in chunks:
        ring.put(chunk)
    counts = [sys.getrefcount(chunk) for chunk in chunks]
    assert ring.full() and ring.qsize() == ring.maxsize == 2
    with pytest.raises(dpdk_spead.Full):
        ring.put_nowait(Mine("c"))
    out = [ring.get(), ring.get()]
    assert [c.label for c in out] == ["a", "b"]
    assert out[0] is chunks[0] and out[0].chunk_id == 5
    del out
    assert [sys.getrefcount(chunk) for chunk in chunks] == [n - 1 for n in counts]


def test_a_ring_drops_what_is_in_it():
    ring = recv.ChunkRingbuffer(2)
    ring.put(Mine("a"))
    gone = weakref.ref(ring.get_nowait())
    assert gone() is None
    chunk = Mine("b")
    gone = weakref.ref(chunk)
    ring.put(chunk)
    del chunk
    assert gone() is not None
    del ring
    assert gone() is None


def test_a_ring_owns_its_chunks():
    ring = recv.ChunkRingbuffer(2)
    chunk = Mine("a")
    ring.put(chunk)
    with pytest.raises(ValueError, match="has it"):
        ring.put(chunk)
    with pytest.raises(ValueError, match="has it"):
        chunk.data = None
    ring.get().data = None
    with pytest.raises(ValueError, match="no `data`"):
        ring.put(chunk)


@pytest.mark.parametrize("part", ["data", "present", "extra"])
@pytest.mark.parametrize(
    "buffer, error",
    [(bytes(9), ValueError), (np.zeros(9, np.uint8)[::2], ValueError), (7, TypeError), ("a", TypeError)],
)
def test_buffers_must_be_writable_and_contiguous(part, buffer, error):
    with pytest.raises(error, match=part):
        recv.Chunk(**{part: buffer})


def test_buffers_are_pinned():
    data = bytearray(9)
    chunk = recv.Chunk(data=data)
    with pytest.raises(BufferError):
        data.append(1)
    assert chunk.data is data
    chunk.data = None
    data.append(1)


def test_the_end_of_a_ring():
    ring = recv.ChunkRingbuffer(2)
    ring.put(Mine("a"))
    assert ring.stop() and not ring.stop()
    with pytest.raises(dpdk_spead.Stopped):
        ring.put(Mine("b"))
    assert [chunk.label for chunk in ring] == ["a"]
    with pytest.raises(dpdk_spead.Stopped):
        ring.get_nowait()


def test_only_chunks_go_into_a_ring():
    ring = recv.ChunkRingbuffer(2)
    for put in (ring.put, ring.put_nowait):
        with pytest.raises(TypeError, match="7 is no Chunk"):
            put(7)
    assert ring.empty()


def test_descriptors_tell():
    ring = recv.ChunkRingbuffer(1)

    def readable(fd):
        return bool(select.select([fd], [], [], 0)[0])

    assert not readable(ring.data_fd)
    ring.put(Mine("a"))
    assert readable(ring.data_fd)
    with pytest.raises(dpdk_spead.Full):
        ring.put_nowait(Mine("b"))
    assert not readable(ring.space_fd)
    ring.get()
    assert readable(ring.space_fd)
    with pytest.raises(dpdk_spead.Empty):
        ring.get_nowait()
    assert not readable(ring.data_fd)
    ring.stop()
    assert readable(ring.data_fd)


def test_threads_pass_chunks():
    ring = recv.ChunkRingbuffer(2)
    got = []

    def take():
        got.extend(chunk.label for chunk in ring)

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(300):
        ring.put(Mine(n))
    ring.stop()
    for thread in threads:
        thread.join(30)
    assert sorted(got) == list(range(300))


def test_coroutines_pass_chunks():
    async def main():
        ring = AsyncRing(2)
        got = []

        async def take():
            async for chunk in ring:
                got.append(chunk.label)

        takers = [asyncio.ensure_future(take()) for _ in range(3)]
        for n in range(100):
            await ring.put(Mine(n))
        ring.stop()
        await asyncio.wait_for(asyncio.gather(*takers), 30)
        with pytest.raises(dpdk_spead.Stopped):
            await ring.get()
        return got

    assert sorted(asyncio.run(main())) == list(range(100))


def test_a_cancelled_coroutine_loses_no_chunk():
    async def main():
        ring = AsyncRing(2)
        first = asyncio.ensure_future(ring.get())
        second = asyncio.ensure_future(ring.get())
        await until_they_wait()
        first.cancel()
        await ring.put(Mine("a"))
        return (await asyncio.wait_for(second, 10)).label

    assert asyncio.run(main()) == "a"


def test_two_event_loops_share_a_ring():
    ring = AsyncRing(4)
    got = []

    async def take():
        async for chunk in ring:
            got.append(chunk.label)

    threads = [threading.Thread(target=lambda: asyncio.run(asyncio.wait_for(take(), 30))) for _ in range(2)]
    for thread in threads:
        thread.start()

    async def give():
        for n in range(100):
            await ring.put(Mine(n))

    asyncio.run(asyncio.wait_for(give(), 30))
    ring.stop()
    for thread in threads:
        thread.join(30)
    assert sorted(got) == list(range(100))


def test_what_no_place_is_is_refused():
    for wrong, error in [((), IndexError), (1, TypeError), ((1,), TypeError)]:
        with pytest.raises(error):
            recv.ChunkStreamConfig(place=wrong)
    with pytest.raises(ValueError, match="no place callback"):
        stream_of(dpdk_spead.InprocQueue(), None)
    with pytest.raises(ValueError):
        recv.ChunkStreamConfig(max_chunks=0)
    with pytest.raises(ValueError):
        recv.ChunkStreamConfig().enable_packet_presence(0)


def place_of(bias=None):
    """Returns a callback that puts heap n into chunk n // HEAPS + bias[0]."""
    numba = pytest.importorskip("numba")
    scipy = pytest.importorskip("scipy")
    from dpdk_spead.numba import intp_to_voidptr
    from dpdk_spead.recv.numba import chunk_place_data

    types = numba.types
    heaps = HEAPS
    size = HEAP

    @numba.cfunc(types.void(types.CPointer(chunk_place_data), types.uintp, types.CPointer(types.int64)), nopython=True)
    def place(pointer, _, user):
        data = numba.carray(pointer, 1)
        items = numba.carray(intp_to_voidptr(data[0].items), 2, dtype=np.int64)
        stats = numba.carray(intp_to_voidptr(data[0].batch_stats), 64, dtype=np.uint64)
        if items[0] >= 0 and items[1] == size:
            data[0].chunk_id = items[0] // heaps + user[0]
            data[0].heap_index = items[0] % heaps
            data[0].heap_offset = data[0].heap_index * size
            stats[user[1]] += 1

    values = np.array([0, 0] if bias is None else bias, np.int64)
    pointer = values.ctypes.data_as(ctypes.c_void_p)
    return scipy.LowLevelCallable(place.ctypes, user_data=pointer, signature="void (void *, size_t, void *)")


def stream_of(queue, place, free=None, data=None, config=None, **chunks):
    free = free or recv.ChunkRingbuffer(8)
    data = data or recv.ChunkRingbuffer(8)
    stream = recv.ChunkRingStream(
        dpdk_spead.ThreadPool(),
        config or recv.StreamConfig(stream_id=3),
        recv.ChunkStreamConfig(items=[NUMBER, 2], place=place, **chunks),
        data,
        free,
    )
    if queue is not None:
        stream.add_inproc_reader(queue)
    return stream


def send(queue, numbers):
    for n in numbers:
        queue.add_packet(part(n + 1, bytes([n % 256]) * HEAP, [(NUMBER, n)]))


def test_a_stream_fills_the_chunks_of_its_user():
    config = recv.StreamConfig(stream_id=3)
    index = config.add_stat("placed")
    queue = dpdk_spead.InprocQueue()
    stream = stream_of(queue, place_of([0, index]), config=config)
    for label in range(3):
        stream.add_free_chunk(Mine(label, present=np.ones(HEAPS, np.uint8)))
    send(queue, [0, 1, 5, 14])
    queue.add_packet(stop_packet(99))
    seen = []
    for chunk in stream.data_ringbuffer:
        assert type(chunk) is Mine and chunk.stream_id == 3
        for i in np.nonzero(chunk.present)[0]:
            assert (chunk.data[i * HEAP : (i + 1) * HEAP] == chunk.chunk_id * HEAPS + i).all()
        seen.append((chunk.chunk_id, chunk.label, chunk.present.tolist()))
        stream.add_free_chunk(chunk)
    assert seen == [(0, 0, [1, 1, 0, 0]), (1, 1, [0, 1, 0, 0]), (2, 2, [0] * 4), (3, 0, [0, 0, 1, 0])]
    assert stream.stats["placed"] == 4
    assert stream.stats["rejected_heaps"] == 1
    assert stream.counters["packets_placed"] == 4
    stream.stop()
    stream.add_free_chunk(seen and Mine("late"))  # nothing happens: the ring has been stopped


def test_chunks_that_are_too_small_lose_heaps_and_nothing_else():
    queue = dpdk_spead.InprocQueue()
    stream = stream_of(queue, place_of())
    stream.add_free_chunk(Mine("small", heaps=2))
    send(queue, range(4))
    queue.stop()
    (chunk,) = stream.data_ringbuffer
    assert chunk.present.tolist() == [1, 1, 0, 0]
    assert stream.counters["callback_nonsense"] == 2


def test_references_stay_flat():
    queue = dpdk_spead.InprocQueue()
    free = recv.ChunkRingbuffer(4)
    chunks = [Mine(i) for i in range(4)]
    objects = [*chunks, *(c.data for c in chunks), *(c.present for c in chunks)]
    stream = stream_of(None, place_of(), free=free)
    for chunk in chunks:
        stream.add_free_chunk(chunk)
    before = None
    packets = b"".join(part(n + 1, bytes(HEAP), [(NUMBER, n * HEAPS)]) for n in range(10000))
    stream.add_buffer_reader(packets)
    count = 0
    for chunk in stream.data_ringbuffer:
        stream.add_free_chunk(chunk)
        count += 1
        if count == 100:
            before = [sys.getrefcount(o) for o in objects]
    after = [sys.getrefcount(o) for o in objects]
    assert count == 10000
    assert max(abs(a - b) for a, b in zip(before, after)) <= 1
    del stream, queue


def test_streams_share_rings():
    free = recv.ChunkRingbuffer(4)
    data = recv.ChunkRingbuffer(4)
    queues = [dpdk_spead.InprocQueue() for _ in range(2)]
    place = place_of()
    streams = [
        stream_of(q, place, free, data, recv.StreamConfig(stream_id=i), max_chunks=2) for i, q in enumerate(queues)
    ]
    for label in range(4):
        free.put(Mine(label))
    send(queues[0], range(8))
    queues[0].stop()
    send(queues[1], range(40))
    queues[1].stop()
    seen = []
    for chunk in data:
        assert chunk.present.all()
        seen.append((chunk.stream_id, chunk.chunk_id))
        streams[0].add_free_chunk(chunk)
    assert sorted(seen) == [(0, 0), (0, 1), *((1, n) for n in range(10))]


@pytest.mark.parametrize("mode", list(recv.ChunkStreamGroupConfig.EvictionMode))
def test_a_group_fills_the_same_chunks(mode):
    free = recv.ChunkRingbuffer(4)
    data = recv.ChunkRingbuffer(4)
    group = recv.ChunkStreamRingGroup(recv.ChunkStreamGroupConfig(max_chunks=4, eviction_mode=mode), data, free)
    queues = [dpdk_spead.InprocQueue() for _ in range(2)]
    config = recv.ChunkStreamConfig(items=[NUMBER, 2], place=place_of())
    for _ in queues:
        group.emplace_back(dpdk_spead.ThreadPool(), recv.StreamConfig(), config)
    for label in range(4):
        group.add_free_chunk(Mine(label))
    # The first member ends before the second one begins: the ring waits for that.
    send(queues[0], [0, 2, 4])
    queues[0].stop()
    group[0].add_inproc_reader(queues[0])
    send(queues[1], [1, 3, 5])
    queues[1].stop()
    group[1].add_inproc_reader(queues[1])
    flags = [np.zeros(HEAPS, np.uint8) for _ in range(2)]
    for chunk in data:
        if chunk.chunk_id < 2:
            flags[chunk.chunk_id] |= chunk.present
        group.add_free_chunk(chunk)
    assert [f.tolist() for f in flags] == [[1, 1, 1, 1], [1, 1, 0, 0]]
    group.stop()
    gone = weakref.ref(group)
    del group
    gc.collect()
    assert gone() is None


def test_a_stream_without_chunks_stops_and_goes():
    queue = dpdk_spead.InprocQueue()
    stream = stream_of(queue, place_of())
    send(queue, range(100))
    data = stream.data_ringbuffer
    waiting = threading.Thread(target=lambda: [None for _ in data])
    waiting.start()
    stream.stop()
    waiting.join(30)
    assert not waiting.is_alive()
    gone = weakref.ref(stream)
    del stream
    gc.collect()
    assert gone() is None


LEAVING = """
import sys
sys.path.insert(0, {here!r})
from chunk_rings_test import *
queue = dpdk_spead.InprocQueue()
stream = stream_of(queue, place_of())
for label in range(3):
    stream.add_free_chunk(Mine(label))
send(queue, range(10))
chunk = stream.data_ringbuffer.get()
{way}
"""


@pytest.mark.parametrize(
    "way, status",
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise KeyError", 1),
        ("del stream, queue", 0),
        ("stream.stop()", 0),
        ("chunk.stream = stream; stream.add_free_chunk(chunk)", 0),
        ("import os; pid = os.fork(); sys.exit(0 if pid == 0 else os.waitpid(pid, 0)[1])", 0),
        (
            "import signal; signal.signal(signal.SIGALRM, signal.default_int_handler); "
            "signal.setitimer(signal.ITIMER_REAL, 0.1); "
            "[stream.data_ringbuffer.get() for _ in range(9)]",
            -2,
        ),
    ],
)
def test_leaving_is_clean(way, status):
    here = __file__.rsplit("/", 1)[0]
    done = programs.run(LEAVING.format(here=here, way=way))
    if "could not import" in done.stderr.lower() or "Skipped" in done.stderr:
        pytest.skip("numba or scipy is missing")
    programs.expect(done, status)


def test_a_child_leaves_the_ring_of_its_parent_alone():
    ring = recv.ChunkRingbuffer(2)
    ring.put(Mine(1))
    waiting = select.poll()
    waiting.register(ring.data_fd, select.POLLIN)
    assert waiting.poll(0)
    pid = os.fork()
    if pid == 0:
        good = False
        try:
            good = pytest.raises(dpdk_spead.Error, ring.put_nowait, Mine(2)) is not None and not ring.stop()
            ring.remove_producer()
            del ring
            gc.collect()
        finally:
            os._exit(0 if good else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert waiting.poll(0), "its chunk waits"
    assert ring.get().label == 1
    ring.put(Mine(3))
    assert waiting.poll(0)
