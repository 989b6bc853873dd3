# SPDX-License-Identifier: BSD-3-Clause
"""What is of a wrong type or out of range is refused in words that name it."""

import gc
import mmap
import socket

import numpy as np
import pytest

import dpdk_spead as ds
from dpdk_spead import recv, send

POOL = ds.ThreadPool()


def item(id=0x1000, name="x", description="", shape=(3,), dtype=np.int8, **more):
    return ds.Item(id, name, description, shape, dtype, **more)


def heap_of(value, **more):
    heap = send.Heap()
    heap.add_item(item(value=value, **more))
    return heap


def chunk_stream(pool=POOL, config=None, chunks=None):
    ring = recv.ChunkRingbuffer(2)
    return recv.ChunkRingStream(pool, config or recv.StreamConfig(), chunks, ring, ring)


def declared_stream(**settings):
    return recv.ChunkStream("heap 64; time: item 0x1600 [4]", **{"queue": ds.InprocQueue(), **settings})


def two_paths(config=None, **more):
    return recv.Stream(POOL, config, second_path=recv.SecondPath("ens2f0"), **more)


def formatted(format):
    recv.Stream(POOL, format=format).add_buffer_reader(bytes(64))


OBJECTS = np.array([{}, [], 5], object)
MIXED = np.zeros(3, [("number", ">u4"), ("other", object)])
DATED = np.zeros(3, [("day", "M8[D]"), ("other", object)])
LARGE = np.zeros(128, np.uint8)
WIDE = np.zeros(512, np.uint8)
READ_ONLY = np.zeros(64, np.uint8)
READ_ONLY.flags.writeable = False


def released(size):
    view = memoryview(bytearray(size))
    view.release()
    return view


def closed_map():
    memory = mmap.mmap(-1, 4096)
    memory.close()
    return memory


def closed_socket():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        return made


class OnGpu:
    def __init__(self, **changes):
        self.__cuda_array_interface__ = {"shape": (4,), "typestr": "<u1", "data": (4096, False), "version": 3, **changes}


