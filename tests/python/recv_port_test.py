# SPDX-License-Identifier: BSD-3-Clause
"""Streams of heaps on a port. Each case is a process of its own: EAL starts once in one."""

import os
import textwrap

import programs
import pytest

PRELUDE = """
import asyncio, select, sys, time
import numpy as np
import dpdk_spead as ds
from dpdk_spead import recv
import dpdk_spead.recv.asyncio

SEND = '''
version = 1
[[port]]
name = "p0"
device = "net_ring0"
[[send]]
name = "out"
port = "p0"
endpoints = ["239.10.10.0:7148"]
heap_size = "64KiB"
heaps = 100
verify = true
rate = "2Gb/s"
'''
ENDPOINT = ("239.10.10.0", 7148)

def stream(kind=recv.Stream, **config):
    s = kind(ds.ThreadPool(), recv.StreamConfig(**config), recv.RingStreamConfig(heaps=200))
    s.add_udp_ibv_reader(recv.UdpIbvConfig(endpoints=[ENDPOINT], interface_address="net_ring0"))
    return s
"""


def script(text, *, status=0, **options):
    return programs.expect(programs.run(PRELUDE + textwrap.dedent(text), **options), status)


def test_a_port_brings_heaps_and_ends_with_the_script():
    script("""
        s = stream()
        try:
            s.add_buffer_reader(b"")
        except ValueError as error:
            assert "another stream" in str(error)
        else:
            raise AssertionError
        ds.run(SEND)
        held = [s.get() for _ in range(100)]
        assert sorted(h.cnt for h in held) == list(range(1, 101)) or len({h.cnt for h in held}) == 100
        arrays = [np.frombuffer(i, np.uint8) for h in held for i in h.get_items() if not i.is_immediate]
        assert sum(a.size for a in arrays) >= 100 * 65536
        counters = s.counters
        assert counters["heaps"] >= 100 and counters["packets_no_memory"] == 0, counters
        s.stats
        s.add_endpoint("239.10.10.1:7148")
        s.remove_endpoint("239.10.10.1:7148")
    """)


def test_coroutines_take_heaps_of_a_port():
    script("""
        async def work():
            s = stream(recv.asyncio.Stream)
            ds.run(SEND)
            counts = set()
            while len(counts) < 100:
                counts.add((await s.get()).cnt)
            s.stop()
            async for heap in s:
                counts.add(heap.cnt)
        asyncio.run(asyncio.wait_for(work(), 60))
    """)


def test_a_held_stream_on_a_port_ends_with_an_exception():
    done = script("""
        s = stream()
        ds.run(SEND)
        held = [s.get() for _ in range(10)]
        cycle = [s, held]
        cycle.append(cycle)
        raise KeyError("end")
    """, status=1)
    assert "KeyError" in done.stderr and "Fatal" not in done.stderr


def test_a_refusal_is_an_exception_and_may_be_corrected():
    script("""
        for wrong in ("net_no_such_card0", "203.0.113.77"):
            s = recv.Stream(ds.ThreadPool())
            try:
                s.add_udp_ibv_reader(recv.UdpIbvConfig(endpoints=[ENDPOINT], interface_address=wrong))
            except RuntimeError as error:
                assert wrong in str(error), error
            else:
                raise AssertionError
            s.add_udp_ibv_reader(recv.UdpIbvConfig(endpoints=[ENDPOINT], interface_address="net_ring0"))
            s.stop()
            assert list(s) == []
    """)


def test_a_stopped_stream_gives_its_endpoints_to_the_next_one():
    script("""
        kept = []
        for turn in range(3):
            s = stream()
            try:
                stream()
            except ValueError as error:
                assert "already received by stream" in str(error), error
            else:
                raise AssertionError
            sender = ds.run(SEND)
            assert s.get().cnt >= 0
            sender.stop()
            s.stop()
            kept.append(s)
        chunks = lambda: recv.ChunkStream("heap 65536; time: heap [4]", chunks=4, endpoints="239.10.10.0:7148",
                                          interface="net_ring0")
        for turn in range(2):  # as a cell of a notebook that is run again
            c = chunks()
            c.stop()
        assert len(kept) == 3
    """)


def test_a_stream_that_a_stop_item_has_ended_gives_its_endpoints_to_the_next_one():
    """A cell of a notebook that is run again, without stop() between."""
    script("""
        from dpdk_spead import send
        def send_heaps():
            with send.Stream("239.10.10.0:7148", interface="net_ring0") as sender:
                items = send.ItemGroup()
                items.add_item(0x1000, "x", "", (100,), np.int8, value=np.arange(100, dtype=np.int8))
                for _ in range(5):
                    sender.send_heap(items.get_heap(descriptors="none", data="all"))
                sender.end()
        kept = []
        for turn in range(3):
            kept.append(stream())
            send_heaps()
            assert len(list(kept[-1])) == 5, kept[-1].counters
        for turn in range(2):
            kept.append(recv.ChunkStream("heap 100; time: heap [5]; tracked", chunks=4, endpoints="239.10.10.0:7148",
                                         interface="net_ring0", stop_on_stop_item=True))
            send_heaps()
            assert sum(chunk.heaps_present for chunk in kept[-1]) == 5, kept[-1].counters
        assert all(s.counters["packets"] == kept[0].counters["packets"] for s in kept[:3])
    """)


@pytest.mark.parametrize("variables", [{"DPDK_SPEAD_INTERFACE": "net_ring0"}, {"SPEAD2_IBV_INTERFACE": "net_ring0"},
                                       {"SPEAD2_IBV_INTERFACE": "net_no_such_card0", "DPDK_SPEAD_INTERFACE": "net_ring0"}])
def test_the_environment_turns_readers_into_ports(variables):
    script("""
        s = recv.Stream(ds.ThreadPool())
        s.add_udp_reader("239.10.10.0", 7148)
        ds.run(SEND)
        assert s.get().cnt >= 0
        try:
            s.add_udp_reader(7149, bind_hostname="::1")
        except ValueError as error:
            assert "another stream" in str(error)
    """, env={**os.environ, **variables})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_missing_privilege_is_named_with_its_cure():
    done = script("""
        import os
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        s = recv.Stream(ds.ThreadPool())
        try:
            s.add_udp_ibv_reader(recv.UdpIbvConfig(endpoints=[ENDPOINT], interface_address="lo"))
        except RuntimeError as error:
            print(error)
    """)
    assert "CAP_NET_RAW" in done.stdout and "setcap" in done.stdout, done.stdout
