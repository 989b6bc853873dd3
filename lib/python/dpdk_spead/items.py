# SPDX-License-Identifier: BSD-3-Clause
"""Items: named values of numpy, their descriptors, and groups of them."""

import ast
import dataclasses
import logging
import operator
from typing import Any, Dict, ItemsView, Iterator, KeysView, List, Optional, Sequence, Tuple, Union, ValuesView

import numpy as np

from . import _fields
from ._native import decode_descriptor, encode_descriptor, is_on_gpu
from .protocol import BUG_COMPAT_SWAP_ENDIAN, STREAM_CTRL_ID, Flavour

_log = logging.getLogger("dpdk_spead")

Shape = Sequence[Optional[int]]

_NETWORK_WORD = np.dtype(">u8")

#: Begins the ids that add_item() chooses.
_FIRST_ID = 0x1000


@dataclasses.dataclass
class RawDescriptor:
    """Holds a descriptor as it is sent: names are bytes, and a numpy header replaces shape and format."""

    id: int = 0
    name: bytes = b""
    description: bytes = b""
    shape: List[Optional[int]] = dataclasses.field(default_factory=list)
    format: List[Tuple[str, int]] = dataclasses.field(default_factory=list)
    numpy_header: bytes = b""

    @classmethod
    def decode(cls, value: Any, bug_compat: int = 0) -> "RawDescriptor":
        """Decodes the bytes of an item 5. Raises ValueError."""
        return cls(*decode_descriptor(value, bug_compat))

    def encode(self, flavour: Flavour) -> bytes:
        """Encodes the descriptor as the bytes of an item 5. Raises ValueError."""
        return encode_descriptor(self.id, self.name, self.description, list(self.shape), list(self.format),
                                 self.numpy_header, flavour.heap_address_bits, flavour.bug_compat)


class Descriptor:
    """Describes an item: its name, its shape, and the type of its elements.

    `shape`: dimensions; with `format`, one of them may be None, and varies. `dtype`: a numpy type. `format`: a list of
    (letter, bits), in place of `dtype`. `order`: "C", or "F" for arrays of numpy that are sent in Fortran's order.
    Raises ValueError.
    """

    def __init__(self, id: int, name: str, description: str, shape: Shape, dtype: Any = None, order: str = "C",
                 format: Optional[Sequence[Tuple[str, int]]] = None) -> None:
        shape = self._checked_names(id, name, description, shape)
        if sum(n is None for n in shape) > 1:
            raise ValueError(f"item {name}: the shape {shape} has several dimensions that vary; one may")
        if any(n is not None and n < 0 for n in shape):
            raise ValueError(f"item {name}: the shape {shape} has a negative dimension")
        if order not in ("C", "F"):
            raise ValueError(f"item {name}: the order is {order!r}; use 'C' or 'F'")
        self.id = id
        self.name = name
        self.description = description
        self.shape = shape
        self.order = order
        self.format: Optional[List[Tuple[str, int]]] = None
        self.dtype: Optional[np.dtype] = None
        if dtype is not None:
            if format is not None:
                raise ValueError(f"item {name}: it has a dtype and a format; give one of them")
            self.dtype = self._array_dtype = self._checked_dtype(np.dtype(dtype))
            if self.is_variable_size():
                raise ValueError(
                    f"item {name}: with a dtype, no dimension of the shape {shape} may be None; use a format")
        elif format is None:
            raise ValueError(f"item {name}: it has no type; give a dtype or a format")
        elif order != "C":
            raise ValueError(f"item {name}: with a format the order is 'C'; for {order!r}, give a dtype")
        else:
            self.format = _fields.check_format(format)
            self._array_dtype = _fields.format_dtype(self.format)

    @staticmethod
    def _checked_names(id: int, name: str, description: str, shape: Shape) -> Tuple[Optional[int], ...]:
        """Returns the shape as a tuple. Raises TypeError and ValueError with the item's name."""
        for what, text in (("name", name), ("description", description)):
            if not isinstance(text, str):
                raise TypeError(f"item {name}: the {what} is {text!r}; give a str")
        if not hasattr(id, "__index__"):
            raise TypeError(f"item {name}: the id is {id!r}; give a whole number, as 0x1000")
        if id < 0:
            raise ValueError(f"item {name}: the id is {id}; it cannot be negative")
        try:
            return tuple(None if n is None else operator.index(n) for n in shape)
        except TypeError:
            raise TypeError(f"item {name}: the shape is {shape!r}; give a tuple of whole numbers, as (1024, 2)") from None

    def _checked_dtype(self, dtype: np.dtype) -> np.dtype:
        if dtype.hasobject:
            raise ValueError(f"item {self.name}: the dtype {dtype} has Python objects, which cannot be sent")
        if dtype.itemsize == 0:
            raise ValueError(f"item {self.name}: elements of the dtype {dtype} have no bytes; give it a length, as S8")
        return dtype

    @property
    def itemsize_bits(self) -> int:
        """The bits of an element."""
        if self.format is not None:
            return sum(bits for _, bits in self.format)
        return self._array_dtype.itemsize * 8

    def is_variable_size(self) -> bool:
        """Returns whether a dimension is None."""
        return any(n is None for n in self.shape)

    def allow_immediate(self) -> bool:
        """Returns whether small values may travel in the item pointer: of whole bytes, in a shape of known length."""
        return not self.is_variable_size() and self.itemsize_bits % 8 == 0

    def dynamic_shape(self, max_elements: int) -> Tuple[int, ...]:
        """Returns the shape, with its None by the number of elements that there are bytes for."""
        known = 1
        for n in self.shape:
            known *= 1 if n is None else n
        rest = max_elements // known if known else 0
        return tuple(rest if n is None else n for n in self.shape)

    def compatible_shape(self, shape: Sequence[int]) -> bool:
        """Returns whether values may have this shape."""
        return len(shape) == len(self.shape) and all(b is None or a == b for a, b in zip(shape, self.shape))

    @classmethod
    def from_raw(cls, raw_descriptor: RawDescriptor, flavour: Flavour) -> "Descriptor":
        """Makes a descriptor from a received one. Raises ValueError, UnicodeDecodeError."""
        raw = raw_descriptor
        name = raw.name.decode("ascii")
        description = raw.description.decode("ascii")
        if not raw.numpy_header:
            return cls(raw.id, name, description, raw.shape, format=raw.format)
        shape, order, dtype = _parse_header(raw.numpy_header.decode("latin-1"))
        if flavour.bug_compat & BUG_COMPAT_SWAP_ENDIAN:
            dtype = dtype.newbyteorder()
        return cls(raw.id, name, description, shape, dtype=dtype, order=order)

    def to_raw(self, flavour: Flavour) -> RawDescriptor:
        """Returns the descriptor as it is sent. Raises UnicodeEncodeError for names that are not ASCII."""
        raw = RawDescriptor(self.id, self.name.encode("ascii"), self.description.encode("ascii"), list(self.shape))
        if self.format is not None:
            raw.format = list(self.format)
        else:
            dtype = self._array_dtype
            if flavour.bug_compat & BUG_COMPAT_SWAP_ENDIAN:
                dtype = dtype.newbyteorder()
            raw.numpy_header = repr({
                "descr": np.lib.format.dtype_to_descr(dtype),
                "fortran_order": self.order == "F",
                "shape": tuple(self.shape),
            }).encode("ascii")
        return raw

    def _key(self) -> tuple:
        return (self.id, self.name, self.description, self.shape, self.dtype, self.order, self.format)

    def __repr__(self) -> str:
        kind = f"dtype={self.dtype!s}" if self.format is None else f"format={self.format}"
        return f"<{type(self).__name__} {self.name!r} id=0x{self.id:x} shape={self.shape} {kind}>"


