# SPDX-License-Identifier: BSD-3-Clause
"""Memory that GPUs reach, and arrays of it for their libraries. The driver is the tests' (tests/fake_cuda)."""

import ctypes
import gc
import os
import weakref

import numpy as np
import packets
import pytest

import dpdk_spead as ds
from dpdk_spead import recv

# The driver is found by its name, which this library has.
DRIVER = ctypes.CDLL(os.environ["FAKE_CUDA"], os.RTLD_NOW | os.RTLD_GLOBAL)


def live():
    return DRIVER.fake_cuda_live()


def test_memory_is_registered_as_long_as_an_array_of_it_lives():
    before = live()
    memory = ds.Memory.cuda_pinned(5000)
    assert memory.is_pinned and memory.nbytes == 5000 and "pinned" in repr(memory)
    assert live() == before + 2
    array = memory.array((4,), np.int32)
    assert memory.gpu_address == array.ctypes.data
    view = ds.for_gpu(array[1:])
    del memory, array
    gc.collect()
    assert live() == before + 2
    del view
    gc.collect()
    assert live() == before


def test_arrays_have_the_interface_of_cuda_libraries():
    memory = ds.Memory.cuda_pinned(4096)
    array = memory.array((8, 16), np.float32)
    interface = ds.for_gpu(array).__cuda_array_interface__
    assert interface["shape"] == (8, 16) and interface["typestr"] == "<f4" and interface["version"] == 3
    assert interface["data"] == (array.ctypes.data, False) and interface["strides"] is None
    part = ds.for_gpu(array[::2, 3:]).__cuda_array_interface__
    assert part["shape"] == (4, 13) and part["strides"] == (128, 4)
    assert part["data"][0] == array.ctypes.data + 12
    array.flags.writeable = False
    assert ds.for_gpu(array).__cuda_array_interface__["data"][1]
    assert ds.for_gpu(array[::-1]).__cuda_array_interface__["data"][0] == array.ctypes.data + 7 * 64
    assert memory.__cuda_array_interface__["shape"] == (4096,)


@pytest.mark.parametrize("kind", ["i1", "u2", "i4", "u8", "f4", "f8", "c8"])
def test_arrays_go_by_dlpack_without_a_copy(kind):
    memory = ds.Memory.cuda_pinned(4096)
    array = memory.array((3, 5), kind)
    array[:] = np.arange(15).reshape(3, 5)
    for part in (array, array[1:, ::2], array.T, array[:0]):
        view = ds.for_gpu(part)
        assert view.__dlpack_device__() == (3, 0)
        other = np.from_dlpack(view)
        assert other.dtype == part.dtype and other.shape == part.shape
        assert np.array_equal(other, part)
        assert part.size == 0 or np.shares_memory(other, array)
    assert np.from_dlpack(memory).nbytes == 4096


def test_what_libraries_make_keeps_the_memory():
    before = live()
    memory = ds.Memory.cuda_pinned(4096)
    other = np.from_dlpack(ds.for_gpu(memory.array((2,), np.uint8)))
    capsule = ds.for_gpu(memory.array((2,), np.uint8)).__dlpack__()
    alive = weakref.ref(memory)
    del memory
    gc.collect()
    assert alive() is not None and other.tolist() == [0, 0]
    del other
    gc.collect()
    assert alive() is not None, "nobody has taken the capsule yet"
    del capsule
    gc.collect()
    assert alive() is None and live() == before


def test_ordinary_memory_goes_by_dlpack_too():
    memory = ds.Memory(4096)
    assert memory.__dlpack_device__() == (1, 0) and not memory.is_pinned and memory.gpu_address == 0
    assert np.from_dlpack(memory).nbytes == 4096
    assert not hasattr(memory, "__cuda_array_interface__")


def chunk_stream_on_pinned_memory():
    """A placement of four heaps, memory for three chunks, and a stream that receives one there."""
    placement = recv.Placement("heap 1024; time: item 0x1600 [4]")
    memory = ds.Memory.cuda_pinned(3 * placement.bytes)
    buffers = [memory.array(placement.bytes, offset=i * placement.bytes) for i in range(3)]
    data = b"".join(packets.part(n, bytes([n]) * 1024, [(packets.TIME, n)]) for n in range(4))
    return placement, memory, recv.ChunkStream(placement, buffers=buffers, buffer=data, dtype=np.int16)


def test_chunks_are_seen_by_gpus_as_long_as_they_are_held():
    placement, memory, stream = chunk_stream_on_pinned_memory()
    with stream:
        chunk = stream.get(60)
        view = ds.for_gpu(chunk.data)
        at = memory.gpu_address + chunk.index * placement.bytes
        assert view.__cuda_array_interface__["data"][0] == at
        assert view.shape == (4, 512) and view.dtype == np.int16
        chunk.release()
        assert np.from_dlpack(view)[:, 0].tolist() == [0, 0x101, 0x202, 0x303]


def test_arrays_outlive_their_stream():
    before = live()
    _, memory, stream = chunk_stream_on_pinned_memory()
    with stream:
        chunk = stream.get(60)
        taken = np.from_dlpack(ds.for_gpu(chunk.data))
        view = ds.for_gpu(chunk.data)
        del chunk
    del stream, memory
    gc.collect()
    assert live() > before, "it is registered still"
    assert taken[:, 0].tolist() == [0, 0x101, 0x202, 0x303]
    del taken
    gc.collect()
    assert live() > before
    assert np.from_dlpack(view)[:, 0].tolist() == [0, 0x101, 0x202, 0x303]
    del view
    gc.collect()
    assert live() == before


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("call, error, words", [
    (lambda m: ds.for_gpu(np.zeros(4)), ValueError, "Memory.cuda_pinned"),
    (lambda m: ds.for_gpu(ds.Memory(4096).array(4)), ValueError, "Memory.cuda_pinned"),
    (lambda m: ds.for_gpu(b"1234"), TypeError, "bytes"),
    (lambda m: ds.for_gpu(m.array(4, ">i2")).__dlpack__(), BufferError, "byte order"),
    (lambda m: ds.for_gpu(m.array(4, "S3")).__dlpack__(), BufferError, "no type"),
    (lambda m: ds.for_gpu(m.array(4)).__dlpack__(copy=True), BufferError, "no copy"),
    (lambda m: ds.for_gpu(read_only(m.array(4))).__dlpack__(), BufferError, "read-only"),
    (lambda m: ds.for_gpu(m.array(4)).__dlpack__(dl_device=(2, 0)), BufferError, "upload it"),
    (lambda m: ds.Memory.cuda_pinned(0), ValueError, "0 bytes"),
])
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call(ds.Memory.cuda_pinned(4096))


def test_a_child_of_fork_makes_none():
    memory = ds.Memory.cuda_pinned(4096)
    before = live()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            ds.Memory.cuda_pinned(4096)
        except ds.Error as error:
            status = 0 if "fork" in str(error) else 2
        os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert live() == before and memory.is_pinned
