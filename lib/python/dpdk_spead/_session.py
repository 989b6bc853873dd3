# SPDX-License-Identifier: BSD-3-Clause
"""The session: EAL, its ports and lcores, once per operating system process."""

import atexit
import json
import os
import threading
from typing import Any, Dict, Iterable, List, Optional, Union

from . import _native, _logs, stats

_lock = threading.Lock()
#: The session that was asked for by name: it lives without streams, too.
_kept: Optional[_native.Process] = None
_pid = os.getpid()


def init(*, lcores: Optional[Iterable[int]] = None, memory: Optional[int] = None, eal: Optional[Iterable[str]] = None,
         main_cpu: Optional[int] = None, name: Optional[str] = None, log_level: Optional[str] = None) -> "Session":
    """Starts the session, and returns it. Streams on ports start it by themselves, from DPDK_SPEAD_* and the defaults.

    `lcores`: the CPUs that streams may have; default: all that the process may use but `main_cpu`. `memory`: bytes of
    packet buffers for ports that are opened later; used without huge pages. `eal`: more arguments of EAL. `log_level`:
    "error", "warning", "notice", "info" or "debug". Raises Error and UsageError, and may then be called again.
    """
    global _kept
    with _lock:
        _need_own_process()
        if _native.Process.current() is not None:
            raise _native.Error("session: it runs already; use session(), or call its stop() first")
        _kept = _native.Process(name=name, main_cpu=main_cpu, lcores=None if lcores is None else list(lcores),
                                memory=memory, eal=None if eal is None else list(eal), log_level=log_level)
        return Session(_kept)


def session() -> "Session":
    """Returns the session that runs; starts one if there is none. Raises Error and UsageError."""
    global _kept
    with _lock:
        _kept = shared()
        return Session(_kept)


def shared() -> _native.Process:
    """Returns the handle of the session, for streams; starts one if there is none. Raises Error and UsageError."""
    _need_own_process()
    return _native.Process.shared()


def _need_own_process() -> None:
    if os.getpid() != _pid:
        raise _native.Error("session: EAL does not survive a fork; use ports in the parent, or start children by spawn")


class Session:
    """Shows and ends the session, and runs plans in it. All objects mean the same session."""

    def __init__(self, handle: _native.Process) -> None:
        self._handle = handle

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self._handle.running

    @property
    def problems(self) -> List[str]:
        """Sentences that say why it ended by itself; empty while it has not."""
        return self._handle.problems

    def counters(self) -> Dict[str, Any]:
        """Returns all counters, as the program's report has them (docs/counters.md). Raises Error after the end."""
        return json.loads(self._handle.report())

    def findings(self) -> List[Dict[str, Any]]:
        """Returns the findings: what was lost, where, and the fix. Raises Error after the end."""
        return self.counters()["findings"]

    def run(self, plan: Union[str, "os.PathLike[str]"]) -> "Run":
        """Runs a whole plan beside the streams of this program; see dpdk_spead.run()."""
        text, name = _read_plan(plan)
        self._handle.apply(text, name)
        return Run(self)

    def stop(self) -> None:
        """Ends all streams on ports, and then the session. Heaps that were received stay readable."""
        self._handle.stop()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def __repr__(self) -> str:
        if not self.running:
            return "<Session: ended>"
        return f"<Session: {stats.summary(self.counters())}>"

    def _repr_html_(self) -> str:
        return stats.html(self.counters()) if self.running else "<p>The session has ended.</p>"


class Run:
    """Holds a plan that runs. stop() ends its streams and senders, and leaves those of the program."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def change(self, plan: Union[str, "os.PathLike[str]"]) -> None:
        """Runs another plan in place of this one. Streams that stay the same lose nothing. Raises Error, UsageError."""
        text, name = _read_plan(plan)
        self._session._handle.apply(text, name)

    def counters(self) -> Dict[str, Any]:
        """Returns all counters of the session."""
        return self._session.counters()

    def findings(self) -> List[Dict[str, Any]]:
        """Returns the findings of the session."""
        return self._session.findings()

    def stop(self) -> None:
        """Ends the plan's streams and senders. Their counts are gone with them: call counters() before."""
        if self._session.running:
            self._session._handle.apply("", "plan")

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def __repr__(self) -> str:
        return repr(self._session).replace("Session", "Run")

    def _repr_html_(self) -> str:
        return self._session._repr_html_()


def run(plan: Union[str, "os.PathLike[str]"]) -> Run:
    """Runs a plan: the path of a configuration file, or its text (docs/configuration.md). Starts the session if needed.

    The plan's ports, streams and senders run beside those of this program. A second plan replaces the first. Of
    [runtime], only `log_level` has an effect: init() has the lcores. Raises Error and UsageError.
    """
    return session().run(plan)


def _read_plan(plan: Union[str, "os.PathLike[str]"]) -> tuple:
    if isinstance(plan, str) and ("\n" in plan or "=" in plan):
        return plan, "plan"
    path = os.fspath(plan)
    with open(path, encoding="utf-8") as file:
        return file.read(), path


def _stop_at_exit() -> None:
    handle = _native.Process.current()
    if handle is not None:
        handle.stop()


# Lines of the end are still written: what was registered later runs earlier.
_logs.start()
atexit.register(_stop_at_exit)
