# SPDX-License-Identifier: BSD-3-Clause
"""Makes SPEAD-64-48 packets."""

import resource
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


def part(cnt: int, payload: bytes, items: Iterable[Tuple[int, int]] = (), *, offset: int = 0,
         length: int = -1) -> bytes:
    """Returns a packet of a heap of `length` bytes (-1: those of the payload), with immediate items."""
    whole = len(payload) if length < 0 else length
    pointers = [(HEAP_CNT, cnt), (HEAP_LENGTH, whole), (PAYLOAD_OFFSET, offset), (PAYLOAD_LENGTH, len(payload)), *items]
    return packet([(id, value, True) for id, value in pointers], payload)


def stop_packet(cnt: int) -> bytes:
    """Returns the packet that ends a stream."""
    return part(cnt, b"", [(STREAM_CTRL, STOP)])


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


def write_pcap(path: str, datagrams: Iterable[bytes], group: str = "239.1.2.3", port: int = 7148) -> None:
    """Writes a file of Ethernet frames that carry the datagrams to a group."""
    address = bytes(int(part) for part in group.split("."))
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for datagram in datagrams:
            udp = struct.pack(">HHHH", 7148, port, 8 + len(datagram), 0)
            length = 20 + len(udp) + len(datagram)
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, length, 0, 0, 4, 17, 0, bytes([10, 0, 0, 1]), address)
            total = sum(struct.unpack(">10H", ip))
            total = (total & 0xFFFF) + (total >> 16)
            ip = ip[:10] + struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF) + ip[12:]
            mac = bytes([1, 0, 0x5E, address[1] & 0x7F, address[2], address[3]])
            frame = mac + bytes([2, 0, 0, 0, 0, 1]) + b"\x08\x00" + ip + udp + datagram
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


def resident_bytes() -> int:
    """The memory that this process has now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
