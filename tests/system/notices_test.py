#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Notices of chunks (`--notify`), from outside: clients that read, and clients that do not."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

import harness
import ring

try:
    import redis
except ImportError:
    redis = None

EXAMPLES = Path(__file__).resolve().parents[2] / "docs/examples/notices"


class Client:
    """One client, whose lines are read with a bound on each wait."""

    def __init__(self, test, path, room=None):
        self.connection = socket.socket(socket.AF_UNIX)
        test.addCleanup(self.connection.close)
        if room:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        # Without a timeout: it waits while the backlog is full.
        end = time.monotonic() + 30 * harness.PATIENCE
        while True:
            try:
                self.connection.connect(str(path))
                break
            except ConnectionRefusedError:
                # The socket has its name a moment before it listens.
                if time.monotonic() > end:
                    self.connection.close()
                    raise
                time.sleep(0.005)
            except OSError:
                self.connection.close()
                raise
        self.connection.settimeout(30 * harness.PATIENCE)
        self._lines = self.connection.makefile("rb")
        test.addCleanup(self._lines.close)

    def notice(self):
        """The next line; None at the end."""
        line = self._lines.readline()
        return json.loads(line) if line else None

    def close(self):
        self._lines.close()
        self.connection.close()


class Notices(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.path = self.directory / "notices"

    def running(self, notify=None, rate="20Mbps", **sink):
        config = self.directory / "run.toml"
        sink = {"kind": "null", **sink, "notify": notify or f"unix:{self.path}"}
        config.write_text(ring.plan(
            ring.stream(0, sink, placement="heap 1024; time: heap - 1 [4]", on_full=None),
            ring.sender(0, heap_size="1KiB", verify=True, rate=rate)), encoding="utf-8")
        running = self.start("run", "--config", config)
        running.wait_for(lambda: self.path.exists() or "notices are given out" in running.text(1), "a socket")
        return running

    def end(self, running):
        running.process.send_signal(signal.SIGTERM)
        report = running.wait().report
        chunks = report["streams"][0]["chunks"]
        self.assertEqual((chunks["taken"], chunks["unwritten"]), (chunks["delivered"], 0))
        return chunks

    def check_row(self, notices):
        """Numbers go up, and say how many are missing."""
        for before, notice in zip(notices, notices[1:]):
            self.assertEqual(notice["notice"], before["notice"] + notice["lost"] + 1)

    def test_every_chunk_is_told_once_to_every_client(self):
        running = self.running()
        clients = [Client(self, self.path) for _ in range(3)]
        notices = [[client.notice() for _ in range(50)] for client in clients]
        chunks = self.end(running)
        for client, seen in zip(clients, notices):
            while (notice := client.notice()) is not None:
                seen.append(notice)
            self.check_row(seen)
            self.assertEqual({notice["lost"] for notice in seen}, {0})
            self.assertEqual(seen[-1]["notice"], chunks["delivered"], "the last chunk is told, too")
            ids = [notice["chunk"] for notice in seen]
            self.assertEqual(ids, sorted(set(ids)))
        self.assertFalse(self.path.exists())

    def test_the_examples_follow_a_raw_sink(self):
        running = self.running(kind="raw", directory=self.directory / "out")
        fakes = self.directory / "fakes"
        fakes.mkdir()
        (fakes / "kafka.py").write_text(
            "class KafkaProducer:\n def __init__(self, bootstrap_servers, key_serializer, value_serializer):\n"
            "  self.key, self.value = key_serializer, value_serializer\n"
            " def send(self, topic, key, value): print(topic, self.key(key), self.value(value), flush=True)\n"
            " def flush(self): pass\n", encoding="utf-8")
        for example, begins in (("open_chunk.py", "s0 chunk "), ("to_kafka.py", "chunks b's0' b'{\"notice\": "),
                                ("notices.py", "{'notice': ")):
            with self.subTest(example):
                with subprocess.Popen([sys.executable, EXAMPLES / example, f"unix:{self.path}"], text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      env={**os.environ, "PYTHONPATH": str(fakes)}) as process:
                    try:
                        lines = [process.stdout.readline() for _ in range(3)]
                        self.assertTrue(all(line.startswith(begins) for line in lines),
                                        f"{lines}\n{'' if lines[0] else process.stderr.read()}")
                    finally:
                        process.terminate()
        self.end(running)

    @unittest.skipIf(redis is None or not shutil.which("redis-server"),
                     "redis-server or python3-redis is not installed (scripts/deps --python)")
    def test_redis_gets_the_notices(self):
        place = self.directory / "redis"
        server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", place, "--save", "", "--dir", self.directory],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        running = self.running()
        client = redis.Redis.from_url(f"unix://{place}")
        self.addCleanup(client.close)

        def answers():
            # The socket is there before the server listens.
            try:
                return client.ping()
            except redis.ConnectionError:
                return False

        running.wait_for(answers, "answer of Redis")
        subscriber = client.pubsub()
        self.addCleanup(subscriber.close)
        subscriber.subscribe("chunks.s0")
        limit = 30 * harness.PATIENCE
        self.assertEqual(subscriber.get_message(timeout=limit)["type"], "subscribe")
        with subprocess.Popen([sys.executable, EXAMPLES / "to_redis.py", f"unix:{self.path}", f"unix://{place}"],
                              text=True, stderr=subprocess.PIPE) as example:
            try:
                seen = [subscriber.get_message(timeout=limit) for _ in range(20)]
                self.assertTrue(all(seen), f"{seen} {example.stderr.read() if example.poll() is not None else ''}")
            finally:
                example.terminate()
        self.check_row([json.loads(message["data"]) for message in seen])
        self.end(running)

    def test_clients_that_read_nothing_or_vanish_delay_nobody(self):
        running = self.running(rate="200Mbps")
        deaf = Client(self, self.path, room=4096)
        for _ in range(20):
            Client(self, self.path).close()
        reader = Client(self, self.path)
        while (first := reader.notice()) and "refused" in first:
            reader.close()
            reader = Client(self, self.path)
        seen = [first] + [reader.notice() for _ in range(3000)]
        chunks = self.end(running)
        self.check_row(seen)
        self.assertGreaterEqual(chunks["delivered"], 3000)
        heard = []
        while (notice := deaf.notice()) is not None:
            heard.append(notice)
        self.assertLess(len(heard), chunks["delivered"], "it lost some")
        self.check_row(heard)
        self.assertIn("clients that were slow lost", running.wait().err)

    def test_of_a_hundred_clients_sixteen_are_served(self):
        running = self.running()
        clients = [Client(self, self.path) for _ in range(100)]
        first = [client.notice() for client in clients]
        self.assertEqual(sum(1 for notice in first if notice and "notice" in notice), 16)
        self.assertEqual(sum(1 for notice in first if notice == {"refused": "too many clients are connected"}), 84)
        self.end(running)

    def test_a_socket_in_use_is_refused_and_a_stale_one_is_taken(self):
        running = self.running()
        self.refused("run", "--config", self.directory / "run.toml", status=1,
                     says=("already listens at this path", str(self.path)))
        self.assertIsNotNone(Client(self, self.path).notice(), "the first goes on")
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)
        running.process.send_signal(signal.SIGKILL)
        running.wait(status=-signal.SIGKILL)
        self.assertTrue(self.path.exists())
        running = self.running()
        client = None
        while client is None:
            try:
                client = Client(self, self.path)
            except (ConnectionRefusedError, FileNotFoundError):
                self.assertIsNone(running.process.poll())
                time.sleep(0.01)
        self.assertEqual(client.notice()["lost"], 0)
        self.end(running)
        self.path.write_text("a file", encoding="utf-8")
        self.refused("run", "--config", self.directory / "run.toml", status=1, says=("it is a file, not a socket",))
        self.assertEqual(self.path.read_text(encoding="utf-8"), "a file")

    def test_over_tcp_the_loopback_address_is_the_default(self):
        running = self.running(notify="tcp:0")
        port = int(running.text(1).split("tcp:127.0.0.1:")[1].split()[0])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection, connection.makefile() as lines:
            self.assertEqual(json.loads(lines.readline())["stream"], "s0")
        self.end(running)

    def test_wrong_addresses_and_streams_without_chunks_are_refused(self):
        words = ("recv", "239.1.1.1:7148", "--port", "net_null0")
        self.refused(*words, "--notify", "tcp:x", "--placement", "heap 8; time: heap [4]", says=("not a tcp port",))
        self.refused(*words, "--notify", "/a/b", says=("no address for notices",))
        self.refused(*words, "--notify", "tcp:0", says=("notices are of chunks", "--placement"))


if __name__ == "__main__":
    harness.main()
