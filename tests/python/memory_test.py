# SPDX-License-Identifier: BSD-3-Clause
"""Memory for arrays: the library's on huge pages or ordinary ones, and users' from memfd."""

import gc
import mmap
import os
import weakref

import numpy as np
import packets
import pytest
from programs import expect, run

import dpdk_spead as ds
from dpdk_spead import recv, send

HUGE = 2 << 20


def free_huge_pages():
    with open("/proc/meminfo", encoding="ascii") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("HugePages_Free")), 0)


def test_memory_is_zeroed_and_writable():
    memory = ds.Memory(HUGE + 10)
    assert len(memory) == memory.nbytes == HUGE + 10
    array = memory.array()
    assert array.dtype == np.uint8 and array.shape == (HUGE + 10,) and not array.any()
    assert array.flags.writeable and array.ctypes.data % HUGE == 0
    array[:4] = [0, 1, 2, 3]
    assert memory.array(np.int64(3)).shape == (3,)
    words = memory.array((1, 2), ">u2")
    assert words.tolist() == [[1, 0x203]]
    assert memory.array((), np.uint16, offset=2) == 0x302
    assert bytes(memoryview(memory)[:4]) == b"\0\1\2\3"


def test_memory_says_its_pages():
    before = free_huge_pages()
    memory = ds.Memory(HUGE)
    assert memory.pages in ("huge pages", "transparent huge pages", "4 KiB pages")
    assert repr(memory) == f"<memory of {HUGE} bytes on {memory.pages}>"
    if memory.pages == "huge pages":
        assert free_huge_pages() < before
    # Other processes may have taken them meanwhile, and do not give them back at once.
    elif before:
        assert free_huge_pages() == 0


def test_arrays_keep_their_memory():
    memory = ds.Memory(4096)
    alive = weakref.ref(memory)
    array = memory.array((16,), np.int32)[4:]
    del memory
    gc.collect()
    assert alive() is not None and array.sum() == 0
    del array
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("call, error, words", [
    (lambda m: ds.Memory(0), ValueError, "0 bytes"),
    (lambda m: ds.Memory(-1), ValueError, "-1 bytes"),
    (lambda m: ds.Memory(1 << 80), ValueError, "give at least 1"),
    (lambda m: ds.Memory(1 << 45), ds.Error, "ask for less"),
    (lambda m: ds.Memory("1"), TypeError, "str"),
    (lambda m: m.array(4097), ValueError, "4097 bytes"),
    (lambda m: m.array((512, 2), ">f8"), ValueError, "8192 bytes"),
    (lambda m: m.array(offset=4097), ValueError, "offset is 4097"),
    (lambda m: m.array(offset=-1), ValueError, "offset is -1"),
    (lambda m: m.array((-1,)), ValueError, "does not fit"),
    (lambda m: m.array((1 << 62, 1 << 62)), ValueError, "does not fit"),
    (lambda m: m.array(dtype=object), ValueError, "Python objects"),
])
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call(ds.Memory(4096))


def memfd(length):
    fd = os.memfd_create("test")
    try:
        os.ftruncate(fd, length)
        return mmap.mmap(fd, length)
    finally:
        os.close(fd)


@pytest.mark.parametrize("make", [ds.Memory, memfd])
def test_chunks_lie_in_memory_of_the_users(make):
    placement = recv.Placement("heap 1024; time: item 0x1600 [4]")
    memory = make(3 * placement.bytes)
    all_data = np.frombuffer(memory, np.uint8)
    buffers = np.split(all_data, 3)
    data = b"".join(packets.part(n, bytes([n]) * 1024, [(packets.TIME, n)]) for n in range(4))
    with recv.ChunkStream(placement, buffers=buffers, buffer=data) as stream:
        chunk = stream.get(60)
        assert chunk.present.all()
        assert np.shares_memory(chunk.data, all_data)
        assert chunk.data.reshape(4, 1024)[:, 0].tolist() == [0, 1, 2, 3]
        if make is memfd:
            with pytest.raises(BufferError):
                memory.close()


@pytest.mark.parametrize("make", [ds.Memory, memfd])
def test_chunks_of_rings_lie_in_memory_of_the_users(make):
    memory = make(4096)
    chunk = recv.Chunk(data=memory, present=bytearray(4))
    assert chunk.data is memory
    if make is memfd:
        with pytest.raises(BufferError):
            memory.close()
        chunk.data = None
        memory.close()


@pytest.mark.parametrize("make", [ds.Memory, memfd])
def test_heaps_are_sent_from_memory_of_the_users(make):
    memory = make(4096)
    array = np.frombuffer(memory, np.uint8)
    array[:] = np.arange(4096) % 251
    queue = ds.InprocQueue()
    stream = send.InprocStream(ds.ThreadPool(), [queue])
    heap = send.Heap()
    heap.add_item(ds.Item(0x5000, "x", "", array.shape, array.dtype, value=array))
    stream.send_heap(heap)
    queue.stop()
    receiver = recv.Stream(ds.ThreadPool())
    receiver.add_inproc_reader(queue)
    items = [item for item in receiver.get().get_items() if item.id == 0x5000]
    assert bytes(items[0]) == array.tobytes()


def test_ports_send_from_memory_of_the_users():
    expect(run("""if True:
        import gc, mmap, os, weakref
        import numpy as np
        import pytest
        import dpdk_spead as ds
        from dpdk_spead import recv, send
        ds.init(memory=64 << 20)
        fd = os.memfd_create("test")
        os.ftruncate(fd, 1 << 20)
        shared = mmap.mmap(fd, 1 << 20)
        memory = ds.Memory(1 << 20)
        for bad in ([shared, shared], [b""]):
            with pytest.raises(ValueError, match="memory region"):
                send.Stream("239.1.2.3:7148", "net_null0", memory_regions=bad)
        with pytest.raises(TypeError):
            send.Stream("239.1.2.3:7148", "net_null0", memory_regions=[1])
        stream = send.Stream("239.1.2.3:7148", "net_ring0", memory_regions=[memory, shared], max_packet_size=8000)
        receiver = recv.Stream()
        receiver.add_udp_ibv_reader(recv.UdpIbvConfig(endpoints=[("239.1.2.3", 7148)], interface_address="net_ring0"))
        for source in (memory, shared):
            array = np.frombuffer(source, np.uint8)
            array[:] = np.arange(1 << 20) % 251
            heap = send.Heap()
            heap.add_item(ds.Item(0x5000, "x", "", array.shape, array.dtype, value=array))
            stream.send_heap(heap)
            assert bytes(receiver.get().get_items()[0]) == array.tobytes()
            del array, heap
        with pytest.raises(BufferError):
            shared.close()
        alive = weakref.ref(memory)
        del memory, source
        gc.collect()
        assert alive() is not None
        stream.close()
        shared.close()
        gc.collect()
        assert alive() is None
    """))


def test_initial_buffers_of_a_pool_are_resident_with_the_first_reader():
    upper = 20 << 20  # takes blocks of 32 MiB

    def grown(initial):
        s = recv.Stream(config=recv.StreamConfig(memory_allocator=ds.MemoryPool(1, upper, 8, initial)))
        before = packets.resident_bytes()
        s.add_inproc_reader(ds.InprocQueue())
        return packets.resident_bytes() - before

    grown(0)
    none = grown(0)
    assert 3 * upper <= grown(3) - none < 3 * (32 << 20) + (8 << 20)
