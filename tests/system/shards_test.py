#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Shards of one plan, each a process on a ring whose sender sends to every endpoint."""

import json
import os
import re
import shutil
import signal
import subprocess

import harness

GROUPS = [f"239.1.0.{i}:7148" for i in range(8)] + ["239.2.0.0:7148", "239.3.0.0:7148"]
SHARD_VARIABLES = ("DPDK_SPEAD_SHARD", "DPDK_SPEAD_SHARDS", "SLURM_ARRAY_TASK_ID", "SLURM_PROCID")


def plan(vis="239.1.0.0+7:7148", keys="", heaps=20, control="off"):
    return f"""version = 1
[runtime]
name = "fleet"
control = "{control}"
[[port]]
name = "p0"
device = "net_ring0"
link_rate = "10Gbps"
[[receive]]
name = "vis"
port = "p0"
endpoints = ["{vis}"]
{keys}
[receive.sink]
kind = "verify"
[[receive]]
name = "ant"
port = "p0"
endpoints = ["239.2.0.0:7148"]
shard = "stream"
[[receive]]
name = "cal"
port = "p0"
endpoints = ["239.3.0.0:7148"]
shard = "all"
[[send]]
name = "d0"
port = "p0"
endpoints = ["239.1.0.0+7:7148", "239.2.0.0:7148", "239.3.0.0:7148"]
heap_size = "16KiB"
verify = true
heaps = {heaps}
"""


