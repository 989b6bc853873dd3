#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`top --fleet` beside processes that are shards of one plan, and beside servers that are none."""

import json
import re
import socket
import threading

import harness
from top_test import Screen, shows

PLAN = """version = 1
[runtime]
name = "fleet"
control = "off"
metrics = "127.0.0.1:0"
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "vis"
port = "p0"
endpoints = ["239.1.0.0+3:7148"]
[[send]]
name = "d0"
port = "p0"
endpoints = ["239.1.0.0+3:7148"]
heap_size = "16KiB"
rate = "10Mbps"
"""


class Fleet(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.file = self.directory / "plan.toml"
        self.file.write_text(PLAN, encoding="utf-8")

    def start_shard(self, shard):
        """(running, address of its metrics)"""
        running = self.start("run", "--config", self.file, "--shard", shard)
        where = re.compile(r"metrics are at http://(127\.0\.0\.1:\d+)/metrics")
        running.wait_for(lambda: where.search(running.text(1)) and "Ctrl-C ends" in running.text(1), "a start")
        return running, where.search(running.text(1))[1]

    def look(self, targets, status):
        return self.run_program("top", "--once", "--interval", "1s", "--fleet", targets, status=status, report=False).out

    def server(self, answer):
        """The address of a server that sends `answer` to each client, once; of none, it says nothing at all."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        clients = []

        def serve():
            try:
                while True:
                    client, _ = listener.accept()
                    clients.append(client)
                    client.sendall(answer)
                    if answer:
                        client.shutdown(socket.SHUT_WR)
            except OSError:
                pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()

        def end():
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)
            for client in clients:
                client.close()

        self.addCleanup(end)
        return "127.0.0.1:%d" % listener.getsockname()[1]

    def test_all_shards_are_in_one_picture_and_a_lost_one_is_named(self):
        first, at_first = self.start_shard("0/2")
        _, at_second = self.start_shard("1/2")
        targets = self.directory / "targets.json"
        targets.write_text(json.dumps([
            {"targets": [at], "labels": {"spead_plan": "fleet", "spead_shard": str(i), "spead_shards": "2"}}
            for i, at in enumerate((at_first, at_second))]), encoding="utf-8")
        text = self.look(targets, 0)
        self.assertIn("2 of 2 processes answer", text)
        self.assertIn("plan fleet: 4 of 4 endpoints are received", text)
        # Each sends to the other's endpoints, too, which is a problem as soon as most packets are for nobody.
        self.assertRegex(text, rf"(?m)^{at_first} +0/2 +(ok|problem) +[\d.]+ [MG]b/s .* 2 +0\b")
        self.assertRegex(text, rf"(?m)^{at_second} +1/2 +(ok|problem) ")

        screen = Screen(self, "--fleet", f"{at_first},{at_second}", columns=140)
        screen.wait_for(shows("2 of 2 processes answer"), "picture of both")
        first.interrupt()
        first.wait()
        screen.wait_for(shows("no host has shard 0/2"), "lost shard")
        screen.type(b"q")
        screen.finished()

        text = self.look(targets, 1)
        self.assertIn("1 of 2 processes answer", text)
        self.assertIn("plan fleet: 2 of its 4 endpoints are received nowhere", text)
        self.assertRegex(text, rf"(?m)^{at_first} +0/2 +no answer ")

    def test_servers_that_are_none_of_ours_fail_alone(self):
        _, ours = self.start_shard("0/1")
        silent = self.server(b"")
        other = self.server(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nother 1\n")
        gone = self.server(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        moved = self.server(b"HTTP/1.1 302 Found\r\nLocation: http://%s/metrics\r\nContent-Length: 0\r\n\r\n" % ours.encode())
        text = self.look(",".join((ours, silent, other, gone, moved)), 1)
        self.assertIn("1 of 5 processes answer", text)
        for address, why in ((silent, "(Timeout|did not answer in time)"), (other, "no metrics of dpdk-spead"), (gone, "status 404"),
                             (moved, "status 302")):
            self.assertRegex(text, rf"(?m)^{address} .*no answer .*{why}")
        self.assertRegex(text, rf"(?m)^{ours} +0/1 +ok ")

    def test_wrong_words_are_refused(self):
        for words, says in ((("--fleet", "a"), "HOST:PORT"), (("--fleet", "http://a:1/x"), "HOST:PORT"),
                            (("--fleet", "a:1,a:1"), "twice"), (("--fleet", "a:1", "other"), "one of the two"),
                            (("--fleet", "a:1", "--page", "loss"), "one page"),
                            (("--http", "9200"), "give --fleet, too"), (("--fleet", "a:1", "--once", "--http", "9200"), "leave --once out"),
                            (("--fleet", "a:1", "--http", "a:9200"), "--http"), (("--fleet", "a:1", "--http", "70000"), "--http"),
                            (("--fleet", self.file), "file of targets")):
            with self.subTest(words):
                self.refused("top", *words, says=(says,))


if __name__ == "__main__":
    harness.main()
