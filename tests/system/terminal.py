# SPDX-License-Identifier: BSD-3-Clause
"""The program at a pseudo-terminal, typed at like a person would."""

import os
import pty
import re
import select
import signal
import subprocess
import termios
import time

import harness

PROMPT = "dpdk-spead> "
# Cursor movements that line editing writes.
ESCAPES = re.compile(r"\x1b(\[[0-9;]*[A-Za-z]|[A-Z])")


class Terminal:
    """A child process whose standard input and output are a new terminal."""

    def __init__(self, test, *words, prefix=(), environment=None, directory=None):
        self._test = test
        self._master, slave = pty.openpty()
        self.settings = termios.tcgetattr(slave)
        self._slave = slave
        self.errors = open(os.path.join(test.directory, f"stderr{self._master}"), "w+b")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen([*prefix, harness.program(), *map(str, words)], stdin=slave, stdout=slave,
                                        stderr=self.errors, env={**os.environ, **(environment or {})},
                                        start_new_session=True, cwd=directory or test.directory)
        self._seen = ""
        test.addCleanup(self.close)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for fd in (self._master, self._slave):
            os.close(fd)
        self.errors.close()

    def error_text(self):
        return harness.printed(self.errors)

    def type(self, keys):
        os.write(self._master, keys.encode())

    def _read(self, timeout):
        ready, _, _ = select.select([self._master], [], [], timeout)
        if not ready:
            return
        text = os.read(self._master, 65536).decode("utf-8", "replace")
        self._seen += text.replace("\r", "")

    def expect(self, text, timeout=20):
        """Waits for the text, and returns what came before it; both are taken."""
        end = time.monotonic() + timeout * harness.PATIENCE
        while text not in self._seen:
            if time.monotonic() > end or (self.process.poll() is not None and not self._pending()):
                self._test.fail(f"no {text!r} came; standard error:\n{self.error_text()}\nseen:\n{self._seen}")
            self._read(0.05)
        before, self._seen = self._seen.split(text, 1)
        return ESCAPES.sub("", before)

    def _pending(self):
        return bool(select.select([self._master], [], [], 0)[0])

    def command(self, line):
        """Types a line and returns its answer. The prompt was there, and is there again."""
        self.type(line + "\r")
        self.expect(line + "\n")
        return self.expect(PROMPT)

    def wait(self, status=0, timeout=30):
        """Until the process ends; returns what was still written."""
        end = time.monotonic() + timeout * harness.PATIENCE
        while self.process.poll() is None or self._pending():
            if time.monotonic() > end:
                self._test.fail(f"still running; standard error:\n{self.error_text()}\nseen:\n{self._seen}")
            self._read(0.05)
        if self.process.returncode != status:
            self._test.fail(f"exit status {self.process.returncode}, not {status}:\n{self.error_text()}\n{self._seen}")
        return self._seen

    def wait_a_moment(self):
        """For loops that ask again."""
        self._read(0.05)

    def signal(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def is_as_before(self):
        """Whether the terminal's settings are those it had before the program started."""
        return termios.tcgetattr(self._slave) == self.settings
