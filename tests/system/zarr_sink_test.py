#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Zarr sink, from outside: its arrays are read by zarr and by dask, as users read them."""

import json
import os
import random
import re
import signal
import subprocess
import unittest

import harness
import ring
import wire

try:
    import dask.array
    import numpy as np
    import zarr
except ImportError as error:
    zarr = None
    WHY_NOT = f"{error}: scripts/deps --python installs it"

GROUPS = ("239.1.1.1", "239.1.1.2")
ENDPOINT = f"{GROUPS[0]}:7148"
TIMES = 8
PLACEMENT = ("heap 4096; axis pol: item 0x3101 & 1 [2]; time: item 0x1600 / 256 [8]; extra u16: item 0x3102 >> 32; "
             "presence packet 1024")

SHARDED = """
version = 1
[[port]]
name = "p0"
device = "net_pcap0,rx_pcap={capture}"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["239.1.1.1:7148", "239.1.1.2:7148"]
[receive.chunk]
placement = "heap 4096; axis chan: item 0x3101 - 100 / 10 [2]; time: item 0x1600 / 256 [8]"
[receive.sink]
kind = "zarr"
directory = "{directory}"
dtype = ">i2"
columns = "chan"
"""


def array_plan(kind, directory, first, heaps):
    """A ring's plan whose heaps fill an array, beside another stream."""
    return ring.plan(
        ring.stream(0, {"kind": kind, "directory": directory}, max_bytes=None,
                    placement="heap 16384; time: heap - 1 [8]", chunks=8),
        ring.stream(1, {"kind": "verify"}),
        ring.sender(0, pattern="none", heap_size="16KiB", first_count=first, heaps=heaps, verify=True,
                    repeat_items=True, rate="500Mbps"),
        ring.sender(1, heap_size="16KiB", heaps=200, verify=True))


def values_of(pol, time):
    """2048 numbers that only this heap has."""
    return (np.arange(2048) + 100 * time + 7 * pol).astype(">i2")


def packets(times, pols=2, leave_out=(), number_of=lambda pol: pol):
    """Packets of 1024 bytes; `leave_out` has (pol, time, packet)."""
    made = []
    for time in times:
        for pol in range(pols):
            items = [(wire.ADDRESSED, 0x3300, 0), (wire.IMMEDIATE, 0x1600, time * 256),
                     (wire.IMMEDIATE, 0x3101, number_of(pol)), (wire.IMMEDIATE, 0x3102, (time + pol) << 32)]
            payload = values_of(pol, time).tobytes()
            made += [wire.packet(100 * time + pol + 1, part * 1024, payload[part * 1024:][:1024], 4096, items, bits=48)
                     for part in range(4) if (pol, time, part) not in leave_out]
    return made


