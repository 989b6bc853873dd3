# SPDX-License-Identifier: BSD-3-Clause
"""Receives heaps: from ports of DPDK's, sockets of the kernel, queues, buffers and files."""

from .._native import Heap, IncompleteHeap, RawItem
from . import stream_stat_indices
from ._config import RingStreamConfig, StreamConfig, UdpIbvConfig
from ._readers import _Stream  # noqa: F401: other streams begin with it
from ._stats import StreamStatConfig, StreamStats
from ._stream import Ringbuffer, Stream, _RingStream  # noqa: F401: likewise

__all__ = [
    "Heap",
    "IncompleteHeap",
    "RawItem",
    "RingStreamConfig",
    "Ringbuffer",
    "Stream",
    "StreamConfig",
    "StreamStatConfig",
    "StreamStats",
    "UdpIbvConfig",
    "stream_stat_indices",
]
