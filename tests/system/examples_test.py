#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The files of config/: each is loaded, with a device, CPUs and memory that every machine has."""

import pathlib
import re
import tomllib

import harness

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "config"
ON_THE_FLY = (
    (r'^device = "(?!net_ring|net_null).*"', 'device = "net_null0"'),
    (r"^(lcores|main_cpu) = .*", ""),
    (r'^heaps = "\d+GiB"', 'heaps = "512MiB"'),
)


class Examples(harness.ProgramTest):
    def test_each_is_a_plan(self):
        files = sorted(CONFIG.glob("*.toml"))
        self.assertGreaterEqual(len(files), 13)
        for file in files:
            with self.subTest(file=file.name):
                text = file.read_text(encoding="utf-8")
                for pattern, instead in ON_THE_FLY:
                    text = re.sub(pattern, instead, text, flags=re.MULTILINE)
                here = self.directory / file.name
                here.write_text(text, encoding="utf-8")
                finished = self.run_program("run", "--config", here, "--check", report=False)
                wanted, planned = tomllib.loads(text), tomllib.loads(finished.out)
                for kind in ("receive", "send"):
                    for asked, got in zip(wanted.get(kind, []), planned.get(kind, []), strict=True):
                        self.assertEqual((asked["name"], asked["endpoints"]), (got["name"], got["endpoints"]))
                        for key in ("max_packet_size", "substreams", "poll"):
                            if key in asked:
                                self.assertEqual(asked[key], got[key], f"{asked['name']} {key}")

    def test_telescopes_run_on_this_machine(self):
        for name, heaps in (("p1-digitisers", 20480), ("p2-channels-small", 4096), ("p3-channels-large", 8192),
                            ("p4-visibilities", 40)):
            with self.subTest(name=name):
                text = (CONFIG / f"{name}.toml").read_text(encoding="utf-8")
                text = re.sub(r"^heaps = \d+\b", f"heaps = {heaps}", text, flags=re.MULTILINE)
                text = re.sub(r"^rate = .*", "", text, flags=re.MULTILINE)
                here = self.directory / f"{name}.toml"
                here.write_text(text, encoding="utf-8")
                report = self.run_program("run", "--config", here).report
                self.assertEqual(report["sends"][0]["heaps"], heaps)
                streams = [stream["info"] for stream in report["streams"]]
                self.assertEqual((sum(s["verified"] for s in streams), sum(s["wrong"] for s in streams)), (heaps, 0))

    def test_two_paths_bring_together_what_each_loses(self):
        report = self.run_program("run", "--config", CONFIG / "two-paths.toml").report
        stream = report["streams"][0]
        self.assertEqual([send["heaps"] for send in report["sends"]], [400, 400])
        self.assertEqual((stream["info"]["wrong"], stream["packets"]["late"], stream["packets"]["duplicate"]), (0, 0, 0))
        self.assertGreater(stream["info"]["verified"], 300)
        for path in stream["paths"]:
            self.assertGreater(path["used"], 0)
            self.assertGreater(path["missing"], 0)

    def test_each_names_cpus_that_its_comments_speak_of(self):
        for file in CONFIG.glob("card-*.toml"):
            plan = tomllib.loads(file.read_text(encoding="utf-8"))
            cpus = [cpu for stream in plan["receive"] for cpu in stream["lcores"]]
            self.assertEqual(len(cpus), len(set(cpus)), f"{file.name} gives a CPU to two streams")
            self.assertNotIn(plan["runtime"]["main_cpu"], cpus, file.name)


if __name__ == "__main__":
    harness.main()
