#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The script that `plan --format slurm` writes, under Debian's Slurm with three nodes: two shards and a spare node."""

import os
import re
import signal
import subprocess

import namespaces  # first: it makes tests/system importable
import harness
import slurm_cluster
import wire
from slurm_cluster import wait_until

PACKETS = re.compile(r'^spead_stream_endpoint_packets_total\{.*endpoint="([^"]+)".*\} (\S+)$', re.M)
SHARD = re.compile(r'^spead_shard_info\{.*shard="(\d+)",shards="2"', re.M)
# In each shard two, in the order of the file.
GROUPS = [f"239.1.0.{i}:7148" for i in range(4)]
OF_SHARD = [set(GROUPS[:2]), set(GROUPS[2:])]


def plan(more=""):
    return f"""version = 1
[runtime]
name = "fleet"
control = "off"
metrics = "0.0.0.0:9100"
[[port]]
name = "p0"
device = "net_af_packet0,iface=eth0"
[[receive]]
name = "vis"
port = "p0"
endpoints = ["239.1.0.0+3:7148"]
max_packet_size = 1472
buffer_size = "256KiB"
heaps = {{ max_bytes = "64KiB" }}
{more}"""


ANOTHER = """[[receive]]
name = "cal"
port = "p0"
endpoints = ["239.2.0.0+1:7148"]
max_packet_size = 1472
buffer_size = "256KiB"
heaps = { max_bytes = "64KiB" }
"""


class Slurm(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        reason = slurm_cluster.why_not()
        if reason:
            self.skipTest(reason)
        self.plan = self.directory / "plan.toml"
        self.plan.write_text(plan(), encoding="utf-8")
        script = self.directory / "job.sh"
        script.write_text(self.run_program("plan", self.plan, "--shards", 2, "--format", "slurm", report=False).out,
                          encoding="utf-8")
        self.cluster = slurm_cluster.Cluster(self.directory, f"spead-{os.getpid()}-{self._testMethodName[-6:]}")
        self.addCleanup(self.cluster.close)
        self.sender = self.cluster.head_socket()
        self.heap = 0
        self.cluster.wait_until_idle()

    def submit(self, *words):
        """Submits the script as it is, from a shell whose limit for locked memory is low."""
        said = self.cluster.run("prlimit", f"--memlock={64 << 10}", "sbatch", *words, "job.sh",
                                DPDK_SPEAD_PROGRAM=harness.program())
        return re.search(r"Submitted batch job (\d+)", said)[1]

    def explain(self):
        shards = "".join(f"-- {file.name}\n{file.read_text(errors='replace')[-3000:]}"
                         for file in self.directory.glob("fleet-*.log"))
        return f"{self.cluster.run('squeue', '-r', check=False)}\n{shards}\n{self.cluster.logs()}"

    def received(self, node):
        """Returns (shard, {endpoint: packets}) of the receiver on a node while the sender sends to every group; None
        if no receiver answers."""
        self.heap += 1
        for group in [*GROUPS, "239.2.0.0:7148", "239.2.0.1:7148"]:
            for packet in wire.heap(self.heap, b"x" * 2000):
                self.sender.sendto(packet, (group.split(":")[0], 7148))
        metrics = self.cluster.fetch(node, 9100, "/metrics")
        shard = SHARD.search(metrics or "")
        return (int(shard[1]), {group: float(count) for group, count in PACKETS.findall(metrics)}) if shard else None

    def where(self, groups_of_shard=OF_SHARD):
        """Returns {shard: node} once both shards receive packets of each of their groups, and of no other; else
        None."""
        nodes = {}
        for node in self.cluster.nodes:
            answer = self.received(node) if node in self.cluster.running() else None
            if answer:
                self.assertNotIn(answer[0], nodes, "a shard runs twice")
                got = {group: count for group, count in answer[1].items() if group != "former"}
                if set(got) != groups_of_shard[answer[0]] or not all(got.values()):
                    return None
                nodes[answer[0]] = node
        return nodes if set(nodes) == {0, 1} else None

    def wait_for_both(self, groups_of_shard=OF_SHARD, timeout=60):
        """Returns ({shard: node}, seconds)."""
        found = {}

        def look():
            found.update(self.where(groups_of_shard) or {})
            return found

        return found, wait_until(look, "packets in both shards", self.explain, timeout)

    def log(self, shard):
        return (self.directory / f"fleet-{shard}.log").read_text(encoding="utf-8")

    def test_each_shard_receives_its_groups_and_hangup_reads_a_changed_plan(self):
        job = self.submit()
        nodes, _ = self.wait_for_both()
        self.assertNotEqual(nodes[0], nodes[1], "a node has one receiver")
        self.plan.write_text(plan(ANOTHER), encoding="utf-8")
        before = {node: self.cluster.processes_of(node, "dpdk-spead") for node in nodes.values()}
        self.assertEqual([len(pids) for pids in before.values()], [1, 1])
        self.cluster.run("scancel", "--batch", "--signal=HUP", job)
        changed = [OF_SHARD[0] | {"239.2.0.0:7148"}, OF_SHARD[1] | {"239.2.0.1:7148"}]
        self.assertEqual(self.wait_for_both(changed)[0], nodes)
        self.assertEqual({node: self.cluster.processes_of(node, "dpdk-spead") for node in nodes.values()}, before)
        for shard, node in nodes.items():
            with open(f"/proc/{before[node][0]}/limits", encoding="ascii") as limits:
                self.assertNotIn(str(64 << 10), re.search(r"Max locked memory +(\S+)", limits.read())[1],
                                 "the limits are those of the node, not of the submitting shell")
        self.cluster.run("scancel", job)
        wait_until(lambda: not self.cluster.run("squeue", "-h", "-j", job, check=False), "end of the job", self.explain)
        for shard in nodes:
            self.assertIn(f"SIGHUP: shard {shard}/2: 3 of 6 endpoints", self.log(shard))

    def test_a_killed_receiver_starts_again_and_a_wrong_plan_does_not(self):
        job = self.submit()
        nodes, _ = self.wait_for_both()
        killed, = self.cluster.processes_of(nodes[1], "dpdk-spead")
        os.kill(killed, signal.SIGKILL)
        seconds = wait_until(lambda: self.cluster.processes_of(nodes[1], "dpdk-spead") not in ([], [killed]),
                             "another receiver", self.explain)
        again, more = self.wait_for_both(timeout=30)
        self.assertEqual(again, nodes)
        print(f"# packets again after kill -9: {seconds + more:.1f} s", flush=True)
        # Status 2: no other start could succeed.
        self.plan.write_text(plan("nonsense = 1\n"), encoding="utf-8")
        killed, = self.cluster.processes_of(nodes[1], "dpdk-spead")
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: "ExitCode=2:0" in self.cluster.run("scontrol", "show", "job", f"{job}_1"), "status 2",
                   self.explain)
        self.assertEqual(self.cluster.run("squeue", "-r", "-h", "-j", job, "-t", "R", "-o", "%K").split(), ["0"])

    def test_the_shard_of_a_lost_node_goes_to_the_spare_one(self):
        self.submit()
        nodes, _ = self.wait_for_both()
        spare, = set(self.cluster.nodes) - set(nodes.values())
        self.cluster.lose(nodes[0])
        again, seconds = self.wait_for_both(timeout=120)
        self.assertEqual(again, {0: spare, 1: nodes[1]})
        print(f"# packets again after a node was lost: {seconds:.0f} s", flush=True)
        self.assertEqual(self.log(0).count("shard 0/2: 2 of 4 endpoints"), 2, "the log goes on")


if __name__ == "__main__":
    harness.main()
