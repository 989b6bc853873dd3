# SPDX-License-Identifier: BSD-3-Clause
"""Makes SPEAD packets, for tests that need exactly these."""

import struct
from typing import Iterable, Tuple


def packet(
    cnt: int, payload: bytes, items: Iterable[Tuple[int, int]] = (), *, offset: int = 0, length: int = -1
) -> bytes:
    """Returns a packet of SPEAD-64-48: part of a heap of `length` bytes, with immediate items."""
    whole = len(payload) if length < 0 else length
    pointers = [(1, cnt), (2, whole), (3, offset), (4, len(payload)), *items]
    words = b"".join(struct.pack(">Q", 1 << 63 | id << 48 | value) for id, value in pointers)
    return struct.pack(">BBBBHH", 0x53, 4, 2, 6, 0, len(pointers)) + words + payload


def stop_packet(cnt: int) -> bytes:
    """Returns the packet that ends a stream."""
    return packet(cnt, b"", [(6, 2)])


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
