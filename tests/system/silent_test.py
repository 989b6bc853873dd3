#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An lcore that does not answer for a while, and a process that stands still: what every view says, and how it ends."""

import json
import re
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import harness
import telemetry
import threads
from service_test import Manager

CONFIGURATION = """
version = 1
[runtime]
name = "held"
on_event = ["/bin/sh", "-c", "echo $SPEAD_EVENT $SPEAD_LCORE $SPEAD_TEXT >> $1", "sh", "{told}"]
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["239.1.2.3:7148"]
silent_after = "500ms"
heaps = {{ max_bytes = "64KiB" }}
[[send]]
name = "d0"
port = "p0"
endpoints = ["239.1.2.3:7148"]
heap_size = "16KiB"
rate = "10Mbps"
"""


class Held(harness.ProgramTest):
    def start_run(self, *words, **options):
        self.told = self.directory / "told"
        file = self.directory / "held.toml"
        file.write_text(CONFIGURATION.format(told=self.told), encoding="utf-8")
        self.socket = self.directory / "control.sock"
        running = self.start("run", "--config", file, "--control", self.socket, "--metrics", 0, *words, **options)
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")
        self.metrics = re.search(r"metrics are at (\S+)", running.text(1)).group(1)
        return running

    def attach(self, *words, status=0):
        done = subprocess.run([harness.program(), "attach", str(self.socket), "--", *words], capture_output=True,
                              text=True, timeout=60 * harness.PATIENCE, check=False)
        self.assertEqual(done.returncode, status, f"{words}:\n{done.stdout}\n{done.stderr}")
        return done.stdout + done.stderr

    def metric(self, name):
        with urllib.request.urlopen(self.metrics, timeout=30 * harness.PATIENCE) as answer:
            return re.findall(rf"^{name}\{{.*\}} (\S+)$", answer.read().decode(), re.M)


