# SPDX-License-Identifier: BSD-3-Clause
"""Programs with running streams end as they want to, in every way."""

import os
import signal
import subprocess
import sys

import pytest

# How often each way is tried: once shows a crash that always comes, a hundred times one that is rare.
TURNS = int(os.environ.get("DPDK_SPEAD_EXITS", "3"))
HERE = os.path.dirname(os.path.abspath(__file__))

PROGRAM = """
import os, signal, sys, threading
sys.path.insert(0, {here!r})
import numpy as np, packets
import dpdk_spead as ds
from dpdk_spead import recv
import dpdk_spead.recv.asyncio

queue = ds.InprocQueue()
streams = []
for ring in (1, 4):
    s = recv.Stream(ds.ThreadPool(), recv.StreamConfig(), recv.RingStreamConfig(heaps=ring))
    s.add_inproc_reader(queue)
    streams.append(s)
full = recv.Stream(ds.ThreadPool())
full.add_buffer_reader(packets.heaps(2000, 1000))
held = [full.get() for _ in range(80)]
arrays = [np.frombuffer(i, np.uint8) for h in held for i in h.get_items() if not i.is_immediate]
queue.add_packet(packets.heap(1, b"abc")[0])
idle = recv.asyncio.Stream(ds.ThreadPool())
idle.fd
cycle = [full]
cycle.append(cycle)
print("ready", flush=True)
{end}
"""

ENDS = {
    "end of the script": ("", 0),
    "sys.exit": ("sys.exit(3)", 3),
    "an exception": ("raise KeyError('x')", 1),
    "del": ("del streams, s, full, held, arrays, cycle, idle", 0),
    "stop": ("[one.stop() for one in streams + [full, idle]]", 0),
    "os._exit": ("os._exit(4)", 4),
    "a daemon thread that waits": ("threading.Thread(target=idle._native.get, daemon=True).start()", 0),
    "a daemon thread that takes": (
        "threading.Thread(target=lambda: [h for s in streams for h in s], daemon=True).start()", 0),
    "daemon threads that decode descriptors": ("""
from dpdk_spead import send
group = send.ItemGroup()
for i in range(30):
    group.add_item(0x1000 + i, f"item {i}", "", (), np.int32)
sender = send.BytesStream(ds.ThreadPool())
sender.send_heap(send.HeapGenerator(group).get_heap(descriptors="all", data="none"))
described = recv.Stream(ds.ThreadPool())
described.add_buffer_reader(sender.getvalue())
heap = described.get()
running = threading.Semaphore(0)
def decode():
    running.release()
    while True:
        heap.get_descriptors()
for _ in range(3):
    threading.Thread(target=decode, daemon=True).start()
for _ in range(3):
    running.acquire()""", 0),
    "the child of a fork": ("""
pid = os.fork()
if pid == 0:
    sys.exit(5)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(status)""", 5),
    "a child of multiprocessing": ("""
import multiprocessing
def work(q):
    q.put(int(arrays[0].size))
m = multiprocessing.get_context("fork")
q = m.Queue()
p = m.Process(target=work, args=(q,))
p.start()
size = q.get(timeout=60)
p.join(60)
sys.exit(p.exitcode if size == 1000 else 9)""", 0),
    "an exception in an exit handler": ("import atexit; atexit.register(lambda: full.get())", 0),
    "SIGINT in a wait": ("os.kill(os.getpid(), signal.SIGINT); idle._native.get()", -signal.SIGINT),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM); idle._native.get()", -signal.SIGTERM),
}


def heed_interrupts():
    """Undoes what shells do to programs in the background: these would ignore SIGINT, and wait for ever."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run(end):
    return subprocess.run([sys.executable, "-X", "faulthandler", "-c", PROGRAM.format(here=HERE, end=end)],
                          capture_output=True, text=True, timeout=120, preexec_fn=heed_interrupts)


@pytest.mark.parametrize("way", ENDS)
def test_programs_end_as_they_want(way):
    end, status = ENDS[way]
    for _ in range(TURNS):
        done = run(end)
        assert done.stdout.startswith("ready"), done.stderr
        assert done.returncode == status, f"{done.returncode}: {done.stderr}"
        for word in ("Fatal", "terminate", "Segmentation", "Aborted"):
            assert word not in done.stderr


def test_interrupts_reach_a_thread_that_waits():
    done = run("""
timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
try:
    timer.start()
    idle._native.get()
except KeyboardInterrupt:
    queue.add_packet(packets.heap(2, b"abc")[0])
    sys.exit(7)
""")
    assert done.returncode == 7, done.stderr
