# SPDX-License-Identifier: BSD-3-Clause
"""Counters of the session for people: tables, a line, and a line that moves."""

import html as _html
import sys
import threading
import time
from typing import Any, Dict, List, Optional, TextIO


def counters() -> Dict[str, Any]:
    """Returns all counters of the session that runs (docs/counters.md). Raises Error if there is none."""
    return _current().counters()


def findings() -> List[Dict[str, Any]]:
    """Returns the findings of the session that runs: what was lost, where, and the fix."""
    return _current().findings()


def _current() -> Any:
    from . import _native, _session

    handle = _native.Process.current()
    if handle is None:
        raise _native.Error("stats: no session runs; call dpdk_spead.init(), or make a stream on a port first")
    return _session.Session(handle)


def _rows(report: Dict[str, Any]) -> List[List[str]]:
    rows = []
    for stream in report["streams"]:
        packets, heaps = stream["packets"], stream["heaps"]
        rows.append(["stream", stream["name"], stream["state"], f"{packets['received']:,}",
                     f"{heaps['complete']:,}", f"{stream['bytes']:,}"])
    for sender in report["sends"]:
        rows.append(["sender", sender["name"], sender["state"], f"{sender['packets']:,}", f"{sender['heaps']:,}",
                     f"{sender['bytes']:,}"])
    for port in report["ports"]:
        rows.append(["port", port["name"], port["state"], f"{port['rx']['packets']:,}", "",
                     f"{port['rx']['bytes']:,}"])
    return rows


_TITLES = ["", "name", "state", "packets", "heaps", "bytes"]


def summary(report: Dict[str, Any]) -> str:
    """Returns one line: how many streams, senders and ports, and their sums."""
    received = sum(s["packets"]["received"] for s in report["streams"])
    sent = sum(s["packets"] for s in report["sends"])
    return (f"{_count(report['streams'], 'stream')} ({received:,} packets), {_count(report['sends'], 'sender')} "
            f"({sent:,} packets), {_count(report['ports'], 'port')}")


def _count(things: List[Any], word: str) -> str:
    return f"{len(things)} {word}{'' if len(things) == 1 else 's'}"


def text(report: Dict[str, Any]) -> str:
    """Returns a table of streams, senders and ports."""
    rows = [_TITLES, *_rows(report)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_TITLES))]
    lines = ["  ".join(cell.rjust(w) if i > 2 else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths)))
             for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def html(report: Dict[str, Any]) -> str:
    """Returns the same table for notebooks."""
    head = "".join(f"<th>{title}</th>" for title in _TITLES)
    body = "".join("<tr>" + "".join(f"<td>{_html.escape(cell)}</td>" for cell in row) + "</tr>"
                   for row in _rows(report))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Progress:
    """Writes a line about the session every `interval` seconds, on a thread, until the `with` block ends.

    On a terminal or in a notebook each line replaces the one before. Rates are over the time since the line before;
    that of the last line is over the whole time.
    """

    def __init__(self, interval: float = 1.0, file: Optional[TextIO] = None) -> None:
        if interval <= 0:
            raise ValueError(f"progress: the interval is {interval} s; give more than 0")
        self._interval = interval
        self._file = file if file is not None else sys.stderr
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dpdk_spead progress", daemon=True)
        self._first: tuple = (None, 0.0)

    def _run(self) -> None:
        last = self._first
        while not self._done.wait(self._interval):
            last = self._line(*last)

    @staticmethod
    def _moved(report: Dict[str, Any]) -> int:
        return sum(s["bytes"] for s in report["streams"])

    def _line(self, before: Optional[int], since: float) -> tuple:
        try:
            report = counters()
        except Exception as error:
            self._file.write(f"\r{error}\n")
            return before, since
        now = time.monotonic()
        moved = self._moved(report)
        rate = 0.0 if before is None else 8e-9 * max(0, moved - before) / max(now - since, 1e-9)
        lost = sum(p["nic"]["missed"] for p in report["ports"])
        self._file.write(f"\r{summary(report)}, {rate:.2f} Gb/s, {lost:,} missed\x1b[K")
        self._file.flush()
        return moved, now

    def __enter__(self) -> "Progress":
        try:
            self._first = (self._moved(counters()), time.monotonic())
        except Exception:
            pass  # the first line says why
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._done.set()
        self._thread.join()
        self._line(*self._first)
        self._file.write("\n")
