# SPDX-License-Identifier: BSD-3-Clause
"""A systemd that runs units in the guest of scripts/vm: first process of a process namespace of its own, with none of
the distribution's services. What it may do to the guest (cgroups, /run, /etc) is gone with the guest."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import harness

UNITS = Path("/run/systemd/system")
LOG = Path("/run/spead-units.log")
# Nothing that a distribution starts for every service, no journal to write to, and no waiting between tries.
FOR_TESTS = f"""[Unit]
DefaultDependencies=no
[Service]
StandardOutput=append:{LOG}
StandardError=append:{LOG}
TimeoutStartSec=300
WatchdogSec=0
RestartSec=100ms
"""


class Systemd:
    """The manager; end() stops it and all that it runs."""

    def __init__(self):
        UNITS.mkdir(parents=True, exist_ok=True)
        (UNITS / "spead-tests.target").write_text("[Unit]\nDefaultDependencies=no\n", encoding="ascii")
        if not os.path.ismount("/sys/fs/cgroup"):
            subprocess.run(["mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"], check=True)
        self._log = open("/run/spead-systemd.log", "wb")
        self._unshare = subprocess.Popen(
            ["unshare", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child", "/lib/systemd/systemd", "--system",
             "--unit=spead-tests.target", "--log-target=console", "--show-status=no"],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, env={**os.environ, "container": "other"})
        self._wait(Path("/run/systemd/private").is_socket, "systemd's socket")
        children = Path(f"/proc/{self._unshare.pid}/task/{self._unshare.pid}/children")
        self._inside = ["nsenter", "-t", children.read_text(encoding="ascii").split()[0], "-p", "-m"]

    def _wait(self, condition, what):
        end = time.monotonic() + 60 * harness.PATIENCE
        while not condition():
            if self._unshare.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"no {what}:\n{Path(self._log.name).read_text(encoding='utf-8', errors='replace')}")
            time.sleep(0.05)

    def install(self, unit):
        """The shipped template and the program that it names."""
        shutil.copy(unit, UNITS / unit.name)
        drop_in = UNITS / f"{unit.name}.d"
        drop_in.mkdir(exist_ok=True)
        (drop_in / "tests.conf").write_text(FOR_TESTS, encoding="ascii")
        # Where the unit's ProtectHome= does not hide it, wherever it was built.
        shutil.copy(harness.program(), "/usr/local/bin/dpdk-spead")
        self.run("systemctl", "daemon-reload")

    def run(self, *words, check=True, timeout=300):
        """A command in systemd's namespaces."""
        done = subprocess.run([*self._inside, *map(str, words)], check=False, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
        if check and done.returncode != 0:
            log = LOG.read_text(encoding="utf-8", errors="replace") if LOG.exists() else ""
            raise AssertionError(f"{words}: status {done.returncode}\n{done.stdout}\n{done.stderr}\n{log[-3000:]}")
        return done

    def properties(self, unit):
        lines = self.run("systemctl", "show", unit).stdout.splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def wait_for(self, unit, condition, what):
        """Until condition(properties) holds."""
        end = time.monotonic() + 120 * harness.PATIENCE
        while not condition(properties := self.properties(unit)):
            if time.monotonic() > end:
                log = LOG.read_text(encoding="utf-8", errors="replace") if LOG.exists() else ""
                raise AssertionError(f"no {what} of {unit}: {properties['ActiveState']} {properties['Result']}\n{log[-3000:]}")
            time.sleep(0.2)
        return properties

    def end(self):
        self._unshare.kill()
        self._unshare.wait()
        self._log.close()
