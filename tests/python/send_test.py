# SPDX-License-Identifier: BSD-3-Clause
"""Heaps that are sent without EAL: packets byte for byte, memory that stays, and streams that refuse."""

import gc
import signal
import socket
import struct
import sys
import threading
import weakref

import numpy as np
import pytest

import dpdk_spead as ds
from dpdk_spead import send

POOL = ds.ThreadPool()
WIDE = ds.Flavour(4, 64, 48)


def header(*pointers, cnt, length, offset=0, payload=None):
    """The header of a packet of SPEAD-64-48."""
    payload = length if payload is None else payload
    fixed = [0x5304020600000000 | 4 + len(pointers), *(1 << 63 | id << 48 | value for id, value in
                                                       ((1, cnt), (2, length), (3, offset), (4, payload)))]
    return struct.pack(f">{len(fixed) + len(pointers)}Q", *fixed, *pointers)


def immediate(id, value):
    return 1 << 63 | id << 48 | value


def address(id, offset):
    return id << 48 | offset


def array_heap(array, flavour=WIDE, id=0x1000):
    heap = send.Heap(flavour)
    heap.add_item(ds.Item(id, "x", "", array.shape, array.dtype, value=array))
    return heap


def slow_stream(max_heaps=2):
    """Sends 64 KiB at once, and the rest in hours."""
    return send.BytesStream(POOL, send.StreamConfig(rate=1, max_heaps=max_heaps))


BIG = np.zeros(1 << 20, np.uint8)


# Packets.


def test_packets_of_a_heap():
    data = np.arange(100, dtype=np.uint8)
    heap = send.Heap(WIDE)
    heap.add_item(ds.Item(0x1000, "x", "", data.shape, data.dtype, value=data))
    heap.add_item(ds.Item(0x1001, "n", "", (), format=[("u", 48)], value=7))
    assert list(send.PacketGenerator(heap, 9, 120)) == [
        header(address(0x1000, 0), immediate(0x1001, 7), cnt=9, length=100, payload=64) + bytes(data[:64]),
        header(cnt=9, length=100, offset=64, payload=36) + bytes(data[64:]),
    ]
    heap.repeat_pointers = True
    assert heap.repeat_pointers
    pointers = address(0x1000, 0), immediate(0x1001, 7)
    assert list(send.PacketGenerator(heap, 9, 120)) == [
        header(*pointers, cnt=9, length=100, payload=64) + bytes(data[:64]),
        header(*pointers, cnt=9, length=100, offset=64, payload=36) + bytes(data[64:]),
    ]


def test_control_and_empty_heaps():
    heaps = [send.Heap(WIDE) for _ in range(3)]
    heaps[0].add_start()
    heaps[1].add_end()
    packets = [b"".join(send.PacketGenerator(heap, 1, 1472)) for heap in heaps]
    null = address(0, 0)
    assert packets == [
        header(immediate(6, 0), null, cnt=1, length=1) + b"\0",
        header(immediate(6, 2), null, cnt=1, length=1) + b"\0",
        header(null, cnt=1, length=1) + b"\0",
    ]
    stream = send.BytesStream(POOL)
    for heap in heaps:
        assert stream.send_heap(heap, cnt=1) == len(b"".join(send.PacketGenerator(heap, 1, 1472)))
    assert stream.getvalue() == b"".join(packets)


def test_descriptors_are_those_of_items():
    item = ds.Item(0x1000, "x", "an x", (4,), ">u2", value=np.arange(4, dtype=">u2"))
    heap = send.Heap(WIDE)
    heap.add_descriptor(item)
    heap.add_item(item)
    encoded = item.to_raw(WIDE).encode(WIDE)
    assert list(send.PacketGenerator(heap, 1, 1472)) == [
        header(address(5, 0), address(0x1000, len(encoded)), cnt=1, length=len(encoded) + 8) + encoded
        + b"\0\0\0\1\0\2\0\3"]


