# SPDX-License-Identifier: BSD-3-Clause
"""Declares where the heaps of a stream go in its chunks (docs/chunks.md)."""

import math
import numbers
import re
from typing import Iterable, List, Optional, Tuple, Union

from .. import _native

__all__ = ["Placement", "Term", "constant", "endpoint", "heap_count", "item"]


class Term:
    """Computes a number from a packet. Write the operators in this order, each once:

    item(0x1600) / 4096        item(0x3102) >> 32 & 0xff        (item(0x4103) & 0xfff) - 1024
    """

    _ORDER = {">>": 0, "&": 1, "-": 2, "/": 3, "//": 3, "{": 3}

    def __init__(self, text: str, steps: int = -1) -> None:
        self._text = text
        self._steps = steps

    def _then(self, operator: str, number: int) -> "Term":
        return self._add(operator, f"{self._text} {operator} {_natural(operator, number)}")

    def _add(self, operator: str, text: str) -> "Term":
        order = self._ORDER[operator]
        if order <= self._steps:
            raise ValueError(
                f"term `{self._text}`: `{operator}` comes too late, or again; "
                "the order is >>, &, -, and / or // or .among"
            )
        return Term(text, order)

    def __rshift__(self, bits: int) -> "Term":
        return self._then(">>", bits)

    def __and__(self, mask: int) -> "Term":
        return self._add("&", f"{self._text} & {_natural('&', mask):#x}")

    def __sub__(self, first: int) -> "Term":
        return self._then("-", first)

    def __truediv__(self, step: int) -> "Term":
        return self._then("/", step)

    def __floordiv__(self, step: int) -> "Term":
        return self._then("//", step)

    def among(self, values: Iterable[int]) -> "Term":
        """Returns the place of the value in a list, from 0."""
        return self._add("{", f"{self._text} {{{', '.join(str(_natural('among', v)) for v in values)}}}")

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Term({self._text!r})"


def _natural(name: str, number: int) -> int:
    if not isinstance(number, numbers.Real):
        raise TypeError(f"{name}: {number!r} is no number; give a whole number from 0")
    if not math.isfinite(number) or int(number) != number or number < 0:
        raise ValueError(f"{name}: {number!r} is no whole number from 0")
    return int(number)


def item(id: int) -> Term:
    """Returns the immediate value of an item."""
    return Term(f"item {_natural('item', id):#x}")


def heap_count() -> Term:
    """Returns the heap count."""
    return Term("heap")


def endpoint() -> Term:
    """Returns the number of the stream's endpoint that a packet was sent to: 0 for the first."""
    return Term("endpoint")


def constant(number: int) -> Term:
    """Returns the same number for each heap: the place of a stream on an axis of its group's."""
    return Term(f"constant {_natural('constant', number)}", 3)


_AXIS = re.compile(r"^\s*(axis|time)\s*([A-Za-z]\w*)?\s*:.*\[(\d+)\]")
_EXTRA = re.compile(r"^\s*extra\s+u(8|16|32|64)\s*:")


