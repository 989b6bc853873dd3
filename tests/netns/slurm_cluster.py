# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm cluster of the test's own: slurmctld, a slurmd per node and one munged. Each node has namespaces for its
network, mounts, host name and processes; a bridge joins them. Nothing of the machine's own Slurm is read or started."""

import ctypes
import http.client
import os
import shutil
import signal
import socket
import subprocess
import time

import namespaces  # first: it makes tests/system importable
import harness

DAEMONS = ("slurmctld", "slurmd", "munged", "sbatch", "scontrol", "scancel", "squeue", "sinfo")
HEAD_ADDRESS = "10.9.0.100"
PR_SET_PDEATHSIG = 1

# proctrack/linuxproc and task/none: containers and this machine's cgroups are no part of the test. cred_expire: Slurm
# keeps a job that it takes from a dead node back for as long as credentials live. Timeouts are those of a wire.
SLURM_CONF = """
ClusterName=spead
SlurmctldHost=head({head})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={directory}/munge/socket,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool.%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.%n.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.%n.log
SlurmdParameters=config_overrides
SlurmdTimeout={node_timeout}
MessageTimeout=5
TCPTimeout=2
ReturnToService=2
KillWait=30
SchedulerParameters=sched_interval=2,bf_interval=2
SelectType=select/cons_tres
NodeName=n[0-{last}] NodeAddr=10.9.0.[1-{count}] CPUs=2 RealMemory=1024
PartitionName=receivers Nodes=ALL Default=YES MaxTime=INFINITE
"""
# slurmd wants a version of cgroups. With the plugins above it uses nothing of it, and an empty directory will do.
CGROUP_CONF = """
CgroupPlugin=cgroup/v1
CgroupMountpoint={directory}/cgroup
"""


def why_not():
    """Returns why there can be no cluster here, or None."""
    missing = [name for name in DAEMONS if shutil.which(name, path=namespaces.PATH) is None]
    if missing:
        return f"{missing[0]} is not installed (scripts/deps --deploy)"
    return namespaces.why_not()


