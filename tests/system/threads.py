# SPDX-License-Identifier: BSD-3-Clause
"""Threads of a running program: which they are, and how one of them is held while the others run on."""

import ctypes
import os
import re
import threading
from pathlib import Path

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def _ptrace(request, thread):
    if _libc.ptrace(request, thread, None, None) < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def workers(running):
    """The directories in /proc of the threads of worker lcores, by lcore. DPDK 22.11 calls such a thread rte-worker-1,
    and 24.11 dpdk-worker1."""
    found = {}
    for task in Path(f"/proc/{running.process.pid}/task").iterdir():
        try:
            name = (task / "comm").read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            continue  # the thread has ended
        if match := re.fullmatch(r"(?:rte-worker-|dpdk-worker)(\d+)", name):
            found[int(match[1])] = task
    return found


def worker(running, lcore=1):
    """The thread of a worker lcore."""
    return int(workers(running)[lcore].name)


class Held:
    """A thread that stands still, as under a debugger; the rest of its process runs."""

    def __init__(self, test, thread):
        self._thread, self._held = thread, True
        try:
            _ptrace(PTRACE_SEIZE, thread)
        except PermissionError:
            test.skipTest("ptrace(2) is not allowed here")
        _ptrace(PTRACE_INTERRUPT, thread)
        os.waitpid(thread, WALL)
        test.addCleanup(self.let_go)

    def for_ever(self):
        """It is not let go. Its end is waited for, or its process could not end."""
        self._held = False
        threading.Thread(target=os.waitpid, args=(self._thread, WALL), daemon=True).start()

    def let_go(self):
        if self._held:
            self._held = False
            try:
                _ptrace(PTRACE_DETACH, self._thread)
            except ProcessLookupError:
                pass  # the process has ended