class Placement:
    """Says where heaps go: a text, or built from terms. Axes come outermost first.

    Placement(5120).axis("pol", item(0x3101) & 1, 2).time(item(0x1600) / 4096, 8192)
    Placement("heap 5120; axis pol: item 0x3101 & 1 [2]; time: item 0x1600 / 4096 [8192]")

    Each method returns a new placement. Sizes, text and explanation raise UsageError, with the sums, for one that is
    not possible.
    """

    def __init__(self, heap: Union[int, str, "Placement"]) -> None:
        if isinstance(heap, Placement):
            self._statements: List[str] = list(heap._statements)
        elif isinstance(heap, str):
            self._statements = [heap.strip().rstrip(";")]
            self._made()
        elif not isinstance(heap, numbers.Real):
            raise TypeError(f"placement: {heap!r} is no number of bytes, and no text; write Placement(5120), or a text")
        else:
            self._statements = [f"heap {_natural('heap', heap)}"]

    def _with(self, statement: str) -> "Placement":
        more = Placement(self)
        more._statements.append(statement)
        return more

    def axis(self, name: str, term: Term, count: int, *, by: int = 0) -> "Placement":
        """Adds a dimension with `count` places, `by` bytes apart; 0: they follow each other closely."""
        return self._with(f"axis {name}: {term} [{_natural('count', count)}]{_stride(by)}")

    def time(self, term: Term, count: int, *, by: int = 0, name: str = "") -> "Placement":
        """Adds the dimension that goes on for ever: its number divided by `count` is the chunk's id."""
        return self._with(f"time {name}".rstrip() + f": {term} [{_natural('count', count)}]{_stride(by)}")

    def extra(self, type: str, term: Term) -> "Placement":
        """Stores a value of each heap: `type` is u8, u16, u32 or u64."""
        return self._with(f"extra {type}: {term}")

    def rows(self, row_bytes: int, *, by: int) -> "Placement":
        """Cuts heaps into rows that lie `by` bytes apart."""
        return self._with(f"rows {_natural('row_bytes', row_bytes)} by {_natural('by', by)}")

    def packet_presence(self, packet_bytes: int) -> "Placement":
        """Notes presence by packet: packets carry so many bytes, but a heap's last."""
        return self._with(f"presence packet {_natural('packet_bytes', packet_bytes)}")

    def direct(self) -> "Placement":
        """Says that every packet has the items."""
        return self._with("direct")

    def tracked(self) -> "Placement":
        """Says that only the first packet of a heap has the items."""
        return self._with("tracked")

    def wrap(self, bits: int) -> "Placement":
        """Says after how many bits the time's item wraps; otherwise 48."""
        return self._with(f"wrap {_natural('bits', bits)}")

    def _made(self) -> "_native.Placement":
        return _native.Placement("; ".join(self._statements))

    @property
    def text(self) -> str:
        """Is the text, as in configuration files."""
        return self._made().text

    @property
    def heaps(self) -> int:
        """Counts the heaps of a chunk."""
        return self._made().heaps

    @property
    def bytes(self) -> int:
        """Counts the bytes of a chunk's `data`."""
        return self._made().bytes

    @property
    def present_bytes(self) -> int:
        """Counts the bytes of a chunk's `present`."""
        return self._made().present_bytes

    @property
    def extra_bytes(self) -> int:
        """Counts the bytes of a chunk's `extra`."""
        return self._made().extra_bytes

    @property
    def heap_bytes(self) -> int:
        """Counts the bytes of a heap."""
        found = re.search(r"heap\s+(0x[0-9a-fA-F]+|\d+)", self.text)
        return int(found.group(1), 0) if found else 0

    @property
    def axes(self) -> List[Tuple[str, int]]:
        """Lists names and sizes of the dimensions, the outermost first."""
        found = [_AXIS.match(s) for s in self.text.split(";")]
        return [(m.group(2) or "time", int(m.group(3))) for m in found if m]

    @property
    def extras(self) -> List[int]:
        """Lists the bits of the extra values."""
        found = [_EXTRA.match(s) for s in self.text.split(";")]
        return [int(m.group(1)) for m in found if m]

    @property
    def data_shape(self) -> Optional[Tuple[int, ...]]:
        """Is the shape of `data` in bytes: the axes, then a heap. None where strides or rows lay it otherwise."""
        shape = (*(count for _, count in self.axes), self.heap_bytes)
        laid_otherwise = re.search(r"\bby\b", self.text) is not None
        return None if laid_otherwise else shape

    def explain(self) -> str:
        """Explains the sums in lines for people."""
        return self._made().explain()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Placement({'; '.join(self._statements)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def _stride(by: int) -> str:
    return f" by {_natural('by', by)}" if by else ""
