# SPDX-License-Identifier: BSD-3-Clause
"""Programs that end while heaps are in flight, and programs that send on ports. Each case is a process of its own."""

import signal
import subprocess
import sys

import pytest

# The end of a program.

PROGRAM = """
import signal, sys, threading, os
import numpy as np
import dpdk_spead as ds
from dpdk_spead import send
signal.alarm(60)
stream = send.BytesStream(ds.ThreadPool(), send.StreamConfig(rate={rate}, max_heaps=4))
for i in range(4):
    heap = send.Heap()
    heap.add_item(ds.Item(0x1000, "x", "", (1 << 20,), np.uint8, value=np.full(1 << 20, i, np.uint8)))
    stream._stream.submit_one(heap, -1, 0, -1.0, "tag")
del heap
"""


@pytest.mark.parametrize("end, status", [
    ("", 0),
    ("sys.exit(3)", 3),
    ("raise ValueError", 1),
    ("stream.close()", 0),
    ("del stream", 0),
    ("stream = None; sys.exit(4)", 4),
    ("threading.Thread(target=lambda: stream._stream.flush(), daemon=True).start()", 0),
    # Threads that ask for the GIL when there is none any more.
    ("def loop():\n while True: stream._stream.flush()\n"
     "stream._stream.stop()\n"
     "for _ in range(8): threading.Thread(target=loop, daemon=True).start()", 0),
    ("os._exit(5)", 5),
    ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
    ("child = os.fork()\nif child == 0: sys.exit(6)\nassert os.waitpid(child, 0)[1] == 6 << 8", 0),
    ("child = os.fork()\nif child == 0: stream._stream.take()\nassert os.waitpid(child, 0)[1] == 1 << 8", 0),
])
def test_programs_end_while_heaps_are_in_flight(end, status):
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(rate=1e7) + "\n" + end], timeout=100,
                          stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == status, done.stderr


# Ports.

PORT = """
import gc, weakref
import numpy as np
import dpdk_spead as ds
from dpdk_spead import send
ds.init(memory=64 << 20)
POOL = ds.ThreadPool()

def array_heap(array):
    heap = send.Heap()
    heap.add_item(ds.Item(0x1000, "x", "", array.shape, array.dtype, value=array))
    return heap
"""


def port_program(text):
    done = subprocess.run([sys.executable, "-c", PORT + text], timeout=120, stderr=subprocess.PIPE, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr


def test_a_port():
    port_program("""
memory = np.zeros(1 << 20, np.uint8)
config = send.UdpIbvConfig(endpoints=[("239.1.2.3", 7148), ("239.1.2.4", 7148)], interface_address="net_null0",
                           memory_regions=[memory, np.zeros(5)])
stream = send.UdpIbvStream(POOL, send.StreamConfig(), config)
assert stream.num_substreams == 2
heap = array_heap(memory)
size = len(b"".join(send.PacketGenerator(heap, 1, 1472)))
assert stream.send_heap(heap, substream_index=1) == size
assert stream.send_heaps([send.HeapReference(heap), send.HeapReference(heap)], send.GroupMode.ROUND_ROBIN) == 2 * size
stream.set_cnt_sequence(100, 2)
stream.set_rate(1e9)
assert stream.stats()["heaps"] == 3
stream.close()
alive = weakref.ref(memory)
del memory, heap, config
gc.collect()
assert alive() is None
with send.Stream("239.1.2.3:7148", "net_null0", max_heaps=1, dscp=3) as stream:
    stream.send_heap(array_heap(np.zeros(100)))
    stream.end()
""")


def test_a_port_and_asyncio():
    port_program("""
import asyncio
from dpdk_spead.send import asyncio as send_asyncio

async def main():
    stream = send_asyncio.Stream("239.1.2.3:7148", "net_null0", max_heaps=4)
    heap = array_heap(np.zeros(3000, np.uint8))
    for _ in range(100):
        futures = [stream.async_send_heap(heap) for _ in range(4)]
        assert len(set(await asyncio.gather(*futures))) == 1
    await stream.async_flush()
    assert stream.stats()["heaps"] == 400

asyncio.run(asyncio.wait_for(main(), 60))
""")


@pytest.mark.parametrize("end", ["", "ds.session().stop()", "del stream", "stream.close()", "raise SystemExit(0)"])
def test_a_port_at_the_end_of_a_program(end):
    port_program(f"""
stream = send.Stream("239.1.2.3:7148", "net_null0", rate=1e7)
for i in range(4):
    stream._stream.submit_one(array_heap(np.zeros(1 << 19, np.uint8)), -1, 0, -1.0, "tag")
{end}
""")
