# SPDX-License-Identifier: BSD-3-Clause
"""Packets of telescopes, made and decoded by the published layouts. Shares nothing with the program's declarations.

Sources: SKA CBF to PST interface 1.3.1; hpguppi_atasnap.h; bifrost's formats/snap2.hpp; VDIF specification 1.1.1."""

import struct
from collections import namedtuple

# A value of `bits` bits from bit `shift` of the number at byte `at`, which `code` describes to struct.
Value = namedtuple("Value", "code at shift bits")
# `items` by their ids here, and `fixed` (value, number): what a packet of the format has.
Layout = namedtuple("Layout", "header items fixed length_units")

_VDIF_ITEMS = {0x1600: Value("<I", 0, 0, 29), 0x1601: Value("<I", 4, 0, 24), 0x4101: Value("<I", 12, 16, 10),
               0x4100: Value("<I", 12, 0, 16), 0x1604: Value("<I", 4, 24, 6)}
_VDIF_LENGTH = Value("<I", 8, 0, 24)

LAYOUTS = {
    "pst": Layout(96, {0x1600: Value("<Q", 0, 0, 35), 0x1601: Value("<I", 16, 0, 32), 0x4103: Value("<I", 48, 0, 17),
                       0x4104: Value("<H", 52, 0, 16), 0x4105: Value("<H", 56, 0, 16), 0x4101: Value("<H", 58, 0, 11),
                       0x1602: Value("<Q", 72, 0, 48)},
                  ((Value("<I", 48, 17, 15), 0), (Value("<H", 58, 11, 5), 0), (Value("<H", 54, 0, 16), 8),
                   (Value("<I", 60, 0, 32), 0xBEADFEED)), None),
    "ata": Layout(16, {0x1600: Value(">Q", 8, 0, 38), 0x4101: Value(">H", 6, 0, 9), 0x4103: Value(">H", 4, 0, 16),
                       0x4104: Value(">H", 2, 0, 16), 0x4106: Value(">B", 1, 0, 8)},
                  ((Value(">B", 0, 0, 8), 1), (Value(">H", 6, 9, 7), 0)), None),
    "snap2": Layout(32, {0x1600: Value(">Q", 0, 0, 40), 0x1603: Value(">I", 8, 0, 32), 0x4103: Value(">I", 24, 0, 13),
                         0x4101: Value(">I", 28, 0, 10), 0x4107: Value(">I", 20, 0, 32)},
                    ((Value(">Q", 0, 40, 24), 0), (Value(">I", 24, 13, 19), 0), (Value(">I", 28, 10, 22), 0)), None),
    "vdif": Layout(32, _VDIF_ITEMS, ((Value("<I", 0, 29, 3), 0),), _VDIF_LENGTH),
    "vdif_legacy": Layout(16, _VDIF_ITEMS, ((Value("<I", 0, 29, 3), 2),), _VDIF_LENGTH),
}


def read(value, data):
    return struct.unpack_from(value.code, data, value.at)[0] >> value.shift & (1 << value.bits) - 1


def write(value, data, number):
    mask = (1 << value.bits) - 1 << value.shift
    before = struct.unpack_from(value.code, data, value.at)[0]
    struct.pack_into(value.code, data, value.at, before & ~mask | number << value.shift)


def make(name, items, payload, random):
    """A packet with these items. All else in its header is random, but for what the format has fixed."""
    layout = LAYOUTS[name]
    header = bytearray(random.randbytes(layout.header))
    for item, value in layout.items.items():
        write(value, header, items.get(item, 0))
    for value, number in layout.fixed:
        write(value, header, number)
    if layout.length_units is not None:
        write(layout.length_units, header, (layout.header + len(payload)) // 8)
    return bytes(header) + payload


def decode(name, data):
    """(items, payload) of a packet."""
    layout = LAYOUTS[name]
    end = None if layout.length_units is None else 8 * read(layout.length_units, data)
    return {item: read(value, data) for item, value in layout.items.items()}, data[layout.header:end]


def some_items(name, random):
    """Random values for every item of the format."""
    return {item: random.getrandbits(value.bits) for item, value in LAYOUTS[name].items.items()}
