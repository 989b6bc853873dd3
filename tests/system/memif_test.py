#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""send to recv between two processes over net_memif: shared memory, no root, nothing lost."""

import os
import subprocess
import sys
import unittest

import harness

ENDPOINT = "239.1.1.1:7148"


class Memif(harness.ProgramTest):
    def device(self, role):
        return f"net_memif0,role={role},socket={self.directory}/memif.sock"

    def exchange(self, heaps, heap_size, *words, receiver="server", server_first=True, options=()):
        """Everything that is sent arrives, verified, whichever end serves and whichever starts first."""
        sender = "client" if receiver == "server" else "server"
        commands = [
            ("recv", ENDPOINT, "--port", self.device(receiver), "--sink", "verify", "--exit-on-stop", *words, *options),
            ("send", ENDPOINT, "--port", self.device(sender), "--heaps", heaps, "--heap-size", heap_size, "--verify",
             *words),
        ]
        receiver_starts = (receiver == "server") == server_first
        runs = [self.start(*command) for command in (commands if receiver_starts else reversed(commands))]
        ended = [running.wait(timeout=120) for running in runs]
        received, sent = (ended if receiver_starts else reversed(ended))
        self.assertEqual(sent.report["sends"][0]["heaps"], heaps, str(sent))
        self.assert_stream(received.report, "s0", complete=heaps, started=heaps, duplicate=0, malformed=0)
        self.assertEqual(sent.report["sends"][0]["packets"], received.report["ports"][0]["rx"]["packets"])

    def test_the_receiver_serves(self):
        self.exchange(500, "256KiB")

    def test_the_sender_serves(self):
        self.exchange(500, "256KiB", receiver="client")

    def test_the_client_starts_first(self):
        self.exchange(50, "256KiB", server_first=False)

    def test_jumbo_packets_both_ways_round(self):
        for receiver in ("server", "client"):
            with self.subTest(receiver=receiver):
                self.exchange(500, "1MiB", "--max-packet-size", 8900, receiver=receiver)

    def test_small_heaps(self):
        self.exchange(20000, 256, receiver="server")


    def test_both_ends_meet_by_themselves(self):
        # As a service has it; root's own would be everybody's in these tests.
        os.environ["RUNTIME_DIRECTORY"] = str(self.directory)
        self.addCleanup(os.environ.pop, "RUNTIME_DIRECTORY")
        self.device = lambda role: f"net_memif0,role={role}"
        self.exchange(50, "256KiB")
        self.assertEqual(os.listdir(self.directory / "dpdk-spead"), [])


@unittest.skipUnless(os.geteuid() == 0, "root becomes other users")
class Strangers(harness.ProgramTest):
    STRANGER = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")

    def serve(self, device):
        self.socket = self.directory / "peer.sock"
        running = self.start("recv", ENDPOINT, "--port", device.format(self.socket))
        running.wait_for(self.socket.exists, "a socket")
        return running

    def connect(self, kind):
        """Returns the answer to another user's connect(), at once and for as long as the socket is there."""
        script = (f"import socket\nmade = socket.socket(socket.AF_UNIX, socket.{kind})\n"
                  f"try:\n    made.connect('{self.socket}')\n    print('connected')\n"
                  "except OSError as error:\n    print(type(error).__name__)")
        return subprocess.run([*self.STRANGER, sys.executable, "-c", script], check=True, stdout=subprocess.PIPE,
                              text=True, timeout=60).stdout.strip()

    def test_they_do_not_get_in(self):
        self.directory.chmod(0o777)  # where anybody may look
        for device, kind in (("net_memif0,role=server,socket={}", "SOCK_SEQPACKET"),
                             ("net_vhost0,iface={}", "SOCK_STREAM"),
                             ("net_virtio_user0,path={},server=1", "SOCK_STREAM")):
            with self.subTest(device=device):
                running = self.serve(device)
                self.assertEqual(self.socket.stat().st_mode & 0o7777, 0o600)
                self.assertEqual(self.connect(kind), "PermissionError")
                if "virtio" in device:  # waits for its peer before anything else
                    running.process.kill()
                    running.process.wait()
                    self.socket.unlink()
                    continue
                running.interrupt()
                running.wait()

    def test_theirs_is_not_connected_to(self):
        self.directory.chmod(0o1777)
        theirs = self.directory / "peer.sock"
        script = (f"import socket, sys\nmade = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                  f"made.bind('{theirs}')\nmade.listen()\nprint('ready', flush=True)\nmade.accept()\nprint('came')")
        with subprocess.Popen([*self.STRANGER, sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as stranger:
            self.assertEqual(stranger.stdout.readline(), "ready\n")
            running = self.start("send", ENDPOINT, "--heaps", 5, "--port", f"net_memif0,role=client,socket={theirs}")
            running.wait_for(lambda: "is user 65534's" in running.text(1), "a word about whose it is")
            running.interrupt()
            running.wait(status=None)
            for device in ("net_vhost0,iface={},client=1", "net_virtio_user0,path={}"):
                self.refused("send", ENDPOINT, "--heaps", 5, "--port", device.format(theirs), status=1,
                             says=("is user 65534's", "directory of your own"))
            stranger.terminate()
            self.assertEqual(stranger.stdout.read(), "", "nobody came")


if __name__ == "__main__":
    harness.main()
