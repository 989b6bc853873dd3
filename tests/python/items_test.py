# SPDX-License-Identifier: BSD-3-Clause
"""Descriptors, values and groups of items, by themselves and as they travel."""

import random

import numpy as np
import pytest

import dpdk_spead as ds
from dpdk_spead import _fields, recv, send


class RawBytes(bytearray):
    is_immediate = False
    immediate_value = 0


class FakeHeap:
    def __init__(self, descriptors, items, flavour=ds.Flavour()):
        self.flavour = flavour
        self._descriptors, self._items = descriptors, items

    def get_descriptors(self):
        return self._descriptors

    def get_items(self):
        return self._items


def raw(id, data):
    item = RawBytes(data)
    item.id = id
    return item


def model(fields, rows):
    """The bytes of elements, by one large integer."""
    number, bits = 0, 0
    for row in rows:
        for (_, width), value in zip(fields, row):
            number = (number << width) | (value & ((1 << width) - 1))
            bits += width
    padding = -bits % 8
    return (number << padding).to_bytes((bits + padding) // 8, "big")


def received(fmt, shape, data):
    item = ds.Item(0x1000, "x", "", shape, format=fmt)
    item.set_from_raw(raw(0x1000, data))
    return item.value


def test_fields_of_any_width_survive_both_ways():
    rng = random.Random(1)
    for _ in range(200):
        fields = [(rng.choice("ui"), rng.randint(1, 64)) for _ in range(rng.randint(1, 4))]
        if all(_fields.field_dtype(*f) != np.dtype(object) for f in fields):
            fields.append(("u", 12))
        rows = []
        for _ in range(rng.randint(1, 20)):
            rows.append(tuple(rng.randrange(1 << w) if c == "u" else rng.randrange(-(1 << (w - 1)), 1 << (w - 1))
                              for c, w in fields))
        data = model(fields, rows)
        value = received(fields, (len(rows),), data)
        assert value.tolist() == (rows if len(fields) > 1 else [row[0] for row in rows])
        item = ds.Item(0x1000, "x", "", (len(rows),), format=fields, value=value)
        assert bytes(item.to_buffer()) == data


def sent_and_received(*items):
    """The values of items that travelled, by name, and their bytes."""
    group = send.ItemGroup()
    for item in items:
        group.add_item(item.id, item.name, "", item.shape, item.dtype, item.order, item.format, item.value)
    out = send.BytesStream(ds.ThreadPool())
    out.send_heap(group.get_heap())
    stream = recv.Stream(ds.ThreadPool())
    stream.add_buffer_reader(out.getvalue())
    back = ds.ItemGroup()
    for heap in stream:
        back.update(heap)
    return {name: item.value for name, item in back.items()}, out.getvalue()


def numbers(code, width):
    if code == "b":
        return [False, True]
    if code == "u":
        return [0, 1, 5 % (1 << width), (1 << width) - 1]
    return [0, -1, -(1 << (width - 1)), (1 << (width - 1)) - 1]


@pytest.mark.parametrize("code", "uib")
def test_numbers_of_every_width_travel(code):
    items, expected = [], {}
    for width in range(1, 65):
        values = numbers(code, width)
        several = (values * 4)[:8]  # of whole bytes, so that a dimension may vary
        for shape, value in [*(((), value) for value in values), ((len(values),), values), ((None,), several),
                             ((2, 4), [several[:4], several[4:]])]:
            name = f"{code}{width} {shape} {value}"
            items.append(ds.Item(0x1000 + len(items), name, "", shape, format=[(code, width)], value=value))
            expected[name] = value
    got, _ = sent_and_received(*items)
    assert {name: value.tolist() if hasattr(value, "tolist") else value for name, value in got.items()} == expected


@pytest.mark.parametrize("fmt, value", [(("f", 32), -1.5), (("f", 64), 1e300), (("c", 8), b"x")])
def test_floats_and_characters_travel(fmt, value):
    group, _ = sent_and_received(ds.Item(0x1000, "one", "", (), format=[fmt], value=value),
                                 ds.Item(0x1001, "both", "", (2, 1), format=[fmt], value=[[value], [value]]),
                                 ds.Item(0x1002, "mixed", "", (), format=[("u", 3), fmt], value=(5, value)),
                                 ds.Item(0x1003, "more", "", (3,), format=[fmt, ("i", 13)], value=[(value, -7)] * 3))
    assert group["one"] == value and group["both"].tolist() == [[value], [value]]
    assert tuple(group["mixed"]) == (5, value) and group["more"].tolist() == [(value, -7)] * 3


def test_a_number_that_fills_no_byte_is_sent_at_the_left_of_its_bytes():
    # As the specification has it, and other receivers: it cannot stand in an item pointer.
    _, wire = sent_and_received(ds.Item(0x1000, "x", "", (), format=[("u", 12)], value=5))
    assert wire.endswith(b"\0\x50") and bytes.fromhex("80 10 00") not in wire
    item = ds.Item(0x1000, "x", "", (), format=[("u", 12)])
    immediate = raw(0x1000, bytes.fromhex("00 00 00 00 00 50"))
    immediate.is_immediate, immediate.immediate_value = True, 0x50
    item.set_from_raw(immediate)
    assert item.value == 5


def test_many_elements_cross_the_blocks():
    n = 3 * _fields._BLOCK + 5
    rows = [((i * 7919) & 0xFFF,) for i in range(n)]
    data = model([("u", 12)], rows)
    assert received([("u", 12)], (n,), data).tolist() == [row[0] for row in rows]
    item = ds.Item(0x1000, "x", "", (None,), format=[("u", 12)], value=[row[0] for row in rows])
    assert item.to_buffer() == data


def test_native_formats_are_numpys():
    value = received([("u", 16)], (2, 2), bytes(range(8)))
    assert value.dtype == np.dtype("=u2") and value.shape == (2, 2) and value[0, 1] == 0x0203
    assert received([("b", 8)], (3,), b"\0\1\2").tolist() == [False, True, True]
    assert received([("f", 32)], (), np.array(1.5, ">f4").tobytes()) == 1.5
    assert received([("c", 8)], (None,), b"text") == "text"


def test_texts_are_without_the_zeros_around_them():
    assert received([("c", 8)], (8,), b"J0437\0\0\0") == "J0437"
    assert received([("c", 8)], (None,), b"a\0b\0") == "ab"
    assert received([("c", 8)], (3,), b"\0\0\0") == ""
    item = ds.Item(0x1000, "x", "", (None,), format=[("c", 8)])
    immediate = raw(0x1000, b"\0\0\0\0A")
    immediate.is_immediate, immediate.immediate_value = True, ord("A")
    item.set_from_raw(immediate)
    assert item.value == "A"
    source = ds.Item(0x1000, "source", "", (8,), format=[("c", 8)], value=b"J0437\0\0\0")
    values, wire = sent_and_received(source)
    assert values == {"source": "J0437"} and b"J0437\0\0\0" in wire
    assert received([("c", 8)], (2, 2), b"ab\0c").tolist() == [[b"a", b"b"], [b"", b"c"]]


def test_a_value_is_not_copied():
    data = np.arange(12, dtype=np.uint16).reshape(3, 4)
    item = ds.Item(0x1000, "x", "", data.shape, data.dtype, value=data)
    assert np.shares_memory(np.asarray(item.to_buffer()), data)
    fortran = np.asfortranarray(data)
    item = ds.Item(0x1000, "x", "", data.shape, data.dtype, order="F", value=fortran)
    assert np.shares_memory(np.asarray(item.to_buffer()), fortran)
    assert bytes(memoryview(item.to_buffer()).cast("B")) == data.T.tobytes()


def test_a_strided_value_is_sent_in_order():
    data = np.arange(24, dtype=np.uint8).reshape(4, 6)[::2, ::3]
    item = ds.Item(0x1000, "x", "", data.shape, data.dtype, value=data)
    assert bytes(memoryview(item.to_buffer()).cast("B")) == data.tobytes()


@pytest.mark.parametrize("fmt, value", [
    ([("u", 4)], 16), ([("u", 4)], -1), ([("i", 4)], 8), ([("i", 4)], -9), ([("u", 12)], "x")])
def test_a_number_that_does_not_fit_is_refused(fmt, value):
    item = ds.Item(0x1000, "x", "", (), format=fmt, value=value)
    with pytest.raises(ValueError):
        item.to_buffer()


@pytest.mark.parametrize("shape", [(3,), (2, 2), ()])
def test_another_shape_is_refused(shape):
    item = ds.Item(0x1000, "x", "", (4,), np.uint8, value=np.zeros(shape, np.uint8))
    with pytest.raises(ValueError, match="shape"):
        item.to_buffer()


def test_too_few_bytes_are_refused():
    with pytest.raises(ValueError, match="99 bytes"):
        received([("u", 32)], (5, 5), bytes(99))
    with pytest.raises(ValueError):
        received([("u", 32)], (1 << 40, 1 << 40), bytes(99))


@pytest.mark.parametrize("fields", [[("u", 65)], [("i", 65)], [("b", 65)], [("u", 128)], [("i", 128)], [("u", 4096)],
                                    [("i", 99), ("u", 5), ("b", 70)]])
def test_fields_wider_than_numpys_integers(fields):
    row = tuple(numbers(code, width)[-1] for code, width in fields)
    other = tuple(numbers(code, width)[1] for code, width in fields)
    value = [row, other] * 3 if len(fields) > 1 else [row[0], other[0]] * 3
    rows = [row, other] * 3
    item = ds.Item(0x1000, "x", "", (6,), format=fields, value=value)
    assert bytes(item.to_buffer()) == model(fields, rows)
    assert received(fields, (6,), model(fields, rows)).tolist() == value
    got = received(fields, (), model(fields, [row]))
    assert (tuple(got) if len(fields) > 1 else got) == value[0]


@pytest.mark.parametrize("value", [1 << 65, -1, 1 << 20000], ids=["65 bits", "negative", "long"])
def test_a_wide_number_that_does_not_fit_is_refused(value):
    item = ds.Item(0x1000, "x", "", (), format=[("u", 65)], value=value)
    with pytest.raises(ValueError, match="does not fit a field of u65"):
        item.to_buffer()


def descriptor(shape=(), fmt=(), header=b"", name=b"bad"):
    return ds.RawDescriptor(0x1001, name, b"", list(shape), list(fmt), header).encode(ds.Flavour())


def numpy_descriptor(descr="<u2", shape=(2,)):
    return descriptor(header=repr({"descr": descr, "fortran_order": False, "shape": shape}).encode())


BAD = [
    b"no packet", b"", descriptor(), descriptor(fmt=[("u", 0)]), descriptor(fmt=[("x", 8)]), descriptor(fmt=[("f", 16)]),
    descriptor(fmt=[("u", 8)]).replace(b"u\0\0\x08", b"\xff\0\0\x08"), descriptor(fmt=[("u", 8)], name=b"\xff"),
    descriptor(fmt=[("u", 8)], shape=[None, None]), descriptor(fmt=[("u", 8)], shape=[1 << 36, 1 << 36]),
    descriptor(fmt=[("c", 8)], shape=[4]), descriptor(fmt=[("u", 65535)]), descriptor(fmt=[("u", 8)], shape=[1] * 40),
    descriptor(header=b"?"), descriptor(header=b"(" * 999), descriptor(header=b"-" * 50000), descriptor(header=b"\0"),
    numpy_descriptor("|O"), numpy_descriptor("|S0"), numpy_descriptor("|S2147483647"), numpy_descriptor("?" * 99),
    numpy_descriptor([("a", "<u2"), ("a", "<u2")]), numpy_descriptor(shape=(1 << 63, 0)),
    numpy_descriptor(shape=(1 << 200,)), numpy_descriptor(shape=(1 << 62, 1 << 62, 0)), numpy_descriptor("<U1", ()), numpy_descriptor(("<u2", (3,)), (1,)),
]


def received_with_good(heap):
    """Adds the item "good" and its descriptor to the heap, sends it, and returns it as it is received."""
    good = ds.Item(0x1002, "good", "", (9,), np.uint8, value=np.arange(9, dtype=np.uint8))
    heap.add_descriptor(good)
    heap.add_item(good)
    out = send.BytesStream(ds.ThreadPool())
    out.send_heap(heap)
    stream = recv.Stream(ds.ThreadPool())
    stream.add_buffer_reader(out.getvalue())
    return stream.get()


@pytest.mark.parametrize("encoded", BAD, ids=range(len(BAD)))
def test_a_bad_descriptor_or_value_takes_no_other_away(encoded, caplog):
    heap = send.Heap()
    heap._add_descriptor(encoded)
    heap.add_item(ds.Item(0x1001, "bad", "", (8,), np.uint8, value=np.full(8, 0xFF, np.uint8)))
    group = ds.ItemGroup()
    updated = group.update(received_with_good(heap))
    assert list(updated) == ["good"] and group["good"].value.tolist() == list(range(9))
    assert "0x1001" in caplog.text
    assert "bad" not in group or group["bad"].value is None


def test_formats_that_no_element_has():
    for fmt in ([], [("u", 0)], [("u", 65536)], [("f", 16)], [("c", 7)], [("x", 8)]):
        with pytest.raises(ValueError):
            ds.Descriptor(0x1000, "x", "", (), format=fmt)


@pytest.mark.parametrize("flavour",
                         [ds.Flavour(4, 64, bits, compat) for bits in (8, 40, 48, 56) for compat in range(8)])
def test_descriptors_survive_both_ways(flavour):
    for made in (ds.Descriptor(0x7F, "a", "text", (3, None), format=[("u", 12), ("i", 4)]),
                 ds.Descriptor(0x7F, "b", "", (2, 5), np.dtype("<c8"), order="F"),
                 ds.Descriptor(0x7F, "c", "", (), np.dtype([("re", ">i2"), ("im", ">i2")]))):
        try:
            wire = made.to_raw(flavour).encode(flavour)
        except ValueError:  # its texts are longer than such addresses reach
            assert flavour.heap_address_bits == 8
            continue
        again = ds.Descriptor.from_raw(ds.RawDescriptor.decode(wire, flavour.bug_compat), flavour)
        assert again._key() == made._key()


def test_a_group_takes_heaps():
    described = ds.Descriptor(0x1234, "x", "an array", (2,), np.dtype("<u2"))
    flavour = ds.Flavour()
    group = ds.ItemGroup()
    heap = FakeHeap([described.to_raw(flavour)], [raw(0x1234, b"\1\0\2\0"), raw(0x9999, b"?"), raw(6, b"")])
    assert list(group.update(heap)) == ["x"]
    item = group["x"]
    assert item.value.tolist() == [1, 2] and item.version == 2
    group.update(FakeHeap([described.to_raw(flavour)], [raw(0x1234, b"\3\0\4\0")]))
    assert group[0x1234] is item and item.value.tolist() == [3, 4] and item.version == 3
    other = ds.Descriptor(0x1234, "x", "an array", (1,), np.dtype("<u2"))
    assert group.update(FakeHeap([other.to_raw(flavour)], [])) == {}
    assert group["x"] is not item and group["x"].value is None and group["x"].version == 4


def test_byte_order_is_the_machines_unless_asked_otherwise():
    item = ds.Item(0x1000, "x", "", (2,), ">u2")
    item.set_from_raw(raw(0x1000, b"\0\1\0\2"))
    assert item.value.dtype == np.dtype("=u2") and item.value.tolist() == [1, 2]
    item.set_from_raw(raw(0x1000, b"\0\1\0\2"), new_order="|")
    assert item.value.dtype == np.dtype(">u2") and item.value.tolist() == [1, 2]
    with pytest.raises(ValueError, match="byteorder"):
        ds.ItemGroup().update(FakeHeap([], [raw(0x1000, b"")]), new_order="x")


def test_memory_pools_by_both_signatures():
    pool = ds.MemoryPool(1024, 4096, 8, 2)
    assert (pool.lower, pool.upper, pool.max_free, pool.bytes) == (1024, 4096, 8, 32768)
    pool = ds.MemoryPool(ds.ThreadPool(), 1, 2, 3, 4, low_water=1)
    assert (pool.lower, pool.low_water) == (1, 1)
    for arguments in [(), (1, 2, 3), (2, 1, 1, 1), (-1, 1, 1, 1)]:
        with pytest.raises((TypeError, ValueError)):
            ds.MemoryPool(*arguments)


def test_descriptors_are_no_items_and_damaged_ones_are_left_out(caplog):
    heap = send.Heap()
    heap._add_descriptor(b"no packet")
    received = received_with_good(heap)
    assert [raw.id for raw in received.get_items()] == [0x1002]
    assert [raw.name for raw in received.get_descriptors()] == [b"good"]
    assert "a damaged descriptor is left out" in caplog.text
    group = ds.ItemGroup()
    group._raises = True
    assert group.update(received)["good"].value.tolist() == list(range(9))
