# SPDX-License-Identifier: BSD-3-Clause
"""Heaps to send, and generators of them."""

import dataclasses
from typing import Any, Dict, Iterable, Iterator, List, Optional

from .. import items as _items
from .._native import HeapReference, OutgoingItems
from ..items import Descriptor, Item
from ..protocol import Flavour


class Heap(OutgoingItems):
    """Holds items to send, in order. Their memory is pinned while the heap lives, and while it is being sent.

    Values are not copied: a changed array is sent as it is when its packet is made. One heap may be in flight several
    times, and in several streams.
    """

    def __init__(self, flavour: Flavour = Flavour()) -> None:
        if not isinstance(flavour, Flavour):
            raise TypeError(f"heap: the flavour is {flavour!r}; give a Flavour")
        super().__init__(flavour.heap_address_bits)
        self._flavour = flavour

    @property
    def flavour(self) -> Flavour:
        """The flavour of its packets."""
        return self._flavour

    def __repr__(self) -> str:
        return f"<heap to send: {len(self)} {'item' if len(self) == 1 else 'items'}>"

    def add_item(self, item: Item) -> None:
        """Adds the value of an item; not its descriptor. Raises ValueError and TypeError for a wrong value."""
        if not isinstance(item, Item):
            raise TypeError(f"heap: {item!r} is no Item; make one with its name and type")
        self._add(item.id, item.to_buffer(), item.allow_immediate())

    def add_descriptor(self, descriptor: Descriptor) -> None:
        """Adds a descriptor. Raises ValueError when the flavour cannot say it."""
        self._add_descriptor(descriptor.to_raw(self._flavour).encode(self._flavour))


class HeapReferenceList:
    """Holds heap references for several calls of send_heaps(). Slices of it are such lists, too."""

    __slots__ = ("_references", "__weakref__")

    def __init__(self, heaps: Iterable[HeapReference]) -> None:
        references = list(heaps)
        for one in references:
            if not isinstance(one, HeapReference):
                raise TypeError(f"a list of heap references has {type(one).__name__}; give HeapReference objects")
        self._references: List[HeapReference] = references

    def __len__(self) -> int:
        return len(self._references)

    def __getitem__(self, index: slice) -> "HeapReferenceList":
        if not isinstance(index, slice):
            raise TypeError("a list of heap references is indexed by slices")
        return HeapReferenceList(self._references[index])


class PacketGenerator:
    """Makes the packets of a heap: an iterable of the bytes of UDP payloads, as a stream would send them."""

    def __init__(self, heap: Heap, cnt: int, max_packet_size: int) -> None:
        if not isinstance(heap, Heap):
            raise TypeError(f"packets: {heap!r} is no Heap of dpdk_spead.send")
        self._heap = heap
        self._cnt = cnt
        self._max_packet_size = max_packet_size
        self._packets: Optional[Iterator[bytes]] = None

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._packets is None:
            self._packets = iter(self._heap._packets(self._cnt, self._max_packet_size))
        return next(self._packets)


@dataclasses.dataclass
class _Sent:
    """Remembers an item of a generator."""

    item: Item
    version: Optional[int] = None  #: of the value that was sent last
    heap: Optional[int] = None  #: the heap that had its descriptor


class HeapGenerator:
    """Makes heaps of an item group: of what has changed since the last one, by default.

    `descriptor_frequency`: descriptors are repeated in every so manyth heap; None: never.
    """

    def __init__(self, item_group: _items.ItemGroup, descriptor_frequency: Optional[int] = None,
                 flavour: Flavour = Flavour()) -> None:
        self._item_group = item_group
        self._descriptor_frequency = descriptor_frequency
        self._flavour = flavour
        self._sent: Dict[int, _Sent] = {}
        self._heaps = 0

    def add_to_heap(self, heap: Heap, descriptors: str = "stale", data: str = "stale") -> Heap:
        """Adds descriptors and values to a heap, and returns it.

        `descriptors`, `data`: "stale" adds those that are new, have changed, or are due again; "all" adds all, "none"
        none. Items without a value have only a descriptor. Raises ValueError.
        """
        for name, choice in (("descriptors", descriptors), ("data", data)):
            if choice not in ("stale", "all", "none"):
                raise ValueError(f"{name} is {choice!r}; give 'stale', 'all' or 'none'")
        number = self._heaps
        self._heaps += 1
        # Each value follows its descriptor, as spead2 sends them.
        for record in [self._record(item) for item in self._item_group.values()]:
            item = record.item
            if descriptors == "all" or descriptors == "stale" and self._is_due(record, number):
                heap.add_descriptor(item)
                record.heap = number
            if item.value is None or data == "none" or data == "stale" and record.version == item.version:
                continue
            heap.add_item(item)
            record.version = item.version
        return heap

    def _record(self, item: Item) -> _Sent:
        record = self._sent.get(item.id)
        if record is None or record.item is not item:
            record = self._sent[item.id] = _Sent(item)
        return record

    def _is_due(self, record: _Sent, number: int) -> bool:
        if record.heap is None:
            return True
        return self._descriptor_frequency is not None and number - record.heap >= self._descriptor_frequency

    def get_heap(self, *args: Any, **kwargs: Any) -> Heap:
        """Returns a new heap; the arguments are those of add_to_heap()."""
        return self.add_to_heap(Heap(self._flavour), *args, **kwargs)

    def get_start(self) -> Heap:
        """Returns a heap that says that the stream starts."""
        heap = Heap(self._flavour)
        heap.add_start()
        return heap

    def get_end(self) -> Heap:
        """Returns a heap that says that the stream ends."""
        heap = Heap(self._flavour)
        heap.add_end()
        return heap


class ItemGroup(_items.ItemGroup, HeapGenerator):
    """Is an item group that makes its own heaps."""

    def __init__(self, descriptor_frequency: Optional[int] = None, flavour: Flavour = Flavour()) -> None:
        _items.ItemGroup.__init__(self)
        HeapGenerator.__init__(self, self, descriptor_frequency, flavour)