#: What is tried, the error, and a part of its words.
REFUSALS = [
    (lambda: ds.ThreadPool("x"), TypeError, "`threads` is 'x'"),
    (lambda: ds.ThreadPool(1.5), TypeError, "`threads` is 1.5"),
    (lambda: ds.ThreadPool(1, 5), TypeError, "`affinity` is 5"),
    (lambda: ds.ThreadPool(1, ["2"]), TypeError, "`affinity` is"),
    (lambda: ds.Flavour("4"), TypeError, "version is '4'"),
    (lambda: ds.Flavour(heap_address_bits=40.0), TypeError, "heap_address_bits is 40.0"),
    (lambda: item(name=5), TypeError, "name is 5"),
    (lambda: item(name=b"x"), TypeError, "name is b'x'"),
    (lambda: item(description=None), TypeError, "item x: the description is None"),
    (lambda: item(id="5"), TypeError, "item x: the id is '5'"),
    (lambda: item(id=4096.5), TypeError, "item x: the id is 4096.5"),
    (lambda: item(id=-5), ValueError, "item x: the id is -5"),
    (lambda: item(shape=(2.5,)), TypeError, r"item x: the shape is \(2.5,\)"),
    (lambda: item(shape="12"), TypeError, "item x: the shape is '12'"),
    (lambda: item(shape=3), TypeError, "item x: the shape is 3"),
    (lambda: item(shape=None), TypeError, "item x: the shape is None"),
    (lambda: item(dtype=None, format="u32"), ValueError, "'u32' is no list of pairs"),
    (lambda: item(dtype=None, format=("u", 32)), ValueError, r"\('u', 32\) is no list of pairs"),
    (lambda: heap_of(["a", "b", "c"]), ValueError, "item x: the value cannot become an array of int8"),
    (lambda: heap_of([1, 2, None]), TypeError, "item x: the value cannot become an array of int8"),
    (lambda: heap_of([[1], [1, 2]], shape=(2, 2)), ValueError, "item x: the value cannot become an array of int8"),
    (lambda: send.Heap(5), TypeError, "flavour is 5"),
    (lambda: send.Heap().add_item(5), TypeError, "5 is no Item"),
    (lambda: send.PacketGenerator(None, 1, 1000), TypeError, "None is no Heap"),
    (lambda: send.BytesStream(POOL).send_heap(heap_of([1, 2, 3]), "x"), TypeError, "cnt is 'x'"),
    (lambda: send.BytesStream(POOL).send_heap(heap_of([1, 2, 3]), 1 << 70), TypeError, f"cnt is {1 << 70}"),
    (lambda: send.BytesStream(POOL).send_heap(heap_of([1, 2, 3]), -1, -1), TypeError, "substream_index is -1"),
    (lambda: send.BytesStream(POOL).send_heap(heap_of([1, 2, 3]), rate="x"), TypeError, "rate is 'x'"),
    (lambda: send.BytesStream(POOL).send_heaps([send.Heap()], send.GroupMode.SERIAL), TypeError, "HeapReference"),
    (lambda: send.UdpStream(POOL, ("10.0.0.1", 7148)), TypeError, "endpoints has '10.0.0.1'"),
    (lambda: send.UdpStream(POOL, [7148]), TypeError, "endpoints has 7148"),
    (lambda: send.InprocStream(POOL, ds.InprocQueue()), TypeError, "give a list"),
    (lambda: send.InprocStream(POOL, [5]), TypeError, "5 is no InprocQueue"),
    (lambda: recv.Stream(POOL).add_inproc_reader(None), TypeError, "None is no InprocQueue"),
    (lambda: chunk_stream(chunks=5), TypeError, "chunk_stream_config is 5"),
    (lambda: chunk_stream(pool=5, chunks=recv.ChunkStreamConfig()), TypeError, "thread_pool is 5"),
    (lambda: declared_stream(window="a"), TypeError, "window is 'a'"),
    (lambda: declared_stream(window=-1), ValueError, "window is -1"),
    (lambda: declared_stream(stream=1 << 32), ValueError, "stream is 4294967296"),
    (lambda: declared_stream(max_jump=1.5), TypeError, "max_jump is 1.5"),
    (lambda: declared_stream(timeout="x"), TypeError, "timeout is 'x'"),
    (lambda: declared_stream(patience=float("nan")), TypeError, "patience is nan"),
    (lambda: declared_stream(name=5), TypeError, "name is 5"),
    (lambda: declared_stream(lcores="ab"), TypeError, "lcores is 'ab'"),
    (lambda: declared_stream(endpoints=[5]), TypeError, r"endpoints is \[5\]"),
    (lambda: declared_stream(second_path="ens2f0"), TypeError, r"second_path is 'ens2f0'; give recv.SecondPath\("),
    (lambda: declared_stream(second_path=recv.SecondPath("ens2f0")), ds.Error, "the stream has no port; leave it out"),
    (lambda: declared_stream(format="vdiff"), ds.UsageError, "`vdiff`.* vdif"),
    (lambda: recv.Stream(POOL, second_path="ens2f0"), TypeError, r"stream: second_path is 'ens2f0'; give recv.Seco"),
    (lambda: recv.Stream(POOL, format=5), TypeError, "stream: format is 5; give a str"),
    (lambda: formatted("vdiff"), ds.UsageError, "`vdiff`.* vdif"),
    (lambda: formatted("header 16; field x: u64 at 12"), ds.UsageError, "the field x has bytes 12"),
    (lambda: formatted("snap2"), ds.UsageError, "do not tell where the next one begins"),
    (lambda: two_paths(recv.StreamConfig(stop_on_stop_item=False)), ds.UsageError,
     "a packet that only one of them brings is behind those of the other; set `allow_out_of_order`"),
    (lambda: two_paths(recv.StreamConfig(allow_out_of_order=True)), ds.UsageError, "set `stop_on_stop_item`"),
    (lambda: two_paths(lend=100), ds.UsageError, "two ports in one heap cannot be lent; leave `lend` out"),
    (lambda: two_paths().add_buffer_reader(b""), ds.UsageError, "the stream has no port; leave it out"),
    (lambda: recv.SecondPath(5), TypeError, "second path: interface is 5"),
    (lambda: recv.SecondPath("ens2f0", [7148]), TypeError, r"second path: endpoints is \[7148\]"),
    (lambda: recv.SecondPath("ens2f0", skew=-1), ValueError, "second path: skew is -1"),
    (lambda: declared_stream(chunks="a"), TypeError, "'a' is no whole number"),
    (lambda: declared_stream(chunks=-1), ValueError, "chunks is -1; give the number"),
    (lambda: declared_stream(chunks=1 << 70), ValueError, "chunks is 1180591620717411303424"),
    (lambda: declared_stream(buffers=[bytes(64)]), ValueError, "buffers: one of 64 bytes is read-only"),
    (lambda: declared_stream(buffers=[np.zeros((8, 8), np.uint8)[:, ::2]]), ValueError, "32 bytes is not contiguous"),
    (lambda: declared_stream(buffers=[[1, 2]]), TypeError, "buffers: one is of type list, which has no bytes; give an"),
    (lambda: declared_stream(buffers=[None]), TypeError, "buffers: one is of type NoneType"),
    (lambda: declared_stream(buffers=5), TypeError, "buffers is 5; give a list"),
    (lambda: declared_stream(buffers=[released(64)]), ValueError, "buffers: one of type memoryview gives no bytes .*relea"),
    (lambda: declared_stream(buffers=[np.zeros(0, np.uint8)]), ValueError, "the `data` of a chunk has 0 bytes; its placement needs 256"),
    (lambda: declared_stream(buffers=[np.zeros(63, np.uint8)]), ValueError, "the `data` of a chunk has 63 bytes"),
    (lambda: declared_stream(buffers=[WIDE[:256], WIDE[64:320]]), ValueError, "the `data` of a chunk overlaps the `data` of chunk 0"),
    (lambda: declared_stream(queue=5), TypeError, "queue is 5; give an InprocQueue"),
    (lambda: declared_stream(queue=None, socket=5), TypeError, "socket is 5; give a bound socket.socket"),
    (lambda: declared_stream(queue=None, buffer=5), TypeError, "buffer reader: `buffer` is of type int"),
    (lambda: recv.Placement(None), TypeError, "placement: None is no number of bytes, and no text"),
    (lambda: send.Stream(5), TypeError, "endpoints is 5"),
    (lambda: send.Stream([5]), TypeError, r"endpoints is \[5\]"),
    (lambda: recv.Placement(float("nan")), ValueError, "heap: nan is no whole number"),
    (lambda: recv.Placement(float("inf")), ValueError, "heap: inf is no whole number"),
    (lambda: recv.Placement(np.zeros(2)), TypeError, "is no number of bytes"),
    (lambda: recv.Placement(64).time(recv.item("x"), 4), TypeError, "item: 'x' is no number"),
    (lambda: recv.Placement(64).time(recv.item(5).among("ab"), 4), TypeError, "among: 'a' is no number"),
    (lambda: recv.Placement(64).packet_presence(None), TypeError, "packet_bytes: None is no number"),
    (lambda: ds.MemoryPool("a", 2, 3, 4), TypeError, "memory pool: lower is 'a'; give a whole number"),
    (lambda: ds.MemoryPool(1, np.zeros(3), 3, 4), TypeError, "memory pool: upper is array"),
    (lambda: ds.MemoryPool(1, 2.5, 3, 4), TypeError, "memory pool: upper is 2.5"),
    (lambda: ds.MemoryPool(1, 2, -3, 4), ValueError, "memory pool: max_free is -3, which is negative"),
    (lambda: ds.MemoryPool(1, 2, 3, 4, np.zeros(8)), TypeError, "memory pool: allocator is array"),
    (lambda: recv.StreamConfig(memory_allocator=bytearray(8)), TypeError, "memory_allocator is bytearray"),
    (lambda: recv.ChunkStreamConfig(items=5), TypeError, "items is 5; give a list of ids"),
    (lambda: recv.ChunkStreamConfig(items=["a"]), TypeError, "an id of items is 'a'"),
    (lambda: recv.ChunkStreamConfig(items=[-1]), ValueError, "an id of items is -1"),
    (lambda: recv.ChunkStreamConfig(max_chunks="a"), TypeError, "max_chunks is 'a'"),
    (lambda: recv.ChunkStreamConfig(max_heap_extra=None), TypeError, "max_heap_extra is None"),
    (lambda: recv.ChunkStreamConfig().enable_packet_presence(1.5), TypeError, "payload_size is 1.5"),
    (lambda: recv.Stream(POOL, lend="x"), TypeError, "stream: lend is 'x'; give a whole number"),
    (lambda: recv.Stream(POOL).add_udp_reader(socket=5), TypeError, "socket is 5; give a bound socket.socket"),
    (lambda: recv.Stream(POOL).add_udp_reader(closed_socket()), ValueError, "socket is closed"),
    (lambda: recv.Chunk(data=READ_ONLY), ValueError, "chunk: `data` of 64 bytes is read-only; give an array of numpy th"),
    (lambda: recv.Chunk(data=b"abc"), ValueError, "chunk: `data` of 3 bytes is read-only"),
    (lambda: recv.Chunk(data=LARGE[::2]), ValueError, "chunk: `data` of 64 bytes is not contiguous in C order; give an ar"),
    (lambda: recv.Chunk(data=np.zeros((4, 4), order="F")), ValueError, "128 bytes is not contiguous"),
    (lambda: recv.Chunk(data=[1, 2]), TypeError, "chunk: `data` is of type list, which has no bytes; give an array"),
    (lambda: recv.Chunk(data=released(8)), ValueError, "chunk: `data` of type memoryview gives no bytes .*released"),
    (lambda: recv.Chunk(data=closed_map()), ValueError, "chunk: `data` of type mmap.mmap gives no bytes .*closed"),
    (lambda: recv.Chunk(data=np.zeros(0)), ValueError, "chunk: `data` has no bytes; give room for the payload"),
    (lambda: recv.Chunk(present=bytearray()), ValueError, "chunk: `present` has no bytes; give a byte for each heap"),
    (lambda: recv.Chunk(present=np.zeros(4)), ValueError, "chunk: `present` has elements of 8 bytes, .* of np.uint8"),
    (lambda: recv.Chunk(present=READ_ONLY), ValueError, "chunk: `present` of 64 bytes is read-only"),
    (lambda: recv.Chunk(extra=READ_ONLY), ValueError, "chunk: `extra` of 64 bytes is read-only"),
    (lambda: recv.ChunkRingbuffer(2).put(recv.Chunk(data=LARGE, present=LARGE[:8])), ValueError,
     "`present` lies in the memory of `data`"),
    (lambda: recv.Stream(POOL).add_buffer_reader(LARGE[::2]), ValueError,
     r"buffer reader: `buffer` of 64 bytes is not contiguous in C order; give np.ascontiguousarray\(\) of it"),
    (lambda: recv.Stream(POOL).add_buffer_reader(7), TypeError, "buffer reader: `buffer` is of type int"),
    (lambda: recv.Stream(POOL).add_buffer_reader(released(8)), ValueError, "gives no bytes .*released"),
    (lambda: ds.InprocQueue().add_packet("text"), TypeError, "queue: the packet is of type str"),
    (lambda: ds.InprocQueue().add_packet(LARGE[::2]), ValueError, "queue: the packet of 64 bytes is not contiguous"),
    (lambda: ds.InprocQueue().add_packet(bytes(65508)), ValueError, "65508"),
    (lambda: send.Heap()._add(0x1000, LARGE[::2], False), ValueError, "item: its value of 64 bytes is not contiguous"),
    (lambda: send.Heap()._add(0x1000, 7, False), TypeError, "item: its value is of type int"),
    (lambda: send.Heap().add_item(ds.Item(0x1000, "x", "", (8,), np.uint8, value=released(8))), ValueError,
     "item x: the value cannot become an array of uint8"),
    (lambda: send.Stream("127.0.0.1:7148", memory_regions=[7]), TypeError, "a memory region is of type int"),
    (lambda: send.Stream("127.0.0.1:7148", memory_regions=[LARGE[::2]]), ValueError, "a memory region of 64 bytes is not c"),
    (lambda: send.Stream("127.0.0.1:7148", memory_regions=[bytearray()]), ValueError, "non-zero"),
    (lambda: send.Heap()._add(0x1000, OnGpu(shape=(-4,)), False), TypeError, "__cuda_array_interface__ is .* wrong type"),
    (lambda: send.Heap()._add(0x1000, OnGpu(data=5), False), TypeError, "__cuda_array_interface__ is .* wrong type"),
    (lambda: send.Heap()._add(0x1000, OnGpu(data=()), False), TypeError, "__cuda_array_interface__ is .* wrong type"),
    # Packets must not be written over pointers of Python's, nor pointers be sent.
    (lambda: recv.Chunk(data=np.zeros(8, object), present=bytearray(8)), TypeError, "`data` has Python objects"),
    (lambda: recv.Chunk(data=MIXED, present=bytearray(8)), TypeError, "`data` has Python objects"),
    (lambda: recv.Chunk(data=bytearray(8), present=OBJECTS), TypeError, "`present` has Python objects"),
    (lambda: recv.Stream(POOL).add_buffer_reader(DATED), TypeError, "Python objects"),
    (lambda: recv.Stream(POOL).add_buffer_reader(OBJECTS), TypeError, "Python objects"),
    (lambda: ds.InprocQueue().add_packet(MIXED), TypeError, "Python objects"),
    (lambda: send.Stream("127.0.0.1:7148", memory_regions=[OBJECTS]), TypeError, "Python objects"),
]


