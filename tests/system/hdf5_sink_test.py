#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The HDF5 sink, from outside: its files are read by h5py, as users read them."""

import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import harness
import wire
from zarr_sink_test import ENDPOINT, GROUPS, PLACEMENT, array_plan, packets, values_of

os.environ["HDF5_EXTFILE_PREFIX"] = "${ORIGIN}"
try:
    import h5py
    import numpy as np
except ImportError as error:
    h5py = None
    WHY_NOT = f"{error}: scripts/deps --python installs it"

JOIN = Path(__file__).resolve().parents[2] / "docs/examples/python/join_hdf5.py"
CHANNELS = "heap 4096; axis chan: item 0x3101 [2]; time: item 0x1600 / 256 [8]"


@unittest.skipIf(h5py is None, "" if h5py else WHY_NOT)
class Hdf5Sink(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        probe = self.run_program("recv", ENDPOINT, "--port", "net_ring0", "--placement", CHANNELS,
                                 "--sink", f"hdf5:{self.directory}", "--check", status=None, report=False)
        if "built without HDF5" in probe.err:
            self.skipTest("the program was built without HDF5")

    def receive(self, frames, out, placement=PLACEMENT, keys="", **how):
        capture = self.directory / f"in{self._runs}.pcap"
        wire.write_pcap(capture, [wire.frame(data, GROUPS[0]) for data in frames])
        config = self.directory / "run.toml"
        config.write_text(f"""
version = 1
[[port]]
name = "p0"
device = "net_pcap0,rx_pcap={capture}"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["{ENDPOINT}"]
[receive.chunk]
placement = "{placement}"
[receive.sink]
kind = "hdf5"
directory = "{out}"
dtype = ">i2"
{keys}
""", encoding="utf-8")
        return self.run_program("run", "--config", config, **how)

    def test_h5py_reads_payload_presence_and_times(self):
        out = self.directory / "out"
        gone = {(0, 83, 1)} | {(1, 90, part) for part in range(4)}
        times = [time for time in range(80, 120) if not 96 <= time < 104]
        finished = self.receive(packets(times, leave_out=gone), out)
        chunks = finished.report["streams"][0]["chunks"]
        self.assertEqual((chunks["taken"], chunks["delivered"], chunks["unwritten"]), (4, 4, 0))
        with h5py.File(out / "s0.h5") as file:
            self.assertEqual((file["data"].shape, file["data"].dtype), ((4, 2, 8, 2048), np.dtype(">i2")))
            self.assertEqual(file["data"].attrs["axes"], b"chunk,pol,time,element")
            self.assertEqual(list(file["chunks"]["id"]), [10, 11, 13, 14])
            self.assertTrue((file["chunks"]["first_ns"] > 1_600_000_000 * 10**9).all())
            np.testing.assert_array_equal(file["timestamps"][:].ravel(), [256 * time for time in times])
            data, presence, extra = file["data"][:], file["presence"][:], file["extra"][:]
        for number, time in enumerate(times):
            for pol in range(2):
                for part in range(4):
                    came = (pol, time, part) not in gone
                    expected = values_of(pol, time)[part * 512:][:512] if came else np.zeros(512)
                    np.testing.assert_array_equal(data[number // 8, pol, number % 8, part * 512:][:512], expected)
                    self.assertEqual(presence[number // 8, pol, number % 8, part], came)
                if presence[number // 8, pol, number % 8].any():
                    self.assertEqual(extra[number // 8, pol, number % 8], time + pol)

    def test_files_rotate_and_are_never_overwritten(self):
        out = self.directory / "out"
        for _ in range(2):
            self.receive(packets(range(0, 32)), out, keys='rotate_size = "150000B"')
        names = sorted(path.name for path in out.glob("*.h5"))
        self.assertEqual(names, ["s0-2.h5", "s0-3.h5", "s0-4.h5", "s0.h5"])
        for name, first in (("s0.h5", 0), ("s0-2.h5", 2), ("s0-3.h5", 0), ("s0-4.h5", 2)):
            with h5py.File(out / name) as file:
                self.assertEqual(list(file["chunks"]["id"]), [first, first + 1])
                np.testing.assert_array_equal(file["data"][1, 1, 7], values_of(1, 8 * first + 15))

    def test_files_of_runs_and_shards_are_joined(self):
        for shard in range(2):
            out = self.directory / f"shard{shard}"
            for times in (range(0, 16), range(24, 32)):
                self.receive(packets(times), out, placement=CHANNELS)
        files = [self.directory / f"shard{shard}/{name}" for shard in range(2) for name in ("s0.h5", "s0-2.h5")]
        subprocess.run([sys.executable, JOIN, self.directory / "all.h5", "chan", *files], check=True, timeout=60)
        with h5py.File(self.directory / "all.h5") as file:
            self.assertEqual((file["data"].shape, file.attrs["first_chunk"]), ((4, 4, 8, 2048), 0))
            self.assertEqual([int(row.sum()) for row in file["presence"][:]], [32, 32, 0, 32])
            for chan in range(4):
                np.testing.assert_array_equal(file["data"][3, chan, 5], values_of(chan % 2, 29))

    def test_it_opens_while_it_is_written_and_after_a_kill(self):
        config = self.directory / "run.toml"
        config.write_text(array_plan("hdf5", self.directory / "out", 2, -1), encoding="utf-8")
        running = self.start("run", "--config", config, "--quiet", report=False)
        path = self.directory / "out/s0.h5"
        running.wait_for(path.exists, "a file")

        def length():
            with h5py.File(path) as file:
                return len(file["data"])
        running.wait_for(lambda: length() > 20, "chunks")
        running.process.send_signal(signal.SIGKILL)
        running.wait(status=-signal.SIGKILL)
        with h5py.File(path) as file:
            ids = file["chunks"]["id"]
            self.assertEqual(list(ids), list(range(int(ids[0]), int(ids[0]) + len(ids))))
            rows = file["data"][:].reshape(len(ids), 8, -1, 512).any(axis=3).all(axis=2)
            self.assertTrue((rows | (file["presence"][:] == 0)).all(), "no room that was only reserved")

    def test_wrong_options_are_refused(self):
        base = ["recv", ENDPOINT, "--port", "net_ring0", "--sink"]
        self.refused(*base, f"hdf5:{self.directory}/out", says=["has heaps only", "--placement"])
        self.receive(packets(range(8)), self.directory / "out", keys='columns = "pol"', status=2, report=False)


if __name__ == "__main__":
    harness.main()
