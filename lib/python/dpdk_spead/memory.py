# SPDX-License-Identifier: BSD-3-Clause
"""Memory for arrays that are sent, or that chunks are received into."""

import math
import operator
import weakref
from typing import Any, Dict, Sequence, Tuple, Union

import numpy as np

from . import _native


# Memory that GPUs reach, of this process.
_pinned: "weakref.WeakSet[Memory]" = weakref.WeakSet()

# Devices and types of DLPack.
_CPU = 1
_CUDA_HOST = 3
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class GpuView:
    """Shows a numpy array to libraries for GPUs, without a copy: it lies in Memory.cuda_pinned().

    `cupy.asarray(view)` takes it by `__cuda_array_interface__`, and kernels read it over PCIe. `from_dlpack(view)`
    takes it as pinned memory of the CPU (kDLCUDAHost). What they make keeps the array, and so the chunk that it is of.
    """

    def __init__(self, array: np.ndarray, address: int, memory: "Memory") -> None:
        self._array = array
        self._memory = memory
        #: Is where GPUs find its first element.
        self.gpu_address = address
        self.shape: Tuple[int, ...] = array.shape
        self.dtype = array.dtype
        self.nbytes: int = array.nbytes

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self._array.__array_interface__["typestr"],
            "descr": self._array.__array_interface__["descr"],
            "data": (self.gpu_address, not self._array.flags.writeable),
            "strides": None if self._array.flags.c_contiguous else self._array.strides,
            "stream": None,
            "version": 3,
        }

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
        if copy:
            raise BufferError("the view has one array, and makes no copy of it; leave out `copy`")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"the array lies in pinned memory of the CPU, device {self.__dlpack_device__()}, and not "
                              f"on device {tuple(dl_device)}; upload it first")
        if not self._array.flags.writeable:
            raise BufferError("the array is read-only, which DLPack cannot say; give it by __cuda_array_interface__ "
                              "(cupy.asarray), or copy it")
        kind = self.dtype
        if kind.kind not in _CODES or not kind.isnative:
            raise BufferError(f"DLPack has no type for {kind}; view the array as numbers of this machine's byte order")
        if any(step % kind.itemsize for step in self._array.strides):
            raise BufferError(f"the array has strides of {self._array.strides} bytes, which are no multiples of its "
                              f"elements' {kind.itemsize}")
        return _native.dlpack_capsule(self, self.gpu_address, _CUDA_HOST, (_CODES[kind.kind], 8 * kind.itemsize),
                                      self.shape, [step // kind.itemsize for step in self._array.strides])

    def __dlpack_device__(self) -> Tuple[int, int]:
        return _CUDA_HOST, 0

    def __repr__(self) -> str:
        return f"<view for GPUs of {self.shape} {self.dtype} at {self.gpu_address:#x}>"


def _extent(array: np.ndarray) -> Tuple[int, int]:
    """Returns the address of the first byte of an array, and of the one behind its last."""
    at = array.__array_interface__["data"][0]
    if array.size == 0:
        return at, at
    steps = [(n - 1) * step for n, step in zip(array.shape, array.strides)]
    return at + sum(s for s in steps if s < 0), at + sum(s for s in steps if s > 0) + array.itemsize


def for_gpu(array: np.ndarray) -> GpuView:
    """Returns a view of an array for GPUs: of `Memory.cuda_pinned(n).array()`, of a chunk whose buffer is one, of slices.

    Raises ValueError for an array that lies elsewhere.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"for_gpu() takes an array of numpy, and {type(array).__name__} is none")
    begin, end = _extent(array)
    for memory in list(_pinned):
        first, past = _extent(memory._whole())
        if first <= begin and end <= past:
            offset = array.__array_interface__["data"][0] - first
            return GpuView(array, memory.gpu_address + offset, memory)
    raise ValueError("the array does not lie in memory that GPUs reach; make it with Memory.cuda_pinned(n).array(), and "
                     "give chunks such buffers")


class Memory(_native.Memory):
    """Maps memory, zeroed: on huge pages if enough are free, else on ordinary ones. `pages` says which.

    Arrays over it keep it, as heaps in flight and chunks do. It needs no session. A stream whose `memory_regions` have
    it sends from it without a copy if the port can. Raises Error, with the sum, when the machine does not have so much.
    """

    def __init__(self, nbytes: int, *, _pin: bool = False) -> None:
        number = operator.index(nbytes)
        if not 0 < number < 1 << 63:
            raise ValueError(f"memory: {number} bytes cannot be mapped; give at least 1, and no more than are free")
        super().__init__(number, _pin)
        if _pin:
            _pinned.add(self)

    @classmethod
    def cuda_pinned(cls, nbytes: int) -> "Memory":
        """Maps memory, and registers it with NVIDIA's driver: GPUs copy from it and read it directly.

        All of this process know it as pinned: CUDA's runtime, CuPy, PyTorch. for_gpu() gives its arrays to them. Raises
        Error that says what is missing when there is no driver or no GPU, and in a child of os.fork().
        """
        return cls(nbytes, _pin=True)

    @property
    def is_pinned(self) -> bool:
        """Says whether GPUs reach it."""
        return self.gpu_address != 0

    def _whole(self) -> np.ndarray:
        return np.ndarray((self.nbytes,), np.uint8, memoryview(self))  # type: ignore[arg-type]

    def __dlpack__(self, **options: Any) -> Any:
        return for_gpu(self._whole()).__dlpack__(**options) if self.is_pinned else self._whole().__dlpack__(**options)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (_CUDA_HOST if self.is_pinned else _CPU), 0

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        if not self.is_pinned:
            raise AttributeError("the memory is not pinned for GPUs; make it with Memory.cuda_pinned()")
        return for_gpu(self._whole()).__cuda_array_interface__

    def array(self, shape: Union[int, Sequence[int], None] = None, dtype: Any = np.uint8, offset: int = 0) -> np.ndarray:
        """Returns an array over the memory from `offset` bytes on; without a shape, as many elements as fit.

        Raises ValueError for an array that does not fit.
        """
        kind = np.dtype(dtype)
        if kind.hasobject or kind.itemsize == 0:
            raise ValueError(f"dtype {kind} has Python objects, or no bytes; give a type of numbers, as int8")
        begin = operator.index(offset)
        if not 0 <= begin <= self.nbytes:
            raise ValueError(f"offset is {begin}, and the memory has {self.nbytes} bytes")
        if shape is None:
            shape = (self.nbytes - begin) // kind.itemsize
        dims = (shape,) if hasattr(shape, "__index__") else shape
        counts = tuple(operator.index(n) for n in dims)  # type: ignore[union-attr, arg-type]
        needed = math.prod(counts) * kind.itemsize
        if min(counts, default=0) < 0 or needed > self.nbytes - begin:
            raise ValueError(f"an array of {counts} {kind} does not fit: {needed} bytes, and the memory has "
                             f"{self.nbytes - begin} from {begin} on")
        return np.ndarray(counts, kind, memoryview(self), begin)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.nbytes

    def __repr__(self) -> str:
        return f"<memory of {self.nbytes} bytes on {self.pages}{', pinned for GPUs' if self.is_pinned else ''}>"
