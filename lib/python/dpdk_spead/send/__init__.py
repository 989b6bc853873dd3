# SPDX-License-Identifier: BSD-3-Clause
"""Sends heaps: over ports of DPDK, kernel sockets, queues of this process, and into memory."""

from .._native import HeapReference
from ._config import GroupMode, RateMethod, StreamConfig, UdpIbvConfig
from ._heap import Heap, HeapGenerator, HeapReferenceList, ItemGroup, PacketGenerator
from ._streams import BytesStream, InprocStream, Stream, SyncStream, TcpStream, UdpIbvStream, UdpStream

__all__ = [
    "BytesStream", "GroupMode", "Heap", "HeapGenerator", "HeapReference", "HeapReferenceList", "InprocStream",
    "ItemGroup", "PacketGenerator", "RateMethod", "Stream", "StreamConfig", "SyncStream", "TcpStream", "UdpIbvConfig",
    "UdpIbvStream", "UdpStream",
]
