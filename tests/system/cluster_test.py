#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/cluster, with a script in place of kubectl and helm that plays a cluster: what is asked for, in which order,
and what is left behind. Only a real cluster tells how long a shard receives nothing."""

import json
import os
import subprocess
import sys
import textwrap
import unittest
from pathlib import Path

import harness

ROOT = Path(__file__).resolve().parents[2]
try:
    import yaml
except ImportError:
    yaml = None

# Both programs. The state is a file: nodes, pods by shard, commands.
PLAYED = textwrap.dedent("""\
    #!{python}
    import json, sys, yaml
    from pathlib import Path
    file = Path({state!r})
    state, words = json.loads(file.read_text()), sys.argv[1:]
    state["said"].append(Path(sys.argv[0]).name + " " + " ".join(words))
    pods = state["pods"]
    def new_pod(shard):
        state["last"] += 1
        free = [n for n in state["nodes"] if n not in state["drained"] + [p["node"] for p in pods.values()]]
        pods[shard] = {{"uid": state["last"], "node": free[0], "restarts": 0, "looks": 0}}
    def after(word):
        return words[words.index(word) + 1] if word in words else None
    if "upgrade" in words:
        values = yaml.safe_load(open(after("--values")))
        pods.clear()
        for shard in values["shards"]:
            new_pod(shard["shard"].split("/")[0])
    elif "nodes" in words:
        print(json.dumps({{"items": [{{"metadata": {{"name": n}}, "spec": {{}}}} for n in state["nodes"]]
                         + [{{"metadata": {{"name": "control"}}, "spec": {{"taints": [{{"effect": "NoSchedule"}}]}}}}]}}))
    elif "pods" in words and "--selector" in words and "get" in words:
        shard = after("--selector").split("=")[1]
        pod = pods[shard]
        pod["looks"] += 1
        print(json.dumps({{"items": [{{"metadata": {{"name": "pod-" + shard, "uid": str(pod["uid"])}},
            "spec": {{"nodeName": pod["node"]}}, "status": {{"containerStatuses": [{{"restartCount": pod["restarts"]}}]}}}}]}}))
    elif "--raw" in words:
        shard = words[-1].split("/pods/pod-")[1].split(":")[0]
        mine = {mine}
        print('spead_stream_heaps_delivered_total{{stream="s0"}} %d' % (7 if pods[shard]["looks"] > 2 else 0))
        print('spead_plan_endpoints{{scope="mine"}} %d' % mine)
    elif "exec" in words:
        pods["0"].update(restarts=pods["0"]["restarts"] + 1, looks=0)
    elif "--force" in words:
        pods.pop("0")
        new_pod("0")
    elif "drain" in words:
        state["drained"].append(words[words.index("drain") + 1])
        pods.pop("0")
        new_pod("0")
    file.write_text(json.dumps(state))
    """)


@unittest.skipIf(yaml is None, "Debian's python3-yaml is not installed (scripts/deps --deploy)")
class Cluster(harness.ProgramTest):
    def run_trials(self, nodes, *options, mine="3", status=0):
        state = self.directory / "state.json"
        state.write_text(json.dumps({"nodes": nodes, "pods": {}, "drained": [], "said": [], "last": 0}))
        for name in ("kubectl", "helm"):
            program = self.directory / name
            program.write_text(PLAYED.format(python=sys.executable, state=str(state), mine=mine), encoding="utf-8")
            program.chmod(0o755)
        done = subprocess.run([sys.executable, ROOT / "scripts/cluster", "--image", "r.example:5000/spead:1", "--interface",
                               "eth7", "--program", harness.program(), *options], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{self.directory}:{os.environ['PATH']}"}, timeout=120 * harness.PATIENCE)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr, json.loads(state.read_text(encoding="utf-8"))

    # A shard's part: 3 of 6 endpoints, and 4 of the 8 that the changed plan has.
    MINE = "3 if sum('upgrade' in line for line in state['said']) == 1 else 4"

    def test_all_trials_and_nothing_is_left(self):
        out, state = self.run_trials(["n0", "n1", "n2"], mine=self.MINE)
        self.assertIn("5 passed, 0 failed, 0 skipped", out)
        self.assertIn("6 endpoints in 2 shards", out)
        self.assertRegex(out, r"drain: heaps again after [0-9.]+ s, on n\d \(was n\d\)")
        said = state["said"]
        self.assertTrue(said[0].endswith("create namespace dpdk-spead-trial"), said[0])
        self.assertEqual(said[-2], f"kubectl --namespace dpdk-spead-trial uncordon {state['drained'][0]}")
        self.assertIn("delete namespace dpdk-spead-trial", said[-1])
        [first, second] = [line for line in said if "upgrade" in line]
        for line in (first, second):
            self.assertIn("image.repository=r.example:5000/spead --set-string image.tag=1", line)
        self.assertEqual(len([line for line in said if "apply --filename -" in line]), 2, "a sender for each plan")

    def test_without_a_spare_node_nothing_is_drained(self):
        out, state = self.run_trials(["n0", "n1"], "--context", "far", mine=self.MINE)
        self.assertIn("4 passed, 0 failed, 1 skipped", out)
        self.assertEqual(state["drained"], [])
        self.assertTrue(all("--context far" in line or "--kube-context far" in line for line in state["said"]))

    def test_endpoints_in_two_shards_fail(self):
        out, state = self.run_trials(["n0", "n1"], mine="4", status=1)
        self.assertIn("the shards have 8 endpoints, and the plan 6", out)
        self.assertIn("delete namespace dpdk-spead-trial", state["said"][-1])

    def test_what_it_cannot_do_it_says(self):
        out, state = self.run_trials(["n0"], status=1)
        self.assertIn("2 shards want a node each, and 1 take pods", out)
        self.assertIn("delete namespace", state["said"][-1])
        out, _ = self.run_trials(["n0", "n1"], "--kubectl", "no-such-kubectl", status=1)
        self.assertIn("there is no program no-such-kubectl", out)


if __name__ == "__main__":
    harness.main()
