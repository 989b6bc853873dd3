# SPDX-License-Identifier: BSD-3-Clause
"""Brings the log of the library and of DPDK to the module logging."""

import atexit
import logging
import os
import select
import threading
from typing import Optional

from . import _native

_LEVELS = [logging.CRITICAL, logging.ERROR, logging.WARNING, logging.INFO, logging.INFO, logging.DEBUG]

_log = logging.getLogger("dpdk_spead")
_thread: Optional[threading.Thread] = None
_stop_fd = -1


def _write() -> None:
    for level, line in _native.take_log():
        part, colon, text = line.partition(": ")
        ours = bool(colon) and part.startswith("spead.")
        logger = logging.getLogger("dpdk_spead." + part[6:]) if ours else logging.getLogger("dpdk_spead.dpdk")
        logger.log(_LEVELS[level], "%s", text if ours else line)


def _run(stop_fd: int) -> None:
    lines_fd = _native.log_fd()
    poll = select.poll()
    poll.register(lines_fd, select.POLLIN)
    poll.register(stop_fd, select.POLLIN)
    while True:
        ready = poll.poll()
        try:
            _write()
        except Exception:  # a handler of the user's
            _log.exception("a line of the log could not be written")
        if any(fd == stop_fd for fd, _ in ready):
            return


def start() -> None:
    """Starts the thread that writes lines, in the first call."""
    global _thread, _stop_fd
    if _thread is not None:
        return
    _stop_fd = os.eventfd(0)  # type: ignore[attr-defined]
    _thread = threading.Thread(target=_run, args=(_stop_fd,), name="dpdk_spead log", daemon=True)
    _native.keep_log()
    _thread.start()


def stop() -> None:
    """Ends the thread, and writes later lines to standard error."""
    global _thread
    if _thread is None:
        return
    _native.release_log()
    os.eventfd_write(_stop_fd, 1)  # type: ignore[attr-defined]
    _thread.join(timeout=5)
    _thread = None
    os.close(_stop_fd)


def _start_again() -> None:
    """Starts the thread anew in a child of fork(2), which has none."""
    global _thread
    if _thread is None:
        return
    _thread = None
    os.close(_stop_fd)
    _native.renew_log()
    start()


atexit.register(stop)
os.register_at_fork(after_in_child=_start_again)