@pytest.mark.parametrize("attempt, error, words", REFUSALS)
def test_wrong_arguments_are_refused_in_words(attempt, error, words):
    with pytest.raises(error, match=words):
        attempt()


def test_chunks_over_python_objects_are_refused():
    placement = recv.Placement("heap 64; time: item 0x1600 [4]")
    buffers = [np.zeros(placement.bytes // 8, object) for _ in range(2)]
    with pytest.raises(TypeError, match="Python objects"):
        recv.ChunkStream(placement, buffers=buffers, queue=ds.InprocQueue())
    gc.collect()
    assert all(one == 0 for buffer in buffers for one in buffer)


def test_fields_whose_names_look_like_objects_are_numbers():
    data = np.zeros(4, [("Offset", ">u4"), ("O", ">u4")])
    recv.Chunk(data=data, present=bytearray(4))
    recv.Stream(POOL).add_buffer_reader(data)


def test_dates_are_sent():
    days = np.array(["2024-02-29", "2025-01-01"], "M8[D]")
    stream = send.BytesStream(POOL)
    stream.send_heap(heap_of(days, shape=(2,), dtype="M8[D]"))
    assert days.tobytes() in stream.getvalue()


def test_items_are_found_by_ids_of_numpy():
    group = ds.ItemGroup()
    group.add_item(np.int64(0x1000), "x", "", (), np.int8)
    assert np.uint16(0x1000) in group and group[np.int64(0x1000)] is group["x"]
    assert np.uint16(0x1001) not in group
