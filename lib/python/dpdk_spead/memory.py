# SPDX-License-Identifier: BSD-3-Clause
"""Memory for arrays that are sent, or that chunks are received into."""

import math
import operator
from typing import Any, Sequence, Union

import numpy as np

from . import _native


class Memory(_native.Memory):
    """Maps memory, zeroed: on huge pages if enough are free, else on ordinary ones. `pages` says which.

    Arrays over it keep it, as heaps in flight and chunks do. It needs no session. A stream whose `memory_regions` have
    it sends from it without a copy if the port can. Raises Error, with the sum, when the machine does not have so much.
    """

    def __init__(self, nbytes: int) -> None:
        number = operator.index(nbytes)
        if not 0 < number < 1 << 63:
            raise ValueError(f"memory: {number} bytes cannot be mapped; give at least 1, and no more than are free")
        super().__init__(number)

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
        return f"<memory of {self.nbytes} bytes on {self.pages}>"
