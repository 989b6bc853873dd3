# SPDX-License-Identifier: BSD-3-Clause
"""Heaps whose values lie in memory of a GPU. The driver is the tests' (tests/fake_cuda): who touches that memory dies."""

import pytest
from programs import expect, run

# An array on the GPU, as CuPy's and Numba's are for others.
ON_GPU = """
import ctypes, gc, os, weakref
import numpy as np
import pytest
import dpdk_spead as ds
from dpdk_spead import send
DRIVER = ctypes.CDLL(os.environ["FAKE_CUDA"], os.RTLD_NOW | os.RTLD_GLOBAL)

class OnGpu:
    def __init__(self, dims, dtype, **changes):
        self.shape, self.dtype = dims, np.dtype(dtype)
        self.nbytes = int(np.prod(dims)) * self.dtype.itemsize
        address = ctypes.c_uint64()
        assert DRIVER.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(self.nbytes, 1))) == 0
        self.address = address.value
        self.changes = changes

    @property
    def __cuda_array_interface__(self):
        whole = {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "strides": None,
                 "stream": None, "version": 3}
        return {key: value for key, value in {**whole, **self.changes}.items() if value != "absent"}

def item(value, shape=None, dtype=None):
    return ds.Item(0x1000, "x", "", value.shape if shape is None else shape, dtype or value.dtype, value=value)

def heap_of(*items):
    heap = send.Heap()
    for one in items:
        heap.add_item(one)
    return heap
"""


def program(text):
    expect(run(ON_GPU + text))


def test_a_port_sends_an_array_without_a_look():
    program("""
array = OnGpu((1000, 100), ">i2")
same = np.zeros((1000, 100), ">i2")
stream = send.Stream("239.1.2.3:7148", "net_null0", memory_regions=[array])
size = len(b"".join(send.PacketGenerator(heap_of(item(same)), 1, 1472)))
heap = heap_of(item(array))
assert len(heap) == 1
assert stream.send_heap(heap) == size
small = OnGpu((2,), "u1")
extra = send.Stream("239.1.2.4:7148", "net_null0", memory_regions=[small])
extra.send_heap(heap_of(item(small), item(np.uint8(3), (), np.uint8)))
assert stream.stats()["heaps"] == 1 and extra.stats()["heaps"] == 1
alive = weakref.ref(array)
del array, heap
gc.collect()
assert alive() is not None, "the stream has it"
stream.close()
del stream
gc.collect()
assert alive() is None
""")


def test_what_cannot_be_sent_says_why():
    program("""
array = OnGpu((100,), "u1")
heap = heap_of(item(array))
stream = send.Stream("239.1.2.3:7148", "net_null0")
with pytest.raises(OSError, match="knows 0; make one Memory"):
    stream.send_heap(heap)
with pytest.raises(OSError, match="sockets of the kernel"):
    send.Stream("127.0.0.1:7148", "").send_heap(heap)
with pytest.raises(ds.Error, match="memory of a GPU"):
    list(send.PacketGenerator(heap, 1, 1472))
with pytest.raises(ds.Error, match="beyond their allocation"):
    wrong = OnGpu((100,), "u1")
    wrong.shape = (101,)
    send.Stream("239.1.2.3:7148", "net_null0", memory_regions=[wrong])
with pytest.raises(ds.Error, match="no memory that the driver knows"):
    send.Stream("239.1.2.3:7148", "net_null0", memory_regions=[OnGpu((100,), "u1", data=(64, False))])
pinned = ds.for_gpu(ds.Memory.cuda_pinned(4096).array(4))
with pytest.raises(ds.Error, match="memory of the CPU"):
    send.Stream("239.1.2.3:7148", "net_null0", memory_regions=[pinned])
with pytest.raises(ValueError, match="overlap"):
    send.Stream("239.1.2.3:7148", "net_null0", memory_regions=[array, array])
""")


@pytest.mark.parametrize("change, error, words", [
    ("strides=(2,)", "ValueError", "contiguous in C order"),
    ("strides=()", "ValueError", "contiguous in C order"),
    ("mask=1", "ValueError", "mask"),
    ("typestr='<'", "ValueError", "no size"),
    ("data='absent'", "TypeError", "no .data."),
    ("shape=(1 << 40, 1 << 40)", "ValueError", "more elements"),
])
def test_interfaces_that_cannot_be_used(change, error, words):
    program(f"""
array = OnGpu((10,), "u1", {change})
with pytest.raises({error}, match="{words}"):
    send.Stream("239.1.2.3:7148", "net_null0", memory_regions=[array])
""")


def test_an_array_on_a_gpu_is_as_described():
    program("""
array = OnGpu((4, 10), "<i2")
assert item(array).to_buffer() is array
assert item(OnGpu((4, 10), "<i2", strides=(20, 2))).to_buffer() is not None
assert ds.Item(1, "x", "", (None, 10), format=[("i", 16)], value=OnGpu((4, 10), ">i2")).to_buffer() is not None
for wrong in (item(array, (4, 11)), item(array, dtype=">i2"), item(array, dtype="f4"),
              ds.Item(1, "x", "", (4, 10), "<i2", order="F", value=array)):
    with pytest.raises(ValueError):
        wrong.to_buffer()
""")
