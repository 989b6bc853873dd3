#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""send to recv between two processes over net_memif: shared memory, no root, nothing lost."""

import harness

ENDPOINT = "239.1.1.1:7148"


class Memif(harness.ProgramTest):
    def device(self, role):
        socket = self.directory / "memif.sock"
        return f"net_memif0,role={role},socket={socket},socket-abstract=no"

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


if __name__ == "__main__":
    harness.main()
