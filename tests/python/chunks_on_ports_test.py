# SPDX-License-Identifier: BSD-3-Clause
"""Tests chunks of streams with ports. Each test has a process of its own, since EAL starts once."""

import programs
import pytest

BEGIN = """
import sys
sys.path.insert(0, {here!r})
from chunks_test import LINE, heap
from chunk_rings_test import HEAPS, Mine, place_of, NUMBER
from packets import part, write_pcap
import numpy as np
import dpdk_spead
from dpdk_spead import recv
path = {path!r}
device = "net_pcap0,rx_pcap=" + path
"""


def run(tmp_path, script):
    here = __file__.rsplit("/", 1)[0]
    begin = BEGIN.format(here=here, path=str(tmp_path / "in.pcap"))
    return programs.run(begin + script)


DECLARED = """
write_pcap(path, [heap(n) for n in range(8)])
buffers = [np.zeros(256, np.uint8) for _ in range(4)]
stream = recv.ChunkStream(LINE, endpoints="239.1.2.3:7148", interface=device, buffers=buffers)
first = stream.get(30)
assert (first.id, first.complete) == (0, True)
assert first.data[3].tolist() == [3] * 64
array = first.data
stream.stop()
second = stream.get(30)
assert (second.id, second.complete) == (1, True), second
assert stream.counters["packets_placed"] == 8
"""

RINGS = """
write_pcap(path, [part(n + 1, bytes([n]) * 64, [(NUMBER, n)]) for n in range(8)])
free, data = recv.ChunkRingbuffer(4), recv.ChunkRingbuffer(4)
config = recv.ChunkStreamConfig(items=[NUMBER, 2], place=place_of())
ibv = recv.UdpIbvConfig(endpoints=[("239.1.2.3", 7148)], interface_address=device)
"""

ONE = RINGS + """
stream = recv.ChunkRingStream(dpdk_spead.ThreadPool(), recv.StreamConfig(), config, data, free)
for label in range(3):
    stream.add_free_chunk(Mine(label))
stream.add_udp_ibv_reader(ibv)
"""

GROUP = RINGS + """
stream = recv.ChunkStreamRingGroup(recv.ChunkStreamGroupConfig(), data, free)
for label in range(3):
    stream.add_free_chunk(Mine(label))
member = stream.emplace_back(dpdk_spead.ThreadPool(), recv.StreamConfig(), config)
member.add_udp_ibv_reader(ibv)
"""

TAKE = """
import time
until = time.monotonic() + 30
counting = locals().get("member", stream)
while counting.counters["packets_placed"] < 8 and time.monotonic() < until:
    time.sleep(0.01)
stream.stop()
chunks = list(data)
assert [c.chunk_id for c in chunks] == [0, 1], chunks
assert all(c.present.all() for c in chunks)
assert chunks[1].data[-1] == 7
"""


FREED = """
import gc, weakref
gone = weakref.ref(buffers[0])
del stream, first, second, array, buffers
gc.collect()
assert gone() is None
"""


@pytest.mark.parametrize("end", ["", FREED, "sys.exit(3)", "import os; os.kill(os.getpid(), 15)"],
                         ids=["end", "del", "exit", "kill"])
def test_declared_chunks_come_from_a_port(tmp_path, end):
    result = run(tmp_path, DECLARED + end)
    assert result.returncode == {"sys.exit(3)": 3}.get(end, -15 if "kill" in end else 0), result.stderr


@pytest.mark.parametrize("begin", [ONE, GROUP], ids=["stream", "group"])
@pytest.mark.parametrize("end", [TAKE, "", "del stream", TAKE + "raise KeyError"], ids=["take", "end", "del", "raise"])
def test_chunks_of_rings_come_from_a_port(tmp_path, begin, end):
    pytest.importorskip("numba")
    pytest.importorskip("scipy")
    result = run(tmp_path, begin + end)
    assert result.returncode == ("raise" in end), result.stderr


def test_a_refused_port_can_be_tried_again(tmp_path):
    script = DECLARED.replace(
        "stream = ",
        "try:\n    recv.ChunkStream(LINE, endpoints='239.1.2.3:7148', interface='10.99.99.99')\n"
        "except dpdk_spead.Error as error:\n    assert '10.99.99.99' in str(error)\n"
        "else:\n    assert False\nstream = ",
        1,
    )
    result = run(tmp_path, script)
    assert result.returncode == 0, result.stderr