def test_the_count_must_fit():
    heap = send.Heap(ds.Flavour(4, 64, 8))
    heap.add_end()
    with pytest.raises(ds.Error, match="0x100"):
        list(send.PacketGenerator(heap, 256, 1472))
    with pytest.raises(OSError, match="0x100"):
        send.BytesStream(POOL).send_heap(heap, cnt=256)


@pytest.mark.parametrize("mode", list(send.GroupMode))
def test_groups(mode):
    arrays = [np.full(n, n, np.uint8) for n in (100, 3000, 2000)]
    heaps = [array_heap(a) for a in arrays]
    queues = [ds.InprocQueue() for _ in heaps]
    stream = send.BytesStream(POOL)
    packets = [list(send.PacketGenerator(heap, i + 1, 1472)) for i, heap in enumerate(heaps)]
    if mode is send.GroupMode.SERIAL:
        wanted = sum(packets, [])
    else:
        wanted = [packets[0][0], packets[1][0], packets[2][0], packets[1][1], packets[2][1], packets[1][2]]
    assert stream.send_heaps([send.HeapReference(heap) for heap in heaps], mode) == len(b"".join(wanted))
    assert stream.getvalue() == b"".join(wanted)
    assert stream.stats()["heaps"] == 3
    assert stream.stats()["packets"] == len(wanted)
    to_queues = send.InprocStream(POOL, queues)
    assert to_queues.num_substreams == 3
    assert to_queues.queues == queues
    references = send.HeapReferenceList(
        [send.HeapReference(heap, substream_index=i, cnt=i + 1, rate=0.0) for i, heap in enumerate(heaps)])
    assert len(references) == 3 and len(references[1:]) == 2
    to_queues.send_heaps(references, mode)
    with pytest.raises(TypeError):
        references[0]


def test_counts():
    heap = send.Heap(WIDE)
    heap.add_end()
    stream = send.BytesStream(POOL)
    stream.send_heap(heap)
    stream.set_cnt_sequence(2**48 - 1, 2)
    stream.send_heap(heap)
    stream.send_heap(heap, cnt=77)
    stream.send_heap(heap)
    stream.set_cnt_sequence(5, -1)
    stream.send_heap(heap)
    stream.send_heap(heap)
    counts = [1, 2**48 - 1, 77, 1, 5, 4]
    assert stream.getvalue() == b"".join(b"".join(send.PacketGenerator(heap, c, 1472)) for c in counts)


# Sockets.


def receiver(family=socket.AF_INET, host="127.0.0.1"):
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.bind((host, 0))
    sock.settimeout(20)
    return sock


def has_ipv6():
    try:
        with receiver(socket.AF_INET6, "::1"):
            return True
    except OSError:
        return False


def forms(sock):
    """All forms of a stream to this socket."""
    place = sock.getsockname()[:2]
    yield send.UdpStream(POOL, [place])
    yield send.UdpStream(POOL, [place], send.StreamConfig(), 4096)
    yield send.UdpStream(POOL, place[0], place[1], buffer_size=0)
    yield send.UdpStream(POOL, [place], interface_address=place[0])
    with socket.socket(sock.family, socket.SOCK_DGRAM) as own:
        yield send.UdpStream(POOL, own, [place])
        yield send.UdpStream(POOL, socket=own, endpoints=[place], config=send.StreamConfig())
        yield send.UdpStream(POOL, [place], send.StreamConfig(), 4096, own)


