#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hostile clients and Prometheus beside a stream whose source waits for nobody: datagrams that the process does not
fetch in time are lost. None is."""

import contextlib
import json
import re
import resource
import shutil
import socket
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request

import harness
import wire

TOKEN = "0123456789abcdef-of-the-test"
PAYLOAD = 64  # bytes: a socket's buffer has hundreds of such datagrams
RATE = 200  # datagrams per second
ATTACKER = "127.0.0.2"  # Prometheus has an address of its own
SCRAPES = 4  # beside attacks


class Datagrams(threading.Thread):
    """Sends heaps of one packet each, on time."""

    def __init__(self, port):
        super().__init__()
        self._to, self._stop_asked = ("127.0.0.1", port), threading.Event()
        self.sent = 0

    def run(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            while not self._stop_asked.wait(1 / RATE):
                sender.sendto(wire.packet(self.sent + 1, 0, bytes(PAYLOAD), PAYLOAD), self._to)
                self.sent += 1

    def end(self):
        self._stop_asked.set()
        self.join()


class Hostile(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.open = []
        self.addCleanup(self.close_all)

    def begin(self):
        token = self.directory / "token"
        token.write_text(TOKEN + "\n", encoding="ascii")
        token.chmod(0o600)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
            found.bind(("127.0.0.1", 0))
            self.udp = found.getsockname()[1]
        path = self.directory / "run.toml"
        path.write_text(f"""version = 1
[runtime]
control = "{self.directory}/control.sock"
metrics = "127.0.0.1:0"
api_token_file = "{token}"
[memory]
heaps = "64MiB"
[[port]]
name = "p0"
device = "net_kernel0,iface=lo"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["127.0.0.1:{self.udp}"]
heaps = {{ max_bytes = "64KiB" }}
""", encoding="utf-8")
        self.running = self.start("run", "--config", path)
        self.running.wait_for(lambda: "Ctrl-C" in self.running.text(1), "word that it runs")
        self.http = int(re.search(r"metrics are at http://127\.0\.0\.1:(\d+)/metrics", self.running.text(1))[1])
        self.datagrams = Datagrams(self.udp)
        self.datagrams.start()
        self.addCleanup(self.datagrams.end)
        self.running.wait_for(lambda: self.received() > 0, "packets")

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/api/v1/{path}", timeout=60 * harness.PATIENCE) as answer:
            return json.load(answer)

    def received(self):
        try:
            return self.get("streams/s0")["packets"]["received"]
        except urllib.error.HTTPError as error:
            error.close()
            return 0

    def connect(self, *parts):
        """A connection of the attacker, which stays open. Nobody needs to take what it sends."""
        client = socket.socket()
        self.open.append(client)
        client.settimeout(60 * harness.PATIENCE)
        client.bind((ATTACKER, 0))
        with contextlib.suppress(OSError):
            client.connect(("127.0.0.1", self.http))
            for part in parts:
                client.sendall(part)
        return client

    def close_all(self):
        for client in self.open:
            client.close()
        self.open.clear()

    def status_of(self, *parts):
        """The status that a raw request gets; None: the connection was closed."""
        client = self.connect(*parts)
        found = b""
        with contextlib.suppress(OSError):
            while part := client.recv(65536):
                found += part
        return int(found.split()[1]) if found.startswith(b"HTTP/1.1 ") else None

    def begin_prometheus(self):
        prometheus = shutil.which("prometheus")
        if prometheus is None:
            self.skipTest("prometheus is not installed (scripts/deps --prometheus)")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        configuration = self.directory / "prometheus.yml"
        seconds = max(1, round(3 * harness.PATIENCE))
        configuration.write_text(f"scrape_configs: [{{job_name: spead, scrape_interval: {seconds}s, scrape_timeout: {seconds}s, "
                                 "static_configs: [{targets: ["
                                 f"'127.0.0.1:{self.http}']}}]}}]", encoding="utf-8")
        log = (self.directory / "prometheus.log").open("wb")
        self.addCleanup(log.close)
        server = subprocess.Popen([prometheus, f"--config.file={configuration}", f"--storage.tsdb.path={self.directory}/tsdb",
                                   f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=subprocess.STDOUT)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.prometheus = port

    def query(self, expression):
        """The value of an expression; None: there is none yet."""
        words = urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.prometheus}/api/v1/query?{words}",
                                        timeout=60 * harness.PATIENCE) as answer:
                found = json.load(answer)["data"]["result"]
        except (urllib.error.URLError, ConnectionError):
            return None
        return float(found[0]["value"][1]) if found else None

    def attack(self):
        stop = b"POST /api/v1/stream/stop HTTP/1.1\r\n"
        mine = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n".encode()
        body = b'Content-Length: 15\r\n\r\n{"stream":"s0"}'
        with self.subTest("slowloris"):
            slow = [self.connect(stop + b"Host: x\r\nX-Slow: ") for _ in range(100)]
            for _ in range(10):
                for client in slow:
                    with contextlib.suppress(OSError):
                        client.send(b"x")
        with self.subTest("a thousand connections"):
            for _ in range(1000):
                self.connect()
        self.close_all()
        with self.subTest("huge bodies"):
            self.assertEqual(self.status_of(stop + mine + b"Content-Length: 2147483648\r\n\r\n"), 413)
            self.assertIn(self.status_of(stop + mine + b"Transfer-Encoding: chunked\r\n\r\n80000000\r\n",
                                         *[b"x" * (1 << 20)] * 32), (413, None))
        with self.subTest("wrong hosts"):
            for host in (b"evil.example", b"127.0.0.1.evil.example", b"127.0.0.1@evil.example"):
                self.assertIn(self.status_of(stop + mine.replace(b"127.0.0.1", host) + body), (400, 421), host)
        with self.subTest("a token that a page of another server replays"):
            for origin in (b"http://evil.example", b"null", b"http://127.0.0.1:1"):
                self.assertEqual(self.status_of(stop + mine + b"Origin: " + origin + b"\r\n" + body), 403, origin)
        with self.subTest("a wrong token, again and again"):
            wrong = mine.replace(TOKEN.encode(), b"0" * len(TOKEN))
            for _ in range(100):
                self.assertEqual(self.status_of(stop + wrong + body), 401)
        self.close_all()

    def test_no_datagram_is_lost_and_no_scrape_fails(self):
        self.begin()
        self.begin_prometheus()
        self.running.wait_for(lambda: self.query('up{job="spead"}') == 1, "scrape", timeout=60)
        scrapes = 'count_over_time(up{job="spead"}[10m])'
        before = self.query(scrapes)

        def scraped_often():
            self.attack()
            found = self.query(scrapes)
            return found is not None and found >= before + SCRAPES

        self.running.wait_for(scraped_often, "scrapes beside attacks", timeout=120)
        self.assertEqual(self.query('min_over_time(up{job="spead"}[10m])'), 1, "each scrape was answered")
        self.datagrams.end()
        self.running.wait_for(lambda: self.received() == self.datagrams.sent, "all datagrams")
        self.running.interrupt()
        report = self.running.wait().report
        stream = report["streams"][0]
        self.assertEqual(stream["packets"]["placed"], self.datagrams.sent)
        self.assertEqual(stream["heaps"]["complete"], self.datagrams.sent)
        self.assertEqual(stream["heaps"]["delivered"], self.datagrams.sent)
        self.assertEqual([port["nic"]["missed"] for port in report["ports"]], [0])
        self.assertEqual(harness.losses(report["findings"]), set(), report["findings"])
        self.assertNotIn(TOKEN, self.running.text(0) + self.running.text(1))


if __name__ == "__main__":
    harness.main()
