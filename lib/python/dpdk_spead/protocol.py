# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of the SPEAD protocol, and the flavours of its packets."""

from typing import Any

NULL_ID = 0x00
HEAP_CNT_ID = 0x01
HEAP_LENGTH_ID = 0x02
PAYLOAD_OFFSET_ID = 0x03
PAYLOAD_LENGTH_ID = 0x04
DESCRIPTOR_ID = 0x05
STREAM_CTRL_ID = 0x06

DESCRIPTOR_NAME_ID = 0x10
DESCRIPTOR_DESCRIPTION_ID = 0x11
DESCRIPTOR_SHAPE_ID = 0x12
DESCRIPTOR_FORMAT_ID = 0x13
DESCRIPTOR_ID_ID = 0x14
DESCRIPTOR_DTYPE_ID = 0x15

CTRL_STREAM_START = 0
CTRL_DESCRIPTOR_REISSUE = 1
CTRL_STREAM_STOP = 2
CTRL_DESCRIPTOR_UPDATE = 3

BUG_COMPAT_DESCRIPTOR_WIDTHS = 1
BUG_COMPAT_SHAPE_BIT_1 = 2
BUG_COMPAT_SWAP_ENDIAN = 4
BUG_COMPAT_PYSPEAD_0_5_2 = 7


class Flavour:
    """Names a flavour of packets: SPEAD-64-XX, and the deviations of old software that it has.

    `version` is 4, `item_pointer_bits` is 64, `heap_address_bits` (XX) is 8 to 56 in steps of 8. `bug_compat` joins
    BUG_COMPAT numbers. Without arguments: SPEAD-64-40. Raises ValueError.
    """

    __slots__ = ("_version", "_item_pointer_bits", "_heap_address_bits", "_bug_compat", "__weakref__")

    def __init__(self, version: int = 4, item_pointer_bits: int = 64, heap_address_bits: int = 40,
                 bug_compat: int = 0) -> None:
        for name, number in (("version", version), ("item_pointer_bits", item_pointer_bits),
                             ("heap_address_bits", heap_address_bits), ("bug_compat", bug_compat)):
            if not hasattr(number, "__index__"):
                raise TypeError(f"flavour: {name} is {number!r}; give a whole number")
        if version != 4:
            raise ValueError(f"flavour: the version is {version}; only 4 is supported")
        if item_pointer_bits != 64:
            raise ValueError(f"flavour: item pointers have {item_pointer_bits} bits; only 64 are supported")
        if not 8 <= heap_address_bits <= 56 or heap_address_bits % 8:
            raise ValueError(f"flavour: heap addresses have {heap_address_bits} bits; use 8 to 56 in steps of 8")
        if bug_compat & ~BUG_COMPAT_PYSPEAD_0_5_2:
            raise ValueError(f"flavour: bug_compat is {bug_compat}; it joins 1, 2 and 4")
        self._version = version
        self._item_pointer_bits = item_pointer_bits
        self._heap_address_bits = heap_address_bits
        self._bug_compat = bug_compat

    @property
    def version(self) -> int:
        """The protocol's version: 4."""
        return self._version

    @property
    def item_pointer_bits(self) -> int:
        """The bits of an item pointer: 64."""
        return self._item_pointer_bits

    @property
    def heap_address_bits(self) -> int:
        """The bits of addresses and immediates."""
        return self._heap_address_bits

    @property
    def bug_compat(self) -> int:
        """The deviations of old software."""
        return self._bug_compat

    def _key(self) -> tuple:
        return (self._version, self._item_pointer_bits, self._heap_address_bits, self._bug_compat)

    def __eq__(self, other: Any) -> Any:
        return self._key() == other._key() if isinstance(other, Flavour) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Flavour(4, 64, {self._heap_address_bits}, {self._bug_compat})"
