#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Ansible role: with --check on this machine, and for real into directories of the test, where a script stands in
for systemctl. Nothing is installed and no service is touched."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import harness
from shards_test import plan

ROLE = Path(__file__).resolve().parents[2] / "config/deploy/ansible"
HOSTS = ("recv-0", "recv-1")
# Logs its words, and says that every unit is there and runs.
SYSTEMCTL = """#!/bin/sh
echo "$*" >>{log}
[ "$1" != show ] || printf 'LoadState=loaded\\nActiveState=active\\nUnitFileState=enabled\\n'
"""


class Ansible(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        if not shutil.which("ansible-playbook"):
            self.skipTest("ansible-playbook is not installed (scripts/deps --deploy)")
        self.plan = self.directory / "plan.toml"
        self.plan.write_text(plan(), encoding="utf-8")
        self.calls = self.directory / "calls"
        stand_in = self.directory / "bin/systemctl"
        stand_in.parent.mkdir()
        stand_in.write_text(SYSTEMCTL.format(log=self.calls), encoding="utf-8")
        stand_in.chmod(0o755)
        host = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}
        settings = {"dpdk_spead_plan": str(self.plan), "dpdk_spead_instance": "xengines", "dpdk_spead_metrics_port": 0,
                    "dpdk_spead_deb": str(self.directory / "none.deb"), "dpdk_spead_program": harness.program(),
                    "dpdk_spead_service": "CPUAffinity=2-9",
                    "dpdk_spead_etc": f"{self.directory}/{{{{ inventory_hostname }}}}/etc",
                    "dpdk_spead_units": f"{self.directory}/{{{{ inventory_hostname }}}}/units"}
        inventory = {"receivers": {"hosts": {name: host for name in HOSTS}, "vars": settings}}
        (self.directory / "inventory.json").write_text(json.dumps(inventory), encoding="utf-8")

    def play(self, *words, status=0):
        """Returns what ansible-playbook printed, and {host: {"changed": N, ...}}."""
        own = {f"ANSIBLE_{name}": str(self.directory / name) for name in ("LOCAL_TEMP", "REMOTE_TEMP", "HOME")}
        environment = {**os.environ, **own, "PATH": f"{self.directory}/bin:{os.environ['PATH']}", "ANSIBLE_NOCOLOR": "1",
                       "ANSIBLE_PIPELINING": "1"}
        command = ["ansible-playbook", "-i", self.directory / "inventory.json", ROLE / "receivers.yml", *words]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment,
                              cwd=self.directory, timeout=120 * harness.PATIENCE, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        recap = re.findall(r"(?m)^(\S+) +: (ok=.*)$", done.stdout)
        return done.stdout, {host: {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", counts)}
                             for host, counts in recap}

    def systemctl(self):
        """Returns what systemctl was called for since the last time, without questions."""
        lines = self.calls.read_text(encoding="utf-8").splitlines() if self.calls.exists() else []
        self.calls.unlink(missing_ok=True)
        return [line for line in lines if line.split()[0] not in ("show", "is-enabled", "is-active")]

    def test_syntax_and_a_check_that_changes_nothing(self):
        self.play("--syntax-check")
        _, recap = self.play("--check", "--diff", "--limit", HOSTS[0])
        self.assertGreater(recap[HOSTS[0]]["changed"], 3)
        self.assertFalse((self.directory / HOSTS[0]).exists())
        self.assertEqual(self.systemctl(), [])

    def test_each_host_becomes_a_shard_and_changes_restart_only_what_they_must(self):
        real = ("--skip-tags", "package")
        self.play(*real)
        for i, host in enumerate(HOSTS):
            etc, drop_in = self.directory / host / "etc", self.directory / host / "units/dpdk-spead@xengines.service.d"
            self.assertEqual((etc / "xengines.shard").read_text(encoding="utf-8"), f"DPDK_SPEAD_SHARD={i}/2\n")
            self.assertEqual((etc / "xengines.toml").read_text(encoding="utf-8"), plan())
            self.assertEqual((drop_in / "shard.conf").read_text(encoding="utf-8"),
                             (ROLE.parent / "systemd/shard.conf").read_text(encoding="utf-8"))
            self.assertEqual((drop_in / "host.conf").read_text(encoding="utf-8"), "[Service]\nCPUAffinity=2-9\n")
        self.assertEqual([line for line in self.systemctl() if "restart" in line], 2 * ["restart dpdk-spead@xengines"])
        self.plan.write_text(plan(vis="239.1.0.0+3:7148"), encoding="utf-8")
        _, recap = self.play(*real, "--limit", HOSTS[1])
        self.assertEqual(recap[HOSTS[1]]["changed"], 2, "the file, and the reload")
        self.assertEqual([line for line in self.systemctl() if line != "daemon-reload"], ["reload dpdk-spead@xengines"])

    def test_a_wrong_plan_stops_at_the_first_host(self):
        self.plan.write_text(plan() + "nonsense = 1\n", encoding="utf-8")
        said, recap = self.play("--skip-tags", "package", status=2)
        self.assertIn("nonsense", said)
        self.assertNotIn(HOSTS[1], recap, "the next host is left alone")
        self.assertFalse((self.directory / HOSTS[0] / "etc/xengines.toml").exists())
        self.assertEqual(self.systemctl(), [])


if __name__ == "__main__":
    harness.main()
