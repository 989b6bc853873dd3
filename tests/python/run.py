# SPDX-License-Identifier: BSD-3-Clause
"""Runs files of pytest, and prints TAP, so that every test in them is counted.

usage: run.py FILE|PYTEST-OPTION...
"""

import sys

import pytest


class Tap:
    """Prints a line for each test, and the text of a failure in lines that begin with #."""

    def __init__(self):
        self.count = 0

    def pytest_addoption(self, parser):
        # Assertions ask for it, and the terminal's reporter, which would not print TAP, has it.
        parser.addoption("--verbose", dest="verbose", type=int, default=0)

    def _line(self, outcome, name, note=""):
        self.count += 1
        print(f"{outcome} {self.count} - {name.replace('#', ' ')}{note}", flush=True)

    @staticmethod
    def _explain(text):
        for line in text.splitlines():
            print(f"# {line}", flush=True)

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.split("::", 1)[-1]
        if report.skipped:
            self._line("ok", name, f" # SKIP {report.longrepr[2].removeprefix('Skipped: ')}")
        elif report.failed:
            self._line("not ok", name if report.when == "call" else f"{name} ({report.when})")
            self._explain(report.longreprtext)
            for title, text in report.sections:
                self._explain(f"{title}\n{text}")
        elif report.when == "call":
            self._line("ok", name)

    def pytest_collectreport(self, report):
        if report.failed:
            self._line("not ok", report.nodeid or "collection")
            self._explain(report.longreprtext)
        elif report.skipped:
            self._line("ok", report.nodeid, f" # SKIP {report.longrepr[2].removeprefix('Skipped: ')}")


def main(words):
    tap = Tap()
    # asyncio's tests need no marks; the terminal's report would not be TAP.
    options = ["-p", "no:terminal", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto"]
    status = pytest.main([*options, *words], plugins=[tap])
    print(f"1..{tap.count}")
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
