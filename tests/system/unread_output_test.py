#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Standard error that nobody reads: a full pipe, a stopped terminal. The run goes on, and ends when it is asked to."""

import fcntl
import os
import pty
import select
import signal
import termios
import time

import harness
import service_test
import telemetry

# Every reload logs it: a few fill the pipe and what the program keeps.
WRONG = service_test.CONFIGURATION + f'\n[runtime]\nlog_level = "{"x" * 15000}"\n'


class UnreadOutput(harness.ProgramTest):
    def pipe(self, size=4096):
        """A pipe by its path, which is never without a reader and a writer."""
        path = self.directory / "pipe"
        os.mkfifo(path)
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, fd)
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, size)
        return path, fd

    def fill(self, fd):
        try:
            while True:
                os.write(fd, b"\n" * 512)
        except BlockingIOError:
            pass

    def service(self, how, *words, **options):
        """A run that writes where `how`, words of a shell, sends it."""
        address = str(self.directory / "notify")
        manager = service_test.Manager(self, address)
        self.file = self.directory / "service.toml"
        self.file.write_text(service_test.CONFIGURATION, encoding="utf-8")
        running = self.start("run", "--config", self.file, *words, prefix=("sh", "-c", f'exec "$@" {how}', "sh"),
                             environment={"NOTIFY_SOCKET": address}, **options)
        return manager, running

    def is_ready(self, manager, running):
        manager.wait_for(running, lambda text: text == "READY=1", "readiness")

    def reload(self, manager, running):
        running.process.send_signal(signal.SIGHUP)
        self.is_ready(manager, running)

    def test_a_pipe_is_not_waited_for_and_a_late_reader_is_told(self):
        path, fd = self.pipe()
        control = self.directory / "control.sock"
        manager, running = self.service(f"2>{path}", "--control", control)
        self.is_ready(manager, running)
        client = telemetry.Client(telemetry.socket_of(running), self)
        self.fill(fd)
        self.file.write_text(WRONG, encoding="utf-8")
        for _ in range(10):
            self.reload(manager, running)
        # The main thread publishes what comes, and answers.
        before = client.report()
        running.wait_for(lambda: client.report()["streams"][0]["packets"]["received"] >
                         before["streams"][0]["packets"]["received"], "traffic, counted meanwhile")
        shown = self.run_program("attach", control, "--", "show", "heap", report=False)
        self.assertIn("back", shown.out)
        text = b""

        def told():
            nonlocal text
            if select.select([fd], [], [], 0.05)[0]:
                text += os.read(fd, 65536)
            return b"lines are missing here: nobody read them in time)\n" in text

        running.wait_for(told, "the note")
        running.interrupt()
        finished = running.wait()
        self.assertTrue(finished.has_report())
        lines = [line for line in text.decode().splitlines() if line]
        logged = [line for line in lines if "nothing was changed" in line]
        self.assertTrue(all("x" * 15000 in line for line in logged), "whole lines")
        missing = int(next(line for line in lines if "missing here" in line).split()[0].lstrip("("))
        self.assertEqual(len(logged) + missing, 10)

    def test_a_full_pipe_does_not_keep_a_run_from_its_end(self):
        path, fd = self.pipe()
        self.fill(fd)
        manager, running = self.service(f"2>{path}")
        self.is_ready(manager, running)
        self.file.write_text(WRONG, encoding="utf-8")
        for _ in range(10):
            self.reload(manager, running)
        running.interrupt()
        finished = running.wait()
        self.assertTrue(finished.has_report())
        self.assertGreater(finished.report["streams"][0]["packets"]["received"], 0)

    def test_a_stopped_terminal(self):
        master, terminal = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, terminal)
        termios.tcflow(terminal, termios.TCOOFF)
        manager, running = self.service(f"2>{os.ttyname(terminal)}")
        self.is_ready(manager, running)
        client = telemetry.Client(telemetry.socket_of(running), self)
        # The line on its progress is written anew for every one of them.
        running.wait_for(lambda: "size" in client.ask("/spead/report"), "the first report")
        for _ in range(3):
            before = client.report()["duration_s"]
            running.wait_for(lambda then=before: client.report()["duration_s"] > then, "a newer report")
        running.interrupt()
        self.assertTrue(running.wait().has_report())

    def test_a_second_signal_ends_the_wait_for_a_reader_of_the_report(self):
        path, fd = self.pipe()
        manager, running = self.service(f">{path} 2>&1", report=False)
        self.is_ready(manager, running)
        self.fill(fd)
        running.interrupt()
        manager.wait_for(running, lambda text: text.startswith("STOPPING=1"), "its end")
        end = time.monotonic() + 30 * harness.PATIENCE
        while running.process.poll() is None and time.monotonic() < end:
            running.interrupt()
            time.sleep(0.05)
        running.wait(status=-signal.SIGINT)


if __name__ == "__main__":
    harness.main()
