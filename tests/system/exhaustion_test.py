#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Too few file descriptors, too few threads, and other users who hold what they can: messages, and no harm done."""

import fcntl
import os
import re
import resource
import shutil
import socket
import subprocess
import time
from pathlib import Path

import harness

ENDPOINT = "239.1.1.1:7148"
LOOPBACK = ("loopback", "--duration", "off", "--heap-size", "64KiB", "--rate", "20Mbps")
NOBODY = 65534


class Exhausted(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.socket = self.directory / "control.sock"

    def daemon(self, *words, **options):
        running = self.start(*words, "--control", self.socket, **options)
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")
        # That is said before its prompt is there, which needs descriptors and threads, too.
        self.assertEqual(self.attach("show", "port").returncode, 0)
        return running

    def attach(self, *words, prefix=()):
        return subprocess.run([*prefix, harness.program(), "attach", str(self.socket), "--", *words],
                              capture_output=True, text=True, timeout=60 * harness.PATIENCE, check=False)

    def connect(self, path=None, kind=socket.SOCK_STREAM):
        client = socket.socket(socket.AF_UNIX, kind)
        self.addCleanup(client.close)
        client.settimeout(30 * harness.PATIENCE)
        client.connect(str(path or self.socket))
        return client


class Descriptors(Exhausted):
    def limit(self, running, descriptors):
        _, most = resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (descriptors or most, most))

    @staticmethod
    def opened(running):
        return {int(name) for name in os.listdir(f"/proc/{running.process.pid}/fd")}

    @staticmethod
    def control_time(running):
        """Seconds of CPU of all threads but the lcores."""
        ticks = 0
        for task in Path(f"/proc/{running.process.pid}/task").iterdir():
            name, fields = (task / "stat").read_text(encoding="utf-8").split("(", 1)[1].rsplit(")", 1)
            if "worker" not in name:
                ticks += sum(map(int, fields.split()[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def test_a_start_with_too_few_is_refused(self):
        for descriptors in (10, 12, 14, 16, 20, 40):
            with self.subTest(descriptors=descriptors):
                self.refused(*LOOPBACK, status=1, says=("file descriptors", "ulimit -n"),
                             prefix=("prlimit", f"--nofile={descriptors}"))

    def test_the_soft_limit_is_raised(self):
        running = self.daemon(*LOOPBACK, prefix=("prlimit", "--nofile=32:4096"))
        self.assertEqual(resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE), (4096, 4096))
        running.interrupt()
        running.wait()

    def test_a_listener_without_any_rests_and_recovers(self):
        running = self.daemon(*LOOPBACK, "--metrics", 0)
        port = int(re.search(r"http://127.0.0.1:(\d+)/", running.text(1)).group(1))
        self.limit(running, max(self.opened(running)) + 1)
        waiting = self.connect()
        waiting.sendall(b"dpdk-spead-attach 1 command /\nshow stream\n")
        waiting.shutdown(socket.SHUT_WR)
        page = socket.create_connection(("127.0.0.1", port), timeout=30 * harness.PATIENCE)
        self.addCleanup(page.close)
        page.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        running.wait_for(lambda: "no client can attach for the moment" in running.text(1), "word of it")
        before = self.control_time(running)
        time.sleep(1)
        self.assertLess(self.control_time(running) - before, 0.5, "a listener spins")
        self.limit(running, None)
        answer = b""
        while part := waiting.recv(4096):
            answer += part
        self.assertIn(b"s0", answer)
        self.assertTrue(page.recv(20).startswith(b"HTTP/1.1 200"))
        self.assertEqual(self.attach("show", "port").returncode, 0)
        running.interrupt()
        self.assertLess(len(running.wait().err), 4000)

    def test_a_listener_whose_limit_was_lowered_goes_on(self):
        running = self.daemon(*LOOPBACK)
        silent = [self.connect() for _ in range(30)]
        self.assertEqual(self.attach("show", "stream").returncode, 0)
        self.limit(running, 16)
        silent[0].sendall(b"x")
        running.wait_for(lambda: "no client can attach for the moment" in running.text(1), "word of it")
        self.limit(running, None)
        self.assertEqual(self.attach("show", "stream").returncode, 0)
        running.interrupt()
        running.wait()

    def test_the_last_ones_are_kept_for_the_program(self):
        # Not a loopback: what its port holds when it is stopped would be missing at the end.
        running = self.daemon("send", ENDPOINT, "--port", "net_null0", "--heap-size", "64KiB", "--rate", "20Mbps")
        # A session that is there already: the commands of others would not get that far.
        session = self.connect()
        session.sendall(b"dpdk-spead-attach 1 commands /\n")
        answer = session.recv(1)
        opened = self.opened(running)
        self.limit(running, next(fd for fd in range(len(opened) + 1) if fd not in opened) + 10)
        self.assertIn("too few file descriptors left", self.attach("show", "stream").stderr)
        session.sendall(b"port stop p0\n")
        session.shutdown(socket.SHUT_WR)
        while part := session.recv(4096):
            answer += part
        self.assertIn(b"too few file descriptors are left", answer)
        self.limit(running, None)
        self.assertEqual(self.attach("port", "stop", "p0").returncode, 0)
        self.assertEqual(self.attach("port", "start", "p0").returncode, 0)
        running.interrupt()
        running.wait()

    def test_what_dpdk_logs_again_and_again_is_not_all_written(self):
        memif = self.directory / "memif.sock"
        running = self.daemon("recv", ENDPOINT, "--port", f"net_memif0,role=server,socket={memif},socket-abstract=no")
        self.limit(running, max(self.opened(running)) + 1)
        self.connect(memif, socket.SOCK_SEQPACKET)
        running.wait_for(lambda: "Failed to accept" in running.text(1), "DPDK's word of it")
        time.sleep(1)
        self.assertLess(len(running.text(1)), 8000)
        self.limit(running, None)
        running.interrupt()
        self.assertLess(len(running.wait().err), 12000)


class Threads(Exhausted):
    """As another user: root has as many threads as it likes."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("needs root and setpriv")
        self.directory.chmod(0o777)
        # One that nobody else is: the limit counts all threads of a user.
        user = 60000 + os.getpid() % 5000
        self.as_other = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups")
        self.environment = {"XDG_RUNTIME_DIR": str(self.directory)}

    def test_a_start_with_too_few_is_refused(self):
        for more in (1, 3, 6):
            with self.subTest(more=more):
                self.refused(*LOOPBACK, status=1, says=("threads", "ulimit -u"), environment=self.environment,
                             prefix=(*self.as_other, "prlimit", f"--nproc={1 + more}"))

    def test_a_session_without_a_thread_is_turned_away_and_nothing_else_happens(self):
        running = self.daemon(*LOOPBACK, prefix=self.as_other, environment=self.environment)
        before = resource.getrlimit(resource.RLIMIT_NPROC)[0]

        def limit(threads):
            subprocess.run([*self.as_other, "prlimit", f"--pid={running.process.pid}", f"--nproc={threads}:"],
                           check=True)

        self.assertEqual(self.attach("show", "stream").returncode, 0)
        limit(1)
        for _ in range(3):
            refused = self.attach("show", "stream")
            self.assertEqual(refused.returncode, 1)
            self.assertIn("no thread can be started", refused.stderr)
        limit(before)
        self.assertEqual(self.attach("show", "stream").returncode, 0)
        limit(1)
        running.interrupt()
        running.wait()


class OtherUsers(Exhausted):
    def test_a_lock_on_the_sockets_directory_does_not_hold_up_a_start(self):
        directory = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, directory)
        fcntl.flock(directory, fcntl.LOCK_EX)
        running = self.daemon(*LOOPBACK)
        running.interrupt()
        running.wait()

    def test_a_listener_that_accepts_nobody_holds_nobody_up(self):
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(str(self.socket))
        listener.listen(0)
        waiting = []
        while True:
            client = socket.socket(socket.AF_UNIX)
            client.setblocking(False)
            waiting.append(client)
            self.addCleanup(client.close)
            try:
                client.connect(str(self.socket))
            except BlockingIOError:
                break
        self.refused(*LOOPBACK, "--control", self.socket, status=1, says=("a process already listens at this path",))
        refused = self.attach("show", "stream")
        self.assertIn("has not accepted the connection", refused.stderr)

    def test_sockets_that_do_not_answer_do_not_hide_those_that_do(self):
        # Where other users' processes may have theirs.
        strange = Path("/tmp/dpdk") / f"aaa-{os.getpid()}"
        strange.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, strange)
        for i in range(12):
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.addCleanup(listener.close)
            listener.bind(str(strange / f"dpdk_telemetry.v2:{i}"))
            listener.listen(8)
            if os.geteuid() == 0:
                os.chown(strange / f"dpdk_telemetry.v2:{i}", NOBODY, NOBODY)
        running = self.daemon(*LOOPBACK)
        top = subprocess.run([harness.program(), "top", str(running.process.pid), "--once"], capture_output=True,
                             text=True, timeout=60 * harness.PATIENCE, check=False)
        self.assertEqual(top.returncode, 0, top.stderr)
        running.interrupt()
        running.wait()


if __name__ == "__main__":
    harness.main()
