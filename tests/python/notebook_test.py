# SPDX-License-Identifier: BSD-3-Clause
"""A notebook: cells that share one interpreter, where an error ends its cell alone."""

import numpy as np
import programs
import pytest

import dpdk_spead as ds
from dpdk_spead import recv, send

#: Runs cells as notebooks do: the error of a cell is shown, and kept with all that its frames refer to.
KERNEL = """
import code, sys

class Kernel(code.InteractiveInterpreter):
    refusal = None

    def showtraceback(self):
        self.refusal = sys.last_value = sys.exc_info()[1]

def run(cells):
    kernel = Kernel()
    for cell, refusal in cells:
        kernel.refusal = None
        kernel.runcode(compile(cell, "cell", "exec"))
        seen = kernel.refusal
        assert (seen is None) == (refusal is None) and str(refusal or "") in str(seen), (cell, repr(seen))
"""

#: Cells, and for each a part of its refusal.
CELLS = [
    ("""
import io
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
import dpdk_spead as ds
from dpdk_spead import recv, send
GROUP, PORT = "239.1.2.3:7148", "net_ring0"
""", None),
    ("recv.Placement('heap 64; tiem: item 0x1600 / 4096 [16]')", "tiem"),
    ("placement = recv.Placement('heap 64; time: item 0x1600 / 4096 [16]; tracked')", None),
    ("session = ds.init(lcores=[1022])", "CPU 1022"),
    ("session = ds.init()", None),
    ("session = ds.init()", "it runs already"),
    ("""
def open_stream(interface):
    return recv.ChunkStream(placement, chunks=8, endpoints=GROUP, interface=interface, dtype=np.int16)
""", None),
    ("stream = open_stream('no_such_card0')", "no_such_card0"),
    ("stream = open_stream(PORT)", None),
    ("""
def send_all(numbers, group=GROUP, end=False):
    values, stamp = np.zeros(32, np.int16), np.zeros((), ">u8")
    items = send.ItemGroup(flavour=ds.Flavour(4, 64, 48))
    items.add_item(0x1600, "timestamp", "", (), format=[("u", 48)], value=stamp)
    items.add_item(0x3300, "values", "", values.shape, values.dtype, value=values)
    with send.Stream(group, interface=PORT) as sender:
        for n in numbers:
            stamp[()], values[:] = n * 4096, n
            sender.send_heap(items.get_heap(descriptors="none", data="all"))
        if end:
            sender.end()
""", None),
    ("send_all(n for n in range(80) if n != 5)", None),
    ("chunk = stream.get(60)", None),
    ("assert (chunk.heaps_present, chunk.heaps_expected) == (15, 16), chunk", None),
    ("assert chunk.data[6].tolist() == [6] * 32 and chunk.present.tolist() == [1] * 5 + [0] + [1] * 10", None),
    ("""
def draw(present):
    figure, axes = plt.subplots(figsize=(16, 1), dpi=10)
    axes.set_position([0, 0, 1, 1])
    axes.imshow([present], aspect="auto", vmin=0, vmax=1)
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[5, 5::10]  # the middle of each heap's field
""", None),
    ("colours = draw(chunk.present)", None),
    ("""
there, missing = colours[0].tolist(), colours[5].tolist()
assert there != missing
assert [c.tolist() == there for c in colours] == [p == 1 for p in chunk.present]
""", None),
    ("assert '<td>' in ds.session()._repr_html_()", None),
    ("chunk.present[20]", "out of bounds"),
    ("""
import time
end = time.monotonic() + 60
while stream.counters["packets_placed"] < 79:
    assert time.monotonic() < end, stream.counters
    time.sleep(0.01)
stream.stop()
""", None),
    ("assert [c.id for c in stream] == [1, 2, 3, 4]", None),
    # A stream of heaps takes the place of that of chunks, and is changed while it runs.
    ("""
heaps = recv.Stream(ds.ThreadPool())
heaps.add_udp_ibv_reader(recv.UdpIbvConfig(endpoints=[("239.1.2.4", 7148)], interface_address=PORT))
""", None),
    ("heaps.add_endpoint('239.1.2.5')", "239.1.2.5"),
    ("heaps.add_endpoint('239.1.2.5:7148')", None),
    ("send_all(range(3), '239.1.2.5:7148')", None),
    ("taken = [heaps.get() for _ in range(3)]", None),
    ("session.stop()", None),
    ("ds.stats.counters()", "no session runs"),
    ("assert np.frombuffer(taken[2].get_items()[0], np.int16).tolist() == [2] * 32", None),
    ("assert chunk.data[6].tolist() == [6] * 32", None),
    # Once more, with what the cells before left behind.
    ("session, stream = ds.init(), open_stream(PORT)", None),
    ("send_all(range(80))", None),
    ("again = stream.get(60)", None),
    ("assert again.complete and again.data[15].tolist() == [15] * 32", None),
    ("assert (draw(again.present) == there).all()", None),
    # A cell that ends with a stop item is run twice, and nobody calls stop().
    ("stream.stop()", None),
    *2 * [("""
stream = recv.ChunkStream(placement, chunks=8, endpoints=GROUP, interface=PORT, dtype=np.int16, stop_on_stop_item=True)
send_all(range(80), end=True)
kept = globals().get("kept", []) + [stream]
assert [chunk.id for chunk in stream] == [0, 1, 2, 3, 4]
""", None)],
    ("kept[0].start()", None),
    ("stream.start()", "already received by stream"),
]


def test_objects_show_what_they_are():
    stream, queue = recv.Stream(), ds.InprocQueue()
    stream.add_inproc_reader(queue)
    group = send.ItemGroup(flavour=ds.Flavour(4, 64, 48))
    group.add_item(0x1000, "x", "", (100,), np.int8, value=np.arange(100, dtype=np.int8))
    group.add_item(0x1001, "y", "", (), np.uint8, value=7)
    heap = group.get_heap(descriptors="none", data="all")
    assert repr(heap) == "<heap to send: 2 items>"
    send.InprocStream(ds.ThreadPool(), [queue]).send_heap(heap)
    got = stream.get()
    assert repr(got) == "<heap 1: 100 bytes>"
    assert [repr(item) for item in got.get_items()] == ["<item 0x1000: 100 bytes>", "<item 0x1001: immediate 7>"]
    queue.add_packet(b"ab")
    queue.stop()
    assert "stopped" in repr(queue)
    ring = recv.ChunkRingbuffer(4)
    ring.put(recv.Chunk(data=bytearray(4), present=bytearray(4)))
    assert repr(ring) == "<ChunkRingbuffer: 1 of 4 chunks>"
    assert repr(ring.get()) == "<Chunk: chunk_id=-1, stream_id=0>"
    assert repr(recv.RingStreamConfig(heaps=7)).startswith("RingStreamConfig(heaps=7, contiguous_only=True")
    assert repr(ds.MemoryPool(1, 2, 3, 4)) == "MemoryPool(1, 2, 3, 4)"
    assert "max_heaps=4" in repr(recv.StreamConfig())


def test_a_notebook_from_the_first_refusal_to_the_second_start():
    pytest.importorskip("matplotlib")
    programs.expect(programs.run(f"{KERNEL}\nrun({CELLS!r})"))
