# SPDX-License-Identifier: BSD-3-Clause
"""Threads that use the same object at the same time. Each case is a process of its own, as it may crash or stand."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

START = """
import builtins, ctypes, signal, sys, threading, time
sys.path.insert(0, {here!r})
import numpy as np, packets
import dpdk_spead as ds
from dpdk_spead import _native, recv, send
signal.alarm(60)

def together(*functions):
    threads = [threading.Thread(target=f) for f in functions]
    for t in threads:
        t.start()
    return threads

def join(threads):
    for t in threads:
        t.join()
"""


def program(text):
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", START.format(here=HERE) + text], timeout=100,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_first_flavours_while_imports_let_other_threads_run():
    program("""
stream = recv.Stream(ds.ThreadPool())
stream.add_buffer_reader(packets.heaps(2, 100))
heaps = list(stream)
real = builtins.__import__
second = threading.Event()

def hook(*args, **kwargs):
    second.wait(5)  # another thread asks for a flavour meanwhile
    return real(*args, **kwargs)

def later():
    second.set()
    assert heaps[1].flavour.heap_address_bits == 48

builtins.__import__ = hook
join(together(lambda: heaps[0].flavour, later))
assert heaps[0].flavour == heaps[1].flavour
""")


def test_the_first_members_of_a_group_of_chunk_streams():
    program("""
sys.setswitchinterval(1e-6)
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
signature = b"void (void *, size_t)"
capsule = new(ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p), signature, None)
place = _native.Place((capsule,), [0x1000], 0, 0, [])
for _ in range(1000):
    free, data = recv.ChunkRingbuffer(2), recv.ChunkRingbuffer(2)
    group = _native.ChunkRingGroup(free, data, 2, False)
    barrier = threading.Barrier(3)
    members = []

    def add(number):
        settings = dict(name=f"m{number}", max_heaps=4, substreams=1, stop_on_stop_item=True, lcores=[])
        barrier.wait()
        members.append(group.add(settings, place, number))

    join(together(*(lambda number=i: add(number) for i in range(3))))
    assert len(members) == 3
    group.stop()
    members.clear()
""")
