# SPDX-License-Identifier: BSD-3-Clause
"""Receives and sends SPEAD heaps over DPDK, kernel sockets, files and memory.

`recv` and `send` have streams, `items` have values of numpy. Names, defaults and exceptions are spead2's where it has
them: `import dpdk_spead.as_spead2` lets programs that import spead2 run on this package.
"""

from . import _main_interpreter  # noqa: F401  (first: the compiled part would wait for ever)
from ._native import Empty, Error, Full, InprocQueue, Stopped, UsageError
from .items import Descriptor, Item, ItemGroup, RawDescriptor
from .memory import GpuView, Memory, for_gpu
from .pools import (
    MEMCPY_NONTEMPORAL,
    MEMCPY_STD,
    IbvContext,
    MemoryAllocator,
    MemoryPool,
    MmapAllocator,
    ThreadPool,
    parse_range_list,
)
from .protocol import (
    BUG_COMPAT_DESCRIPTOR_WIDTHS,
    BUG_COMPAT_PYSPEAD_0_5_2,
    BUG_COMPAT_SHAPE_BIT_1,
    BUG_COMPAT_SWAP_ENDIAN,
    CTRL_DESCRIPTOR_REISSUE,
    CTRL_DESCRIPTOR_UPDATE,
    CTRL_STREAM_START,
    CTRL_STREAM_STOP,
    DESCRIPTOR_DESCRIPTION_ID,
    DESCRIPTOR_DTYPE_ID,
    DESCRIPTOR_FORMAT_ID,
    DESCRIPTOR_ID,
    DESCRIPTOR_ID_ID,
    DESCRIPTOR_NAME_ID,
    DESCRIPTOR_SHAPE_ID,
    HEAP_CNT_ID,
    HEAP_LENGTH_ID,
    NULL_ID,
    PAYLOAD_LENGTH_ID,
    PAYLOAD_OFFSET_ID,
    STREAM_CTRL_ID,
    Flavour,
)

from . import recv, send, stats
from ._session import Run, Session, init, run, session

__version__ = "0.2.0"
