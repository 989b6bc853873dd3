# SPDX-License-Identifier: BSD-3-Clause
"""Threads that use the same object at the same time. Each case is a process of its own, as it may crash or stand."""

import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))

START = """
import builtins, ctypes, signal, sys, threading, time
sys.path.insert(0, {here!r})
import numpy as np, packets
import dpdk_spead as ds
from dpdk_spead import _native, recv, send
signal.alarm(90)

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
        settings = dict(name=f"m{number}", max_heaps=4, substreams=1, stop_on_stop_item=True, in_order=True,
                        lcores=[])
        barrier.wait()
        members.append(group.add(settings, place, number))

    join(together(*(lambda number=i: add(number) for i in range(3))))
    assert len(members) == 3
    group.stop()
    members.clear()
""")


SENDING = """
def heap_of(size):
    heap = send.Heap()
    heap.add_item(ds.Item(0x1000, "x", "", (size,), np.uint8, value=np.zeros(size, np.uint8)))
    return heap

def memory_stream(**options):
    config = _native.SendConfig()
    config.endpoints = ["127.0.0.1:8899"]
    for name, value in options.items():
        setattr(config, name, value)
    return _native.OutgoingStream.to_memory(config, _native.PacketBytes())

def until(reached):
    while not reached():
        time.sleep(0.001)
"""


def test_calls_while_another_thread_closes_a_sender():
    program(SENDING + """
sys.setswitchinterval(1e-6)
calls = [lambda s: s.end(), lambda s: s.stats(), lambda s: s.set_rate(0.0), lambda s: s.fd, lambda s: s.flush(),
         lambda s: s.set_cnt_sequence(1, 1), lambda s: s.in_flight]
for trial in range(300):
    stream = memory_stream()
    call = calls[0] if trial % 2 else calls[trial // 2 % len(calls)]
    closed = threading.Event()

    def use():
        try:
            while not closed.is_set():
                call(stream)
        except OSError as error:
            assert "closed" in str(error)

    threads = together(use, use)
    time.sleep(0.0005 * (trial % 4))  # closes at other moments
    stream.close()
    closed.set()
    join(threads)
""")


def test_a_sender_is_usable_while_another_thread_ends_it():
    program(SENDING + """
sys.setswitchinterval(1e-6)  # so that the heap is submitted while end() asks for the GIL
heap = heap_of(1000000)
for _ in range(30):
    stream = memory_stream(rate=1e3)  # for a thousand seconds
    begun = False

    def end():
        global begun
        try:
            begun = True
            stream.end()
        except ds.Error as error:
            assert "stop" in str(error)

    threads = together(end)
    while not begun:
        pass
    stream.submit_one(heap, -1, 0, -1.0, None)
    threads[0].join(0.02)
    assert stream.in_flight <= 2
    stream.stop()
    join(threads)
    stream.close()
""")


def test_interrupts_end_the_wait_of_end():
    program(SENDING + """
stream = memory_stream(rate=1e3)
stream.submit_one(heap_of(1000000), -1, 0, -1.0, None)
try:
    threading.Timer(0.1, signal.raise_signal, (signal.SIGINT,)).start()
    stream.end()
except KeyboardInterrupt:
    stream.stop()
    stream.flush()
else:
    raise AssertionError
before = stream.stats()["heaps"]
assert before == 0
""")


def test_stop_heaps_need_no_room_and_are_not_counted():
    program(SENDING + """
config = _native.SendConfig()
config.endpoints = ["127.0.0.1:%d" % (20000 + i) for i in range(5)]
config.max_heaps = 1
stream = _native.OutgoingStream.to_memory(config, _native.PacketBytes())
stream.send_one(heap_of(100), -1, 0, -1.0)
stream.end()
counts = stream.stats()
assert (counts["heaps"], counts["packets"]) == (1, 1 + stream.substreams), counts
""")


def test_a_thread_that_waits_rests_while_another_closes_the_sender():
    program(SENDING + """
stream = memory_stream(rate=1e6)
heap = heap_of(500000)
used = []

def work():
    begin = time.thread_time()
    stream.send_one(heap, -1, 0, -1.0)
    used.append(time.thread_time() - begin)

threads = together(work)
until(lambda: stream.in_flight)
stream.close()
join(threads)
assert used[0] < 0.1, used
""")


WITH_SIGNALS = """
class Interrupt(Exception):
    pass

def interrupt(*_):
    raise Interrupt

signal.signal(signal.SIGUSR1, interrupt)
main = threading.get_ident()
"""


def test_a_signal_with_a_heap_that_is_not_wanted():
    program(WITH_SIGNALS + """
for _ in range(5):
    queue = ds.InprocQueue()
    stream = recv.Stream(ds.ThreadPool())
    stream.add_inproc_reader(queue)

    def send_both():
        time.sleep(0.02)  # most often get() waits then
        signal.pthread_kill(main, signal.SIGUSR1)
        queue.add_packet(packets.heap(1, control=packets.STOP)[0])

    threads = []
    try:
        threads = together(send_both)
        stream.get()
    except Interrupt:
        pass
    except ds.Stopped:
        continue
    join(threads)
    try:
        raise AssertionError(stream.get())
    except ds.Stopped:
        pass
""")


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer needs descriptors itself")
def test_no_descriptor_is_lost_where_none_is_left():
    program("""
import os, resource
stream = recv.Stream(ds.ThreadPool())
before = len(os.listdir("/proc/self/fd"))
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
held = []
try:
    while True:
        held.append(os.dup(0))
except OSError:
    pass
for left in range(2):  # the stream needs two
    for _ in range(3):
        try:
            raise AssertionError(stream.fd)
        except ds.Error as error:
            assert "ulimit" in str(error)
    os.close(held.pop())
assert stream.fd >= 0
for one in held:
    os.close(one)
assert len(os.listdir("/proc/self/fd")) == before + 2
""")