@pytest.mark.parametrize("family, host", [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_sockets(family, host):
    if family == socket.AF_INET6 and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    data = np.arange(4000, dtype=np.uint16)
    heap = array_heap(data)
    with receiver(family, host) as sock:
        for stream in forms(sock):
            packets = list(send.PacketGenerator(heap, 1, 1472 if family == socket.AF_INET else 1452))
            assert stream.send_heap(heap) == len(b"".join(packets))
            assert [sock.recv(2000) for _ in packets] == packets


def test_a_size_that_was_named_holds_for_ipv6():
    if not has_ipv6():
        pytest.skip("this machine has no IPv6")
    heap = array_heap(np.arange(4000, dtype=np.uint16))
    with receiver(socket.AF_INET6, "::1") as sock:
        host, port = sock.getsockname()[:2]
        packets = list(send.PacketGenerator(heap, 1, 1472))
        for stream in (send.UdpStream(POOL, [(host, port)], send.StreamConfig(max_packet_size=1472)),
                       send.Stream(f"[{host}]:{port}", "", max_packet_size=1472)):
            assert stream.send_heap(heap) == len(b"".join(packets))
            assert [sock.recv(2000) for _ in packets] == packets


def test_multicast_on_loopback():
    group = "239.255.77.21"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((group, 0))
        sock.settimeout(20)
        membership = socket.inet_aton(group) + socket.inet_aton("127.0.0.1")
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
        place = sock.getsockname()
        heap = array_heap(np.arange(10))
        wanted = list(send.PacketGenerator(heap, 1, 1472))[0]
        for stream in (
                send.UdpStream(POOL, [place], send.StreamConfig(), 4096, 1, "127.0.0.1"),
                send.UdpStream(POOL, [place], ttl=1, interface_address="127.0.0.1"),
                send.Stream(f"{group}:{place[1]}", ttl=1),
        ):
            if isinstance(stream, send.Stream):
                continue  # the kernel chooses the interface
            stream.send_heap(heap)
            assert sock.recv(2000) == wanted


def test_the_stream_of_sockets():
    with receiver() as one, receiver() as two:
        places = ["127.0.0.1:%d" % sock.getsockname()[1] for sock in (one, two)]
        with send.Stream(places, rate=1e9, max_heaps=2, first_cnt=3, dscp=8) as stream:
            assert stream.num_substreams == 2
            heap = array_heap(np.arange(100))
            stream.send_heap(heap, substream_index=1)
            assert two.recv(2000) == list(send.PacketGenerator(heap, 3, 1472))[0]
            stream.set_rate(0)
            stream.set_ttl(2)
            stream.end()
            assert one.recv(2000)[40:48] == struct.pack(">Q", immediate(6, 2))
            assert stream.stats()["packets"] == 3
        with pytest.raises(OSError, match="closed"):
            stream.send_heap(heap)
        stream.close()
    with pytest.raises(TypeError, match="no option 'speed'"):
        send.Stream(places, speed=1)
    with pytest.raises(ds.UsageError):
        send.Stream("127.0.0.1")


@pytest.mark.parametrize("error, arguments, options", [
    (ValueError, ([],), {}),
    (ValueError, ([("127.0.0.1", 1), ("::1", 1)],), {}),
    (ValueError, ([("127.0.0.1", 1)],), {"ttl": 1}),
    (ValueError, ([("239.1.1.1", 1)],), {"ttl": 1, "interface_index": 1}),
    (OSError, ([("no.such.host.invalid", 1)],), {}),
    (TypeError, (), {}),
    (TypeError, ([("127.0.0.1", 1)],), {"speed": 1}),
    (TypeError, ([("127.0.0.1", 1)], 7), {}),
])
def test_udp_streams_refuse(error, arguments, options):
    with pytest.raises(error):
        send.UdpStream(POOL, *arguments, **options)


def test_packets_that_are_too_large():
    with receiver() as sock:
        stream = send.UdpStream(POOL, [sock.getsockname()], send.StreamConfig(max_packet_size=100000))
        with pytest.raises(OSError, match="larger than a UDP datagram"):
            stream.send_heap(array_heap(np.zeros(100000, np.uint8)))
        heap = array_heap(np.zeros(1000, np.uint8))
        stream.send_heap(heap)
        assert [sock.recv(2000)] == list(send.PacketGenerator(heap, 1, 2000))


# Memory.


def test_values_are_not_copied():
    data = np.zeros(10, np.uint8)
    heap = array_heap(data)
    stream = send.BytesStream(POOL)
    stream.send_heap(heap, cnt=1)
    data[:] = 5
    stream.send_heap(heap, cnt=1)
    first, second = stream.getvalue()[:58], stream.getvalue()[58:]
    assert first[48:] == b"\0" * 10 and second[48:] == b"\5" * 10


def test_memory_stays_while_it_is_sent():
    stream = slow_stream(max_heaps=3)
    array = BIG.copy()
    alive = weakref.ref(array)
    heap = array_heap(array)
    items = weakref.ref(heap)
    stream._stream.submit_one(heap, 1, 0, -1.0, "first")
    stream._stream.submit_one(heap, 2, 0, -1.0, "second")
    resizable = bytearray(1 << 20)
    other = send.Heap(WIDE)
    other._add(0x1000, resizable, False)
    stream._stream.submit_one(other, 3, 0, -1.0, "third")
    del array, heap, other
    gc.collect()
    assert alive() is not None
    with pytest.raises(BufferError):
        resizable.append(1)
    stream._stream.stop()
    stream.close()
    assert [(tag, sent, type(failure)) for tag, sent, failure in stream._stream.take()] == [
        ("first", 0, OSError), ("second", 0, OSError), ("third", 0, OSError)]
    gc.collect()
    assert alive() is None and items() is None
    resizable.append(1)


def test_a_stream_that_is_deleted_ends_its_heaps():
    array = np.zeros(100_000, np.uint8)
    alive = weakref.ref(array)
    stream = send.BytesStream(POOL, send.StreamConfig(rate=1e6))
    packets = stream._packets
    stream._stream.submit_one(array_heap(array), 1, 0, -1.0, None)
    del stream, array
    gc.collect()
    assert len(packets) > 100_000, "the heap was sent first"
    assert alive() is None


def test_references_stay_flat():
    data = np.arange(16, dtype=np.uint8)
    item = ds.Item(0x1000, "x", "", data.shape, data.dtype, value=data)
    stream = send.BytesStream(POOL, send.StreamConfig(max_heaps=64))
    kept = array_heap(data)

    def burst(n):
        for i in range(n):
            heap = kept if i % 2 else send.Heap(WIDE)
            if heap is not kept:
                heap.add_item(item)
            while True:
                try:
                    stream._stream.submit_one(heap, -1, 0, -1.0, None)
                    break
                except BlockingIOError:
                    stream._stream.flush()
        stream._stream.flush()
        stream._stream.take()
        gc.collect()
        return sys.getrefcount(data), sys.getrefcount(item), sys.getrefcount(kept), sys.getrefcount(None) // 1000

    before = burst(1000)
    assert burst(100_000) == before


def test_heaps_refuse_what_cannot_be_sent():
    heap = send.Heap(WIDE)
    with pytest.raises(ValueError):
        heap.add_item(ds.Item(0x1000, "x", "", (), ">u2"))
    with pytest.raises((BufferError, ValueError)):
        heap._add(0x1000, np.zeros((4, 4))[:, 1], False)
    with pytest.raises(TypeError):
        heap._add(0x1000, 7, False)
    with pytest.raises(ds.Error, match="0 to 4"):
        heap._add(1, b"x", False)
    with pytest.raises(ds.Error, match="does not fit"):
        heap._add(1 << 15, b"x", False)
    assert len(heap) == 0
    with pytest.raises(TypeError):
        send.HeapReference("no heap")
    with pytest.raises(TypeError):
        send.HeapReferenceList([heap])


# Streams.


def test_a_full_stream_refuses():
    stream = slow_stream()
    heap = array_heap(BIG)
    for _ in range(2):
        stream._stream.submit_one(heap, -1, 0, -1.0, None)
    with pytest.raises(BlockingIOError, match="max_heaps"):
        stream.send_heap(heap)
    with pytest.raises(OSError, match="max_heaps"):
        stream.send_heaps([send.HeapReference(heap) for _ in range(3)], send.GroupMode.SERIAL)
    with pytest.raises(OSError, match="empty"):
        stream.send_heaps([], send.GroupMode.SERIAL)
    with pytest.raises(OSError, match="substream 1"):
        send.BytesStream(POOL).send_heap(heap, substream_index=1)
    with pytest.raises(TypeError):
        send.BytesStream(POOL).send_heap(heap, substream_index=-1)
    with pytest.raises(TypeError):
        stream.send_heap("no heap")
    with pytest.raises(TypeError):
        stream.send_heaps([send.HeapReference(heap)], "SERIAL")
    stream._stream.stop()
    stream._stream.flush()


def test_a_queue_that_has_ended_refuses():
    queue = ds.InprocQueue()
    stream = send.InprocStream(POOL, [queue])
    queue.stop()
    with pytest.raises(BrokenPipeError):
        stream.send_heap(array_heap(BIG))
    assert stream.stats()["heaps_refused"] == 1


def test_threads_share_a_stream():
    stream = send.BytesStream(POOL, send.StreamConfig(max_heaps=8))
    heap = array_heap(np.zeros(3000, np.uint8))
    size = len(b"".join(send.PacketGenerator(heap, 1, 1472)))
    sent = []

    def run():
        sent.extend(stream.send_heap(heap) for _ in range(200))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sent == [size] * 800
    assert len(stream.getvalue()) == 800 * size


def test_a_signal_ends_a_wait():
    stream = slow_stream()
    main = threading.main_thread().ident

    def interrupt():
        while stream._stream.in_flight == 0:
            pass
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        stream.send_heap(array_heap(BIG))
    thread.join()
    stream._stream.stop()
    stream._stream.flush()


def test_configurations():
    config = send.StreamConfig(max_packet_size=9000, rate=2e9, burst_rate_ratio=1.5)
    assert config.burst_rate == 3e9
    assert "9000" in repr(config)
    assert send.StreamConfig().max_packet_size == send.StreamConfig.DEFAULT_MAX_PACKET_SIZE == 1472
    assert "1472" in repr(send.StreamConfig())
    with pytest.raises(AttributeError):
        config.max_packetsize = 1
    for wrong in ({"rate": -1}, {"max_heaps": 0}, {"burst_rate_ratio": 0.5}, {"max_packet_size": 8}):
        with pytest.raises(ValueError):
            send.StreamConfig(**wrong)
    for wrong in ({"max_heaps": -1}, {"max_packet_size": "x"}, {"rate_method": 1}):
        with pytest.raises(TypeError):
            send.StreamConfig(**wrong)
    with pytest.raises(TypeError):
        send.BytesStream("no pool")
    with pytest.raises(OSError, match="UdpStream"):
        send.TcpStream(POOL, [("127.0.0.1", 1)])


# Generators.


def test_a_generator_sends_what_has_changed():
    group = send.ItemGroup(descriptor_frequency=3, flavour=WIDE)
    first = group.add_item(0x1000, "a", "", (), ">u2", value=1)
    group.add_item(0x1001, "b", "", (), ">u2")
    assert len(group.get_heap()) == 3, "two descriptors, and a value"
    assert len(group.get_heap()) == 0
    first.value = 2
    group["b"].value = 3
    assert len(group.get_heap()) == 2
    assert len(group.get_heap(data="all")) == 4, "descriptors are due again"
    assert len(group.get_heap(descriptors="all", data="none")) == 2
    assert len(group.get_heap(descriptors="none", data="all")) == 2
    group.add_item(0x1000, "a", "", (2,), ">u2", value=[1, 2])
    assert len(group.get_heap()) == 2, "another descriptor, and its value"
    with pytest.raises(ValueError, match="'some'"):
        group.get_heap(data="some")
    assert len(group.get_start()) == len(group.get_end()) == 1
    assert group.get_heap().flavour == WIDE


def test_each_value_follows_its_descriptor():
    group = send.ItemGroup(flavour=WIDE)
    a = group.add_item(0x1000, "a", "", (4,), ">u2", value=np.arange(4, dtype=">u2"))
    b = group.add_item(0x1001, "b", "", (), format=[("u", 8)], value=9)
    first, second = (item.to_raw(WIDE).encode(WIDE) for item in (a, b))
    at = len(first) + 8
    assert list(send.PacketGenerator(group.get_heap(), 1, 1472)) == [
        header(address(5, 0), address(0x1000, len(first)), address(5, at), immediate(0x1001, 9), cnt=1,
               length=at + len(second)) + first + b"\0\0\0\1\0\2\0\3" + second]
