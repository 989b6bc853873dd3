# SPDX-License-Identifier: BSD-3-Clause
"""Streams of heaps whose packets are not SPEAD: each packet is a heap."""

import gc
import os
import random
import socket
import sys

import numpy as np
import packets
import pytest

import dpdk_spead as ds
from dpdk_spead import recv

sys.path.append(os.path.dirname(os.path.abspath(__file__)) + "/../system")
import layouts  # noqa: E402: of the tests of the program

GROUP = "239.1.2.3"


def frames(count, length=1000):
    """Packets of VDIF, and what they hold."""
    source = random.Random(count)
    held = [({0x1600: 7, 0x1601: n, 0x4101: n % 2, 0x4100: 5, 0x1604: 3}, source.randbytes(length // 8 * 8))
            for n in range(count)]
    return [layouts.make("vdif", items, payload, source) for items, payload in held], held


def queue_of(datagrams):
    queue = ds.InprocQueue()
    for datagram in datagrams:
        queue.add_packet(datagram)
    queue.stop()
    return queue


def values_of(heap):
    return {item.id: item.immediate_value for item in heap.get_items()}


def expect(heaps, held):
    assert len(heaps) == len(held)
    assert len({heap.cnt for heap in heaps}) == len(held)
    for heap, (items, payload) in zip(heaps, held):
        assert heap.complete and values_of(heap) == items
        assert all(item.is_immediate for item in heap.get_items())
        assert heap.payload.dtype == np.uint8 and heap.payload.tobytes() == payload
        assert heap.heap_length == heap.received_length == len(payload)


@pytest.mark.parametrize("config", [None, recv.StreamConfig(allow_unsized_heaps=False, allow_out_of_order=True)])
def test_packets_of_a_known_format_are_heaps(config):
    datagrams, held = frames(300)
    stream = recv.Stream(config=config, format="vdif")
    stream.add_inproc_reader(queue_of(datagrams))
    expect(list(stream), held)
    assert stream.counters["packets_placed"] == 300


def test_a_declared_format_has_the_items_that_its_text_says():
    stream = recv.Stream(format="vdif; item 0x1600: second * 25600 + frame")
    stream.add_inproc_reader(queue_of(frames(3)[0]))
    assert [values_of(heap)[0x1600] for heap in stream] == [7 * 25600 + n for n in range(3)]


def test_a_file_brings_them(tmp_path):
    datagrams, held = frames(50)
    path = str(tmp_path / "in.pcap")
    packets.write_pcap(path, datagrams, GROUP)
    stream = recv.Stream(format="vdif")
    stream.add_udp_pcap_file_reader(path)
    expect(list(stream), held)


def test_a_socket_brings_them():
    datagrams, held = frames(20)
    stream = recv.Stream(ring_config=recv.RingStreamConfig(heaps=32), format="vdif")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        stream.add_udp_reader(receiver)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for datagram in datagrams:
                sender.sendto(datagram, receiver.getsockname())
    heaps = [stream.get() for _ in held]
    stream.stop()
    expect(heaps, held)


def test_what_is_not_of_the_format_is_counted():
    datagrams, held = frames(4)
    stream = recv.Stream(format="vdif")
    stream.add_inproc_reader(queue_of([datagrams[0], packets.part(1, bytes(64)), b"", *datagrams[1:]]))
    expect(list(stream), held)
    assert stream.counters["packets_rejected"] == 2


def test_payload_outlives_heap_and_stream_and_is_the_users():
    datagrams, held = frames(3)
    stream = recv.Stream(format="vdif")
    stream.add_inproc_reader(queue_of(datagrams))
    arrays = [heap.payload for heap in stream]
    del stream
    gc.collect()
    for array, (_, payload) in zip(arrays, held):
        assert array.tobytes() == payload
        array[:] = 1


def test_heaps_that_are_copied_out_keep_their_payload():
    datagrams, held = frames(400, 8000)
    stream = recv.Stream(format="vdif")
    stream.add_inproc_reader(queue_of(datagrams))
    expect(list(stream), held)
    assert stream.counters["heaps_copied_out"] > 0


def test_heaps_of_spead_have_a_payload_too():
    stream = recv.Stream()
    stream.add_buffer_reader(packets.heaps(200, 5000, 1000))
    for heap in list(stream):
        assert heap.payload.tobytes() == packets.content(heap.cnt, 5000)
