# SPDX-License-Identifier: BSD-3-Clause
"""Tests chunks of streams with ports. Each test has a process of its own, since EAL starts once."""

import os

import programs
import pytest

BEGIN = """
import random
import sys
import time
sys.path.insert(0, {here!r})
sys.path.append({here!r} + "/../system")
import layouts
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


TWO_PATHS = """
source = random.Random({seed})
sent = {sent}
kept = [[at for at in range(len(sent)) if source.random() > 0.05] for _ in range(2)]
for number, group in ((0, "239.1.2.3"), (1, "239.129.2.3")):
    twice = [sent[at] for at in kept[number] for _ in range(1 + (at % 7 == number))]
    write_pcap(path + str(number), twice, group)
devices = ["net_pcap%d,rx_pcap=%s%d" % (number, path, number) for number in range(2)]
dpdk_spead.init(lcores={lcores})
# The ports begin one after the other, so all chunks stay open.
stream = recv.ChunkStream("heap 256; time: item 0x1600 [16]", chunks=64, window=32, format={format!r}, lcores={lcores},
                          endpoints="239.1.2.3:7148", interface=devices[0],
                          second_path=recv.SecondPath(devices[1], "239.129.2.3:7148", skew=20))
there = set(kept[0]) | set(kept[1])
repeated = [sum(at % 7 == number for at in some) for number, some in enumerate(kept)]
received = sum(map(len, kept)) + sum(repeated)
until = time.monotonic() + 60
while stream.counters["packets"] < received and time.monotonic() < until:
    time.sleep(0.01)
stream.stop()
came = dict()
for chunk in stream:
    for place in range(16):
        if chunk.present[place]:
            came[16 * chunk.id + place] = chunk.data[place].tobytes()
assert came == dict((at, sent[at][-256:]) for at in there)
counters = stream.counters
assert (counters["packets"], counters["packets_placed"]) == (received, len(there)), counters
assert counters["packets_duplicate"] == received - len(there), counters
paths = dpdk_spead.stats.counters()["streams"][0]["paths"]
for number, one in enumerate(paths):
    assert one["received"] == len(kept[number]) + repeated[number], paths
    assert one["repeated"] == repeated[number], paths
    assert one["missing"] == len(there) - len(kept[number]), paths
"""
SPEAD = "[part(n + 1, source.randbytes(256), [(0x1600, n)]) for n in range(400)]"
SNAP2 = "[layouts.make('snap2', {0x1600: n, 0x4101: 3}, source.randbytes(256), source) for n in range(400)]"


@pytest.mark.parametrize("sent, declared", [(SPEAD, ""), (SNAP2, "snap2")], ids=["spead", "snap2"])
@pytest.mark.parametrize("lcores", [1, 2])
def test_chunks_have_what_either_of_two_paths_brings(tmp_path, sent, declared, lcores):
    cpus = sorted(os.sched_getaffinity(0))[:lcores]
    if len(cpus) < lcores:
        pytest.skip("needs two CPUs")
    programs.expect(run(tmp_path, TWO_PATHS.format(seed=lcores, sent=sent, format=declared, lcores=cpus)))


PLAN = """
frames = [layouts.make("vdif", dict([(0x1600, 7), (0x1601, n)]), bytes([n]) * 800, random) for n in range(100)]
for number in range(2):
    write_pcap(path + str(number), [frame for n, frame in enumerate(frames) if n % 10 != number])
plan = f'''
version = 1
[[port]]
name = "p0"
device = "net_pcap0,rx_pcap={path}0"
[[port]]
name = "p1"
device = "net_pcap1,rx_pcap={path}1"
[[receive]]
name = "frames"
paths = ["p0", "p1"]
endpoints = ["239.1.2.3:7148"]
format = "vdif"
[receive.sink]
kind = "file"
directory = "{path}.out"
'''
run = dpdk_spead.run(plan)
until = time.monotonic() + 60
while run.counters()["streams"][0]["packets"]["received"] < 180 and time.monotonic() < until:
    time.sleep(0.01)
stream = run.counters()["streams"][0]
assert (stream["heaps"]["complete"], stream["packets"]["redundant"]) == (100, 80), stream
assert [one["missing"] for one in stream["paths"]] == [10, 10], stream
run.stop()
"""


def test_a_plan_has_a_format_and_two_paths(tmp_path):
    programs.expect(run(tmp_path, PLAN))
    written = [file.read_bytes() for file in (tmp_path / "in.pcap.out").glob("frames-*.bin")]
    assert sorted(written) == [bytes([n]) * 800 for n in range(100)]
