# SPDX-License-Identifier: BSD-3-Clause
"""The memory of streams of heaps without a port: it suffices for max_heaps of the longest."""

import threading

import packets
import pytest

import dpdk_spead as ds
from dpdk_spead import recv
from dpdk_spead.recv._stream import heap_memory

MIB = 1 << 20
PATIENCE = 60


def after(stream, number):
    """The counters after so many packets."""
    for _ in range(PATIENCE * 100):
        if stream.counters["packets"] >= number:
            break
        threading.Event().wait(0.01)
    return stream.counters


def begun(counts, size):
    return [packets.part(cnt, bytes(1000), length=size) for cnt in counts]


@pytest.mark.parametrize("config", [{"max_heaps": 40}, {"max_heaps": 10, "substreams": 4}], ids=str)
def test_there_is_memory_for_all_heaps_that_may_be_live(config):
    queue = ds.InprocQueue()
    stream = recv.Stream(ds.ThreadPool(), recv.StreamConfig(**config))
    stream.add_inproc_reader(queue)
    for packet in begun(range(1, 41), 64 * MIB):
        queue.add_packet(packet)
    counters = after(stream, 40)
    assert (counters["heaps_live"], counters["heaps_evicted"], counters["packets_placed"]) == (40, 0, 40)
    stream.stop()


def test_a_heap_in_the_users_hands_leaves_memory_for_the_others():
    queue = ds.InprocQueue()
    stream = recv.Stream()
    stream.add_inproc_reader(queue)
    first = packets.heap(1, bytes(40 * MIB), 65000)
    for packet in first:
        queue.add_packet(packet)
    kept = stream.get()
    for packet in begun(range(2, 6), 40 * MIB):
        queue.add_packet(packet)
    counters = after(stream, len(first) + 4)
    assert (counters["heaps_live"], counters["heaps_evicted"]) == (4, 0)
    assert kept.heap_length >= 40 * MIB and counters["heaps_copied_out"] == 0
    stream.stop()


def test_heaps_that_end_for_lack_of_memory_are_logged_once(caplog):
    queue = ds.InprocQueue()
    stream = recv.Stream(ds.ThreadPool(), recv.StreamConfig(max_heaps=100))  # of 4 GiB: 64 such heaps
    stream.add_inproc_reader(queue)
    for packet in begun(range(1, 91), 64 * MIB):
        queue.add_packet(packet)
    counters = after(stream, 90)
    assert counters["heaps_evicted"] == 26
    for _ in range(PATIENCE * 100):
        if "heaps end early" in caplog.text:
            break
        threading.Event().wait(0.01)
    stream.stop()
    lines = [record.getMessage() for record in caplog.records if "heaps end early" in record.getMessage()]
    assert len(lines) == 1 and "4 GiB" in lines[0] and "MemoryPool" in lines[0]


@pytest.mark.parametrize("upper", [MIB, (2 << 30) - 65536, (2 << 30) - 1, 2 << 30, 1 << 34])
def test_pools_of_any_size_receive(upper):
    stream = recv.Stream(ds.ThreadPool(), recv.StreamConfig(memory_allocator=ds.MemoryPool(1, upper, 4, 0)))
    stream.add_buffer_reader(packets.heaps(3, 5000, 1000))
    assert [heap.cnt for heap in stream] == [1, 2, 3]


def test_buffers_of_a_pool_that_are_resident_are_no_longer_than_heaps():
    config = recv.StreamConfig(memory_allocator=ds.MemoryPool(1, 1 << 34, 4, 1))
    assert heap_memory(config, 16)["resident"] == 2 << 30
