# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs in processes of their own: EAL starts once in one, and a crash ends only that."""

import subprocess
import sys


def run(text, **options):
    """Returns the completed process of a program, with its output as text."""
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False,
                          **options)


def expect(done, status=0):
    """Returns the process if it ended with this status, and no thread of it was ended by force."""
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    assert "Fatal" not in done.stderr
    return done
