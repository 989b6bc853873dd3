# SPDX-License-Identifier: BSD-3-Clause
"""Tests the ends of streams, what they leave, and senders that begin anew."""

import ctypes
import select
import socket
import threading

import packets
import pytest

import dpdk_spead as ds
from dpdk_spead import recv

PATIENCE = 60
GROUP = "239.255.77.9"


def stream(**config):
    return recv.Stream(ds.ThreadPool(), recv.StreamConfig(**config), recv.RingStreamConfig(heaps=64))


def chunk_stream(**config):
    """Returns a stream whose place callback refuses all."""
    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)
    def refuse(_data, _size):
        pass

    ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
    ctypes.pythonapi.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = b"void (void *, size_t)"
    capsule = ctypes.pythonapi.PyCapsule_New(ctypes.cast(refuse, ctypes.c_void_p), name, None)
    made = recv.ChunkRingStream(ds.ThreadPool(), recv.StreamConfig(**config),
                                recv.ChunkStreamConfig(items=[1], place=(capsule, refuse, name)),
                                recv.ChunkRingbuffer(2), recv.ChunkRingbuffer(2))
    return made


def free_port():
    """Returns a UDP port that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def is_joined():
    """Returns whether this machine has joined the group."""
    number = socket.inet_aton(GROUP)[::-1].hex().upper()
    with open("/proc/net/igmp", encoding="ascii") as file:
        return any(line.split()[:1] == [number] for line in file)


def expect_free(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("", port))
    assert not is_joined()


@pytest.mark.parametrize("make", [stream, chunk_stream])
@pytest.mark.parametrize("start", [True, False])
def test_stop_closes_sockets_and_leaves_groups(make, start):
    s, port = make(explicit_start=not start), free_port()
    s.add_udp_reader(GROUP, port, interface_address="127.0.0.1")
    assert is_joined()
    s.stop()
    expect_free(port)
    s.add_udp_reader(GROUP, port, interface_address="127.0.0.1")  # nothing happens: it has ended
    expect_free(port)


@pytest.mark.parametrize("make", [stream, chunk_stream])
def test_a_stop_item_closes_sockets_and_leaves_groups(make):
    s, port = make(), free_port()
    s.add_udp_reader(GROUP, port, interface_address="127.0.0.1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        sender.sendto(packets.stop_packet(1), (GROUP, port))
    assert list(getattr(s, "data_ringbuffer", s)) == []
    expect_free(port)


def test_stop_before_the_start_ends_those_who_wait():
    placement = recv.Placement("heap 100; time: heap [2]")
    waiting = [stream(explicit_start=True), recv.ChunkStream(placement, queue=ds.InprocQueue(), start=False)]
    waiting[0].add_inproc_reader(ds.InprocQueue())
    for s in waiting:
        got = []
        thread = threading.Thread(target=lambda s=s, got=got: got.append(list(s)), daemon=True)
        thread.start()
        s.stop()
        thread.join(PATIENCE)
        assert got == [[]]


@pytest.mark.parametrize("size", [1000, None])
def test_a_sender_that_begins_anew_is_heard(size):
    queue = ds.InprocQueue()
    s = stream(stop_on_stop_item=False)
    s.add_inproc_reader(queue)
    for value in range(3):
        for cnt in (1, 2):
            for packet in packets.heap(cnt, bytes([value]) * 2000, size):
                queue.add_packet(packet)
        queue.add_packet(packets.stop_packet(3))
    queue.stop()
    heaps = list(s)
    assert [heap.cnt for heap in heaps] == [1, 2, 3] * 3
    payloads = [bytes(item) for heap in heaps for item in heap.get_items() if not item.is_immediate]
    assert payloads == [bytes([value]) * 2000 for value in (0, 0, 1, 1, 2, 2)]


def test_the_descriptor_is_not_readable_after_a_get_that_waited():
    queue = ds.InprocQueue()
    s = stream()
    s.add_inproc_reader(queue)
    assert select.select([s.fd], [], [], 0)[0] == []
    for cnt in range(1, 6):
        got = []
        thread = threading.Thread(target=lambda got=got: got.append(s.get().cnt))
        thread.start()
        queue.add_packet(packets.heap(cnt, b"abc")[0])
        thread.join(PATIENCE)
        assert got == [cnt]
        assert select.select([s.fd], [], [], 0)[0] == []
