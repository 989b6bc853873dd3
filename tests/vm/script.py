#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/vm itself, from the host: what it passes into the guest and out of it, and that no guest outlives it."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "system"))

import harness  # noqa: E402

SCRIPT = HERE.parent.parent / "scripts/vm"
CACHE = os.environ.get("DPDK_SPEAD_VM_CACHE", str(HERE.parent.parent / "build/vm"))


class Script(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="dpdk-spead-test-")
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def start(self, *words, **environment):
        """Starts the script, whose guests differ from others' by their files' place."""
        process = subprocess.Popen([SCRIPT, "--cache", CACHE, *words], cwd=self.directory, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**os.environ, "TMPDIR": str(self.directory), **environment})
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def guests(self):
        """The command lines of running guests."""
        found = []
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = process.read_bytes()
            except OSError:
                continue
            if b"-initrd" in words and os.fsencode(self.directory) in words:
                found.append(words)
        return found

    def wait_for_guests(self, count, seconds=60):
        end = time.monotonic() + seconds
        while len(self.guests()) != count:
            self.assertLess(time.monotonic(), end, f"{len(self.guests())} guests, not {count}")
            time.sleep(0.05)

    def test_words_surroundings_streams_and_status_pass_through_and_the_host_stays_as_it_was(self):
        (self.directory / "given").write_text("from the host", encoding="ascii")
        command = ('cat given; echo; pwd; echo "$SPEAD_SAID"; echo "$1"; id -u; cat /proc/sys/kernel/hostname; '
                   'echo written >given; cat given; echo troubled >&2; exit 42')
        process = self.start("sh", "-c", command, "sh", "two  words; $HOME 'quoted'", SPEAD_SAID="it's\nso")
        out, err = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 42, err)
        self.assertEqual(out.splitlines(), ["from the host", str(self.directory), "it's", "so",
                                            "two  words; $HOME 'quoted'", "0", "guest", "written"])
        self.assertEqual(err, "troubled\n")
        self.assertEqual((self.directory / "given").read_text(encoding="ascii"), "from the host")
        self.assertEqual(os.listdir(self.directory), ["given"])

    def test_a_command_that_takes_too_long_ends_with_its_guest(self):
        process = self.start("--timeout", "2", "sleep", "10000")
        _, err = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 124, err)
        self.assertIn("took longer than 2 s", err)
        self.assertEqual(self.guests(), [])

    def test_the_guest_ends_with_the_script_however_that_ends(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            with self.subTest(signal=number.name):
                process = self.start("true")
                self.wait_for_guests(1)
                process.send_signal(number)
                process.communicate(timeout=60)
                self.wait_for_guests(0)
                self.assertEqual(process.returncode, -9 if number == signal.SIGKILL else 128 + number)

    def test_without_qemu_it_says_what_installs_it(self):
        (self.directory / "python3").symlink_to(sys.executable)
        process = self.start("true", PATH=str(self.directory))
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 125, err)
        self.assertIn("there is no qemu-system-x86_64; scripts/deps --vm installs it", err)


if __name__ == "__main__":
    harness.main()
