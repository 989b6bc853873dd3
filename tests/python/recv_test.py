# SPDX-License-Identifier: BSD-3-Clause
"""Streams of heaps from buffers, queues, sockets and files, without privileges."""

import gc
import os
import select
import socket
import struct
import sys
import threading

import numpy as np
import packets
import pytest

import dpdk_spead as ds
from dpdk_spead import recv

PATIENCE = 60
HEAP_CNT_WORD = np.uint64((1 << 63) | (packets.HEAP_CNT << 48))


def stream(config=None, ring=None):
    return recv.Stream(ds.ThreadPool(), config or recv.StreamConfig(), ring or recv.RingStreamConfig())


def data_of(heap):
    return np.frombuffer(next(i for i in heap.get_items() if not i.is_immediate), np.uint8)


def received(data, config=None, ring=None):
    s = stream(config, ring)
    s.add_buffer_reader(data)
    return list(s), s


def test_heaps_have_counts_items_and_flavours():
    heaps, s = received(packets.heaps(3, 5000, 1000))
    assert [h.cnt for h in heaps] == [1, 2, 3]
    assert heaps[0].flavour == ds.Flavour(4, 64, 48)
    assert heaps[0].flavour is heaps[1].flavour
    items = {i.id: i for i in heaps[1].get_items()}
    assert items[packets.TIME].is_immediate and items[packets.TIME].immediate_value == 2
    assert bytes(items[packets.TIME]) == b"\0\0\0\0\0\2"
    assert bytes(items[packets.DATA]) == packets.content(2, 5000)
    assert s.stats.heaps == 3 and s.stats.packets == 15
    assert s.counters["packets_placed"] == 15
    with pytest.raises(ds.Stopped):
        s.get()
    with pytest.raises(ds.Stopped):
        s.get_nowait()


def test_a_list_of_more_bytes_than_the_stream_has_memory_for():
    length = 1 << 20
    count = 300  # more than the 256 MiB of a stream of few heaps
    heaps, s = received(packets.heaps(count, length, 60000), recv.StreamConfig(max_heaps=1))
    assert [h.cnt for h in heaps] == list(range(1, count + 1))
    for h in heaps:
        assert data_of(h)[:8].tobytes() == packets.content(h.cnt, 8)
    assert s.counters["heaps_copied_out"] > 0
    assert s.counters["packets_no_memory"] == 0


def test_arrays_and_slices_outlive_heap_and_stream():
    s = stream()
    s.add_buffer_reader(packets.heaps(40, 3000))
    slices = [data_of(h)[100:200] for h in s]
    del s
    gc.collect()
    for cnt, part in enumerate(slices, 1):
        assert part.tobytes() == packets.content(cnt, 3000)[100:200]
        part[:] = 1  # the heap is the user's
    assert sys.getrefcount(slices[0].base) > 1


def test_reference_counts_are_flat():
    turns, each = 20, 50_000
    gc.collect()
    none, flavour = sys.getrefcount(None), None
    one = np.frombuffer(packets.heap(1, b"x" * 64)[0], np.uint8)
    s = stream()
    queue = ds.InprocQueue()
    s.add_inproc_reader(queue)
    blocks, resident = [], []
    for turn in range(turns):
        heaps = np.tile(one, (each, 1))
        heaps[:, 8:16] = counts(turn * each, each)
        for packet in heaps:
            queue.add_packet(packet)
        for _ in range(each):
            heap = s.get()
            flavour = heap.flavour
            heap.get_items()
            heap.get_descriptors()
        gc.collect()
        blocks.append(sys.getallocatedblocks())
        resident.append(packets.resident_bytes())
    assert flavour is not None and heap.cnt == turns * each - 1
    assert max(blocks[2:]) - blocks[2] < 1000
    # A leak raises the least of several turns, too. What malloc() keeps for a while does not.
    assert min(resident[15:]) - min(resident[5:10]) < 4 << 20
    assert abs(sys.getrefcount(None) - none) < 1000


