# SPDX-License-Identifier: BSD-3-Clause
"""Objects whose __init__() was not called, or has failed."""

import pytest

import dpdk_spead as ds
from dpdk_spead import _native, recv, send
from dpdk_spead.recv import asyncio as recv_asyncio

MAKERS = {
    recv.Chunk: lambda o: setattr(o, "data", bytearray(1)),
    recv.ChunkRingbuffer: lambda o: o.put_nowait(recv.Chunk(data=bytearray(1), present=bytearray(1))),
    recv_asyncio.ChunkRingbuffer: lambda o: o.qsize(),
    send.Heap: lambda o: o.add_start(),
    ds.InprocQueue: lambda o: o.add_packet(b"a"),
    ds.Memory: repr,
}
BUFFERS = [memoryview, bytes, lambda o: o.array()]


@pytest.mark.parametrize("base, use", MAKERS.items())
def test_objects_in_the_making_are_refused(base, use):
    class Early(base):
        def __init__(self):
            self.own = 1
            use(self)

    with pytest.raises(TypeError, match=r"__init__\(\)"):
        Early()
    with pytest.raises(TypeError, match=r"__init__\(\)"):
        use(base.__new__(base))


@pytest.mark.parametrize("use", BUFFERS)
def test_buffers_of_objects_in_the_making_are_refused(use):
    class Early(ds.Memory):
        def __init__(self):
            use(self)

    for make in (Early, lambda: use(ds.Memory.__new__(ds.Memory))):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            make()


def classes_of_the_module():
    return [c for c in vars(_native).values() if isinstance(c, type) and not issubclass(c, Exception)]


@pytest.mark.parametrize("base", classes_of_the_module(), ids=lambda c: c.__name__)
def test_no_class_gives_what_was_not_made(base):
    made = base.__new__(base)
    names = [name for name in vars(base) if not name.startswith("__")]
    for name in names + [name for name in ("__len__", "__bool__") if name in vars(base)]:
        try:
            value = getattr(made, name)
        except TypeError as error:
            assert "__init__()" in str(error)
            continue
        if not callable(value) or isinstance(vars(base).get(name), staticmethod):
            continue
        with pytest.raises((TypeError, RuntimeError)):
            value()


def test_they_are_refused_as_arguments():
    with pytest.raises((TypeError, RuntimeError)):
        recv.ChunkRingbuffer(1).put_nowait(recv.Chunk.__new__(recv.Chunk))
    with pytest.raises((TypeError, RuntimeError)):
        send.InprocStream(ds.ThreadPool(), [ds.InprocQueue.__new__(ds.InprocQueue)])
    with pytest.raises((TypeError, RuntimeError)):
        send.BytesStream(ds.ThreadPool()).send_heap(send.Heap.__new__(send.Heap))
    with pytest.raises((TypeError, RuntimeError)):
        recv.Stream(ds.ThreadPool()).add_inproc_reader(ds.InprocQueue.__new__(ds.InprocQueue))
