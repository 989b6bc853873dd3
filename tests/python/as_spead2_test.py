# SPDX-License-Identifier: BSD-3-Clause
"""The names that programs of spead2 import, and how they use them."""

import asyncio
import pickle

import packets
import pytest
from programs import expect, run

import dpdk_spead as ds
import dpdk_spead.recv.asyncio
import dpdk_spead.send.asyncio
from dpdk_spead import recv, send

POOL = ds.ThreadPool()


def test_imports_find_this_package():
    expect(run("""if True:
        import dpdk_spead.as_spead2
        import spead2, spead2.recv, spead2.recv.asyncio, spead2.recv.stream_stat_indices, spead2.send, spead2.send.asyncio
        import dpdk_spead
        assert spead2 is dpdk_spead and spead2.recv is dpdk_spead.recv
        assert spead2.recv.asyncio.Stream is dpdk_spead.recv.asyncio.Stream
        assert spead2.send.asyncio.UdpStream is dpdk_spead.send.asyncio.UdpStream
        from spead2.recv.stream_stat_indices import MAX_BATCH
        assert MAX_BATCH == 5
    """))


def test_imports_for_numba():
    pytest.importorskip("numba")
    expect(run("""if True:
        import dpdk_spead.as_spead2
        from spead2.numba import intp_to_voidptr
        from spead2.recv.numba import chunk_place_data
    """))


@pytest.mark.parametrize("absent", ["import spead2._spead2", "from spead2 import _spead2", "import spead2.tools",
                                    "from spead2.tools import send_asyncio", "from spead2 import tools"])
def test_imports_of_what_is_not_here_say_what_to_use(absent):
    expect(run(f"""if True:
        import dpdk_spead.as_spead2
        try:
            {absent}
        except ImportError as error:
            assert "dpdk_spead has no" in str(error), error
        else:
            raise SystemExit("imported")
    """))


@pytest.mark.parametrize("bad, kind", [
    ("heap.add_item(spead2.Item(0x1001, 'bad', '', (8,), np.uint8, value=np.ones(8, np.uint8)));"
     "heap.add_descriptor(spead2.Descriptor(0x1001, 'bad', '', (9,), np.uint8))", "ValueError"),
    ("heap.add_item(spead2.Item(0x1001, 'bad', '', (1,), np.uint8, value=np.full(1, 255, np.uint8)));"
     "heap.add_descriptor(spead2.Descriptor(0x1001, 'bad', '', (None,), format=[('c', 8)]))", "UnicodeDecodeError"),
], ids=["short", "not a character"])
def test_errors_of_items_are_raised_as_by_spead2(bad, kind):
    expect(run(f"""if True:
        import dpdk_spead.as_spead2
        import numpy as np
        import spead2, spead2.recv, spead2.send
        heap = spead2.send.Heap()
        {bad}
        good = spead2.Item(0x1002, "good", "", (9,), np.uint8, value=np.arange(9, dtype=np.uint8))
        heap.add_descriptor(good)
        heap.add_item(good)
        out = spead2.send.BytesStream(spead2.ThreadPool())
        out.send_heap(heap)
        stream = spead2.recv.Stream(spead2.ThreadPool())
        stream.add_buffer_reader(out.getvalue())
        group = spead2.ItemGroup()
        try:
            group.update(stream.get())
        except {kind}:
            assert group["good"].value.tolist() == list(range(9))
        else:
            raise SystemExit("no error")
    """))


def stream_of(kind, *counts):
    stream = kind(POOL)
    stream.add_buffer_reader(b"".join(packets.heap(cnt, b"abc")[0] for cnt in counts))
    return stream


def test_streams_are_iterators():
    stream = stream_of(recv.Stream, 1, 2, 3)
    assert next(stream).cnt == 1
    assert [heap.cnt for heap in stream] == [2, 3]
    with pytest.raises(StopIteration):
        next(stream)


def test_asyncio_streams_are_iterators():
    async def work():
        stream = stream_of(recv.asyncio.Stream, 1, 2, 3)
        assert isinstance(stream, recv.Stream)
        assert (await anext(stream)).cnt == 1
        assert [heap.cnt async for heap in stream] == [2, 3]
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    asyncio.run(asyncio.wait_for(work(), 60))


def ring_of(kind, *ids):
    ring = kind(len(ids))
    for id in ids:
        ring.put_nowait(recv.Chunk(chunk_id=id, data=bytearray(8), present=bytearray(1)))
    ring.stop()
    return ring


def test_rings_are_iterators():
    ring = ring_of(recv.ChunkRingbuffer, 1, 2, 3)
    assert next(ring).chunk_id == 1
    assert [chunk.chunk_id for chunk in ring] == [2, 3]
    with pytest.raises(StopIteration):
        next(ring)


def test_asyncio_rings_are_iterators():
    async def work():
        ring = ring_of(recv.asyncio.ChunkRingbuffer, 1, 2, 3, 4)
        assert isinstance(ring, recv.ChunkRingbuffer)
        assert (await anext(ring)).chunk_id == 1
        assert next(ring).chunk_id == 2
        assert [chunk.chunk_id async for chunk in ring] == [3, 4]
        with pytest.raises(StopAsyncIteration):
            await anext(ring)

    asyncio.run(asyncio.wait_for(work(), 60))


def test_an_event_loop_of_the_users_settles_futures():
    async def work():
        stream = send.asyncio.InprocStream(POOL, [ds.InprocQueue()])
        heap = send.Heap()
        heap.add_end()
        future = stream.async_send_heap(heap)
        stream._unwatch()
        stream._stream.flush()
        stream.process_callbacks()
        assert future.done() and future.result() > 0

    asyncio.run(asyncio.wait_for(work(), 60))


def test_allow_immediate_is_a_method():
    assert ds.Item(0x1000, "a", "", (), format=[("u", 40)]).allow_immediate() is True
    assert ds.Descriptor(0x1000, "a", "", (None,), format=[("u", 8)]).allow_immediate() is False


def test_modes_have_their_place():
    mode = recv.StreamStatConfig.Mode.MAXIMUM
    assert recv.StreamStatConfig("a", mode).mode is recv.StreamStatConfig.MAXIMUM
    assert pickle.loads(pickle.dumps(mode)) is mode
    assert repr(mode) == "<Mode.MAXIMUM: 1>"


def test_all_senders_are_streams():
    class Own(send.Stream):
        pass

    sync = [send.BytesStream(POOL), send.InprocStream(POOL, [ds.InprocQueue()]),
            send.UdpStream(POOL, [("127.0.0.1", 9)]), send.Stream("127.0.0.1:9", "")]
    waiting = [send.asyncio.InprocStream(POOL, [ds.InprocQueue()]), send.asyncio.Stream("127.0.0.1:9", "")]
    for stream in sync + waiting:
        assert isinstance(stream, send.Stream) and issubclass(type(stream), send.Stream)
        assert isinstance(stream, send.SyncStream) == (stream in sync)
        assert not isinstance(stream, Own) and not issubclass(type(stream), Own)
    assert issubclass(Own, send.Stream) and issubclass(send.UdpIbvStream, send.Stream)
    assert isinstance(Own("127.0.0.1:9", ""), send.Stream) and isinstance(Own("127.0.0.1:9", ""), Own)
    for other in (send.Heap(), None, recv.Stream(POOL)):
        assert not isinstance(other, send.Stream) and not issubclass(type(other), send.Stream)
