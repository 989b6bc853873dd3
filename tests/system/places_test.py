#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Processes are found where services and other users keep their sockets, and directories of strangers neither mislead
root nor hold it up."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import threading
import unittest
from pathlib import Path

import harness

GROUP = "239.1.1.1:7148"
# A user of a service, as systemd makes one up, and a stranger. Nobody has their numbers.
SERVICE, STRANGER = 61000 + os.getpid() % 1000, 63000 + os.getpid() % 1000


def as_user(user):
    return ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--inh-caps=-all")


class Impostor:
    """A stranger's process: serves `sockets` as telemetry would, and says its `name`; without one it never answers."""

    def __init__(self, test, sockets, name=None):
        ready, self._done = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            with contextlib.suppress(BaseException):
                os.setresgid(STRANGER, STRANGER, STRANGER)
                os.setresuid(STRANGER, STRANGER, STRANGER)
                self._serve(sockets, name, ready[1])
            os._exit(0)
        test.addCleanup(self._end)
        os.close(self._done[0])
        assert os.read(ready[0], 1) == b"x"

    def _serve(self, sockets, name, ready):
        listeners = []
        for path in sockets:
            path.parent.mkdir(parents=True, exist_ok=True)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(str(path))
            listener.listen(16)
            listeners.append(listener)
        os.write(ready, b"x")
        if name is not None:
            for listener in listeners:
                threading.Thread(target=self._answer, args=(listener, name), daemon=True).start()
        os.close(self._done[1])
        os.read(self._done[0], 1)

    @staticmethod
    def _answer(listener, name):
        while True:
            client, _ = listener.accept()
            client.send(json.dumps({"version": "DPDK 22.11.0", "pid": 1, "max_output_len": 16384}).encode())
            while client.recv(4096):
                client.send(json.dumps({"/spead/info": {"name": name, "version": "0", "pid": 1}}).encode())

    def _end(self):
        os.close(self._done[1])
        os.waitpid(self.pid, 0)


@unittest.skipUnless(os.geteuid() == 0, "root makes directories below /run and becomes other users")
class Places(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.name = f"places{os.getpid()}"

    def own(self, path, user):
        """A directory of that user's, removed afterwards."""
        made = next(parent for parent in (*reversed(path.parents), path) if not parent.exists())
        path.mkdir(parents=True)
        os.chown(path, user, user)
        self.addCleanup(shutil.rmtree, made, ignore_errors=True)
        return path

    def service(self, instance="instance"):
        """A process as the unit runs it: a user of its own, and a directory below /run/dpdk-spead."""
        directory = self.own(Path(f"/run/dpdk-spead/{self.name}-{instance}"), SERVICE)
        config = self.directory / "c.toml"
        config.write_text(f'version = 1\n[runtime]\nname = "{self.name}"\n[[port]]\nname = "p0"\ndevice = "net_null0"\n'
                          f'[[receive]]\nname = "s0"\nport = "p0"\nendpoints = ["{GROUP}"]\n', encoding="utf-8")
        os.chmod(self.directory, 0o755)
        environment = {"RUNTIME_DIRECTORY": str(directory), "XDG_RUNTIME_DIR": str(directory), "HOME": "/"}
        running = self.start("run", "--config", config, prefix=as_user(SERVICE), report=False, environment=environment)
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")
        return running

    def top(self, *words):
        return subprocess.run([harness.program(), "top", "--once", "--interval", "100ms", *map(str, words)], check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * harness.PATIENCE)

    def test_a_service_is_found_by_name_and_pid(self):
        running = self.service()
        for wanted in (self.name, running.process.pid, f"{self.name}.{running.process.pid}"):
            found = self.top(wanted)
            self.assertEqual(found.returncode, 0, found.stderr)
            self.assertIn(f"(pid {running.process.pid})", found.stdout)
        running.interrupt()
        running.wait()
        gone = self.top(self.name)
        self.assertEqual(gone.returncode, 1)

    def attach(self, target):
        return subprocess.run([harness.program(), "attach", target, "--", "show", "stream"], check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * harness.PATIENCE)

    def test_a_service_is_attached_to_by_name(self):
        running = self.service()
        session = self.own(Path(f"/run/user/{STRANGER}"), STRANGER)
        # Nobody's session has a say in it.
        Impostor(self, [session / f"dpdk-spead/{self.name}.sock"], self.name)
        found = self.attach(self.name)
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        self.assertIn("s0", found.stdout)
        second = self.service("second")
        twice = self.attach(self.name)
        self.assertEqual(twice.returncode, 1)
        self.assertIn(f"two processes are called `{self.name}`", twice.stderr)
        path = f"/run/dpdk-spead/{self.name}-second/dpdk-spead/{self.name}.sock"
        self.assertIn(path, twice.stderr)
        self.assertIn("s0", self.attach(path).stdout)
        for each in (running, second):
            each.interrupt()
            each.wait()
        gone = self.attach(self.name)
        self.assertEqual(gone.returncode, 1)
        self.assertIn("nothing listens", gone.stderr)

    def test_a_stranger_of_the_same_name_does_not_come_before_a_service(self):
        running = self.service()
        session = self.own(Path(f"/run/user/{STRANGER}"), STRANGER)
        impostor = Impostor(self, [session / f"dpdk/{self.name}.1/dpdk_telemetry.v2"], self.name)
        found = self.top(self.name)
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertIn(f"(pid {running.process.pid})", found.stdout)
        running.interrupt()
        running.wait()
        # By the number that the kernel knows it by, and with its user's.
        listed = self.top(f"{self.name}x")
        self.assertIn(f"{self.name} (pid {impostor.pid}, of user number {STRANGER})", listed.stderr)

    def test_strangers_who_never_answer_hold_nobody_up_for_long(self):
        running = self.service()
        session = self.own(Path(f"/run/user/{STRANGER}"), STRANGER)
        # A second for each would be more than top() waits for.
        Impostor(self, [session / f"dpdk/x.{i}/dpdk_telemetry.v2" for i in range(300)])
        found = self.top(self.name)
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertEqual(self.top("nobody").returncode, 1)
        running.interrupt()
        running.wait()

    def test_links_of_strangers_lead_nowhere(self):
        running = self.service()
        session = self.own(Path(f"/run/user/{STRANGER}"), STRANGER)
        own = next(Path(f"/run/dpdk-spead/{self.name}-instance/dpdk").glob("*/dpdk_telemetry.v2"))
        (session / "dpdk/x.1").mkdir(parents=True)
        (session / "dpdk/x.1/dpdk_telemetry.v2").symlink_to(own)
        (session / "dpdk/x.2").symlink_to(own.parent)
        found = self.top(self.name)
        self.assertEqual(found.returncode, 0, found.stderr)
        running.interrupt()
        running.wait()


if __name__ == "__main__":
    harness.main()