def _die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Cluster:
    """Starts with the constructor; `close()` ends every process and removes the namespaces."""

    def __init__(self, directory, stem, count=3, node_timeout=10):
        self.directory, self.count = directory, count
        self.head = f"{stem}-head"
        self.nodes = [f"n{i}" for i in range(count)]
        self._namespaces, self._processes = [], {}
        self.environment = {**os.environ, "PATH": namespaces.PATH, "SLURM_CONF": str(directory / "slurm.conf")}
        try:
            self._connect(stem)
            self._configure(node_timeout)
            self._start_daemons()
        except BaseException:
            self.close()
            raise

    def namespace(self, node):
        return f"{self.head[:-len('head')]}{node}"

    def _add_namespace(self, name):
        namespaces.ip("netns", "add", name)
        self._namespaces.append(name)
        namespaces.ip("link", "set", "lo", "up", namespace=name)

    def _connect(self, stem):
        """A bridge in the head's namespace, and a veth pair from it to each node's `eth0`."""
        self._add_namespace(self.head)
        namespaces.ip("link", "add", "br0", "type", "bridge", "mcast_snooping", "0", namespace=self.head)
        namespaces.ip("addr", "add", f"{HEAD_ADDRESS}/24", "dev", "br0", namespace=self.head)
        namespaces.ip("link", "set", "br0", "up", namespace=self.head)
        namespaces.ip("route", "add", "224.0.0.0/4", "dev", "br0", namespace=self.head)
        for i, node in enumerate(self.nodes):
            there = self.namespace(node)
            self._add_namespace(there)
            namespaces.ip("link", "add", node, "type", "veth", "peer", "name", "eth0", "netns", there,
                          namespace=self.head)
            namespaces.ip("link", "set", node, "master", "br0", "up", namespace=self.head)
            namespaces.ip("addr", "add", f"10.9.0.{i + 1}/24", "dev", "eth0", namespace=there)
            namespaces.ip("link", "set", "eth0", "up", namespace=there)
            namespaces.ip("route", "add", "224.0.0.0/4", "dev", "eth0", namespace=there)

    def _configure(self, node_timeout):
        for name in ("munge", "state", "cgroup"):
            (self.directory / name).mkdir(mode=0o755)
        self.directory.chmod(0o755)
        key = self.directory / "munge/key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(1024))
        for name, text in (("slurm.conf", SLURM_CONF), ("cgroup.conf", CGROUP_CONF)):
            (self.directory / name).write_text(text.format(
                head=HEAD_ADDRESS, directory=self.directory, node_timeout=node_timeout, count=self.count,
                last=self.count - 1), encoding="utf-8")

    def _start(self, name, *command):
        with open(self.directory / f"{name}.out", "wb") as log:
            self._processes[name] = subprocess.Popen(
                [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self.environment, preexec_fn=_die_with_parent, cwd=self.directory)

    def _start_in(self, namespace, name, command):
        """Starts a daemon on a host of its own. All its processes end with the first one."""
        self._start(name, "ip", "netns", "exec", namespace, "unshare", "--mount", "--uts", "--pid", "--fork",
                    "--kill-child", "--mount-proc", "sh", "-c",
                    # The shell stays, as the parent of those whose parent has ended.
                    f"hostname {name} && {command} & wait")

    def _start_daemons(self):
        munge = self.directory / "munge"
        self._start("munged", "munged", "--foreground", f"--key-file={munge}/key", f"--socket={munge}/socket",
                    f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        wait_until((munge / "socket").exists, "munged's socket", self.logs)
        self._start_in(self.head, "head", "slurmctld -D -c")
        for node in self.nodes:
            self._start_in(self.namespace(node), node, f"slurmd -D -N {node}")

    def logs(self):
        """Returns the ends of what all daemons have written, for a test that fails."""
        files = sorted([*self.directory.glob("*.log"), *self.directory.glob("*.out")])
        return "\n".join(f"-- {file.name}\n{file.read_text(errors='replace')[-2000:]}" for file in files)

    def run(self, *command, check=True, **variables):
        """Runs a command on the head and returns its standard output."""
        done = subprocess.run(["ip", "netns", "exec", self.head, *map(str, command)], capture_output=True, text=True,
                              env={**self.environment, **variables}, cwd=self.directory,
                              timeout=60 * harness.PATIENCE, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))}: {done.stderr.strip()}\n{self.logs()}")
        return done.stdout

    def wait_until_idle(self):
        """Waits until every node is ready for jobs."""
        wait_until(lambda: self.run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N", check=False).split() == self.nodes,
                   "idle nodes", self.logs)

    def processes_of(self, node, name):
        """Returns the ids, as seen from here, of processes on a node by the first 15 letters of their name."""
        found = []
        for pid in namespaces.ip("netns", "pids", self.namespace(node)).split():
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as comm:
                    if comm.read().strip() == name[:15]:
                        found.append(int(pid))
            except FileNotFoundError:
                pass
        return found

    def running(self):
        """Returns the nodes that have not been lost."""
        return [node for node in self.nodes if node in self._processes]

    def head_socket(self):
        """Returns a UDP socket on the bridge that joins the nodes."""
        with namespaces.inside(self.head):
            return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def fetch(self, node, port, path):
        """Returns what an HTTP server on a node answers with status 200; None: it does not."""
        with namespaces.inside(self.namespace(node)):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10 * harness.PATIENCE)
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                return answer.read().decode() if answer.status == 200 else None
            except OSError:
                return None
            finally:
                connection.close()

    def lose(self, node):
        """A node loses power: its processes end without a word, and its link is down."""
        namespaces.ip("link", "set", node, "down", namespace=self.head)
        self._end(node)

    def _end(self, name):
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def close(self):
        for name in reversed(list(self._processes)):
            self._end(name)
        for name in self._namespaces:
            # Processes of a node end a moment after its first one.
            try:
                wait_until(lambda place=name: not namespaces.ip("netns", "pids", place), f"end of {name}", self.logs)
            finally:
                namespaces.ip("netns", "delete", name)
        self._namespaces = []


def wait_until(condition, what, explain, timeout=60):
    """Waits until condition() is true and returns the seconds that this took."""
    begin = time.monotonic()
    while not condition():
        if time.monotonic() > begin + timeout * harness.PATIENCE:
            raise AssertionError(f"no {what} within {timeout * harness.PATIENCE:g} s\n{explain()}")
        time.sleep(0.02)
    return time.monotonic() - begin
