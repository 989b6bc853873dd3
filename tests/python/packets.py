# SPDX-License-Identifier: BSD-3-Clause
"""Makes SPEAD-64-48 packets."""

import struct
from typing import Iterable, List, Optional, Tuple

HEAP_CNT, HEAP_LENGTH, PAYLOAD_OFFSET, PAYLOAD_LENGTH, STREAM_CTRL = 1, 2, 3, 4, 6
START, STOP = 0, 2
DATA = 0x5000
TIME = 0x1600


def packet(items: Iterable[Tuple[int, int, bool]], payload: bytes = b"") -> bytes:
    """Returns a packet of (id, value or offset, immediate) and a payload."""
    items = list(items)
    words = [struct.pack(">Q", (immediate << 63) | (id << 48) | value) for id, value, immediate in items]
    return struct.pack(">BBBBHH", 0x53, 4, 2, 6, 0, len(items)) + b"".join(words) + payload


def heap(cnt: int, payload: bytes = b"", size: Optional[int] = None, control: Optional[int] = None,
         sized: bool = True) -> List[bytes]:
    """Returns the packets of a heap: an immediate with its count, its payload as one item, cut every `size` bytes."""
    size = size or max(len(payload), 1)
    out = []
    for at in range(0, max(len(payload), 1), size):
        part = payload[at:at + size]
        items = [(HEAP_CNT, cnt, True), (PAYLOAD_OFFSET, at, True), (PAYLOAD_LENGTH, len(part), True)]
        if sized:
            items.append((HEAP_LENGTH, len(payload), True))
        if at == 0 and control is not None:
            items.append((STREAM_CTRL, control, True))
        elif at == 0:
            items.append((TIME, cnt, True))
            if payload:
                items.append((DATA, 0, False))
        out.append(packet(items, part))
    return out


def content(cnt: int, length: int) -> bytes:
    """Returns a payload that tells its heap."""
    return (struct.pack(">Q", cnt * 0x9E3779B97F4A7C15 % (1 << 64)) * (length // 8 + 1))[:length]


def heaps(count: int, length: int, size: Optional[int] = None) -> bytes:
    """Returns the packets of heaps 1 to `count`, one after the other."""
    return b"".join(b"".join(heap(cnt, content(cnt, length), size)) for cnt in range(1, count + 1))
