# SPDX-License-Identifier: BSD-3-Clause
"""The session, plans, counters and the log. Each case is a process of its own: EAL starts once in one."""

import io
import itertools
import re
import struct
import subprocess
import sys
import textwrap
import threading

import programs
import pytest

PLAN = """
version = 1
[memory]
heaps = "64MiB"
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "back"
port = "p0"
endpoints = ["239.10.10.0:7148"]
[receive.heaps]
max_bytes = "1MiB"
[receive.sink]
kind = "verify"
[[send]]
name = "out"
port = "p0"
endpoints = ["239.10.10.0:7148"]
heap_size = "64KiB"
heaps = 100
verify = true
"""

PRELUDE = f"""
import time
import dpdk_spead as ds
PLAN = '''{PLAN}'''

def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen within a minute"
        time.sleep(0.01)

def complete(counters):
    return sum(s["heaps"]["complete"] for s in counters["streams"])
"""


def script(text, *, status=0, **options):
    return programs.expect(programs.run(PRELUDE + textwrap.dedent(text), **options), status)


def test_a_session_as_in_a_notebook():
    """Starts, is refused, is corrected, runs, changes, stops and starts again in one interpreter."""
    done = script("""
        try:
            ds.init(lcores=[1022])
        except ds.Error as error:
            print(error)
        with ds.init() as session:
            try:
                session.run(PLAN.replace("net_ring0", "no_such_card0"))
            except ds.Error as error:
                print(error)
            run = ds.run(PLAN)
            wait_for(lambda: complete(run.counters()) == 100)
            assert ds.stats.counters()["sends"][0]["heaps"] == 100
            assert run.findings() == ds.stats.findings()
            assert "1 stream (" in repr(session), repr(session)
            assert "<td>back</td>" in session._repr_html_()
            print(ds.stats.text(ds.stats.counters()))
            run.change(PLAN.replace('"out"', '"again"').replace("heaps = 100", "heaps = 50\\nfirst_count = 1000"))
            wait_for(lambda: complete(run.counters()) == 150)
            run.stop()
            assert run.counters()["streams"] == [] and session.running
        assert not session.running and repr(session) == "<Session: ended>"
        ds.run(PLAN)  # nothing keeps its object
        wait_for(lambda: complete(ds.stats.counters()) == 100)
    """)
    assert "CPU 1022" in done.stdout and "no_such_card0" in done.stdout
    assert "stream  back" in done.stdout


def test_a_second_session_is_refused():
    script("""
        ds.init(name="one")
        try:
            ds.init()
        except ds.Error as error:
            assert "it runs already" in str(error), error
        else:
            raise SystemExit(3)
        assert ds.session().running
    """)


def test_wrong_plans_name_their_place(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("version = 1\nrecieve = 1\n")
    done = script(f"""
        for plan in [{str(path)!r}, "version = 9\\n", {str(tmp_path / "none.toml")!r}]:
            try:
                ds.run(plan)
            except (ds.UsageError, FileNotFoundError) as error:
                print(error)
    """)
    assert f"{path}:2" in done.stdout and "none.toml" in done.stdout and "plan:1" in done.stdout


def test_without_a_session_there_are_no_counters():
    script("""
        try:
            ds.stats.counters()
        except ds.Error as error:
            assert "no session runs" in str(error)
        else:
            raise SystemExit(3)
    """)


@pytest.mark.parametrize("end, status", [("", 0), ("sys.exit(3)", 3), ("raise KeyError('x')", 1), ("del session", 0)])
def test_exits_are_clean(end, status):
    done = script(f"""
        import sys
        session = ds.init()
        run = ds.run(PLAN.replace("heaps = 100", "heaps = 1000000000"))
        wait_for(lambda: complete(run.counters()) > 10)
        {end}
    """, status=status)
    assert "Error" not in done.stderr.replace("KeyError", "")


def test_a_child_of_fork_is_told():
    script("""
        import os, sys
        ds.init()
        child = os.fork()
        if child == 0:
            try:
                ds.session()
            except ds.Error as error:
                sys.exit(7 if "does not survive a fork" in str(error) else 8)
            sys.exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert ds.session().running
    """)


def test_the_log_reaches_logging():
    done = script("""
        import logging
        logging.basicConfig(level=logging.DEBUG, format="%(name)s|%(levelname)s|%(message)s")
        with ds.init(eal=["--log-level=lib.eal:debug"]):
            ds.run(PLAN)
    """)
    lines = [line for line in done.stderr.splitlines() if line.startswith("dpdk_spead.")]
    assert any("Detected CPU lcores" in line for line in lines), done.stderr


def test_the_log_of_a_child_reaches_logging(tmp_path):
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1) + b"half a record")
    done = script(f"""
        import logging
        import os
        from dpdk_spead import _logs, recv
        logging.basicConfig(level=logging.INFO, format="%(process)d|%(name)s|%(message)s")
        child = os.fork()
        if child == 0:
            stream = recv.Stream(ds.ThreadPool())
            stream.add_udp_pcap_file_reader({str(cut)!r})
            assert list(stream) == []
            _logs.stop()  # writes what is left
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        print(child)
    """)
    lines = [line for line in done.stderr.splitlines() if "the rest is not received" in line]
    assert len(lines) == 1 and lines[0].startswith(f"{done.stdout.strip()}|dpdk_spead.recv|"), done.stderr