class Shards(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.file = self.directory / "plan.toml"
        self.file.write_text(plan(), encoding="utf-8")
        for name in SHARD_VARIABLES:
            self.assertNotIn(name, os.environ, "the tests set it")

    @staticmethod
    def received(report):
        """{endpoint: packets} of what came to each endpoint of a report, and the streams' names."""
        return {one["endpoint"]: one["packets"] for stream in report["streams"] for one in stream["by_endpoint"]
                if one["endpoint"] != "former"}

    def run_shard(self, shard, **options):
        words = ("--shard", shard) if shard else ()
        return self.run_program("run", "--config", self.file, *words, **options)

    def test_each_group_is_received_by_exactly_one_shard(self):
        owners = {group: [] for group in GROUPS}
        for i in range(3):
            finished = self.run_shard(f"{i}/3")
            self.assertRegex(finished.err, rf"shard {i}/3: \d+ of 10 endpoints, in . of 3 streams \(from --shard\)")
            self.assertIn(f"; shard {i}/3: ", finished.out)
            report = finished.report
            self.assertEqual((report["shard"]["index"], report["shard"]["count"]), (i, 3))
            self.assertEqual(report["shard"]["endpoints"]["all"], 9)
            groups = self.received(report)
            self.assertEqual(report["shard"]["endpoints"]["mine"], len(groups) - 1)
            for group, packets in groups.items():
                self.assertGreater(packets, 0, group)
                owners[group].append(i)
            self.assertGreater(report["ports"][0]["rx"]["unmatched"], 0, "those of other shards came, too")
        self.assertEqual(owners.pop("239.3.0.0:7148"), [0, 1, 2])
        for group, shards in owners.items():
            self.assertEqual(len(shards), 1, group)

    def test_the_environment_says_the_shard(self):
        for environment, says in (({"DPDK_SPEAD_SHARD": "1/3"}, "shard 1/3: "),
                                  ({"DPDK_SPEAD_SHARD": "auto", "SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_MIN": "5",
                                    "SLURM_ARRAY_TASK_MAX": "7", "SLURM_ARRAY_TASK_COUNT": "3"}, "shard 2/3: ")):
            with self.subTest(environment):
                checked = self.run_program("run", "--config", self.file, "--check", report=False, environment=environment)
                self.assertIn(says, checked.err)
        checked = self.run_program("run", "--config", self.file, "--shard", "auto", "--check", report=False,
                                   environment={"SLURM_PROCID": "0", "SLURM_NTASKS": "2"})
        self.assertIn("(from SLURM_PROCID and SLURM_NTASKS)", checked.err)

    def test_what_is_no_shard_is_refused(self):
        for shard, says in (("0/0", "0"), ("3/3", "there is no shard 3 of 3"), ("0/4097", "4096"), ("1", "give I/N"),
                            ("-1/3", "-1"), ("auto", "finds no shard")):
            with self.subTest(shard):
                self.refused("run", "--config", self.file, "--shard", shard, says=("--shard", says))
        self.refused("run", "--config", self.file, environment={"DPDK_SPEAD_SHARD": "x/y"}, says=("DPDK_SPEAD_SHARD",))
        self.file.write_text(plan(keys='assign = ["239.1.0.0:7148=2"]'), encoding="utf-8")
        self.refused("run", "--config", self.file, "--shard", "0/2", says=("plan.toml", "to shard 2"))
        self.file.write_text(plan(keys='assign = ["239.9.0.0:7148=0"]'), encoding="utf-8")
        self.refused("run", "--config", self.file, says=("plan.toml:13:", "no endpoint 239.9.0.0:7148"))

    def test_what_check_prints_is_run_whole(self):
        checked = self.run_program("run", "--config", self.file, "--shard", "0/3", "--check", report=False)
        own = self.directory / "own.toml"
        own.write_text(checked.out, encoding="utf-8")
        again = self.run_program("run", "--config", own, "--shard", "1/2", "--check", report=False)
        strip = [line for line in again.out.splitlines() if not line.startswith("#")]
        self.assertEqual(strip, [line for line in checked.out.splitlines() if not line.startswith("#")])

    def test_a_new_plan_is_dealt_at_sighup_and_no_shard_saves_over_it(self):
        self.file.write_text(plan(heaps=-1, control=str(self.directory / "s")), encoding="utf-8")
        running = self.start("run", "--config", self.file, "--shard", "1/2")
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")

        def prompt(*words):
            return subprocess.run([harness.program(), "attach", self.directory / "s", "--", *map(str, words)],
                                  capture_output=True, text=True, timeout=60 * harness.PATIENCE, check=False)

        self.assertIn("; shard 1/2: 4 of 9 endpoints of the plan", prompt("show", "stream").stdout)
        refused = prompt("save", "config", self.file, "force")
        self.assertNotEqual(refused.returncode, 0, refused)
        self.assertIn("--config", refused.stderr)
        saved = prompt("save", "config", self.directory / "saved.toml")
        self.assertEqual(saved.returncode, 0, saved)
        self.assertIn('endpoints = ["239.1.0.4+3:7148"]', (self.directory / "saved.toml").read_text(encoding="utf-8"))
        changed = prompt("endpoint", "delete", "vis", "239.1.0.7:7148")
        self.assertEqual(changed.returncode, 0, changed)
        self.assertIn("; shard 1/2: 3 of 9 endpoints of the plan", prompt("show", "stream").stdout)
        self.file.write_text(plan(vis="239.1.0.0+1:7148", heaps=-1, control=str(self.directory / "s")), encoding="utf-8")
        running.process.send_signal(signal.SIGHUP)
        running.wait_for(lambda: "SIGHUP: shard 1/2: 2 of 4 endpoints" in running.text(1), "word of the new plan")
        self.assertIn("; shard 1/2: 1 of 3 endpoints of the plan", prompt("show", "stream").stdout)
        running.interrupt()
        self.assertEqual(set(self.received(running.wait().report)), {"239.1.0.1:7148", "239.3.0.0:7148"})

    def test_a_shard_without_endpoints_waits_for_a_plan(self):
        text = plan(control=str(self.directory / "s"))
        text = text[:text.index("[[receive]]\nname = \"ant\"")]
        self.file.write_text(text.replace("0+7", "0+1"), encoding="utf-8")
        running = self.start("run", "--config", self.file, "--shard", "2/3")
        running.wait_for(lambda: "nothing is received or sent; Ctrl-C ends" in running.text(1), "word that it waits")
        self.assertIn("shard 2/3 receives nothing: the plan has 2 endpoints for 3 shards", running.text(1))
        self.file.write_text(text, encoding="utf-8")
        running.process.send_signal(signal.SIGHUP)
        running.wait_for(lambda: "SIGHUP: shard 2/3: 2 of 8 endpoints" in running.text(1), "word of the new plan")
        running.interrupt()
        self.assertEqual(set(self.received(running.wait().report)), {"239.1.0.6:7148", "239.1.0.7:7148"})


    def test_a_shard_that_only_sends_waits_for_a_plan(self):
        text = plan(heaps=-1, control=str(self.directory / "s"))
        text = text[:text.index("[[receive]]\nname = \"ant\"")] + text[text.index("[[send]]"):]
        self.file.write_text(text.replace("0+7:7148\"]\n\n", "0+1:7148\"]\n\n", 1), encoding="utf-8")
        running = self.start("run", "--config", self.file, "--shard", "2/3")
        running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "word that it sends")
        self.assertIn("shard 2/3 receives nothing: the plan has 2 endpoints for 3 shards", running.text(1))
        self.file.write_text(text, encoding="utf-8")
        running.process.send_signal(signal.SIGHUP)
        running.wait_for(lambda: "SIGHUP: shard 2/3: 2 of 8 endpoints" in running.text(1), "word of the new plan")

        def packets():
            shown = subprocess.run([harness.program(), "attach", self.directory / "s", "--", "show", "stream", "vis"],
                                   capture_output=True, text=True, timeout=60 * harness.PATIENCE, check=False).stdout
            return int(re.search(r"(?m)^packets\.received +(\d+)$", shown)[1])

        running.wait_for(lambda: packets() > 0, "packets")
        running.interrupt()
        self.assertEqual(set(self.received(running.wait().report)), {"239.1.0.6:7148", "239.1.0.7:7148"})

    def test_shards_on_one_machine_have_sockets_of_their_own(self):
        text = plan(heaps=-1, control="auto")
        self.file.write_text(text, encoding="utf-8")
        own = {"RUNTIME_DIRECTORY": str(self.directory)}
        shards = [self.start("run", "--config", self.file, "--shard", f"{i}/2", environment=own) for i in range(2)]
        for running in shards:
            running.wait_for(lambda running=running: "Ctrl-C ends" in running.text(1), "word that it runs")
        for i in range(2):
            shown = subprocess.run([harness.program(), "attach", f"fleet-{i}", "--", "show", "stream"], env={**os.environ, **own},
                                   capture_output=True, text=True, timeout=60 * harness.PATIENCE, check=False)
            self.assertIn(f"; shard {i}/2: ", shown.stdout, shown)
        for running in shards:
            running.interrupt()
            running.wait()


