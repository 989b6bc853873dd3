# SPDX-License-Identifier: BSD-3-Clause
"""Encodes and decodes elements whose fields have any number of bits.

A format is a list of (letter, bits): u unsigned, i signed, f IEEE 754, b boolean, c character. Fields follow each
other without gaps, the most significant bit first (SPEAD specification, "Item descriptors").
"""

from typing import Any, Dict, List, Sequence, Tuple

import numpy as np

Format = Sequence[Tuple[str, int]]

# Limits the elements that are unpacked at a time: each bit takes a byte then. Fewer, if they are wider than 64 bits.
_BLOCK = 1 << 14

# Limits the bits of a field.
_WIDEST = (1 << 16) - 1

_NATIVE: Dict[Tuple[str, int], np.dtype] = {
    **{("u", bits): np.dtype(f">u{bits // 8}") for bits in (8, 16, 32, 64)},
    **{("i", bits): np.dtype(f">i{bits // 8}") for bits in (8, 16, 32, 64)},
    ("f", 32): np.dtype(">f4"),
    ("f", 64): np.dtype(">f8"),
    ("b", 8): np.dtype(np.bool_),
    ("c", 8): np.dtype("S1"),
}


def check_format(fmt: Format) -> List[Tuple[str, int]]:
    """Returns the format as a list. Raises ValueError for a field that no element can have."""
    try:
        fields = [(str(code), int(bits)) for code, bits in fmt]
    except (TypeError, ValueError):
        raise ValueError(f"format: {fmt!r} is no list of pairs; give one, as [('u', 32)]") from None
    if not fields:
        raise ValueError("format: it has no fields; give at least one, as ('u', 32)")
    for code, bits in fields:
        if code not in ("u", "i", "f", "b", "c"):
            raise ValueError(f"format: the letter {code!r} is not known; use u, i, f, b or c")
        if code == "f" and bits not in (32, 64):
            raise ValueError(f"format: a float has {bits} bits; use 32 or 64")
        if code == "c" and bits != 8:
            raise ValueError(f"format: a character has {bits} bits; use 8")
        if not 1 <= bits <= _WIDEST:
            raise ValueError(f"format: a field of {code} has {bits} bits; use 1 to {_WIDEST}")
    return fields


def field_dtype(code: str, bits: int) -> np.dtype:
    """Returns the type of a field in arrays: a numpy type in network byte order, or Python objects."""
    return _NATIVE.get((code, bits), np.dtype(object))


def format_dtype(fields: Format) -> np.dtype:
    """Returns the type of an element: that of its only field, or a structure of f0, f1 and so on."""
    types = [field_dtype(code, bits) for code, bits in fields]
    if len(types) == 1:
        return types[0]
    return np.dtype([(f"f{i}", one) for i, one in enumerate(types)])


def _block(bits: int) -> int:
    """Returns how many elements of so many bits are unpacked at a time: a multiple of 8."""
    return max(_BLOCK * 64 // max(bits, 64) // 8, 1) * 8


def decode(fields: Format, data: np.ndarray, count: int) -> np.ndarray:
    """Decodes `count` elements from bytes that hold at least so many. Returns an array of format_dtype()."""
    out = np.empty(count, dtype=format_dtype(fields))
    bits = sum(width for _, width in fields)
    block = _block(bits)
    for first in range(0, count, block):
        n = min(block, count - first)
        begin = first * bits // 8  # a block has a multiple of 8 elements before it
        unpacked = np.unpackbits(data[begin : begin + (n * bits + 7) // 8], count=n * bits).reshape(n, bits)
        at = 0
        for i, (code, width) in enumerate(fields):
            column = _decode_field(code, width, unpacked[:, at : at + width])
            if len(fields) == 1:
                out[first : first + n] = column
            else:
                out[f"f{i}"][first : first + n] = column
            at += width
    return out


def _decode_field(code: str, width: int, bits: np.ndarray) -> Any:
    if width > 64:
        return _decode_wide(code, width, bits)
    words = np.zeros((bits.shape[0], 64), dtype=np.uint8)
    words[:, 64 - width :] = bits
    if code == "i":
        words[:, : 64 - width] = bits[:, :1]
    values = np.packbits(words, axis=1).view(">i8" if code == "i" else ">u8")[:, 0]
    native = _NATIVE.get((code, width))
    if code == "b":
        decoded = values != 0
        return decoded if native is not None else decoded.astype(object)
    if code == "c":
        return values.astype(np.uint8).view("S1")
    if code == "f":
        return values.astype(">u4").view(">f4") if width == 32 else values.view(">f8")
    return values.astype(native) if native is not None else np.array(values.tolist(), dtype=object)


def _decode_wide(code: str, width: int, bits: np.ndarray) -> Any:
    """Decodes fields that are wider than numpy's integers: as integers of Python."""
    packed = np.packbits(bits, axis=1)
    decoded = np.empty(len(packed), dtype=object)
    for i, row in enumerate(packed):
        number = int.from_bytes(row.tobytes(), "big", signed=code == "i") >> (-width % 8)
        decoded[i] = number != 0 if code == "b" else number
    return decoded


def encode(fields: Format, value: np.ndarray) -> bytes:
    """Encodes an array of format_dtype(), its last bits padded with zeros. Raises ValueError, OverflowError."""
    flat = value.reshape(-1)
    packed: List[bytes] = []
    length = _block(sum(width for _, width in fields))
    for first in range(0, flat.size, length):
        block = flat[first : first + length]
        columns = [
            _encode_field(code, width, block if len(fields) == 1 else block[f"f{i}"])
            for i, (code, width) in enumerate(fields)
        ]
        packed.append(np.packbits(np.concatenate(columns, axis=1).reshape(-1)).tobytes())
    return b"".join(packed)


def _encode_field(code: str, width: int, column: np.ndarray) -> np.ndarray:
    if width > 64:
        numbers = [int(bool(one)) if code == "b" else _integer(code, width, one) for one in column]
        octets = b"".join((n << (-width % 8)).to_bytes((width + 7) // 8, "big") for n in numbers)
        return np.unpackbits(np.frombuffer(octets, np.uint8).reshape(len(numbers), -1), axis=1)[:, :width]
    if code == "f":
        words = column.astype(field_dtype(code, width)).view(f">u{width // 8}").astype(">u8")
    elif code == "c":
        words = np.array([_character(one) for one in column], dtype=">u8")
    elif code == "b":
        words = np.array([1 if one else 0 for one in column], dtype=">u8")
    else:
        words = np.array([_integer(code, width, one) for one in column], dtype=">u8")
    return np.unpackbits(words.view(np.uint8).reshape(-1, 8), axis=1)[:, 64 - width :]


def _character(value: Any) -> int:
    encoded = value.encode("ascii") if isinstance(value, str) else bytes(value)
    if len(encoded) > 1:
        raise ValueError(f"item: {value!r} is longer than a character")
    return encoded[0] if encoded else 0


def _integer(code: str, width: int, value: Any) -> int:
    number = int(value)
    low, high = (0, 1 << width) if code == "u" else (-(1 << (width - 1)), 1 << (width - 1))
    if not low <= number < high:
        if width > 64:  # Python refuses to print the longest
            raise ValueError(f"item: a number of {number.bit_length()} bits does not fit a field of {code}{width}")
        raise ValueError(f"item: {number} does not fit a field of {code}{width}; use {low} to {high - 1}")
    return number & ((1 << max(width, 64)) - 1)