def test_the_progress_line_moves():
    done = script("""
        import io
        file = io.StringIO()
        with ds.init():
            run = ds.run(PLAN)
            with ds.stats.Progress(0.01, file):
                wait_for(lambda: complete(run.counters()) == 100 and "Gb/s" in file.getvalue())
        print(file.getvalue())
    """)
    assert "1 stream (" in done.stdout and "0 missed" in done.stdout


def test_the_first_and_the_last_progress_line_have_a_rate(monkeypatch):
    """Each reading has 4 TB more."""
    import dpdk_spead.stats as stats

    moved, second_line = itertools.count(0, 4_000_000_000_000), threading.Event()

    def counters():
        received = next(moved)
        if received > 12_000_000_000_000:
            second_line.set()
        return {"streams": [{"packets": {"received": 7}, "bytes": received}], "sends": [],
                "ports": [{"nic": {"missed": 3}}]}

    monkeypatch.setattr(stats, "counters", counters)
    for interval, lines in ((60, 1), (0.01, 3)):
        file = io.StringIO()
        with stats.Progress(interval, file):
            assert interval == 60 or second_line.wait(20)
        rates = re.findall(r"([0-9.]+) Gb/s, 3 missed", file.getvalue())
        assert len(rates) >= lines and all(float(rate) > 0 for rate in rates), rates


def test_the_module_shows_what_is_there():
    done = subprocess.run([sys.executable, "-m", "dpdk_spead"], stdout=subprocess.PIPE, text=True, timeout=60,
                          check=True)
    assert "on DPDK " in done.stdout and "interfaces\n  lo " in done.stdout
    wrong = subprocess.run([sys.executable, "-m", "dpdk_spead", "--wrong"], stderr=subprocess.PIPE, text=True,
                           timeout=60, check=False)
    assert wrong.returncode == 2 and "'--wrong' is unknown" in wrong.stderr


def test_ports_named_by_their_kind_are_several():
    """Each stream names an interface: the second device of a kind gets a number of its own."""
    script("""
        from dpdk_spead import send
        first = send.Stream("239.10.10.0:7148", interface="net_null")
        second = send.Stream("239.10.10.0:7148", interface="net_null,copy=1")
        names = [port["name"] for port in ds.stats.counters()["ports"]]
        assert len(names) == 2, names
    """)


def test_subinterpreters_are_refused():
    script("""
        import subprocess, sys
        text = "import _xxsubinterpreters as si; si.run_string(si.create(), 'import dpdk_spead')"
        done = subprocess.run([sys.executable, "-c", text], stderr=subprocess.PIPE, text=True, timeout=60)
        assert done.returncode == 1 and "main interpreter alone" in done.stderr, done.stderr
    """)