@unittest.skipIf(zarr is None, "" if zarr else WHY_NOT)
class ZarrSink(harness.ProgramTest):
    def receive(self, frames, *options, placement=PLACEMENT, **how):
        capture = self.directory / f"in{self._runs}.pcap"
        wire.write_pcap(capture, [wire.frame(data, GROUPS[0]) for data in frames])
        return self.run_program("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}", "--placement", placement,
                                *options, **how)

    def config(self, text, **values):
        path = self.directory / "run.toml"
        path.write_text(text.format(directory=self.directory / "out", **values), encoding="utf-8")
        return path

    def ring(self, first, heaps):
        path = self.directory / "run.toml"
        path.write_text(array_plan("zarr", self.directory / "out", first, heaps), encoding="utf-8")
        return path

    def chunks_of(self, report):
        return next(stream for stream in report["streams"] if stream["name"] == "s0")["chunks"]

    def test_zarr_and_dask_read_what_came_and_see_what_did_not(self):
        gone = {(0, 83, 1)} | {(1, 90, part) for part in range(4)}
        times = [time for time in range(80, 120) if not 96 <= time < 104]
        finished = self.receive(packets(times, leave_out=gone), "--sink", f"zarr:{self.directory / 'out'}")
        chunks = self.chunks_of(finished.report)
        self.assertEqual((chunks["delivered"], chunks["unwritten"]), (chunks["taken"], 0))
        group = zarr.open_group(str(self.directory / "out"), mode="r")["s0"]
        data = group["data"]
        self.assertEqual((data.shape, data.chunks, data.dtype), ((2, 40, 4096), (2, 8, 4096), np.dtype("u1")))
        self.assertEqual(data.attrs["_ARRAY_DIMENSIONS"], ["pol", "time", "element"])
        self.assertEqual((data.attrs["first_chunk"], data.attrs["time"]["first"]), (10, 80 * 256))
        presence, extra = group["presence"][:], group["extra"][:]
        lazy = dask.array.from_zarr(str(self.directory / "out"), component="s0/data")
        self.assertEqual(lazy.chunks, ((2,), (8,) * 5, (4096,)))
        found = lazy.compute().view(">i2")
        for place, time in enumerate(range(80, 120)):
            for pol in range(2):
                for part in range(4):
                    came = time in times and (pol, time, part) not in gone
                    expected = values_of(pol, time)[part * 512:][:512] if came else np.zeros(512)
                    np.testing.assert_array_equal(found[pol, place, part * 512:][:512], expected)
                    self.assertEqual(presence[pol, place, part], came, (pol, time, part))
                if time in times and presence[pol, place].any():
                    self.assertEqual(extra[pol, place], time + pol)
        self.assertEqual(extra[0, 16], 0xffff, "a chunk that did not come")
        arrival = group["arrival"][:]
        self.assertEqual(arrival.shape, (5, 2))
        self.assertTrue((arrival[[0, 1, 3, 4], 0] > 1_600_000_000 * 10**9).all())
        self.assertEqual(list(arrival[2]), [0, 0])
        self.assertEqual(sorted(name.name for name in (self.directory / "out/s0/data").iterdir()),
                         [".zarray", ".zattrs", "0.0.0", "0.1.0", "0.3.0", "0.4.0"])

    def test_another_run_continues_the_array_and_overwrites_nothing(self):
        sink = f"zarr:{self.directory / 'out'}"
        self.receive(packets(range(80, 96)), "--sink", sink)
        finished = self.receive(packets(range(88, 112)), "--sink", sink)
        chunks = self.chunks_of(finished.report)
        self.assertEqual((chunks["delivered"], chunks["unwritten"]), (2, 1))
        self.assertIn("its file exists already", finished.err)
        data = zarr.open_array(str(self.directory / "out/s0/data"), mode="r")
        np.testing.assert_array_equal(data[1, :].view(">i2"), [values_of(1, time) for time in range(80, 112)])

    def test_two_shards_write_one_array(self):
        capture = self.directory / "in.pcap"
        numbers = {group: packets(range(0, 32), number_of=lambda pol, first=first: 100 + 10 * (first + pol))
                   for first, group in ((0, GROUPS[0]), (2, GROUPS[1]))}
        wire.write_pcap(capture, [wire.frame(data, group) for pair in zip(*numbers.values())
                                  for data, group in zip(pair, GROUPS)])
        config = self.config(SHARDED, capture=capture)
        running = [self.start("run", "--config", config, "--shard", f"{shard}/2", "--quiet") for shard in range(2)]
        for one in running:
            chunks = self.chunks_of(one.wait().report)
            self.assertEqual((chunks["delivered"], chunks["unwritten"]), (4, 0))
        group = zarr.open_group(str(self.directory / "out/s0"), mode="r")
        first = group["data"].attrs["first_chunk"]
        data = dask.array.from_zarr(str(self.directory / "out/s0/data"))[:, -8 * (4 - first):].compute()
        self.assertEqual((data.shape, data.dtype), ((4, 32, 2048), np.dtype(">i2")))
        for chan in range(4):
            np.testing.assert_array_equal(data[chan], [values_of(chan % 2, time) for time in range(32)])
        self.assertEqual(int(group["presence"][:].sum()), 4 * 32)

    def whole_chunks(self):
        """The chunks with a final name, each of which has to be whole."""
        folder = self.directory / "out/s0/data"
        keys = [name for name in os.listdir(folder) if re.fullmatch(r"\d+\.\d+", name)] if folder.exists() else []
        for key in keys:
            self.assertEqual((folder / key).stat().st_size, 8 * 16384)
            heaps = np.fromfile(folder / key, np.uint8).reshape(8, -1, 512)
            there = np.fromfile(self.directory / "out/s0/presence" / key.split(".", maxsplit=1)[0], np.uint8)
            self.assertTrue((heaps.any(axis=2).all(axis=1) | (there == 0)).all(), "no room that was only reserved")
        return len(keys)

    def test_it_opens_while_it_is_written_and_after_a_kill(self):
        chance = random.Random(7)
        wanted = 0
        for first in (2, 8_002, 16_002):
            running = self.start("run", "--config", self.ring(first, -1), "--quiet", report=False)
            wanted += chance.randrange(5, 100)
            running.wait_for(lambda: (self.directory / "out/s0/data/.zattrs").exists(), "an array")
            running.wait_for(lambda: self.whole_chunks() >= wanted, "chunks")
            live = zarr.open_group(str(self.directory / "out/s0"), mode="r")
            length = live["data"].shape[0]
            self.assertEqual(length % 8, 0)
            self.assertGreater(length, 0)
            self.assertTrue(live["data"][-8:].any() or not live["presence"][-8:].any())
            running.process.send_signal(signal.SIGKILL)
            running.wait(status=-signal.SIGKILL)
            wanted = self.whole_chunks()
            after = zarr.open_group(str(self.directory / "out/s0"), mode="r")
            self.assertGreaterEqual(after["data"].shape[0], length)
            self.assertGreaterEqual(after["presence"].shape[0], after["data"].shape[0], "data grows last")
        finished = self.run_program("run", "--config", self.ring(100_002, 80))
        self.assertEqual(self.chunks_of(finished.report)["unwritten"], 0)
        self.assertEqual(os.listdir(self.directory / "out/s0/.parts"), [], "what killed runs left is gone")
        self.assertGreater(self.whole_chunks(), wanted)

    def test_a_full_disk_stops_this_sink_alone(self):
        out = self.directory / "out"
        out.mkdir()
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", out], capture_output=True, check=False)
        if mount.returncode != 0:
            self.skipTest(f"cannot mount a small file system: {mount.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", out], check=False)
        finished = self.run_program("run", "--config", self.ring(2, 400), status=1)
        s0 = next(stream for stream in finished.report["streams"] if stream["name"] == "s0")
        self.assertIn("No space left on device", s0["sink"]["failure"])
        whole = self.whole_chunks()
        self.assertGreaterEqual(whole, 8)
        self.assertEqual(s0["chunks"]["delivered"], whole)
        self.assertEqual(s0["chunks"]["unwritten"], s0["chunks"]["taken"] - whole)
        self.assertEqual(s0["health"]["events"]["sink_failed"], 1)
        self.assertEqual(zarr.open_array(str(out / "s0/data"), mode="r").nchunks_initialized, whole)
        self.assertEqual(os.listdir(out / "s0/.parts"), [])
        self.assert_stream(finished.report, "s1", complete=200, delivered=200, unwritten=0)

    def test_another_array_in_the_way_is_refused(self):
        out = self.directory / "out"
        zarr.open_group(str(out), mode="w").require_group("s0").create("data", shape=(10, 10), dtype="<f4")
        before = json.loads((out / "s0/data/.zarray").read_text())
        finished = self.receive(packets(range(8)), "--sink", f"zarr:{out}", status=1)
        self.assertIn("another array is in the way: its `chunks` is [10,10], and not [2,8,4096]", finished.err)
        self.assertEqual(json.loads((out / "s0/data/.zarray").read_text()), before)

    def test_wrong_options_are_refused(self):
        base = ["recv", ENDPOINT, "--port", "net_ring0", "--sink"]
        self.refused(*base, "zarr:", says=["`zarr:` names no directory"])
        self.refused(*base, f"zarr:{self.directory}/out", says=["has heaps only", "--placement"])
        self.refused(*base, f"zarr:{self.directory}/out", "--placement",
                     "heap 4096; axis pol: item 0x3101 [2] by 5000000; time: item 0x1600 [8]",
                     says=["`pol` lie 5000000 bytes apart and take 32768", "an array has no gaps"])
        for line, says in (('dtype = "<i3"', "not a type of elements"), ('dtype = "<c16"\n', "do not divide"),
                           ('columns = "beam"', "no axis `beam`"), ('columns = "time"', "is the time"),
                           ('column = "0/2"', "give `columns`, too"), ('columns = "chan"\ncolumn = "2/2"', "from 0 to 1")):
            text = SHARDED.replace('dtype = ">i2"\ncolumns = "chan"\n', line + "\n").replace("heap 4096", "heap 4104")
            self.refused("run", "--config", self.config(text, capture="none"), "--check", says=[says])
        self.assertFalse((self.directory / "out").exists())


if __name__ == "__main__":
    harness.main()
