#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The /spead/ commands of a running process: by the protocol itself and by DPDK's own client."""

import json
import shutil
import subprocess

import harness
import telemetry


class Telemetry(telemetry.StayingUp):
    def test_every_answer_is_the_reports(self):
        running = self.start_counting()
        client = self.connect(running)
        self.settled(running, client)
        answers = {kind: {name: client.ask(f"/spead/{kind},{name}") for name in client.ask(f"/spead/{kind}s")}
                   for kind in ("stream", "send", "port", "lcore")}
        heaps = {name: client.ask(f"/spead/heaps,{name}") for name in answers["stream"]}
        capture = client.ask("/spead/captures")["0"]
        whole = client.report()
        running.interrupt()
        report = running.wait().report
        for one in (capture, *whole["captures"]):
            self.assertEqual(one["state"], "running")
            one["state"] = "ended"  # by the end of the run
        self.assert_same_but_for_time(capture, telemetry.fitted(report["captures"][0]))
        self.assertEqual({stream["name"]: stream["packets"]["received"] for stream in report["streams"]},
                         {"recorded": whole["streams"][0]["packets"]["received"], "own": 921})
        for kind, name in (("stream", "name"), ("send", "name"), ("port", "name"), ("lcore", "lcore")):
            parts = {part[name]: part for part in report[f"{kind}s"]}
            self.assertEqual(answers[kind].keys(), parts.keys())
            for part, answer in answers[kind].items():
                answer.pop("rates", None)
                self.assert_same_but_for_time(answer, telemetry.fitted(parts[part]))
        for stream in report["streams"]:
            self.assertEqual(heaps[stream["name"]], stream["heaps"])
        self.assert_same_but_for_time(whole, report)

    def assert_same_but_for_time(self, one, other):
        self.assertEqual(without_time(one), without_time(other))

    def test_wrong_names_and_commands_answer_and_the_run_goes_on(self):
        running = self.start_counting()
        client = self.connect(running)
        self.settled(running, client)
        for command, says in (("/spead/stream", "/spead/stream,NAME"), ("/spead/stream,", "/spead/stream,NAME"),
                              ("/spead/stream,recordet", "did you mean `recorded`"), ("/spead/port,own", "/spead/ports"),
                              ("/spead/heaps,x", "/spead/streams"), ("/spead/send,\u00e9\u00e9", "`????`"),
                              ("/spead/lcore,99", "`99`"), ("/spead/streams,x", "skip"),
                              ("/spead/report,1", "SEQUENCE,OFFSET"), ("/spead/report,0,0", "begin again"),
                              ("/spead/stream," + "x" * 900, "no stream is called")):
            with self.subTest(command=command[:40]):
                self.assertIn(says, client.ask(command)["error"])
        for command in ("/spead", "/spead/nothing", "/spead/stream/s0", "spead", ",", ",,,", "x" * 1000):
            with self.subTest(command=command[:40]):
                (value,) = json.loads(client.raw(command)).values()
                self.assertIsNone(value)
        for noise in (b"\x01\x02", bytes(range(1, 256))):  # echoed as it is, which is no JSON
            self.assertIn(b"null", client.raw(noise))
        self.assertEqual(client.ask("/spead/streams"), ["recorded", "own"])
        self.assertEqual(client.ask("/spead/streams,1"), ["own"])
        running.interrupt()
        running.wait()

    def test_info_tells_who_and_how_fresh(self):
        running = self.start_counting()
        client = self.connect(running)
        self.settled(running, client)
        info = client.ask("/spead/info")
        self.assertEqual((info["name"], info["pid"], info["streams"], info["sends"], info["ports"]),
                         (self.name, running.process.pid, 2, 1, 2))
        later = info["sequence"]
        running.wait_for(lambda: client.ask("/spead/info")["sequence"] > later, "a newer snapshot")
        for command in client.ask("/"):
            if command.startswith("/spead/"):
                self.assertRegex(client.ask(f"/help,{command}")[command], r"^Returns .*(Parameters: |no parameters)")
        self.assertEqual(client.ask("/spead/findings"), [])
        running.interrupt()
        running.wait()

    def test_dpdks_own_client_shows_it(self):
        script = shutil.which("dpdk-telemetry.py")
        if script is None:
            self.skipTest("dpdk-telemetry.py is not installed (Debian: dpdk)")
        running = self.start_counting()
        self.settled(running, self.connect(running))
        shown = subprocess.run([script, "-f", f"{self.name}.{running.process.pid}"], capture_output=True, text=True,
                               input="/spead/streams\n/spead/heaps,own\n/spead/stream,nobody\n", check=True,
                               timeout=60 * harness.PATIENCE)
        self.assertIn('"recorded"', shown.stdout)
        self.assertIn('"complete": 20', shown.stdout.replace("\n", " ").replace('":', '": ').replace(":  ", ": "))
        self.assertIn("no stream is called `nobody`", shown.stdout)
        running.interrupt()
        running.wait()

    def test_many_clients_at_once_and_those_who_vanish(self):
        running = self.start_counting()
        first = self.connect(running)
        self.settled(running, first)
        # EAL serves ten at a time.
        clients = [self.connect(running) for _ in range(9)]
        for client in clients:
            self.assertEqual(client.ask("/spead/streams"), ["recorded", "own"])
        for client in clients:
            client._socket.send(b"/spead/report")
            client._socket.close()
        self.assertEqual(first.ask("/spead/streams"), ["recorded", "own"])
        running.interrupt()
        running.wait()

    def test_nothing_stays_behind(self):
        running = self.start_counting()
        path = telemetry.socket_of(running, self.name)
        self.assertTrue(path.is_socket())
        running.interrupt()
        running.wait()
        self.assertFalse(path.parent.exists())

    def test_without_telemetry_there_is_no_socket(self):
        running = self.start("--no-telemetry", "--", "loopback", "--duration", "off", "--heap-size", "64KiB")
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")
        self.assertFalse(telemetry.socket_of(running).exists())
        running.interrupt()
        running.wait()

    def test_a_second_process_of_the_same_name_is_apart(self):
        first, second = self.start_counting(), self.start_counting()
        for running in (first, second):
            self.assertEqual(self.connect(running).ask("/spead/info")["pid"], running.process.pid)
        for running in (first, second):
            running.interrupt()
            running.wait()


#: What goes on after everything has come: time, what lcores do with it, and when samples are looked at.
TIMES = {"duration_s", "loops", "busy_loops", "busy_s", "idle_s", "longest_loop_s", "sleeps", "talkers",
         "other_talkers", "unattributed_packets", "buffers", "seconds", "rotating_bytes", "streaming_now"}


def without_time(value):
    if isinstance(value, dict):
        return {name: without_time(member) for name, member in value.items() if name not in TIMES}
    if isinstance(value, list):
        return [without_time(entry) for entry in value]
    return value


if __name__ == "__main__":
    harness.main()
