#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Senders whose port takes nothing: reported while it lasts, by every way there is, and again when it is over."""

import signal

import harness
import telemetry

ENDPOINT = "239.1.1.1:7148"


class Stuck(harness.ProgramTest):
    def stuck(self, *words, says):
        """Returns a sender that was reported to be stuck."""
        running = self.start("send", ENDPOINT, *words)
        running.wait_for(lambda: "send d0 is stuck: " in running.text(1), "event")
        for text in says:
            self.assertIn(text, running.text(1))
        return running

    def end(self, running):
        running.interrupt()
        finished = running.wait()
        report = finished.report
        finding = next(f for f in report["findings"] if f["cause"] == "port_takes_nothing")
        self.assertEqual((finding["where"], finding["stage"]), ("d0", "transmit"))
        self.assertEqual(finding["unit"], "time" if finding["count"] == 1 else "times")
        self.assertIn(harness.lines_of(finding), finished.out)
        return report["sends"][0], finished

    def test_a_peer_that_does_not_come(self):
        device = f"net_memif0,socket={self.directory / 'memif.sock'},socket-abstract=no,role=server"
        running = self.stuck("--port", device, says=["port p0 has taken nothing for a second; no process is at its other end"])
        client = telemetry.Client(telemetry.socket_of(running), self)
        running.wait_for(lambda: client.ask("/spead/send,d0")["health"]["state"] == "stuck", "health, while it lasts")
        send, finished = self.end(running)
        self.assertEqual(send["health"]["events"], {"stuck": 1, "unstuck": 0})
        self.assertEqual(send["info"]["outages"], 1)
        self.assertGreaterEqual(send["info"]["outage_s"], 1)
        self.assertEqual(finished.err.count("is stuck"), 1, "told once")

    def test_a_peer_that_stands_still_and_goes_on(self):
        device = f"net_memif0,socket={self.directory / 'memif.sock'},socket-abstract=no,role="
        words = "--max-packet-size", 8900
        receiver = self.start("recv", ENDPOINT, "--port", device + "server", "--sink", "verify", *words)
        sender = self.start("send", ENDPOINT, "--port", device + "client", "--verify", *words)
        client = []

        def sends():
            if not client and telemetry.socket_of(sender).exists():
                client.append(telemetry.Client(telemetry.socket_of(sender), self))
            return bool(client) and client[0].ask("/spead/send,d0").get("heaps", 0) > 10

        sender.wait_for(sends, "heaps sent")
        receiver.process.send_signal(signal.SIGSTOP)
        try:
            sender.wait_for(lambda: "send d0 is stuck: port p0 has taken nothing for a second; the first suspect is "
                            "the MTU" in sender.text(1), "event")
        finally:
            receiver.process.send_signal(signal.SIGCONT)
        sender.wait_for(lambda: "send d0: port p0 takes packets again, after " in sender.text(1), "end of it")
        sender.wait_for(lambda: client[0].ask("/spead/send,d0")["health"]["state"] == "ok", "health")
        send, _ = self.end(sender)
        self.assertGreaterEqual(send["health"]["events"]["unstuck"], 1)
        receiver.interrupt()
        report = receiver.wait().report
        self.assertEqual(report["streams"][0]["info"]["wrong"], 0)

    def test_a_sender_that_waits_for_its_time_is_not_stuck(self):
        running = self.start("send", ENDPOINT, "--port", "net_null0", "--rate", "8kbps", "--burst-size", "10KiB",
                             "--duration", "4s")
        self.assertNotIn("stuck", running.wait().err)


if __name__ == "__main__":
    harness.main()
