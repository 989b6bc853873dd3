# SPDX-License-Identifier: BSD-3-Clause
"""Tests chunks whose heaps a declared placement places."""

import asyncio
import gc
import socket
import threading
import time
import weakref

import numpy as np
import programs
import pytest
from coroutines import until_they_wait
from packets import part, write_pcap

import dpdk_spead
from dpdk_spead import recv

HEAP = 64
TIME = 0x1600
LINE = f"heap {HEAP}; time: item {TIME:#x} [4]"


def heap(n, items=()):
    return part(n + 1, bytes([n % 256]) * HEAP, [(TIME, n), *items])


def queue_of(numbers):
    queue = dpdk_spead.InprocQueue()
    for n in numbers:
        queue.add_packet(heap(n))
    queue.stop()
    return queue


def test_a_placement_of_terms_is_that_of_its_text():
    text = "heap 5120; axis pol: item 0x3101 & 0x1 [2]; time: item 0x1600 / 4096 [8192]; extra u16: item 0x3102 >> 32"
    built = (
        recv.Placement(5120)
        .axis("pol", recv.item(0x3101) & 1, 2)
        .time(recv.item(0x1600) / 4096, 8192)
        .extra("u16", recv.item(0x3102) >> 32)
    )
    assert built.text == text
    assert built == recv.Placement(text)
    assert built.axes == [("pol", 2), ("time", 8192)]
    assert built.heaps == 16384
    assert built.bytes == 16384 * 5120
    assert built.extra_bytes == 32768
    assert built.data_shape == (2, 8192, 5120)
    assert "2 x 8192 = 16384" in built.explain()
    assert eval(repr(built), {"Placement": recv.Placement}) == built


def test_each_statement_of_a_placement():
    built = (
        recv.Placement(4096)
        .axis("ant", ((recv.item(0x4103) & 0xFFF) - 1024) // 256, 4, by=65536)
        .axis("pol", recv.endpoint().among([3, 1]), 2)
        .axis("own", recv.constant(1), 2)
        .time(recv.heap_count(), 2, name="batch")
        .rows(512, by=1024)
        .packet_presence(1024)
        .tracked()
        .wrap(40)
    )
    assert "axis ant: item 0x4103 & 0xfff - 1024 // 256 [4] by 65536" in built.text
    assert "axis pol: endpoint {3, 1} [2]" in built.text
    assert "time batch: heap [2]" in built.text
    assert built.data_shape is None
    assert built.axes == [("ant", 4), ("pol", 2), ("own", 2), ("batch", 2)]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: recv.item(1) / 2 >> 3,
        lambda: recv.item(-1),
        lambda: recv.item(1) / 2.5,
        lambda: recv.item(1) & 1 & 1,
    ],
)
def test_a_term_has_its_operators_in_order(wrong):
    with pytest.raises(ValueError):
        wrong()


def test_a_wrong_placement_is_refused_with_its_place():
    with pytest.raises(dpdk_spead.UsageError, match="character 23"):
        recv.Placement("heap 64; axis a: item 1 [2]")
    with pytest.raises(dpdk_spead.UsageError):
        _ = recv.Placement(64).text
    with pytest.raises(ValueError, match="no placement"):
        recv.ChunkStream(queue=dpdk_spead.InprocQueue())
    with pytest.raises(ValueError, match="no source"):
        recv.ChunkStream(LINE)


