# SPDX-License-Identifier: BSD-3-Clause
"""Tests what streams with compiled place callbacks do with packets that are lost, and with chunks that others have."""

import gc
import os
import socket
import weakref

import numpy as np
import pytest
from packets import part

import dpdk_spead
from dpdk_spead import recv

HALF = 32
HEAP = 2 * HALF
HEAPS = 4  # of a chunk
NUMBER = 0x1000


def chunk():
    return recv.Chunk(data=np.zeros(HEAPS * HEAP, np.uint8), present=np.zeros(HEAPS, np.uint8))


def place(per_chunk=1 << 40):
    """Returns a callback that puts heap n at n % HEAPS of chunk n // per_chunk. It does not ask whether n has come."""
    numba = pytest.importorskip("numba")
    scipy = pytest.importorskip("scipy")
    from dpdk_spead.numba import intp_to_voidptr
    from dpdk_spead.recv.numba import chunk_place_data

    types = numba.types
    heaps = HEAPS
    size = HEAP

    @numba.cfunc(types.void(types.CPointer(chunk_place_data), types.uintp), nopython=True)
    def place(pointer, _):
        data = numba.carray(pointer, 1)
        items = numba.carray(intp_to_voidptr(data[0].items), 1, dtype=np.int64)
        data[0].chunk_id = items[0] // per_chunk
        data[0].heap_index = items[0] & (heaps - 1)
        data[0].heap_offset = data[0].heap_index * size

    return scipy.LowLevelCallable(place.ctypes, signature="void (void *, size_t)")


def halves(number):
    """Returns the two packets of a heap. The first one has its number."""
    payload = bytes([number + 1]) * HALF
    return [part(number + 1, payload, [(NUMBER, number)] if at == 0 else [], offset=at, length=HEAP)
            for at in (0, HALF)]


def received(packets, **config):
    """Returns the chunk that the packets fill, and the stream."""
    queue = dpdk_spead.InprocQueue()
    for packet in packets:
        queue.add_packet(packet)
    queue.stop()
    stream = recv.ChunkRingStream(
        dpdk_spead.ThreadPool(), recv.StreamConfig(**config), recv.ChunkStreamConfig(items=[NUMBER], place=place()),
        recv.ChunkRingbuffer(4), recv.ChunkRingbuffer(4))
    for _ in range(3):
        stream.add_free_chunk(chunk())
    stream.add_inproc_reader(queue)
    chunks = list(stream.data_ringbuffer)
    assert len(chunks) == 1
    return chunks[0], stream


@pytest.mark.parametrize("any_order", [False, True])
def test_a_heap_without_its_first_packet_takes_no_place_of_another(any_order):
    packets = halves(3) + halves(1)[1:] + halves(0)
    filled, stream = received(packets, allow_out_of_order=any_order)
    assert filled.present.tolist() == [1, 0, 0, 1]
    assert filled.data.tolist() == [1] * HEAP + [0] * (2 * HEAP) + [4] * HEAP
    assert stream.counters["packets_rejected"] == 1
    assert stream.counters["callback_heaps"] == 2


def test_packets_in_another_order_are_taken_if_that_is_allowed():
    first, second = halves(2)
    filled, stream = received([first, second], allow_out_of_order=False)
    assert filled.present.tolist() == [0, 0, 1, 0]
    middle = part(3, b"m" * 16, offset=HALF, length=HEAP)
    last = part(3, b"l" * 16, offset=HALF + 16, length=HEAP)
    for any_order in (False, True):
        filled, stream = received([first, last, middle], allow_out_of_order=any_order)
        assert filled.present.tolist() == [0, 0, int(any_order), 0]
        assert stream.counters["packets_rejected"] == (0 if any_order else 1)


@pytest.mark.parametrize("any_order", [False, True])
def test_packets_of_heaps_whose_chunk_has_left_are_late(any_order):
    first, second = halves(0)
    queue = dpdk_spead.InprocQueue()
    for packet in [first] + [p for n in range(HEAPS, 3 * HEAPS) for p in halves(n)] + [second]:
        queue.add_packet(packet)
    queue.stop()
    stream = recv.ChunkRingStream(
        dpdk_spead.ThreadPool(), recv.StreamConfig(max_heaps=64, allow_out_of_order=any_order),
        recv.ChunkStreamConfig(items=[NUMBER], max_chunks=2, place=place(HEAPS)), recv.ChunkRingbuffer(4),
        recv.ChunkRingbuffer(4))
    for _ in range(4):
        stream.add_free_chunk(chunk())
    stream.add_inproc_reader(queue)
    assert [c.present.tolist() for c in stream.data_ringbuffer] == [[0] * HEAPS, [1] * HEAPS, [1] * HEAPS]
    assert stream.stats["too_old_heaps"] == 1
    assert stream.counters["packets_late"] == 1 and stream.counters["packets_rejected"] == 0


