#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The program as a service: its reports to a service manager, for which a socket stands in, and the unit file."""

import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import time
import unittest

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
WATCHDOG_S = 1.0
CONFIGURATION = """
version = 1
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "back"
port = "p0"
endpoints = ["239.1.2.3:7148"]
heaps = { max_bytes = "64KiB" }
[[send]]
name = "out"
port = "p0"
endpoints = ["239.1.2.3:7148"]
heap_size = "16KiB"
rate = "10Mbps"
"""


class Manager:
    """The service manager's end: a datagram socket at a path or, with a leading @, an abstract address."""

    def __init__(self, test, address):
        self._test, self.address = test, address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind("\0" + address[1:] if address.startswith("@") else address)
        test.addCleanup(self._socket.close)
        self.messages = []

    def take(self, timeout):
        """The messages that come until there is none for `timeout` seconds."""
        taken = []
        while select.select([self._socket], [], [], timeout)[0]:
            taken.append(self._socket.recv(4096).decode())
            timeout = 0
        self.messages += taken
        return taken

    def wait_for(self, running, condition, what):
        running.wait_for(lambda: any(condition(text) for text in self.take(0.01)), what)


class Service(harness.ProgramTest):
    def start_service(self, address, watchdog=None):
        manager = Manager(self, address)
        file = self.directory / "service.toml"
        file.write_text(CONFIGURATION, encoding="utf-8")
        environment = {"NOTIFY_SOCKET": address}
        if watchdog:
            environment["WATCHDOG_USEC"] = str(int(watchdog * 1e6))
        return manager, self.start("run", "--config", file, "--quiet", environment=environment)

    def live(self, address):
        manager, running = self.start_service(address)
        manager.wait_for(running, lambda text: text == "READY=1", "readiness")
        self.assertEqual(manager.messages[0], "READY=1", "nothing comes before")
        manager.wait_for(running, lambda text: text.startswith("STATUS=") and "rx" in text and "tx" in text, "rates")
        running.process.send_signal(signal.SIGTERM)
        running.wait()
        manager.take(0.1)
        self.assertTrue(manager.messages[-1].startswith("STOPPING=1"), manager.messages)
        self.assertEqual(manager.messages.count("READY=1"), 1)
        self.assertNotIn("WATCHDOG=1", manager.messages, "nobody asked for it")

    def test_at_a_path(self):
        self.live(str(self.directory / "notify"))

    def test_at_an_abstract_address(self):
        self.live(f"@dpdk-spead-test-{os.getpid()}")

    def test_keep_alives_end_with_the_main_loop(self):
        manager, running = self.start_service(str(self.directory / "notify"), WATCHDOG_S)
        for _ in range(3):
            manager.wait_for(running, lambda text: text == "WATCHDOG=1", "a keep-alive")
        running.process.send_signal(signal.SIGSTOP)
        # The signal takes effect at once, but what was sent before waits in the socket.
        while pathlib.Path(f"/proc/{running.process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "T":
            time.sleep(0.01)
        manager.take(0)
        self.assertEqual(manager.take(3 * WATCHDOG_S), [], "a loop that stands still says nothing")
        running.process.send_signal(signal.SIGCONT)
        manager.wait_for(running, lambda text: text == "WATCHDOG=1", "a keep-alive after the pause")
        running.process.send_signal(signal.SIGTERM)
        running.wait()

    def test_a_reload_carries_out_the_file_or_says_what_needs_a_restart(self):
        manager, running = self.start_service(str(self.directory / "notify"))
        file = self.directory / "service.toml"

        def reload(text, answer):
            said = len(running.text(1))
            file.write_text(text, encoding="utf-8")
            running.process.send_signal(signal.SIGHUP)
            running.wait_for(lambda: answer in running.text(1)[said:], answer)

        manager.wait_for(running, lambda text: text == "READY=1", "readiness")
        reload(CONFIGURATION, "has no changes")
        reload(CONFIGURATION + '\n[runtime]\nlcore_timeout = "5s"\n', "nothing was changed: [runtime]")
        reload(CONFIGURATION + '\n[runtime]\nmetrics = "127.0.0.1:9100"\n', "only `log_level` can change")
        reload("rubbish", "service.toml:1:")
        reload(CONFIGURATION + '\n[runtime]\nlog_level = "info"\n', "carried out: 1 stream, 1 sender")
        manager.take(0.1)
        self.assertEqual(sum(text.startswith("RELOADING=1") for text in manager.messages), 5, manager.messages)
        running.process.send_signal(signal.SIGTERM)
        running.wait()

    def test_without_a_manager_nothing_is_missing(self):
        self.run_program("loopback", "--heaps", 10, environment={"NOTIFY_SOCKET": str(self.directory / "nobody")})

    def test_not_ready_when_it_cannot_start(self):
        manager = Manager(self, str(self.directory / "notify"))
        self.refused("recv", "--port", "net_pcap0,rx_pcap=/nowhere.pcap", "239.1.2.3:7148", status=1,
                     environment={"NOTIFY_SOCKET": manager.address})
        self.assertEqual(manager.take(0.1), [])


class Unit(harness.ProgramTest):
    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not here")
    def test_systemd_understands_the_unit_file(self):
        text = (ROOT / "config/dpdk-spead@.service").read_text(encoding="utf-8")
        unit = self.directory / "dpdk-spead@example.service"
        unit.write_text(text.replace("/usr/local/bin/dpdk-spead", harness.program()), encoding="utf-8")
        verified = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True,
                                  check=False)
        complaints = [line for line in verified.stderr.splitlines() if "dpdk-spead" in line]
        self.assertEqual((verified.returncode, complaints), (0, []), verified.stderr)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not here")
    def test_systemd_understands_the_drop_in_of_a_shard(self):
        text = (ROOT / "config/dpdk-spead@.service").read_text(encoding="utf-8")
        unit = self.directory / "dpdk-spead@example.service"
        unit.write_text(text.replace("/usr/local/bin/dpdk-spead", harness.program()), encoding="utf-8")
        drop_in = self.directory / "dpdk-spead@example.service.d" / "shard.conf"
        drop_in.parent.mkdir()
        shutil.copy(ROOT / "config/deploy/systemd/shard.conf", drop_in)
        verified = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True,
                                  check=False)
        complaints = [line for line in verified.stderr.splitlines() if "shard" in line or "dpdk-spead" in line]
        self.assertEqual((verified.returncode, complaints), (0, []), verified.stderr)

    def test_a_host_whose_file_names_no_shard_does_not_take_the_whole_plan(self):
        text = (ROOT / "config/deploy/systemd/shard.conf").read_text(encoding="utf-8")
        environment = dict(line.removeprefix("Environment=").split("=", 1) for line in text.splitlines()
                           if line.startswith("Environment="))
        self.refused("check", "--config", ROOT / "config/receive.toml", status=2, says=("shard",),
                     environment=environment)


if __name__ == "__main__":
    harness.main()
