# SPDX-License-Identifier: BSD-3-Clause
"""A client of DPDK's telemetry (its protocol: SOCK_SEQPACKET, a greeting, then a command and its answer each), and a
run that counts, sends and then stays up with nothing more to do."""

import json
import os
import socket
import tempfile
from pathlib import Path

import harness


def directory():
    """Where processes of this user have theirs."""
    base = os.environ.get("RUNTIME_DIRECTORY")
    if base is None:
        base = "/var/run" if os.getuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp")
    return Path(base) / "dpdk"


def socket_of(running, name="dpdk-spead"):
    return directory() / f"{name}.{running.process.pid}" / "dpdk_telemetry.v2"


class Client:
    def __init__(self, path, test):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        test.addCleanup(self._socket.close)
        self._socket.settimeout(30 * harness.PATIENCE)
        self._socket.connect(str(path))
        self.greeting = json.loads(self._socket.recv(1024))

    def raw(self, command):
        self._socket.send(command if isinstance(command, bytes) else command.encode())
        return self._socket.recv(self.greeting["max_output_len"])

    def ask(self, command):
        answer = json.loads(self.raw(command))
        (name, value), = answer.items()
        assert name == command.split(",")[0], answer
        return value

    def report(self):
        """The whole report, put together from its pieces."""
        head, text = self.ask("/spead/report"), ""
        while len(text) < head["size"]:
            text += self.ask(f"/spead/report,{head['sequence']},{len(text)}")
        return json.loads(text)


def fitted(value):
    """Returns a value of the JSON report as telemetry shows it, without numbers that are not whole, without null, and
    without lists of objects."""
    if isinstance(value, dict):
        return {name: fitted(member) for name, member in value.items() if member is not None}
    if isinstance(value, list):
        if all(isinstance(entry, int) for entry in value) or all(isinstance(entry, str) for entry in value):
            return value
        return {str(i): fitted(entry) for i, entry in enumerate(value)}
    return str(value) if isinstance(value, float) else value


CONFIGURATION = """
version = 1
[runtime]
name = "{name}"
[[port]]
name = "capture"
device = "net_pcap0,rx_pcap={capture}"
[[port]]
name = "wire"
device = "net_ring0"
[[receive]]
name = "recorded"
port = "capture"
endpoints = ["239.10.10.0+15:7148"]
expected_rate = "8Mbps"
[[receive]]
name = "own"
port = "wire"
endpoints = ["239.1.1.1:7148", "239.1.2.0+3:7148"]
[receive.sink]
kind = "verify"
[receive.capture]
files = ["{directory}/own.pcap"]
[[send]]
name = "source"
port = "wire"
endpoints = ["239.1.1.1:7148"]
heaps = 20
heap_size = "64KiB"
verify = true
"""


class StayingUp(harness.ProgramTest):
    """A capture is read and heaps are sent to ourselves; then a port that gets nothing more keeps the run going."""

    name = "dpdk-spead"

    def start_counting(self, *options, environment=None, **others):
        capture = Path(os.environ["DPDK_SPEAD_SOURCE_ROOT"]) / "tests/data/reference/four-groups.pcap"
        # Two processes do not write one file.
        directory = Path(tempfile.mkdtemp(dir=self.directory))
        file = directory / "run.toml"
        file.write_text(CONFIGURATION.format(name=self.name, capture=capture, directory=directory), encoding="utf-8")
        running = self.start("run", "--config", file, *options, environment=environment, **others)
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")
        return running

    def connect(self, running):
        return Client(socket_of(running, self.name), self)

    def settled(self, running, client):
        """Once everything has come, and its snapshot has been published."""
        def done():
            recorded = client.ask("/spead/stream,recorded")
            own = client.ask("/spead/stream,own")
            if "error" in recorded:
                return False
            captured = client.ask("/spead/captures")["0"]["packets"]
            return (recorded["heaps"]["delivered"] == 8 and own["heaps"]["delivered"] == 20 and
                    own["info"]["stop_items"] == 1 and captured["written"] == own["packets"]["received"])
        running.wait_for(done, "end of what comes")