def test_chunks_are_arrays_by_the_axes():
    placement = (
        recv.Placement(HEAP).axis("pol", recv.item(0x3101), 2).time(recv.item(TIME), 4).extra("u16", recv.item(0x3102))
    )
    queue = dpdk_spead.InprocQueue()
    for n in range(6):
        for pol in range(2):
            if (n, pol) != (1, 1):
                payload = np.full(HEAP // 2, 10 * n + pol, np.int16).tobytes()
                queue.add_packet(part(2 * n + pol + 1, payload, [(TIME, n), (0x3101, pol), (0x3102, 100 * n + pol)]))
    queue.stop()
    stream = recv.ChunkStream(placement, queue=queue, dtype=np.int16, stream=5)
    first, second = list(stream)
    assert (first.id, second.id, first.stream) == (0, 1, 5)
    assert first.data.shape == (2, 4, HEAP // 2)
    assert first.present.tolist() == [[1, 1, 1, 1], [1, 0, 1, 1]]
    assert first.data[0, 3].tolist() == [30] * (HEAP // 2)
    assert first.extra[1, 2] == 201
    assert (first.heaps_present, first.heaps_expected, first.complete) == (7, 8, False)
    assert second.present.tolist() == [[1, 1, 0, 0], [1, 1, 0, 0]]
    assert 0 < first.first_time <= first.last_time
    counters = stream.counters
    assert counters["packets"] == counters["packets_placed"] == 11
    assert counters["chunks_taken"] == 2
    assert "11 of 11 packets placed" in repr(stream)
    assert "7 of 8 heaps" in repr(first)


def test_several_extra_values_are_records_and_presence_may_be_by_packet():
    placement = recv.Placement(f"{LINE}; extra u8: item 0x3102; extra u32: heap; presence packet 32")
    queue = dpdk_spead.InprocQueue()
    for at in (0, 1):
        queue.add_packet(part(7, bytes(32), [(TIME, 0), (0x3102, 9)], offset=32 * at, length=HEAP))
    queue.add_packet(part(8, bytes(32), [(TIME, 1), (0x3102, 8)], offset=32, length=HEAP))
    queue.stop()
    chunk = recv.ChunkStream(placement, queue=queue).get(10)
    assert chunk.present.tolist() == [[1, 1], [0, 1], [0, 0], [0, 0]]
    assert chunk.extra[0].tolist() == (9, 7)


def test_memory_goes_back_with_the_last_array():
    stream = recv.ChunkStream(LINE, queue=queue_of(range(12)), chunks=3)
    chunk = stream.get(10)
    part = chunk.data[2:, :4]
    before = part.copy()
    chunk.release()
    with pytest.raises(ValueError, match="released"):
        _ = chunk.data
    with stream.get(10) as second, stream.get(10) as third:
        assert (second.id, third.id) == (1, 2)
    assert stream.chunks.places["held"] == 1
    np.testing.assert_equal(part, before)
    del stream, chunk
    gc.collect()
    np.testing.assert_equal(part, before)
    ring = part
    while ring.base is not None and isinstance(ring.base, np.ndarray):
        ring = ring.base
    del ring, part


def test_chunks_lie_in_the_users_arrays():
    arrays = [np.zeros(4 * HEAP, np.uint8) for _ in range(3)]
    stream = recv.ChunkStream(LINE, queue=queue_of(range(8)), buffers=arrays)
    for chunk in stream:
        address = chunk.data.__array_interface__["data"][0]
        assert address == arrays[chunk.index].__array_interface__["data"][0]
        assert arrays[chunk.index][0] == 4 * chunk.id
    with pytest.raises((ValueError, BufferError)):
        arrays[0].resize(5)
    held = weakref.ref(arrays[0])
    del stream, chunk, arrays
    gc.collect()
    assert held() is None


@pytest.mark.parametrize(
    "buffer", [bytes(4 * HEAP), np.zeros(8 * HEAP, np.uint8)[::2], np.zeros(4 * HEAP - 1, np.uint8), 7, None]
)
def test_wrong_arrays_are_refused(buffer):
    good = [np.zeros(4 * HEAP, np.uint8) for _ in range(2)]
    with pytest.raises((ValueError, TypeError, BufferError)):
        recv.Chunks(LINE, buffers=[*good, buffer])


def test_unknown_settings_are_named():
    with pytest.raises(TypeError, match="ChunkStream has no 'endpoint'; it has endpoints, "):
        recv.ChunkStream(LINE, endpoint="239.1.2.3:7148")
    with pytest.raises(TypeError, match="ChunkStreamGroup has no 'widow'; it has window, "):
        recv.ChunkStreamGroup(LINE, widow=3)
    with pytest.raises(TypeError, match="ChunkStreamGroup has no 'format'; it has window, "):
        recv.ChunkStreamGroup(LINE, format="vdif")
    group = recv.ChunkStreamGroup(LINE, backend="kernel")
    with pytest.raises(TypeError, match="a stream of a group has no 'ques'; it has endpoints, "):
        group.add(ques=dpdk_spead.InprocQueue())
    with pytest.raises(TypeError, match="a stream of a group has no 'window'; it has endpoints, "):
        group.add(queue=dpdk_spead.InprocQueue(), window=3)


def test_a_wait_ends_in_time_and_nothing_waits():
    queue = dpdk_spead.InprocQueue()
    stream = recv.ChunkStream(LINE, queue=queue)
    with pytest.raises(dpdk_spead.Empty):
        stream.get_nowait()
    with pytest.raises(dpdk_spead.Empty):
        stream.get(0.01)
    queue.stop()
    with pytest.raises(dpdk_spead.Stopped):
        stream.get(10)
    with pytest.raises(dpdk_spead.Stopped):
        stream.get_nowait()
    assert stream.chunks.ended


def test_coroutines_take_chunks():
    async def take():
        queue = dpdk_spead.InprocQueue()
        stream = recv.ChunkStream(LINE, queue=queue)
        waiting = asyncio.ensure_future(stream.aget())
        await until_they_wait()
        for n in range(5):
            queue.add_packet(heap(n))
        queue.stop()
        ids = [(await asyncio.wait_for(waiting, 10)).id]
        async for chunk in stream:
            ids.append(chunk.id)
        return ids

    assert asyncio.run(take()) == [0, 1]


def test_a_group_fills_the_same_chunks():
    placement = recv.Placement(HEAP).axis("side", recv.constant(0), 2).time(recv.item(TIME), 4)
    other = recv.Placement(HEAP).axis("side", recv.constant(1), 2).time(recv.item(TIME), 4)
    group = recv.ChunkStreamGroup(placement, backend="kernel", lossless=True)
    group.add(queue=queue_of(range(8)))
    group.add(queue=queue_of(range(8)), placement=other)
    group.start()
    chunks = list(group)
    assert [c.id for c in chunks] == [0, 1]
    assert all(c.complete and c.present.shape == (2, 4) for c in chunks)
    assert "2 chunk streams" in repr(group)


def test_streams_share_chunks():
    chunks = recv.Chunks(LINE, 8)
    queues = [dpdk_spead.InprocQueue() for _ in range(2)]
    streams = [recv.ChunkStream(chunks=chunks, queue=q, stream=i) for i, q in enumerate(queues)]
    for i, q in enumerate(queues):
        q.add_packet(heap(4 * i))
        q.stop()
    assert sorted((c.stream, c.id) for c in chunks) == [(0, 0), (1, 1)]
    assert all(s.counters["packets_placed"] == 1 for s in streams)


def test_chunks_come_from_files(tmp_path):
    path = tmp_path / "in.pcap"
    write_pcap(path, [heap(n) for n in range(8)], port=7000)
    for settings in ({}, {"endpoints": "239.1.2.3:7000"}):
        stream = recv.ChunkStream(LINE, pcap=path, **settings)
        assert [(c.id, c.complete) for c in stream] == [(0, True), (1, True)]
    other = recv.ChunkStream(LINE, pcap=path, endpoints="239.1.2.3:7001")
    assert list(other) == []
    with pytest.raises(dpdk_spead.Error, match="nowhere"):
        recv.ChunkStream(LINE, pcap=tmp_path / "nowhere")


def test_chunks_come_from_sockets():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound, socket.socket(
        socket.AF_INET, socket.SOCK_DGRAM
    ) as sender:
        bound.bind(("127.0.0.1", 0))
        stream = recv.ChunkStream(LINE, socket=bound, chunks=3)
        free = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        other = recv.ChunkStream(LINE, endpoints=f"127.0.0.1:{port}", interface="127.0.0.1", backend="kernel")
        for n in range(5):
            sender.sendto(heap(n), bound.getsockname())
            sender.sendto(heap(n), ("127.0.0.1", port))
        for each in (stream, other):
            chunk = wait_for(each, 5)
            assert (chunk.id, chunk.complete) == (0, True)


def wait_for(stream, packets):
    """Stops the stream when so many packets were placed, and returns its first chunk."""
    for _ in range(1000):
        if stream.counters["packets_placed"] == packets:
            break
        time.sleep(0.01)
    stream.stop()
    return stream.get(10)


def test_a_stream_stops_and_starts_again():
    queue = dpdk_spead.InprocQueue()
    with recv.ChunkStream(LINE, queue=queue) as stream:
        queue.add_packet(heap(0))
        queue.add_packet(heap(4))
        queue.add_packet(heap(8))
        assert stream.get(10).id == 0
        stream.stop()
        assert [c.id for c in stream] == [1, 2]
        stream.start()
        queue.add_packet(heap(20))
        queue.stop()
        assert stream.get(10).id == 5


def test_nothing_is_lost_beside_spinning_threads():
    payload = 8192
    heaps = 2048  # 16 MiB
    chunks = 6
    record = len(part(1, bytes(payload), [(TIME, 0)]))
    packets = np.empty((chunks * heaps, record), np.uint8)
    packets[:] = np.frombuffer(part(1, bytes(payload), [(TIME, 0)]), np.uint8)
    number = np.arange(chunks * heaps)
    for column, values in [(8, number + 1), (40, number)]:
        for byte in range(4):
            packets[:, column + 7 - byte] = values >> 8 * byte & 0xFF
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            pass

    threads = [threading.Thread(target=spin) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        stream = recv.ChunkStream(f"heap {payload}; time: item {TIME:#x} [{heaps}]", buffer=packets, chunks=16)
        complete = [chunk.complete for chunk in stream]
        counters = stream.counters
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert complete == [True] * chunks
    assert counters["packets_placed"] == counters["packets"] == chunks * heaps


LEAVING = """
import sys
sys.path.insert(0, {here!r})
from chunks_test import *
queue = dpdk_spead.InprocQueue()
stream = recv.ChunkStream(LINE, queue=queue, buffers=[np.zeros(4 * HEAP, np.uint8) for _ in range(4)])
for n in range(10):
    queue.add_packet(heap(n))
chunk = stream.get(10)
array = chunk.data[1:]
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
        ("stream.me = stream; array.flags.writeable = False", 0),
        ("import os; pid = os.fork(); sys.exit(0 if pid == 0 else os.waitpid(pid, 0)[1])", 0),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -15),
        ("import signal; signal.signal(signal.SIGALRM, signal.default_int_handler); "
         "signal.setitimer(signal.ITIMER_REAL, 0.1); [stream.get() for _ in range(9)]", -2),
    ],
)
def test_leaving_is_clean(way, status):
    here = __file__.rsplit("/", 1)[0]
    programs.expect(programs.run(LEAVING.format(here=here, way=way)), status)