def _parse_header(header: str) -> Tuple[Tuple[int, ...], str, np.dtype]:
    """Returns shape, order and type of a numpy header. Raises ValueError."""
    try:
        fields = ast.literal_eval(header.strip())
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ValueError(f"descriptor: the numpy header {header!r:.80} cannot be read: {error}") from error
    if not isinstance(fields, dict) or set(fields) != {"descr", "fortran_order", "shape"}:
        raise ValueError(f"descriptor: the numpy header {header!r:.80} does not have descr, fortran_order and shape")
    shape = fields["shape"]
    if not isinstance(shape, tuple) or not all(isinstance(n, int) and n >= 0 for n in shape):
        raise ValueError(f"descriptor: the numpy header has the shape {shape!r:.80}; it must be a tuple of integers")
    if not isinstance(fields["fortran_order"], bool):
        raise ValueError("descriptor: fortran_order of the numpy header is neither True nor False")
    try:
        dtype = np.lib.format.descr_to_dtype(fields["descr"])
    except Exception as error:  # numpy raises many kinds for bad ones
        raise ValueError(f"descriptor: numpy does not know the type {fields['descr']!r:.80}") from error
    return shape, "F" if fields["fortran_order"] else "C", dtype


class Item(Descriptor):
    """Holds a descriptor and a value. Its version grows with each value."""

    def __init__(self, id: int, name: str, description: str, shape: Shape, dtype: Any = None, order: str = "C",
                 format: Optional[Sequence[Tuple[str, int]]] = None, value: Any = None) -> None:
        super().__init__(id, name, description, shape, dtype, order, format)
        self._value = value
        self.version = 1  #: grows with each value

    @property
    def value(self) -> Any:
        """The value; None: there was none yet. Change an array in place only together with `version`."""
        return self._value

    @value.setter
    def value(self, new_value: Any) -> None:
        if new_value is None:
            raise ValueError(f"item {self.name}: a value cannot become None")
        self._value = new_value
        self.version += 1

    # Sending.

    def to_buffer(self) -> Any:
        """Returns the bytes to be sent, as an object with the buffer protocol, or with `__cuda_array_interface__`.

        An array on a GPU is returned as it is: its type, shape and order are those described. An array that has the
        described type, order and contiguous elements is not copied. Raises ValueError, TypeError, UnicodeEncodeError.
        """
        if self._value is None:
            raise ValueError(f"item {self.name}: it has no value to send")
        value = self._value
        if not isinstance(value, (np.ndarray, bytes, str)) and is_on_gpu(value):
            return self._checked_on_gpu(value)
        if self._is_deferred_immediate(value):
            return value.reshape(1).view(np.uint8)[8 - self.itemsize_bits // 8:]
        if len(self.shape) == 1 and isinstance(value, (str, bytes)):
            encoded = value.encode("ascii") if isinstance(value, str) else value
            value = np.frombuffer(encoded, dtype="S1")
        array = self._as_array(value)
        if not self.compatible_shape(array.shape):
            raise ValueError(f"item {self.name}: the value has the shape {array.shape}, and {self.shape} was described")
        if self._array_dtype.hasobject or self.format is not None and self.itemsize_bits % 8:
            return _fields.encode(self.format or [], array)
        if self.order == "F":
            return np.asfortranarray(array).T
        return np.ascontiguousarray(array).reshape(array.shape)

    def _checked_on_gpu(self, value: Any) -> Any:
        """Returns an array on a GPU, which nothing can convert. Raises ValueError."""
        interface = value.__cuda_array_interface__
        dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
        if self._array_dtype.hasobject or self.order == "F" or dtype != self._array_dtype:
            raise ValueError(f"item {self.name}: the value is an array of {dtype} on a GPU, where it cannot become the "
                             f"described {self.order}-ordered {self._array_dtype}; convert it there")
        if not self.compatible_shape(shape):
            raise ValueError(f"item {self.name}: the value has the shape {shape}, and {self.shape} was described")
        return value

    def _is_deferred_immediate(self, value: Any) -> bool:
        """Returns whether the value is an unsigned number that may change between heap and packet."""
        return (self.shape == () and self.format is not None and len(self.format) == 1
                and self.format[0][0] in "ui" and self.itemsize_bits % 8 == 0 and self.itemsize_bits < 64
                and isinstance(value, np.ndarray) and value.shape == () and value.dtype == _NETWORK_WORD)

    def _as_array(self, value: Any) -> np.ndarray:
        dtype = self._array_dtype
        if dtype.hasobject and dtype.names is None:
            # numpy would make an array of nested sequences, and not of their numbers.
            return np.array(value, dtype=object)
        order: Any = self.order
        try:
            return np.array(value, dtype=dtype, order=order, copy=False)
        except UnicodeError:
            raise
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"item {self.name}: the value cannot become an array of {dtype}: {error}") from error

    # Receiving.

    def set_from_raw(self, raw_item: Any, new_order: str = "=") -> None:
        """Takes the value of a received item. Raises ValueError when it is too short.

        `new_order`: byte order of the value, as of numpy.dtype.newbyteorder(); "|" leaves it.
        """
        if raw_item.is_immediate and self._set_integer(raw_item.immediate_value):
            return
        data = np.frombuffer(raw_item, dtype=np.uint8) if len(memoryview(raw_item)) else np.empty(0, np.uint8)
        bits = self.itemsize_bits
        shape = self.dynamic_shape(data.size * 8 // bits)
        elements = 1
        for n in shape:
            elements *= n
        needed = (elements * bits + 7) // 8
        if needed > data.size:
            raise ValueError(
                f"item {self.name}: {data.size} bytes came, and the shape {shape} of {bits} bits needs {needed}")
        # An immediate stands at the right of its bytes.
        data = data[data.size - needed:] if raw_item.is_immediate else data[:needed]
        if self._array_dtype.hasobject:
            array: Any = _fields.decode(self.format or [], data, elements)
        else:
            array = data.view(self._array_dtype)
            if new_order != "|":
                # Copies only if the order differs.
                order: Any = new_order
                array = array.astype(array.dtype.newbyteorder(order), copy=False)
        self.value = self._as_value(array.reshape(shape, order=self.order))

    def _set_integer(self, immediate: int) -> bool:
        """Takes a single integer that is an immediate, without numpy's arrays. Returns whether it is one.

        Only in whole bytes: others stand at the left of their bytes.
        """
        if self.shape != () or self.format is None or len(self.format) != 1 or self.format[0][0] not in "ui":
            return False
        code, bits = self.format[0]
        if bits % 8:
            return False
        number = immediate & ((1 << bits) - 1)
        if code == "i" and number >> (bits - 1):
            number -= 1 << bits
        native = self._array_dtype
        self.value = number if native.hasobject else native.newbyteorder("=").type(number)
        return True

    def _as_value(self, array: np.ndarray) -> Any:
        if array.shape == ():
            return array[()]
        if self.format == [("c", 8)] and array.ndim == 1:
            # As with spead2, a text is without the zeros that fill its field, or the item pointer.
            return array.tobytes().replace(b"\0", b"").decode("ascii")
        return array


def _usable_descriptor(value: Any, bug_compat: int) -> Optional[RawDescriptor]:
    """Decodes the bytes of an item 5. Returns None for damaged ones, with a line in the log."""
    try:
        return RawDescriptor.decode(value, bug_compat)
    except ValueError as error:
        _log.warning("a damaged descriptor is left out: %s", error)
        return None


class ItemGroup:
    """Remembers items by id and by name, and updates them from received heaps."""

    _raises = False  #: as_spead2 sets it, for groups of programs that were written for spead2

    def __init__(self) -> None:
        self._by_id: Dict[int, Item] = {}
        self._by_name: Dict[str, Item] = {}

    def add_item(self, id: Optional[int], name: str, description: str, shape: Shape, dtype: Any = None,
                 order: str = "C", format: Optional[Sequence[Tuple[str, int]]] = None, value: Any = None) -> Item:
        """Adds an item, and returns it. `id`: None chooses a free one from 0x1000 on.

        An item that is described as before keeps its object, and takes the value unless that is None. Any other with
        the same id or name is replaced, and the new one's version is higher.
        """
        if id is None:
            id = _FIRST_ID
            while id in self._by_id:
                id += 1
        return self._add(Item(id, name, description, shape, dtype, order, format, value))

    def _add(self, item: Item) -> Item:
        old = self._by_id.get(item.id)
        if old is not None and old._key() == item._key():
            if item.value is not None:
                old.value = item.value
            return old
        for other in (old, self._by_name.get(item.name)):
            if other is not None:
                _log.info("item %s: a new descriptor replaces that of %s", item.name, other.name)
                item.version = max(item.version, other.version + 1)
                self._by_id.pop(other.id, None)
                self._by_name.pop(other.name, None)
        self._by_id[item.id] = item
        self._by_name[item.name] = item
        return item

    def update(self, heap: Any, new_order: str = "=") -> Dict[str, Item]:
        """Takes descriptors and then values from a heap. Returns the items with new values, by name.

        Items without a descriptor, damaged descriptors, and values that do not suit theirs are left out with a warning.
        An item that is left out keeps its value. Raises ValueError for a `new_order` that numpy does not know.

        In a program that has imported as_spead2, the first error is raised when the other items have their values. Damaged
        descriptors are left out there, too: as spead2 does, they raise none.
        """
        order: Any = new_order
        _NETWORK_WORD.newbyteorder(order)
        errors: List[Exception] = []

        def leave_out(what: str, error: Exception) -> None:
            errors.append(error)
            if not self._raises or len(errors) > 1:
                _log.warning("%s is left out: %s", what, error)

        for raw in heap.get_descriptors():
            try:
                described = Item.from_raw(raw, heap.flavour)
            except Exception as error:  # as in _parse_header(): any sender may have made it
                leave_out(f"the descriptor of item 0x{raw.id:x}", error)
                continue
            self._add(described)  # type: ignore[arg-type]
        updated: Dict[str, Item] = {}
        for raw_item in heap.get_items():
            if raw_item.id <= STREAM_CTRL_ID:
                continue
            item = self._by_id.get(raw_item.id)
            if item is None:
                _log.warning("item 0x%x has no descriptor; it is left out", raw_item.id)
                continue
            try:
                item.set_from_raw(raw_item, new_order)
            except Exception as error:  # numpy's SystemError for characters that do not exist is one
                leave_out(f"a value of item 0x{raw_item.id:x}", error)
                continue
            updated[item.name] = item
        if errors and self._raises:
            raise errors[0]
        return updated

    def __getitem__(self, key: Union[int, str]) -> Item:
        return self._by_name[key] if isinstance(key, str) else self._by_id[key]

    def __contains__(self, key: Union[int, str]) -> bool:
        return key in self._by_name if isinstance(key, str) else key in self._by_id

    def keys(self) -> KeysView[str]:
        """Returns the names."""
        return self._by_name.keys()

    def ids(self) -> KeysView[int]:
        """Returns the ids."""
        return self._by_id.keys()

    def values(self) -> ValuesView[Item]:
        """Returns the items."""
        return self._by_name.values()

    def items(self) -> ItemsView[str, Item]:
        """Returns the names with their items."""
        return self._by_name.items()

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(self._by_name) or 'no items'}>"