class Silent(Held):
    def test_every_view_names_it_and_nothing_ends(self):
        manager = Manager(self, str(self.directory / "notify"))
        running = self.start_run(environment={"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "600000000"})
        client = telemetry.Client(telemetry.socket_of(running, "held"), self)
        running.wait_for(lambda: self.metric("spead_lcore_up") == ["1"], "a first snapshot")
        held = threads.Held(self, threads.worker(running))
        running.wait_for(lambda: "has not answered for" in running.text(1), "word of it")
        name = re.search(r"lcore 1 on CPU \d+", running.text(1)).group()
        self.assertIn("it is stopped, by a debugger or SIGSTOP; s0, d0 stand still", running.text(1))
        self.assertRegex(self.attach("show", "lcore"), rf"1 +\d+ +silent .*\n(.*\n)?{name} has not answered for")
        self.assertRegex(self.attach("show", "stream"), r"s0 +239.1.2.3:7148 +stalled")
        self.assertIn("changes are refused until it answers", self.attach("stream", "stop", "s0", status=1))
        self.assertIn("changes are refused until it answers", self.attach("port", "stop", "p0", status=1))
        self.assertEqual(self.metric("spead_lcore_up"), ["0"])
        lcore = client.ask("/spead/lcore,1")
        self.assertEqual((lcore["state"], lcore["silences"]), ("silent", 1))
        self.assertIn(name, json.dumps(client.ask("/spead/findings")))
        self.assertEqual(client.report()["streams"][0]["health"]["state"], "stalled")
        top = subprocess.run([harness.program(), "top", str(running.process.pid), "--once", "--page", "lcores"],
                             capture_output=True, text=True, check=False, timeout=60)
        self.assertIn("SILENT", top.stdout, top.stderr)
        manager.wait_for(running, lambda text: text.startswith(f"STATUS={name} has not answered"), "status")
        running.wait_for(lambda: self.told.exists() and "lcore_silent 1" in self.told.read_text(), "the event")
        held.let_go()
        running.wait_for(lambda: "answers again, after" in running.text(1), "its return")
        self.assertNotIn("silent", self.attach("show", "lcore"))
        received = self.metric("spead_stream_received_packets_total")
        running.wait_for(lambda: self.metric("spead_stream_received_packets_total") != received, "packets")
        running.wait_for(lambda: "lcore_back 1" in self.told.read_text(), "the event")
        self.attach("port", "stop", "p0")
        self.attach("port", "start", "p0")
        running.interrupt()
        finished = running.wait()
        self.assertIn("it did not answer for a second or longer", finished.out)
        stream = finished.report["streams"][0]
        self.assertEqual(stream["health"]["events"]["stalled"], 1)
        self.assertEqual(stream["health"]["events"]["silent"], 0, "it was the lcore, not the senders")

    def test_it_ends_the_run_after_the_time_that_was_given(self):
        running = self.start_run("--lcore-timeout", "2s")
        held = threads.Held(self, threads.worker(running))
        running.wait_for(lambda: "the run ends" in running.text(1), "the end", timeout=60)
        held.let_go()
        finished = running.wait(status=1)
        self.assertRegex(finished.err, r"lcore 1 on CPU \d+ has not answered for 2\.\d s: it is stopped")
        self.assertTrue(finished.has_report())

    def test_it_never_comes_back_and_there_is_a_report_all_the_same(self):
        running = self.start_run("--lcore-timeout", "1s")
        threads.Held(self, threads.worker(running)).for_ever()
        finished = running.wait(status=1)
        self.assertTrue(finished.has_report())
        self.assertIn("it keeps its ports and memory", finished.err)

    def test_control_c_waits_for_it_for_a_while_only(self):
        running = self.start_run("--lcore-timeout", "off")
        threads.Held(self, threads.worker(running)).for_ever()
        running.wait_for(lambda: "has not answered for" in running.text(1), "word of it")
        running.interrupt()
        finished = running.wait(status=1, timeout=90)
        self.assertRegex(finished.err, r"has not answered for 1\d\.\d s")
        self.assertTrue(finished.has_report())

    def test_a_replay_waits_for_it_too(self):
        capture = self.directory / "c.pcap"
        self.run_program("send", "239.1.2.3:7148", "--port", f"net_pcap0,tx_pcap={capture}", "--heaps", 5)
        running = self.start("replay", capture, "--port", "net_null0", "--loop", -1, "--lcore-timeout", "2s")
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")
        held = threads.Held(self, threads.worker(running))
        running.wait_for(lambda: "has not answered for" in running.text(1), "word of it")
        held.let_go()
        running.wait_for(lambda: "answers again" in running.text(1), "its return")
        threads.Held(self, threads.worker(running)).for_ever()
        finished = running.wait(status=1)
        self.assertIn("the replay ends", finished.err)
        self.assertTrue(finished.has_report())


class Stopped(Held):
    def test_a_process_that_stands_still_for_a_while_goes_on(self):
        running = self.start_run("--lcore-timeout", "1s")
        stat = Path(f"/proc/{running.process.pid}/stat")
        for _ in range(3):
            running.process.send_signal(signal.SIGSTOP)
            while stat.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "T":
                time.sleep(0.01)
            # Longer than every patience that it has been given.
            time.sleep(5 / 3)
            running.process.send_signal(signal.SIGCONT)
            received = self.metric("spead_stream_received_packets_total")
            running.wait_for(lambda: self.metric("spead_stream_received_packets_total") != received, "packets")
        running.interrupt()
        finished = running.wait()
        self.assertNotIn("answer", finished.err)
        self.assertEqual(finished.report["lcores"][0]["silences"], 0)
        self.assertEqual(finished.report["streams"][0]["health"]["events"]["silent"], 0)
        self.assertFalse(self.told.exists(), "no event was raised")

    def test_nor_does_it_end_because_nothing_came(self):
        running = self.start("loopback", "--duration", "off", "--heap-size", "64KiB", "--rate", "20Mbps",
                             "--idle-exit", "1s")
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")
        running.process.send_signal(signal.SIGSTOP)
        time.sleep(2)
        running.process.send_signal(signal.SIGCONT)
        with self.assertRaises(subprocess.TimeoutExpired):
            running.process.wait(0.5)
        running.interrupt()
        running.wait()


if __name__ == "__main__":
    harness.main()
