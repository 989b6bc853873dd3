#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`top` on a pseudo-terminal and as text, beside the process that it shows."""

import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import harness
import telemetry

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


class Screen:
    """The program on a pseudo-terminal, and what it draws."""

    def __init__(self, test, *words, columns=100, rows=30):
        self._test = test
        self.master, slave = pty.openpty()
        test.addCleanup(os.close, self.master)
        self.resize(columns, rows)
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen([harness.program(), "top", *words], stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        test.addCleanup(self.end)
        self.slave = slave
        test.addCleanup(os.close, slave)
        self.drawn = b""

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.master, keys)

    def read(self, seconds):
        """Whether there was something to read."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            self.drawn += os.read(self.master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:  # nobody has the terminal open any more
                raise
            return False
        return True

    def lines(self):
        """Of the last whole picture."""
        pictures = self.drawn.split(b"\x1b[H")
        whole = [picture for picture in pictures[1:] if b"\x1b[J" in picture]
        if not whole:
            return []
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", whole[-1].split(b"\x1b[J")[0].decode())
        return text.split("\r\n")

    def wait_for(self, condition, what):
        end = time.monotonic() + 30 * harness.PATIENCE
        while not condition(self.lines()):
            if not self.read(0.1) and self.process.poll() is not None and not self.read(0):
                self._test.fail(f"it ended with status {self.process.returncode} and without {what}:\n"
                                f"{self.drawn[-2000:].decode(errors='replace')}")
            if time.monotonic() > end:
                self._test.fail(f"no {what}:\n" + "\n".join(self.lines()) + f"\n{self.drawn[-2000:]}")

    def finished(self, status=0):
        """Waits for the end; the terminal must be as it was."""
        end = time.monotonic() + 30 * harness.PATIENCE
        while self.process.poll() is None:
            self.read(0.05)
            if time.monotonic() > end:
                self._test.fail("it does not end")
        while self.read(0):
            pass
        self._test.assertEqual(self.process.returncode, status, self.drawn[-2000:])
        self._test.assertEqual(termios.tcgetattr(self.slave), self.before)
        self._test.assertEqual(self.drawn.count(ENTER), self.drawn.count(LEAVE))
        after = self.drawn.rsplit(LEAVE, 1)[1].decode()
        self._test.assertIn(b"\x1b[?25h", self.drawn)
        return after


def shows(text):
    return lambda lines: any(text in line for line in lines)


class Top(telemetry.StayingUp):
    # A name that no other process of this machine has.
    name = f"top-test-{os.getpid()}"

    def start_settled(self):
        running = self.start_counting()
        self.settled(running, self.connect(running))
        return running

    def top(self, *words, **options):
        screen = Screen(self, self.name, *words, **options)
        screen.wait_for(shows("STREAM"), "first picture")
        return screen

    def once(self, *words):
        return subprocess.run([harness.program(), "top", *words, "--once", "--interval", "100ms"], capture_output=True,
                              text=True, timeout=60 * harness.PATIENCE)

    def test_one_picture_as_text(self):
        running = self.start_settled()
        shown = self.once(self.name)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        lines = shown.stdout.splitlines()
        self.assertIn(f"{self.name} (pid {running.process.pid})", lines[0])
        self.assertRegex(shown.stdout, r"(?m)^STREAM +HEALTH +RATE ")
        self.assertRegex(shown.stdout, r"(?m)^recorded +\S+ +0 b/s ")
        self.assertRegex(shown.stdout, r"(?m)^own +- +0 b/s ")
        self.assertNotIn("\x1b", shown.stdout)
        for page, says in (("loss", r"(?m)^own +- +921 +0"), ("sends", r"(?m)^source .* 20 +0 +100 %"),
                           ("ports", r"(?m)^wire .* net_ring$"), ("lcores", r"(?m)^ *\d+ .*recorded own source$")):
            with self.subTest(page=page):
                self.assertRegex(self.once(self.name, "--page", page).stdout, says)
        for way in (str(running.process.pid), f"{self.name}.{running.process.pid}",
                    str(telemetry.socket_of(running, self.name))):
            self.assertEqual(self.once(way).returncode, 0, way)
        running.interrupt()
        running.wait()

    def test_keys(self):
        running = self.start_settled()
        screen = self.top()
        for keys, says in ((b"2", "page loss"), (b"\t", "page sends"), (b"4", "DRIVER"), (b"5", "DUTIES"),
                           (b"1", "page streams"), (b"s", "by rate"), (b"r", "reversed"), (b"\x1b[B\x1b[A", "STREAM")):
            screen.type(keys)
            screen.wait_for(shows(says), says)
        screen.type(b"q")
        self.assertEqual(screen.finished(), "")
        running.interrupt()
        running.wait()

    def test_the_picture_is_as_large_as_the_terminal(self):
        running = self.start_settled()
        screen = self.top(columns=100, rows=30)
        screen.wait_for(lambda lines: len(lines) == 30 and "q quit" in lines[-1], "30 rows")
        screen.resize(44, 12)
        screen.wait_for(lambda lines: len(lines) == 12 and all(len(line) <= 44 for line in lines), "12 rows")
        screen.resize(1, 1)
        screen.wait_for(lambda lines: len(lines) == 1, "one row")
        screen.resize(200, 50)
        screen.wait_for(lambda lines: len(lines) == 50 and any("HEALTH" in line for line in lines), "50 rows")
        screen.type(b"q")
        screen.finished()
        running.interrupt()
        running.wait()

    def test_signals_give_the_terminal_back(self):
        running = self.start_settled()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(signal=number):
                screen = self.top()
                screen.process.send_signal(number)
                screen.finished()
        screen = self.top()
        screen.type(b"\x03")
        screen.finished()
        running.interrupt()
        running.wait()

    def test_a_terminal_that_takes_nothing_does_not_keep_it_from_its_end(self):
        running = self.start_settled()
        screen = self.top("--interval", "100ms")
        termios.tcflow(screen.slave, termios.TCOOFF)
        # After a key a picture is drawn, before anything else is looked at.
        screen.type(b"s")
        running.wait_for(lambda: fcntl.ioctl(screen.slave, termios.FIONREAD, bytes(4)) == bytes(4), "key taken")
        screen.process.send_signal(signal.SIGTERM)
        self.assertEqual(screen.process.wait(30 * harness.PATIENCE), 0)
        self.assertEqual(termios.tcgetattr(screen.slave), screen.before)
        running.interrupt()
        running.wait()

    def test_it_stops_for_a_while_and_comes_back(self):
        running = self.start_settled()
        screen = self.top()
        screen.process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(screen.process.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        self.assertEqual(termios.tcgetattr(screen.slave), screen.before)
        while screen.read(0.2):
            pass
        screen.drawn = b""
        screen.process.send_signal(signal.SIGCONT)
        screen.wait_for(shows("STREAM"), "picture after the stop")
        screen.type(b"q")
        screen.finished()
        running.interrupt()
        running.wait()

    def test_it_ends_with_the_process(self):
        running = self.start_settled()
        screen = self.top("--interval", "100ms")
        running.interrupt()
        running.wait()
        self.assertIn("the process has ended", screen.finished())

    def test_it_ends_when_the_process_is_killed(self):
        running = self.start_settled()
        screen = self.top("--interval", "100ms")
        running.process.kill()
        self.assertIn("the process has ended", screen.finished())
        # Its socket is left, and is no process.
        self.assertTrue(telemetry.socket_of(running, self.name).exists())
        gone = self.once(self.name)
        self.assertEqual(gone.returncode, 1)
        path = telemetry.socket_of(running, self.name)
        path.unlink()
        path.parent.rmdir()

    def test_which_process(self):
        first, second = self.start_settled(), self.start_settled()
        both = self.once(self.name)
        self.assertEqual(both.returncode, 1)
        for running in (first, second):
            self.assertIn(f"{self.name} (pid {running.process.pid})", both.stderr)
            self.assertIn(f"(pid {running.process.pid})", self.once(str(running.process.pid)).stdout)
        self.assertIn("give one's pid", both.stderr)
        nobody = self.once(self.name + "x")
        self.assertEqual(nobody.returncode, 1)
        self.assertIn(f"did you mean `{self.name}`", nobody.stderr)
        for running in (first, second):
            running.interrupt()
            running.wait()

    def test_without_a_terminal_it_says_what_to_do(self):
        running = self.start_settled()
        refused = subprocess.run([harness.program(), "top", self.name], stdin=subprocess.DEVNULL, capture_output=True,
                                 text=True, timeout=60 * harness.PATIENCE)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("--once", refused.stderr)
        self.assertNotIn("\x1b", refused.stdout)
        running.interrupt()
        running.wait()


if __name__ == "__main__":
    harness.main()