def counts(first, number):
    """Returns the item pointers of heap counts from `first` on, as bytes: one row each."""
    words = np.arange(first, first + number, dtype=np.uint64) | HEAP_CNT_WORD
    return words.astype(">u8")[:, None].view(np.uint8)


def test_full_queue_waits_for_its_user():
    s = stream(ring=recv.RingStreamConfig(heaps=4))
    s.add_buffer_reader(packets.heaps(10, 100))
    for _ in range(PATIENCE * 100):
        if s.stats.worker_blocked:
            break
        threading.Event().wait(0.01)
    assert s.stats.worker_blocked == 1
    assert s.ringbuffer.capacity() == 4 and s.ringbuffer.size() == 4
    s.stop()
    assert s.stats.heaps == 10
    assert len(list(s)) == 10
    assert s.ringbuffer.size() == 0


def test_incomplete_heaps_tell_what_came():
    parts = packets.heap(1, packets.content(1, 3000), 1000)
    config = recv.StreamConfig(allow_out_of_order=True)
    heaps, s = received(parts[0] + parts[2], config)
    assert heaps == [] and s.stats.incomplete_heaps_flushed == 1
    ring = recv.RingStreamConfig(contiguous_only=False, incomplete_keep_payload_ranges=True)
    heaps, s = received(parts[0] + parts[2], config, ring)
    assert isinstance(heaps[0], recv.IncompleteHeap) and not heaps[0].complete
    assert heaps[0].payload_ranges == [(0, 1000), (2000, 3000)]
    assert heaps[0].heap_length == 3000 and heaps[0].received_length == 2000
    assert [i.id for i in heaps[0].get_items()] == [packets.TIME]
    evicting = b"".join(b"".join(packets.heap(c, b"xy", 1)) for c in range(2, 60))
    heaps, s = received(parts[0] + evicting, config, ring)
    assert s.stats.incomplete_heaps_evicted == 1 and len(heaps) == 59


def test_heaps_without_a_length():
    parts = packets.heap(1, packets.content(1, 3000), 1000, sized=False)
    heaps, _ = received(b"".join(parts))
    assert bytes(data_of(heaps[0])) == packets.content(1, 3000)
    heaps, s = received(b"".join(parts), recv.StreamConfig(allow_unsized_heaps=False))
    assert heaps == [] and s.counters["packets_filtered"] == 3


def test_control_heaps():
    start = packets.heap(1, control=packets.START)[0]
    stop = packets.heap(3, control=packets.STOP)[0]
    data = start + packets.heap(2, b"abc")[0] + stop + packets.heap(4, b"abc")[0]
    heaps, s = received(data)
    assert [h.cnt for h in heaps] == [1, 2]
    assert heaps[0].is_start_of_stream() and not heaps[0].is_end_of_stream()
    assert s.stats.heaps == 2 and s.stats.packets == 3
    heaps, _ = received(data, recv.StreamConfig(stop_on_stop_item=False))
    assert [h.cnt for h in heaps] == [1, 2, 3, 4] and heaps[2].is_end_of_stream()


def test_several_readers_and_the_first_end():
    first, second = ds.InprocQueue(), ds.InprocQueue()
    s = stream()
    s.add_inproc_reader(first)
    s.add_inproc_reader(second)
    for cnt in range(1, 21):
        (first if cnt % 2 else second).add_packet(packets.heap(cnt, b"abc")[0])
        assert s.get().cnt == cnt
    second.stop()
    assert list(s) == []


def test_readers_wait_for_the_start():
    s = stream(recv.StreamConfig(explicit_start=True))
    s.add_buffer_reader(packets.heaps(2, 100))
    with pytest.raises(ds.Empty):
        s.get_nowait()
    s.start()
    assert [h.cnt for h in s] == [1, 2]
    with pytest.raises(RuntimeError, match="before start"):
        s.add_buffer_reader(b"")


