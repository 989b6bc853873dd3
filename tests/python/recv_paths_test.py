# SPDX-License-Identifier: BSD-3-Clause
"""Streams of heaps with two paths. Each case is a process of its own: EAL starts once in one."""

import textwrap

import programs
import pytest

PRELUDE = """
import random, sys, time
sys.path.insert(0, {here!r})
sys.path.append({here!r} + "/../system")
import layouts
from packets import content, heap as packets_of, stop_packet, write_pcap
import dpdk_spead as ds
from dpdk_spead import recv

path = {path!r}
FIRST, SECOND = "239.1.2.3", "239.129.2.3"

def devices(one, other):
    for number, (datagrams, group) in enumerate(((one, FIRST), (other, SECOND))):
        write_pcap(path + str(number), datagrams, group)
    return ["net_pcap%d,rx_pcap=%s%d" % (number, path, number) for number in range(2)]

def two_paths(one, other, config=None, ring=None, **more):
    # The ports begin one after the other, so nothing may be given up meanwhile.
    names = devices(one, other)
    stream = recv.Stream(None, config, ring, second_path=recv.SecondPath(names[1], SECOND + ":7148", skew=0.9), **more)
    stream.add_udp_ibv_reader(recv.UdpIbvConfig(endpoints=[(FIRST, 7148)], interface_address=names[0]))
    return stream

def wait_for(stream, packets):
    until = time.monotonic() + 60
    while stream.counters["packets"] < packets and time.monotonic() < until:
        time.sleep(0.01)
    stream.stop()
    return list(stream)
"""


def script(tmp_path, text):
    here = __file__.rsplit("/", 1)[0]
    begin = PRELUDE.format(here=here, path=str(tmp_path / "in.pcap"))
    return programs.expect(programs.run(begin + textwrap.dedent(text)))


def test_heaps_have_what_either_path_brings(tmp_path):
    script(tmp_path, """
        source = random.Random(1)
        sent = [packet for cnt in range(1, 41) for packet in packets_of(cnt, content(cnt, 3000), 1000)]
        kept = [[packet for packet in sent if source.random() > 0.1] for _ in range(2)]
        kept[1] = [packet for packet in sent if packet not in kept[0] or source.random() > 0.1]
        stream = two_paths(*kept, ring=recv.RingStreamConfig(heaps=64))
        assert stream.config.allow_out_of_order and not stream.config.stop_on_stop_item
        received = sum(map(len, kept))
        heaps = wait_for(stream, received)
        assert sorted(heap.cnt for heap in heaps) == list(range(1, 41)), heaps
        for heap in heaps:
            assert heap.complete and heap.payload.tobytes() == content(heap.cnt, 3000)
        counters = stream.counters
        assert (counters["packets"], counters["packets_placed"]) == (received, len(sent)), counters
        assert counters["packets_duplicate"] == received - len(sent), counters
        one, other = ds.stats.counters()["streams"][0]["paths"]
        assert (one["received"], other["received"]) == tuple(map(len, kept)), (one, other)
        assert one["missing"] == len(sent) - len(kept[0]), one
    """)


def test_packets_of_a_format_come_once(tmp_path):
    script(tmp_path, """
        source = random.Random(2)
        frames = [layouts.make("vdif", {0x1600: 7, 0x1601: n}, bytes([n]) * 800, source) for n in range(100)]
        stream = two_paths(*([frame for n, frame in enumerate(frames) if n % 10 != number] for number in range(2)),
                           ring=recv.RingStreamConfig(heaps=128), format="vdif")
        heaps = wait_for(stream, 180)
        assert sorted(heap.payload.tobytes() for heap in heaps) == [bytes([n]) * 800 for n in range(100)]
        assert stream.counters["packets_duplicate"] == 80, stream.counters
    """)


def test_a_stop_item_of_both_paths_does_not_end_the_stream(tmp_path):
    script(tmp_path, """
        sent = [*packets_of(1, content(1, 1000)), stop_packet(2), *packets_of(3, content(3, 1000))]
        heaps = wait_for(two_paths(sent, sent), 6)
        assert [heap.cnt for heap in heaps] == [1, 2, 3], heaps
        assert [heap.is_end_of_stream() for heap in heaps] == [False, True, False]
    """)


def test_endpoints_come_and_go_on_both_paths(tmp_path):
    script(tmp_path, """
        stream = two_paths([], [])
        for wrong, words in (("", "give it as the second argument"), ("239.129.2.3:7148", "already")):
            try:
                stream.add_endpoint("239.1.2.4:7148", wrong)
            except ds.UsageError as error:
                assert words in str(error), error
            else:
                raise AssertionError
        stream.add_endpoint("239.1.2.4+1:7148", "239.129.2.4+1:7148")
        stream.remove_endpoint("239.1.2.4:7148")
        one, other = ds.stats.counters()["streams"][0]["paths"]
        assert one["endpoints"] == ["239.1.2.3:7148", "239.1.2.5:7148"], one
        assert other["endpoints"] == ["239.129.2.3:7148", "239.129.2.5:7148"], other
    """)


@pytest.mark.parametrize("endpoints, words", [
    ("239.129.2.3+1:7148", "has 1 endpoints, and the second has 2"),
    ("239.129.2.3", "239.129.2.3"),
])
def test_refusals_of_the_library_may_be_corrected(tmp_path, endpoints, words):
    script(tmp_path, f"""
        names = devices([], [])
        config = recv.UdpIbvConfig(endpoints=[(FIRST, 7148)], interface_address=names[0])
        stream = recv.Stream(second_path=recv.SecondPath(names[1], {endpoints!r}))
        try:
            stream.add_udp_ibv_reader(config)
        except ds.UsageError as error:
            assert {words!r} in str(error), error
        else:
            raise AssertionError
        stream = recv.Stream(second_path=recv.SecondPath(names[1]))
        stream.add_udp_ibv_reader(config)
        one, other = ds.stats.counters()["streams"][0]["paths"]
        assert one["endpoints"] == other["endpoints"] == ["239.1.2.3:7148"], (one, other)
        stream.add_endpoint("239.1.2.9:7148")
        one, other = ds.stats.counters()["streams"][0]["paths"]
        assert one["endpoints"] == other["endpoints"] == ["239.1.2.3:7148", "239.1.2.9:7148"], (one, other)
    """)
