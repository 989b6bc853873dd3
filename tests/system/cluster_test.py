#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/cluster, with a script in place of kubectl and helm that plays a cluster: what is asked for, in which order,
and what is left behind. Only a real cluster tells how long a shard receives nothing."""

import json
import os
import signal
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

# Both programs. The state is a file: nodes, pods by shard, commands, and what goes wrong. A shard has a pod that was
# evicted, too. After a pod is taken away by force, its process still answers some times.
STALE = 4
PLAYED = textwrap.dedent("""\
    #!{python}
    import json, os, signal, sys, yaml
    from pathlib import Path
    file = Path({state!r})
    state, words = json.loads(file.read_text()), sys.argv[1:]
    state["said"].append(Path(sys.argv[0]).name + " " + " ".join(words))
    pods = state["pods"]
    def new_pod(shard):
        state["last"] += 1
        free = [n for n in state["nodes"] if n not in state["drained"] + [p["node"] for p in pods.values()]]
        pods[shard] = {{"uid": state["last"], "node": free[0], "restarts": 0, "looks": 0,
                       "began": 1795944144.5 + state["last"], "stale": 0}}
    def after(word):
        return words[words.index(word) + 1] if word in words else None
    if "upgrade" in words:
        values = yaml.safe_load(open(after("--values")))
        pods.clear()
        for shard in values["shards"]:
            new_pod(shard["shard"].split("/")[0])
        state["port"] = values["metricsPort"]
        if state["killed_by"]:
            file.write_text(json.dumps(state))
            os.kill(os.getppid(), state["killed_by"])
            sys.exit()
    elif "nodes" in words:
        print(json.dumps({{"items": [{{"metadata": {{"name": n}}, "spec": {{}}}} for n in state["nodes"]]
                         + [{{"metadata": {{"name": "control"}}, "spec": {{"taints": [{{"effect": "NoSchedule"}}]}}}}]}}))
    elif "pods" in words and "--selector" in words and "get" in words:
        shard = after("--selector").split("=")[1]
        pod = pods[shard]
        pod["looks"] += 1
        mine = {{"metadata": {{"name": "pod-" + shard, "uid": str(pod["uid"])}}, "spec": {{"nodeName": pod["node"]}},
                "status": {{"phase": "Running", "containerStatuses": [{{"restartCount": pod["restarts"]}}]}}}}
        evicted = {{"metadata": {{"name": "evicted", "uid": "0"}}, "spec": {{"nodeName": "n9"}}, "status": {{"phase": "Failed"}}}}
        print(json.dumps({{"items": [evicted] + [mine] * (2 if state["twins"] else 1)}}))
    elif "--raw" in words:
        shard = words[-1].split("/pods/pod-")[1].split(":")[0]
        pod, mine = pods[shard], {mine}
        stale, pod["stale"] = pod["stale"] > 0, max(pod["stale"] - 1, 0)
        count = 7 if pod["looks"] > 2 or stale else 0
        print('process_start_time_seconds{{process="trial"}} %.1f' % (pod["old"] if stale else pod["began"]))
        print('spead_stream_heaps_delivered_total{{process="trial",stream="s0"}} %d' % count)
        first = int(shard) * (mine - 1 if state["overlap"] else mine)
        for i in range(first, first + mine):
            print('spead_stream_endpoint_packets_total{{process="trial",stream="s0",endpoint="239.255.71.%d:7148"}} %d' % (i, count))
        print('spead_plan_endpoints{{process="trial",scope="all"}} %d' % (2 * mine))
        print('spead_plan_endpoints{{process="trial",scope="mine"}} %d' % mine)
    elif "apply" in words:
        state["sender"] = json.load(sys.stdin)["spec"]
    elif "exec" in words:
        pods["0"].update(restarts=pods["0"]["restarts"] + 1, looks=0, began=pods["0"]["began"] + 0.5)
        file.write_text(json.dumps(state))
        sys.exit(state["exec"])
    elif "--force" in words:
        old = pods.pop("0")["began"]
        new_pod("0")
        pods["0"].update(old=old, stale={stale})
    elif "drain" in words:
        state["drained"].append(words[words.index("drain") + 1])
        pods.pop("0")
        new_pod("0")
    file.write_text(json.dumps(state))
    if state["fails"] and state["fails"] in words:
        sys.exit("the played %s fails" % state["fails"])
    """)


@unittest.skipIf(yaml is None, "Debian's python3-yaml is not installed (scripts/deps --deploy)")
class Cluster(harness.ProgramTest):
    def run_trials(self, nodes, *options, mine="3", status=0, **wrong):
        state = self.directory / "state.json"
        state.write_text(json.dumps({"nodes": nodes, "pods": {}, "drained": [], "said": [], "last": 0, "killed_by": 0,
                                     "twins": False, "overlap": False, "fails": "", "exec": 137, **wrong}))
        for name in ("kubectl", "helm"):
            program = self.directory / name
            program.write_text(PLAYED.format(python=sys.executable, state=str(state), mine=mine, stale=STALE), encoding="utf-8")
            program.chmod(0o755)
        done = subprocess.run([sys.executable, ROOT / "scripts/cluster", "--image", "r.example:5000/spead:1", "--interface",
                               "eth7", "--program", harness.program(), *options], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{self.directory}:{os.environ['PATH']}"}, timeout=120 * harness.PATIENCE)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr, json.loads(state.read_text(encoding="utf-8"))

    # A shard's part: 3 of 6 endpoints, and 4 of the 8 that the changed plan has.
    MINE = "3 if sum('upgrade' in line for line in state['said']) == 1 else 4"

    def test_all_trials_and_nothing_is_left(self):
        out, state = self.run_trials(["n0", "n1", "n2", "n3"], mine=self.MINE)
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
        self.assertIn("net_af_packet0,iface=eth7", state["sender"]["containers"][0]["args"])
        [apart] = state["sender"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        self.assertEqual(apart["labelSelector"]["matchLabels"], {"app.kubernetes.io/instance": "receivers"})
        self.assertEqual(state["port"], 17148)
        asked = [line for line in said if "--raw" in line]
        self.assertTrue(all(":17148/proxy/metrics" in line for line in asked), asked)
        [lost] = [i for i, line in enumerate(said) if "--force" in line]
        [drained] = [i for i, line in enumerate(said) if " drain " in line]
        of_shard = [line for line in said[lost:drained] if "--raw" in line and "/pod-0:" in line]
        self.assertGreater(len(of_shard), STALE + 1, "heaps of the process before do not count")

    def test_without_a_spare_node_nothing_is_drained(self):
        out, state = self.run_trials(["n0", "n1", "n2"], "--context", "far", "--metrics-port", "9123", mine=self.MINE)
        self.assertIn("4 passed, 0 failed, 1 skipped", out)
        self.assertEqual((state["drained"], state["port"]), ([], 9123))
        self.assertTrue(all(":9123/" in line for line in state["said"] if "--raw" in line))
        self.assertTrue(all("--context far" in line or "--kube-context far" in line for line in state["said"]))

    def test_one_shard_wants_three_nodes(self):
        out, _ = self.run_trials(["n0", "n1", "n2"], "--shards", "1", mine="3 if sum('upgrade' in line for line in state['said']) == 1 else 5")
        self.assertIn("3 endpoints in 1 shard,", out)
        self.assertIn("5 passed, 0 failed, 0 skipped", out)

    def test_endpoints_in_two_shards_fail(self):
        out, state = self.run_trials(["n0", "n1", "n2"], mine="4", status=1)
        self.assertIn("the shards have 8 endpoints, and the plan 6", out)
        self.assertIn("delete namespace dpdk-spead-trial", state["said"][-1])

        out, _ = self.run_trials(["n0", "n1", "n2"], overlap=True, status=1)
        self.assertIn("endpoints are received twice: 239.255.71.2:7148 in shards 0 and 1", out)

    def test_a_shard_of_two_pods_and_a_refused_signal_fail(self):
        out, _ = self.run_trials(["n0", "n1", "n2"], mine=self.MINE, status=1, twins=True)
        self.assertIn("restart failed: shard 0 should have one pod, and has 2 (pod-0, pod-0)", out)
        self.assertIn("2 passed, 2 failed, 1 skipped", out)
        out, _ = self.run_trials(["n0", "n1", "n2"], mine=self.MINE, status=1, exec=1)
        self.assertRegex(out, r"restart failed: `kubectl .* exec pod-0 .*` failed")

    def test_each_step_of_the_end_is_tried(self):
        out, state = self.run_trials(["n0", "n1", "n2", "n3"], mine=self.MINE, status=1, fails="uncordon")
        self.assertIn("5 passed, 1 failed, 0 skipped", out)
        self.assertRegex(out, r"left to be done by hand: `kubectl .* uncordon n\d` failed: the played uncordon fails")
        self.assertIn("delete namespace dpdk-spead-trial", state["said"][-1])

    def test_signals_end_it_and_nothing_is_left(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number.name):
                out, state = self.run_trials(["n0", "n1", "n2"], status=128 + number, killed_by=number)
                self.assertIn(f"{number.name} ends the trials", out)
                self.assertIn("delete namespace dpdk-spead-trial", state["said"][-1])

    def test_what_it_cannot_do_it_says(self):
        out, state = self.run_trials(["n0", "n1"], status=1)
        self.assertIn("2 shards and the sender want a node each, and 2 take pods", out)
        self.assertIn("delete namespace", state["said"][-1])
        out, _ = self.run_trials(["n0", "n1", "n2"], "--kubectl", "no-such-kubectl", status=1)
        self.assertIn("there is no program no-such-kubectl", out)


if __name__ == "__main__":
    harness.main()