@pytest.mark.parametrize("family,host", [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_sockets_of_both_families(family, host):
    try:
        own = socket.socket(family, socket.SOCK_DGRAM)
        own.bind((host, 0))
    except OSError:
        pytest.skip("this machine has no such address")
    s = stream()
    with own:
        port = own.getsockname()[1]
        s.add_udp_reader(socket=own, max_size=1 << 16)  # more than a datagram has
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        for p in packets.heap(1, packets.content(1, 3000), 1000):
            sender.sendto(p, (host, port))
        assert bytes(data_of(s.get())) == packets.content(1, 3000)
        own = stream()
        with socket.socket(family, socket.SOCK_DGRAM) as free:
            free.bind((host, 0))
            port = free.getsockname()[1]
        own.add_udp_reader(port, bind_hostname=host, buffer_size=0)
        sender.sendto(packets.heap(7, b"abc")[0], (host, port))
        assert own.get().cnt == 7


def free_port():
    """Returns a UDP port that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_groups():
    s = stream()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind(("127.0.0.1", 0))
        port = sender.getsockname()[1] ^ 1
        s.add_udp_reader("239.255.77.1", port, interface_address="127.0.0.1")
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        sender.sendto(packets.heap(3, b"abc")[0], ("239.255.77.1", port))
    assert s.get().cnt == 3


@pytest.mark.parametrize("error,words,host,on", [
    (ValueError, "neither a group nor the interface_address", "127.0.0.1", {"interface_address": "10.99.99.99"}),
    (RuntimeError, "on the interface 10.99.99.99", "0.0.0.0", {"interface_address": "10.99.99.99"}),
    (RuntimeError, "on the interface 10.99.99.99", "239.255.77.1", {"interface_address": "10.99.99.99"}),
    (ValueError, "not an IPv4 address", "239.255.77.1", {"interface_address": "::1"}),
    (ValueError, "is for IPv4", "::1", {"interface_address": "127.0.0.1"}),
    (ValueError, "groups of IPv6", "127.0.0.1", {"interface_index": 1}),
    (ValueError, "groups of IPv6", "::1", {"interface_index": 999}),
])
def test_an_interface_that_would_be_ignored_is_refused(error, words, host, on):
    with pytest.raises(error, match=words):
        stream().add_udp_reader(host, free_port(), **on)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_the_address_of_an_interface_receives(host):
    s, port = stream(), free_port()
    s.add_udp_reader(host, port, interface_address="127.0.0.1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        with pytest.raises(OSError):  # the socket has this address alone, or the other could not be taken
            sender.bind(("127.0.0.1", port))
        sender.bind(("127.0.0.2", port))
        sender.sendto(packets.heap(3, b"abc")[0], ("127.0.0.1", port))
    assert s.get().cnt == 3


def test_pcap_files(tmp_path):
    path = tmp_path / "in.pcap"
    with open(path, "wb") as file:
        file.write(struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for cnt, port in ((1, 7148), (2, 7149)):
            payload = packets.heap(cnt, b"abc")[0]
            udp = struct.pack(">HHHH", 1, port, 8 + len(payload), 0) + payload
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 4, 17, 0, bytes([10, 0, 0, 1]),
                             bytes([239, 1, 2, 3]))
            frame = b"\0" * 12 + b"\x08\0" + ip + udp
            file.write(struct.pack("=IIII", 0, 0, len(frame), len(frame)) + frame)
    counts = {}
    for expression in ("", "udp", "udp dst port 7149", "port 7148 and dst host 239.1.2.3", "src host 10.0.0.2"):
        s = stream()
        s.add_udp_pcap_file_reader(str(path), filter=expression)
        counts[expression] = [h.cnt for h in s]
    assert list(counts.values()) == [[1, 2], [1, 2], [2], [1], []]
    with pytest.raises(ValueError, match="not understood"):
        stream().add_udp_pcap_file_reader(str(path), "vlan 7")
    for bad in ("port 70000", "port domain", "dst port -1"):
        with pytest.raises(ValueError, match="0 to 65535"):
            stream().add_udp_pcap_file_reader(str(path), bad)
    with pytest.raises(RuntimeError, match="nowhere"):
        stream().add_udp_pcap_file_reader("/nowhere")


def test_buffers_are_pinned_while_they_are_read():
    data = bytearray(packets.heaps(100, 100))
    s = stream(ring=recv.RingStreamConfig(heaps=1))
    s.add_buffer_reader(data)
    with pytest.raises(BufferError):
        data.clear()
    assert len(list(s)) == 100
    del s
    data.clear()
    with pytest.raises(TypeError):
        stream().add_buffer_reader("text")
    with pytest.raises((BufferError, ValueError)):
        stream().add_buffer_reader(np.zeros((4, 4), np.uint8)[:, ::2])


def test_queues_take_all_before_a_stream_is_there():
    queue = ds.InprocQueue()
    for cnt in range(1, 5001):
        queue.add_packet(packets.heap(cnt, b"abc")[0])
    queue.stop()
    with pytest.raises(ds.Stopped):
        queue.add_packet(b"x")
    with pytest.raises(ValueError, match="65508"):
        ds.InprocQueue().add_packet(bytes(65508))
    s = stream()
    s.add_inproc_reader(queue)
    assert len(list(s)) == 5000


def test_descriptor_is_readable_while_a_heap_waits():
    queue = ds.InprocQueue()
    s = stream()
    fd = s.fd
    assert select.select([fd], [], [], 0)[0] == []
    s.add_inproc_reader(queue)
    for cnt in (1, 2, 3):
        queue.add_packet(packets.heap(cnt, b"abc")[0])
    counts = []
    while len(counts) < 3:
        assert select.select([fd], [], [], PATIENCE)[0] == [fd]
        try:
            counts.append(s.get_nowait().cnt)
        except ds.Empty:
            pass  # a descriptor may be readable once without a heap
    assert counts == [1, 2, 3]
    with pytest.raises(ds.Empty):
        s.get_nowait()
    assert select.select([fd], [], [], 0)[0] == []
    queue.stop()
    assert select.select([fd], [], [], PATIENCE)[0] == [fd]
    with pytest.raises(ds.Stopped):
        s.get_nowait()


def test_stop_wakes_threads_that_wait():
    queue = ds.InprocQueue()
    for with_reader in (False, True):
        s = stream()
        if with_reader:
            s.add_inproc_reader(queue)
        ended = []

        def take(s=s, ended=ended):
            try:
                s.get()
            except ds.Stopped:
                ended.append(True)

        threads = [threading.Thread(target=take) for _ in range(3)]
        for thread in threads:
            thread.start()
        s.stop()
        for thread in threads:
            thread.join(PATIENCE)
        assert ended == [True] * 3
        s.stop()
        s.add_buffer_reader(packets.heaps(1, 100))
        assert list(s) == []


def test_threads_add_readers_while_others_take_heaps():
    for turn in range(10):
        s = stream(ring=recv.RingStreamConfig(heaps=4))
        got = []

        def take(s=s, got=got):
            for h in s:
                got.append(h.cnt)

        def feed(base, s=s):
            queue = ds.InprocQueue()
            s.add_inproc_reader(queue)
            for cnt in range(base, base + 50):
                queue.add_packet(packets.heap(cnt, b"abc")[0])

        takers = [threading.Thread(target=take) for _ in range(2)]
        feeders = [threading.Thread(target=feed, args=(1000 * i,)) for i in (1, 2, 3)]
        for thread in takers + feeders:
            thread.start()
        for thread in feeders:
            thread.join(PATIENCE)
        for _ in range(PATIENCE * 100):
            if len(got) == 150:
                break
            threading.Event().wait(0.01)
        s.stop()
        for thread in takers:
            thread.join(PATIENCE)
        assert len(got) == len(set(got)) == 150, turn


def test_pools_size_the_memory():
    pool = ds.MemoryPool(1, 100 << 20, 2, 2)
    length = 70 << 20
    data = b"".join(packets.heap(1, bytes(length), 60000))
    heaps, s = received(data)
    assert heaps == [] and s.counters["packets_rejected"] > 0
    heaps, s = received(data, recv.StreamConfig(memory_allocator=pool))
    assert data_of(heaps[0]).size == length


def test_refusals():
    for wrong in ({"max_heaps": 0}, {"substreams": 0}, {"bug_compat": 8}, {"memcpy": 7}):
        with pytest.raises(ValueError):
            recv.StreamConfig(**wrong)
    with pytest.raises(TypeError):
        recv.StreamConfig(max_heaps="4")
    with pytest.raises(TypeError):
        recv.StreamConfig(memory_allocator=3)
    with pytest.raises(TypeError):
        recv.Stream(3)
    s = stream()
    with pytest.raises(TypeError):
        s.add_udp_reader()
    with pytest.raises(TypeError):
        s.add_udp_reader(1 << 16)
    with pytest.raises(RuntimeError, match="TCP"):
        s.add_tcp_reader(1)
    with pytest.raises(RuntimeError, match="203.0.113.1"):
        s.add_udp_reader(7148, bind_hostname="203.0.113.1")
    with pytest.raises(TypeError):
        s.add_inproc_reader(3)
    with pytest.raises(RuntimeError, match="port"):
        s.add_endpoint("239.1.2.3:7148")
    with socket.socket() as tcp, pytest.raises(RuntimeError, match="no UDP socket"):
        s.add_udp_reader(socket=tcp)
    assert isinstance(repr(s), str)


def test_a_child_of_fork_is_refused():
    queue = ds.InprocQueue()
    s = stream()
    s.add_inproc_reader(queue)
    queue.add_packet(packets.heap(1, b"abc")[0])
    held = data_of(s.get())
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (s.get, s.get_nowait, s.stop, lambda: s.counters, lambda: s.fd):
            try:
                call()
            except RuntimeError:
                refused += 1
        os._exit(refused if held.tobytes() == b"abc" else 100)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
    queue.add_packet(packets.heap(2, b"abc")[0])
    assert s.get().cnt == 2


def test_statistics_are_mappings_and_can_be_added():
    config = recv.StreamConfig()
    config.add_stat("mine", recv.StreamStatConfig.Mode.MAXIMUM)
    a, b = stream(config).stats, stream(config).stats
    a["mine"], b["mine"], a.heaps, b["heaps"] = 3, 4, 5, 6
    total = a + b
    assert (total["mine"], total[recv.stream_stat_indices.HEAPS]) == (4, 11)
    assert dict(total.items())["heaps"] == 11 and total.get("nothing", 7) == 7
    with pytest.raises(ValueError):
        a + stream().stats
    with pytest.raises(IndexError):
        a[-1]


@pytest.mark.parametrize("explicit", [False, True])
def test_a_reader_that_cannot_be_opened_leaves_the_stream(explicit):
    stream = recv.Stream(ds.ThreadPool(), recv.StreamConfig(explicit_start=explicit))
    with pytest.raises(ds.Error):
        stream.add_udp_pcap_file_reader("/nonexistent.pcap")
        stream.start()
    stream.add_buffer_reader(packets.heaps(3, 5000, 1000))
    if explicit:
        stream.start()
    assert len(list(stream)) == 3


def test_a_socket_of_the_users_keeps_its_options():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    udp_gro = 104
    stream = recv.Stream(ds.ThreadPool())
    stream.add_udp_reader(sock)
    stream.stop()
    assert sock.getsockopt(socket.IPPROTO_UDP, udp_gro) == 0
    sock.close()


@pytest.mark.parametrize("size, lost", [(40 << 20, 10), (4 << 20, 114)])
def test_heaps_that_never_end_do_not_wait_for_the_heap_in_the_users_hands(size, lost):
    queue = ds.InprocQueue()
    stream = recv.Stream(ds.ThreadPool())
    stream.add_inproc_reader(queue)
    last = lost + 2
    queue.add_packet(packets.part(1, b"good"))
    for cnt in range(2, last):
        queue.add_packet(packets.part(cnt, bytes(1000), length=size))
    queue.add_packet(packets.part(last, b"good"))
    queue.stop()
    assert [heap.cnt for heap in stream] == [1, last]
