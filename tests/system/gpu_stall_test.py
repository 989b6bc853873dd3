#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A GPU that stands still during a run: it is named, and nothing else is blamed. With a driver that plays one."""

import os
import re
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import harness
import ring
import telemetry

FAKE = os.environ.get("FAKE_CUDA", "")


class Stalls(harness.ProgramTest):
    def start_run(self, *more, sink="verify", **chunks):
        """A run that sends to itself, whose GPU stands still while there is the file self.stall."""
        self.stall, self.told, self.socket = (self.directory / name for name in ("stall", "told", "control.sock"))
        file = self.directory / "plan.toml"
        on_event = f'on_event = ["/bin/sh", "-c", "echo $SPEAD_EVENT $SPEAD_ENGINE >> $1", "sh", "{self.told}"]\n'
        file.write_text(ring.plan(
            ring.stream(0, {"kind": sink}, gather="cuda", on_full=None, **chunks),
            ring.sender(0, heap_size="16KiB", rate="40Mbps", verify=True), *more,
            more=f'[runtime]\nname = "gpu"\n{on_event}'), encoding="utf-8")
        running = self.start("run", "--config", file, "--control", self.socket, "--metrics", 0,
                             environment={"LD_LIBRARY_PATH": str(Path(FAKE).parent), "FAKE_CUDA_STALL_FILE": str(self.stall)})
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")
        self.client = telemetry.Client(telemetry.socket_of(running, "gpu"), self)
        self.base = re.search(r"metrics are at (\S+)/metrics", running.text(1)).group(1)
        running.wait_for(lambda: "size" in self.client.ask("/spead/report"), "a first snapshot")
        self.until_heaps(running, 10)
        return running

    def heaps(self):
        streams = self.client.report()["streams"]
        return streams[0]["info"]["verified"] if streams else 0

    def until_heaps(self, running, more):
        before = self.heaps()
        running.wait_for(lambda: self.heaps() >= before + more, "heaps")

    def let_stall(self, running):
        self.stall.touch()
        running.wait_for(lambda: "the engine `cuda` has moved nothing for" in running.text(1), "word of it")

    def attach(self, *words, status=0):
        done = subprocess.run([harness.program(), "attach", str(self.socket), "--", *words], capture_output=True,
                              text=True, timeout=60 * harness.PATIENCE, check=False)
        self.assertEqual(done.returncode, status, f"{words}:\n{done.stdout}\n{done.stderr}")
        return done.stdout + done.stderr

    def get(self, path):
        try:
            with urllib.request.urlopen(self.base + path, timeout=30 * harness.PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()

    def losses(self, findings):
        """Their causes, but for lcores that a busy machine holds up."""
        return {finding["cause"] for finding in findings if finding["kind"] == "loss"} - {"lcore_silent"}

    def test_it_is_named_by_every_view_and_goes_on(self):
        running = self.start_run()
        self.let_stall(running)
        running.wait_for(lambda: "send d0 is stuck" in running.text(1), "the sender to be stuck")
        self.assertIn("send d0 is stuck: port p0 has taken nothing for a second; its ring is not emptied, because the engine "
                      "`cuda` stands still", running.text(1))
        self.assertRegex(running.text(1), r"moved nothing for 1\.\d s; s0 waits for it; look at the GPU: `nvidia-smi`")
        running.wait_for(lambda: self.told.exists() and "engine_stalled cuda" in self.told.read_text(encoding="utf-8"), "event")
        running.wait_for(lambda: "engine_stalled" in self.losses(self.client.report()["findings"]), "finding")
        report = self.client.report()
        self.assertEqual(self.losses(report["findings"]), {"engine_stalled"}, report["findings"])
        self.assertEqual(report["streams"][0]["health"]["state"], "stalled")
        self.assertEqual((report["engines"][0]["state"], report["engines"][0]["stalls"]), ("stalled", 1))
        self.assertIn("has moved nothing for", self.attach("show", "lcore"))
        status, why = self.get("/readyz")
        self.assertEqual((status, why.split(" for ")[0]), (503, "the engine `cuda` has moved nothing"), why)
        self.assertRegex(self.get("/metrics")[1], r'spead_engine_up\{.*engine="cuda"\} 0')
        self.stall.unlink()
        running.wait_for(lambda: "the engine `cuda` moves payload again" in running.text(1), "its return")
        self.until_heaps(running, 10)
        self.assertEqual(self.get("/readyz"), (200, "ok\n"))
        running.interrupt()
        finished = running.wait()
        report = finished.report
        self.assertEqual(self.losses(report["findings"]), {"engine_stalled"}, report["findings"])
        self.assertIn("engine cuda: 1 time it moved no payload for a second or longer", finished.out)
        self.assertEqual(report["streams"][0]["info"]["wrong"], 0)
        self.assertIn("engine_back cuda", self.told.read_text(encoding="utf-8"))

    def test_a_run_ends_while_it_lasts(self):
        running = self.start_run()
        self.let_stall(running)
        running.interrupt()
        finished = running.wait(status=1, timeout=60)
        self.assertIn("the engine `cuda` stands still: the memory", finished.err)
        self.assertEqual(self.losses(finished.report["findings"]) - {"device_error"}, {"engine_stalled"},
                         finished.report["findings"])

    def test_a_run_with_chunks_ends_while_it_lasts(self):
        running = self.start_run(placement="heap 16384; time: heap [4]", max_bytes=None)
        self.let_stall(running)
        running.interrupt()
        finished = running.wait(status=1, timeout=60)
        self.assertIn("the engine `cuda` stands still: the memory", finished.err)
        self.assertEqual(self.losses(finished.report["findings"]) - {"device_error", "misplaced"}, {"engine_stalled"},
                         finished.report["findings"])

    def test_a_run_that_ends_at_once_names_it_too(self):
        running = self.start_run()
        self.stall.touch()
        running.wait_for(lambda: self.client.ask("/spead/send,d0")["health"]["state"] == "stuck" or
                         "has moved nothing" in running.text(1), "a standstill")
        running.interrupt()
        self.assertIn("the engine `cuda` has moved nothing for", running.wait(status=1).err)

    def test_changes_are_refused_or_carried_out_while_it_lasts(self):
        running = self.start_run()
        self.let_stall(running)
        said = self.attach("stream", "set", "s0", "heaps.max_live", "9", status=1)
        self.assertIn("engine cuda: it stands still, and takes no stream until it moves payload again", said)
        self.attach("stream", "delete", "s0")
        self.assertNotIn("s0", self.attach("show", "stream"))
        self.stall.unlink()
        running.wait_for(lambda: "moves payload again" in running.text(1), "its return")
        self.attach("stream", "add", "s1", "port", "p0", "endpoints", "239.1.1.1:7148", "heaps.gather", "cuda",
                    "heaps.max_bytes", "64KiB", "sink.kind", "verify")
        self.until_heaps(running, 10)
        running.interrupt()
        self.assertEqual(running.wait().report["streams"][0]["info"]["wrong"], 0)

    def test_a_stream_that_had_no_packet_leaves_while_it_lasts(self):
        # Nothing waits for its memory, and the driver does not free it now.
        running = self.start_run(ring.stream(1, {"kind": "verify"}, gather="cuda", on_full=None))
        self.let_stall(running)
        self.attach("stream", "delete", "s1")
        self.assertNotIn("s1", self.attach("show", "stream"))
        self.stall.unlink()
        self.until_heaps(running, 10)
        running.interrupt()
        self.assertEqual(running.wait().report["streams"][0]["info"]["wrong"], 0)

    def test_a_run_without_its_stream_ends_while_it_lasts(self):
        running = self.start_run()
        self.let_stall(running)
        self.attach("stream", "delete", "s0")
        running.interrupt()
        finished = running.wait(status=1, timeout=60)
        self.assertIn("the engine `cuda` stands still: the memory", finished.err)


if __name__ == "__main__":
    harness.main()