class Plan(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.file = self.directory / "plan.toml"
        self.file.write_text(plan(keys='expected_rate = "16Gbps"'), encoding="utf-8")

    def plan(self, *words, **options):
        return self.run_program("plan", self.file, *words, report=False, **options)

    def test_it_shows_what_run_receives(self):
        document = json.loads(self.plan("--shards", 3, "--format", "json").out)
        for i, shard in enumerate(document["shards"]):
            checked = self.run_program("run", "--config", self.file, "--shard", f"{i}/3", "--check", report=False)
            for stream in shard["streams"]:
                listed = ", ".join(f'"{text}"' for text in stream["endpoints"])
                self.assertIn(f'name = "{stream["name"]}"\nport = "p0"\nendpoints = [{listed}]', checked.out)
        self.assertRegex(self.plan("--shards", 3).out, r"0/3 +4 .*vis 239\.1\.0\.0\+2:7148; ")

    def test_what_no_link_carries_is_refused(self):
        self.assertIn("160 %", self.plan("--shards", 1, status=2).out)
        for words in (("--format", "slurm"), ("--format", "helm")):
            finished = self.plan("--shards", 1, *words, status=2)
            self.assertEqual(finished.out, "")
            self.assertIn("at most 80 %", finished.err)
        self.plan("--shards", 1, "--link-rate", "100Gbps")
        self.plan("--shards", 2)

    def test_wrong_words_are_refused(self):
        for words, says in (((), "--shards"), (("--shards", 0), "0"), (("--shards", 4097), "4096"), (("--shards", "x"), "`x`"),
                            (("--shards", 2, "--format", "yaml"), "--format"),
                            (("--shards", 2, "--format", "file_sd"), "--hosts"),
                            (("--shards", 2, "--hosts", "a,b"), "--hosts"),
                            (("--shards", 2, "--format", "file_sd", "--hosts", "a,b"), "`metrics`")):
            with self.subTest(words):
                self.refused("plan", self.file, *words, says=(says,))
        self.refused("plan", "--shards", 2, says=("file is missing",))

    def test_metrics_that_no_other_host_reaches_are_refused(self):
        text = self.file.read_text(encoding="utf-8")

        def with_metrics(listen):
            runtime = f'control = "off"\nmetrics = "{listen}"'
            self.file.write_text(text.replace('control = "off"', runtime), encoding="utf-8")

        self.refused("plan", self.file, "--shards", 2, "--format", "helm", says=("`metrics`", "probes"))
        for listen in ("127.0.0.1:9100", "127.1.2.3:9100", "9100"):
            with_metrics(listen)
            for words in (("--format", "helm"), ("--format", "file_sd", "--hosts", "recv-{}"),
                          ("--format", "file_sd", "--hosts", "localhost,recv-1")):
                with self.subTest(words, listen=listen):
                    self.refused("plan", self.file, "--shards", 2, *words,
                                 says=("`metrics` listens on 127.", '"0.0.0.0:9100"'))
        here = json.loads(self.plan("--shards", 2, "--format", "file_sd", "--hosts", "127.0.0.1,localhost").out)
        self.assertEqual([one["targets"] for one in here], [["127.0.0.1:9100"], ["localhost:9100"]])
        with_metrics("0.0.0.0:0")
        self.refused("plan", self.file, "--shards", 2, "--format", "helm", says=("no port for `metrics`",))
        with_metrics("0.0.0.0:9100")
        self.assertIn("metricsPort: 9100\n", self.plan("--shards", 2, "--format", "helm").out)

    def test_the_slurm_script_restarts_its_receiver_and_passes_signals_on(self):
        script = self.directory / "job.sh"
        script.write_text(self.plan("--shards", 2, "--format", "slurm").out, encoding="utf-8")
        if shutil.which("shellcheck"):
            checked = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)
            self.assertEqual(checked.returncode, 0, checked.stdout)
        self.file.write_text(plan(heaps=-1), encoding="utf-8")
        log = self.directory / "log"
        with log.open("wb") as out:
            job = subprocess.Popen(["bash", script], stdout=out, stderr=out, env={
                **os.environ, "DPDK_SPEAD_PROGRAM": harness.program(), "SLURM_ARRAY_TASK_ID": "1",
                "SLURM_ARRAY_TASK_COUNT": "1", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": "1"})
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)

        def child():
            children = subprocess.run(["ps", "--ppid", str(job.pid), "-o", "pid=,comm="], capture_output=True, text=True,
                                      check=False).stdout
            found = re.search(r"(\d+) dpdk-spead", children)
            return int(found.group(1)) if found else None

        def wait_for(condition, what):
            for _ in range(int(3000 * harness.PATIENCE)):
                if condition():
                    return
                try:
                    job.wait(0.01)
                except subprocess.TimeoutExpired:
                    continue
                self.fail(f"the job ended before {what}: {log.read_text()}")
            self.fail(f"no {what}: {log.read_text()}")

        def said(text, times=1):
            return log.read_text(encoding="utf-8").count(text) >= times

        dealt = "shard 1/2: 5 of 10 endpoints, in 2 of 3 streams (from --shard)"
        wait_for(lambda: said(dealt) and child(), "the first receiver")
        first = child()
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: said(dealt, 2) and child() not in (None, first), "another receiver")
        self.file.write_text(plan(vis="239.1.0.0+1:7148", heaps=-1), encoding="utf-8")

        def heeds_hangups():
            with open(f"/proc/{child()}/status", encoding="ascii") as status:
                return int(re.search(r"^SigBlk:\s+(\w+)$", status.read(), re.M).group(1), 16) >> (signal.SIGHUP - 1) & 1

        wait_for(heeds_hangups, "a receiver that heeds SIGHUP")
        job.send_signal(signal.SIGHUP)
        wait_for(lambda: said("SIGHUP: shard 1/2: 2 of 4 endpoints"), "word of the new plan")
        job.terminate()
        self.assertEqual(job.wait(60 * harness.PATIENCE), 0, log.read_text())
        self.assertIsNone(child())


if __name__ == "__main__":
    harness.main()