def test_heaps_that_were_given_up_are_counted():
    for heaps in (8, 80):
        _, stream = received([halves(n)[0] for n in range(heaps)], max_heaps=3)
        evicted, flushed = (stream.stats[f"incomplete_heaps_{name}"] for name in ("evicted", "flushed"))
        assert flushed and evicted + flushed == heaps
    assert evicted  # a few more than max_heaps are live while it is in doubt whether they are heaps


def test_a_sender_that_begins_anew_fills_places_anew():
    old = part(1, b"a" * HEAP, [(NUMBER, 0)])
    new = part(1, b"b" * HEAP, [(NUMBER, 1)])
    filled, stream = received([old, new])
    assert filled.present.tolist() == [1, 1, 0, 0]
    assert stream.counters["packets_placed"] == 2


def test_a_chunk_of_a_ring_stays_as_it_is():
    ring = recv.ChunkRingbuffer(2)
    held = recv.Chunk(data=np.zeros(8, np.uint8), present=np.ones(4, np.uint8), chunk_id=5, stream_id=6)
    ring.put(held)
    stream = recv.ChunkRingStream(
        dpdk_spead.ThreadPool(), recv.StreamConfig(), recv.ChunkStreamConfig(items=[NUMBER], place=place()),
        recv.ChunkRingbuffer(2), recv.ChunkRingbuffer(2))
    for change in (lambda: stream.add_free_chunk(held), lambda: setattr(held, "chunk_id", 77),
                   lambda: setattr(held, "stream_id", 77)):
        with pytest.raises(ValueError, match="has it"):
            change()
    assert held.present.tolist() == [1] * 4
    assert (held.chunk_id, held.stream_id) == (5, 6)
    ring.get().chunk_id = 77
    stream.add_free_chunk(held)
    assert held.chunk_id == 77


def test_a_child_does_not_wait_for_the_ring_of_its_parent():
    ring = recv.ChunkRingbuffer(1)
    ring.put(chunk())
    other = chunk()
    calls = [ring.get, ring.get_nowait, lambda: ring.put(other), lambda: ring.put_nowait(other), lambda: next(iter(ring))]
    child = os.fork()
    if child == 0:
        refused = 0
        for call in calls:
            try:
                call()
            except dpdk_spead.Error as error:
                refused += "parent process" in str(error)
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == len(calls)
    assert ring.get() is not None


def test_heaps_that_the_callback_rejects_are_heaps():
    refused = part(9, b"r" * HEAP)  # without a number the callback's chunk is below 0
    filled, stream = received([part(1, b"a" * HEAP, [(NUMBER, 0)]), refused])
    assert filled.present.tolist() == [1, 0, 0, 0]
    assert (stream.stats["heaps"], stream.stats["rejected_heaps"]) == (2, 1)


def group_of(rings=None):
    data, free = rings or (recv.ChunkRingbuffer(4), recv.ChunkRingbuffer(4))
    return recv.ChunkStreamRingGroup(recv.ChunkStreamGroupConfig(), data, free)


def member_of(group):
    return group.emplace_back(dpdk_spead.ThreadPool(), recv.StreamConfig(),
                              recv.ChunkStreamConfig(items=[NUMBER], place=place()))


def test_counts_of_a_member_without_a_reader_decide_nothing():
    group = group_of()
    member = member_of(group)
    assert member.stats["heaps"] == 0 and member.counters["packets"] == 0
    assert member.counters["callback_stats"] == [0] * len(member.config.stats)
    assert member._native is None
    queue = dpdk_spead.InprocQueue()
    member.add_inproc_reader(queue)
    assert member.counters.keys() == group[0].counters.keys() and group[0] is member
    group.stop()
    assert member.stats["heaps"] == 0


def test_a_group_ends_with_its_last_user():
    def once(port):
        group = group_of()
        member = member_of(group)
        member_of(group)
        member.add_udp_reader(port, bind_hostname="127.0.0.1")
        assert [m.config.stats[-1].name for m in group[:]] == ["rejected_heaps"] * 2
        assert group[-1] is group[1] and len(group) == 2
        for index in (2, -3):
            with pytest.raises(IndexError):
                group[index]
        return weakref.ref(group), member

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gc.collect()
    gc.disable()
    try:
        for _ in range(2):  # the second one needs the port of the first
            group, member = once(port)
            assert group() is not None and member is group()[0]  # the member keeps it
            del member
            assert group() is None
    finally:
        gc.enable()
