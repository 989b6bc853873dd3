# SPDX-License-Identifier: BSD-3-Clause
"""The programs of docs/python.md, as a reader runs them."""

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "docs/examples/python"
LONGEST = 60  # lines of an example


def free_ports(count):
    made = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for one in made:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in made]
    for one in made:
        one.close()
    return ports


class Program:
    def __init__(self, name, *words):
        self.process = subprocess.Popen([sys.executable, "-u", str(EXAMPLES / f"{name}.py"), *map(str, words)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for_port(self, port):
        """Waits until a socket of this machine is bound to the port."""
        end = time.monotonic() + 60
        while f":{port:04X} " not in Path("/proc/net/udp").read_text():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end
            time.sleep(0.01)

    def end(self):
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, (out, err)
        return out


def run(name, *words):
    return Program(name, *words).end()


def test_they_are_short():
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text().splitlines()) <= LONGEST, path


def test_inproc():
    assert run("inproc") == "10 of 10 heaps came back as they were\n"


def test_items_reach_a_receiver():
    (port,) = free_ports(1)
    receiver = Program("recv_items", "127.0.0.1", port)
    receiver.wait_for_port(port)
    assert "packets sent" in run("send_numpy", "127.0.0.1", port, 20)
    lines = receiver.end().splitlines()
    assert "heap 2: timestamp = 0" in lines
    assert any(line.startswith("heap 2: samples = array([0, 0, 0") for line in lines)
    assert "heap 21: timestamp = 77824" in lines
    assert lines[-1] == "21 heaps, 0 packets lost before the stream"


def test_two_streams_in_one_loop():
    ports = free_ports(2)
    receiver = Program("recv_asyncio", *ports)
    for port in ports:
        receiver.wait_for_port(port)
    for heaps, port in zip((5, 7), ports):
        run("send_numpy", "127.0.0.1", port, heaps)
    out = receiver.end()
    assert f"port {ports[0]}: 6 heaps\nport {ports[1]}: 8 heaps\n" in out


def test_chunks_and_their_picture(tmp_path):
    pytest.importorskip("matplotlib")
    (port,) = free_ports(1)
    picture = tmp_path / "presence.png"
    receiver = Program("chunks", f"127.0.0.1:{port}", "127.0.0.1", picture)
    receiver.wait_for_port(port)
    run("send_numpy", "127.0.0.1", port, 40)
    out = receiver.end()
    assert "chunk 0: 16 of 16 heaps, mean 7.5" in out and "chunk 1: 16 of 16 heaps, mean 23.5" in out
    assert "chunk 2: 8 of 16 heaps" in out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_wrong_arguments_are_told():
    program = Program("recv_items", "not-a-host.invalid", 7148)
    _, err = program.process.communicate(timeout=60)
    assert program.process.returncode == 1 and "not-a-host.invalid" in err
