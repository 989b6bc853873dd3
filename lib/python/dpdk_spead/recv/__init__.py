# SPDX-License-Identifier: BSD-3-Clause
"""Receives heaps: from ports of DPDK's, sockets of the kernel, queues, buffers and files."""

from .._native import Heap, IncompleteHeap, RawItem
from . import stream_stat_indices
from ._chunk_settings import SecondPath
from ._config import RingStreamConfig, StreamConfig, UdpIbvConfig
from ._readers import _Stream  # noqa: F401: other streams begin with it
from ._stats import StreamStatConfig, StreamStats
from ._stream import Ringbuffer, Stream, _RingStream  # noqa: F401: likewise
from .chunk_rings import Chunk, ChunkRingbuffer, ChunkRingPair
from .chunk_streams import (
    ChunkRingStream,
    ChunkStreamConfig,
    ChunkStreamGroupConfig,
    ChunkStreamGroupMember,
    ChunkStreamRingGroup,
)
from .chunks import Chunks, ChunkStream, ChunkStreamGroup, ReceivedChunk
from .placement import Placement, Term, constant, endpoint, heap_count, item

__all__ = [
    "Chunk",
    "ChunkRingPair",
    "ChunkRingStream",
    "ChunkRingbuffer",
    "ChunkStream",
    "ChunkStreamConfig",
    "ChunkStreamGroup",
    "ChunkStreamGroupConfig",
    "ChunkStreamGroupMember",
    "ChunkStreamRingGroup",
    "Chunks",
    "Heap",
    "IncompleteHeap",
    "Placement",
    "RawItem",
    "ReceivedChunk",
    "RingStreamConfig",
    "Ringbuffer",
    "SecondPath",
    "Stream",
    "StreamConfig",
    "StreamStatConfig",
    "StreamStats",
    "Term",
    "UdpIbvConfig",
    "constant",
    "endpoint",
    "heap_count",
    "item",
    "stream_stat_indices",
]
