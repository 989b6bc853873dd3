# SPDX-License-Identifier: BSD-3-Clause
"""SPEAD, UDP/IPv4/Ethernet and pcap bytes, written from the specification for the tests: what the program sends
and receives is compared with these, so nothing here comes from the program."""

import socket
import struct

NULL, HEAP_CNT, HEAP_LENGTH, PAYLOAD_OFFSET, PAYLOAD_LENGTH, DESCRIPTOR, STREAM_CTRL = range(7)
IMMEDIATE, ADDRESSED = 1, 0
MINSTD_A, MINSTD_M = 48271, 2**31 - 1


def pointer(mode, item, value, bits=40):
    """One item pointer: mode bit, item id, immediate value or address of `bits` bits."""
    return struct.pack(">Q", mode << 63 | item << bits | value)


def packet(count, offset, payload, heap_length=None, items=(), bits=40):
    """One SPEAD packet; items are (mode, id, value)."""
    pointers = [(IMMEDIATE, HEAP_CNT, count)]
    if heap_length is not None:
        pointers.append((IMMEDIATE, HEAP_LENGTH, heap_length))
    pointers += [(IMMEDIATE, PAYLOAD_OFFSET, offset), (IMMEDIATE, PAYLOAD_LENGTH, len(payload)), *items]
    header = struct.pack(">BBBBHH", 0x53, 4, 8 - bits // 8, bits // 8, 0, len(pointers))
    return header + b"".join(pointer(*entry, bits=bits) for entry in pointers) + payload


def heap(count, payload, items=((ADDRESSED, 0x1000, 0),), packet_payload=1024, bits=40):
    """The packets of a heap, in order; the items go into the first."""
    offsets = range(0, len(payload), packet_payload) if payload else [0]
    return [
        packet(count, offset, payload[offset : offset + packet_payload], len(payload), items if offset == 0 else (), bits)
        for offset in offsets
    ]


def packetise(count, items, max_packet_size=1472, bits=40):
    """The packets of a heap as a sender makes them: items are (id, bytes), all addressed; none is split off as an
    immediate, and all pointers fit into the first packet."""
    size = max_packet_size & ~7
    payload = b"".join(data for _, data in items)
    starts = [sum(len(data) for _, data in items[:index]) for index in range(len(items))]
    pointers = [(ADDRESSED, item, start) for (item, _), start in zip(items, starts)]
    assert payload and len(pointers) <= (size - 48) // 8
    packets, offset = [], 0
    while offset < len(payload):
        room = size - 40 - 8 * len(pointers)
        packets.append(packet(count, offset, payload[offset : offset + room], len(payload), pointers, bits))
        offset, pointers = offset + room, []
    return packets


def stop(count, bits=40):
    """A heap that stops the stream."""
    return packet(count, 0, b"\0", 1, [(IMMEDIATE, STREAM_CTRL, 2), (ADDRESSED, NULL, 0)], bits)


def verify_words(count, words):
    """The payload of the verified heap `count`: `words` big-endian words of minstd_rand (seed 1), the heap with
    count c starting (c - 1) x words into the sequence."""
    value = pow(MINSTD_A, (count - 1) * words, MINSTD_M)
    result = bytearray()
    for _ in range(words):
        value = value * MINSTD_A % MINSTD_M
        result += struct.pack(">I", value)
    return bytes(result)


def checksum(header):
    """The Internet checksum of an even number of bytes; 0 if they hold their own, correct one."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def frame(payload, group="239.1.1.1", port=7148, source=None, source_port=40000, ttl=1):
    """A multicast UDP datagram in its Ethernet frame: of IPv4 with UDP checksum 0, or of IPv6, as the group is."""
    if ":" in group:
        return frame6(payload, group, port, source or "fd00::1", source_port, ttl)
    source = source or "10.0.0.1"
    address = socket.inet_aton(group)
    mac = bytes([0x01, 0x00, 0x5E, address[1] & 0x7F, address[2], address[3]])
    udp = struct.pack(">HHHH", source_port, port, 8 + len(payload), 0) + payload
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0x4000, ttl, 17, 0, socket.inet_aton(source), address)
    head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    ethernet = mac + b"\x02\0\0\0\0\x01\x08\0"
    return (ethernet + head + udp).ljust(60, b"\0")


def frame6(payload, group, port, source, source_port, ttl):
    to, sender = (socket.inet_pton(socket.AF_INET6, address) for address in (group, source))
    udp = struct.pack(">HHHH", source_port, port, 8 + len(payload), 0) + payload
    udp = udp[:6] + struct.pack(">H", udp_checksum6(sender + to, udp) or 0xFFFF) + udp[8:]
    head = struct.pack(">IHBB", 6 << 28, len(udp), 17, ttl) + sender + to
    return b"\x33\x33" + to[12:] + b"\x02\0\0\0\0\x01\x86\xdd" + head + udp


def udp_checksum6(addresses, udp):
    """The checksum of a UDP datagram over IPv6; 0 if it holds its own, correct one."""
    return checksum(addresses + struct.pack(">II", len(udp), 17) + udp + b"\0" * (len(udp) % 2))


def udp_payload(data):
    """The UDP payload of an untagged Ethernet frame without IP options, with everything in front of it checked."""
    if data[12:14] == b"\x86\xdd":
        length = struct.unpack(">H", data[18:20])[0]
        udp = data[54:54 + length]
        assert data[14] >> 4 == 6 and data[20] == 17 and len(udp) == length == struct.unpack(">H", data[58:60])[0]
        assert data[60:62] != b"\0\0" and udp_checksum6(data[22:54], udp) == 0, data[:62].hex()
        return udp[8:]
    assert data[12:14] == b"\x08\0" and data[14] == 0x45 and data[23] == 17, data[:42].hex()
    assert checksum(data[14:34]) == 0, data[14:34].hex()
    length = struct.unpack(">H", data[38:40])[0]
    assert struct.unpack(">H", data[16:18])[0] == 20 + length
    return data[42 : 34 + length]


def write_pcap(path, frames, link_type=1, snap_length=65535):
    """A classic pcap file, one microsecond between packets."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snap_length, link_type))
        for number, data in enumerate(frames):
            kept = data[:snap_length]
            file.write(struct.pack("<IIII", number // 1000000, number % 1000000, len(kept), len(data)) + kept)


def read_pcap(path):
    """The frames of a classic pcap file of this machine's byte order, micro- or nanoseconds."""
    frames = []
    with open(path, "rb") as file:
        magic, *_, link_type = struct.unpack("<IHHiIII", file.read(24))
        assert magic in (0xA1B2C3D4, 0xA1B23C4D) and link_type == 1, (hex(magic), link_type)
        while header := file.read(16):
            _, _, kept, length = struct.unpack("<IIII", header)
            data = file.read(kept)
            assert kept == length == len(data), "truncated"
            frames.append(data)
    return frames
