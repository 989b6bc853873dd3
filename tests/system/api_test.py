#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The HTTP API beside the metrics: its numbers are the report's, its changes and refusals the prompt's, and hostile
clients cost nobody else anything."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

import harness

TOKEN = "0123456789abcdef-of-the-test"
JSON = "application/json"


def free_of_prefix(text):
    """The refusal that attach printed, without the program's name."""
    return text.strip().removeprefix("dpdk-spead: ").removeprefix("attach: ")


class Api(harness.ProgramTest):
    """A ring that a sender keeps busy, with room for more streams."""

    def setUp(self):
        super().setUp()
        self.token_file = self.directory / "token"
        self.token_file.write_text(TOKEN + "\n", encoding="ascii")
        self.token_file.chmod(0o600)
        self.control = self.directory / "control.sock"

    def begin(self, *words, token=True, rate='rate = "20Mbps"'):
        path = self.directory / "start.toml"
        path.write_text(f"""version = 1
[runtime]
live = true
control = "{self.control}"
metrics = "127.0.0.1:0"
{f'api_token_file = "{self.token_file}"' if token else ''}
[memory]
heaps = "64MiB"
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["239.10.10.10+1:7148"]
expected_rate = "1Mbps"
silent_after = "300ms"
[receive.heaps]
max_bytes = "128KiB"
on_full = "block"
[receive.sink]
kind = "verify"
[[send]]
name = "d0"
port = "p0"
endpoints = ["239.10.10.10+1:7148"]
{rate}
heap_size = "32KiB"
verify = true
""", encoding="utf-8")
        self.running = self.start("run", "--config", path, *words)
        self.running.wait_for(lambda: "Ctrl-C" in self.running.text(1), "word that it runs")
        self.port = int(re.search(r"metrics are at http://127\.0\.0\.1:(\d+)/metrics", self.running.text(1))[1])
        self.running.wait_for(lambda: self.ask("GET", "/api/v1/report")[0] == 200, "snapshot")

    def ask(self, method, path, body=None, **fields):
        """(status, JSON or text, fields of the answer)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60 * harness.PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in fields.items()})
            answer = connection.getresponse()
            text = answer.read().decode()
            kind = answer.getheader("Content-Type")
            return answer.status, json.loads(text) if kind == JSON else text, answer

    def get(self, path):
        status, found, _ = self.ask("GET", f"/api/v1/{path}")
        self.assertEqual(status, 200, found)
        return found

    def post(self, path, **members):
        status, found, _ = self.ask("POST", f"/api/v1/{path}", json.dumps(members), Content_Type=JSON,
                                    Authorization=f"Bearer {TOKEN}")
        return status, found.get("done", found.get("error"))

    def put(self, text, version):
        status, answer, _ = self.ask("PUT", "/api/v1/configuration", text, If_Match=version,
                                     Authorization=f"Bearer {TOKEN}")
        return status, answer.get("done", answer.get("error"))

    def prompt(self, *words):
        return subprocess.run([harness.program(), "attach", self.control, "--", *words], capture_output=True, text=True,
                              timeout=60 * harness.PATIENCE, check=False)

    def received(self, stream="s0"):
        return self.get(f"streams/{stream}")["packets"]["received"]

    def wait_for(self, condition, what):
        self.running.wait_for(condition, what)

    def wait_for_packets(self, stream="s0"):
        self.wait_for(lambda: self.ask("GET", f"/api/v1/streams/{stream}")[0] == 200, f"stream {stream}")
        seen = self.received(stream)
        self.wait_for(lambda: self.received(stream) > seen, f"packets of {stream}")

    def wait_for_silence(self):
        self.assertEqual(self.post("send/stop", send="d0"), (200, "sender d0 is stopped"))
        seen = {}

        def still():
            _, report, answer = self.ask("GET", "/api/v1/report")
            number = int(answer.getheader("ETag").strip('"'))
            seen[number] = [report["ports"], report["streams"]]
            # Two snapshots: the heaps of the sender may come late.
            return seen.get(number - 2) == seen[number]
        self.wait_for(still, "silence")

    def end(self):
        self.running.interrupt()
        report = self.running.wait().report
        heaps = self.assert_stream(report, "s0", evicted=0, timed_out=0, dropped_full=0)
        self.assertEqual(heaps["info"]["wrong"], 0)
        self.assertGreater(heaps["heaps"]["complete"], 0)
        return report


def numbers_of(part, prefix=""):
    """The numbers of nested objects by their path; lists have tables of their own at the prompt."""
    found = {}
    for name, value in part.items():
        if isinstance(value, dict):
            found |= numbers_of(value, f"{prefix}{name}.")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found[prefix + name] = float(value)
    return found


class Reading(Api):
    def assert_prompt_agrees(self, kind, path, name):
        """Every number of the prompt is that of the API, in a snapshot that both have."""
        shown = {}

        def same():
            before = self.get(path)
            shown["api"] = numbers_of(before)
            text = self.prompt("show", kind, name).stdout
            shown["prompt"] = {key: float(value) for key, value in re.findall(r"(?m)^([\w.]+) +(-?\d[\d.e+-]*)$", text)}
            return self.get(path) == before

        self.wait_for(same, f"{kind} that stays as it is")
        self.assertGreater(len(shown["prompt"]), 10)
        self.assertEqual(shown["prompt"], shown["api"])

    def test_numbers_are_those_of_report_metrics_and_prompt(self):
        self.begin()
        self.wait_for_packets()
        self.wait_for_silence()
        report = self.get("report")
        self.assertEqual(harness.broken_identities(report), [])
        for part in ("streams", "ports", "sends", "findings"):
            self.assertEqual(self.get(part), report[part], part)
        self.assertEqual(self.get("streams/s0"), report["streams"][0])
        self.assertEqual(self.get("ports/p0"), report["ports"][0])
        self.assertEqual([lcore["lcore"] for lcore in self.get("lcores")],
                         [lcore["lcore"] for lcore in report["lcores"]])
        self.assertEqual((self.get("captures"), self.get("chunks")), ([], []))
        received = report["streams"][0]["packets"]["received"]
        shown = self.prompt("show", "stream", "s0").stdout
        self.assertEqual(int(re.search(r"(?m)^packets\.received +(\d+)$", shown)[1]), received)
        status, metrics, _ = self.ask("GET", "/metrics")
        self.assertEqual(status, 200)
        self.assertIn(f'spead_stream_received_packets_total{{process="dpdk-spead",stream="s0"}} {received}\n', metrics)
        for kind, parts, name in (("stream", "streams", "s0"), ("send", "sends", "d0"), ("port", "ports", "p0")):
            self.assert_prompt_agrees(kind, f"{parts}/{name}", name)
        configuration = self.get("configuration")
        self.assertEqual(configuration["toml"], self.prompt("show", "config").stdout)
        about = self.get("")
        self.assertEqual((about["name"], about["pid"]), ("dpdk-spead", self.running.process.pid))
        self.assertLess(abs(about["started"] + report["duration_s"] - time.time()), 60 * harness.PATIENCE)
        self.assertIs(about["changes"], True)
        for path in about["paths"]:
            if "{" not in path and not path.endswith("/stream"):
                self.assertEqual(self.ask("GET", path)[0], 200, path)
        last = self.end()
        for part in ("packets", "bytes", "by_endpoint", "latency"):
            self.assertEqual(last["streams"][0][part], report["streams"][0][part])

    def test_a_stream_of_events_shows_reports_and_events(self):
        self.begin()
        self.wait_for_packets()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60 * harness.PATIENCE)
        self.addCleanup(connection.close)
        connection.request("GET", "/api/v1/stream?interval=200ms")
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.getheader("Content-Type")), (200, "text/event-stream"))

        def next_of(kind):
            while True:
                lines = []
                for line in iter(lambda: answer.readline().decode().rstrip("\n"), ""):
                    lines.append(line)
                self.assertTrue(lines, "the stream has ended")
                fields = dict(line.split(": ", 1) for line in lines)
                if fields.get("event") == kind:
                    return json.loads(fields["data"]), fields.get("id")

        first, _ = next_of("report")
        second, _ = next_of("report")
        self.assertGreater(second["duration_s"], first["duration_s"])
        self.assertEqual(harness.broken_identities(second), [])
        self.post("send/stop", send="d0")
        silent, number = next_of("event")
        self.assertEqual((silent["event"], silent["name"], str(silent["sequence"])), ("silent", "s0", number))
        events = self.get("events?since=0")
        self.assertIn(silent, events["events"])
        self.assertEqual(self.get(f"events?since={events['last']}")["events"], [])
        self.post("send/start", send="d0")
        self.assertIn(next_of("event")[0]["name"], ("s0", "d0"))
        self.end()

    def test_without_a_token_file_it_only_shows(self):
        self.begin(token=False)
        before = self.get("configuration")
        self.assertIs(self.get("")["changes"], False)
        status, words = self.post("stream/stop", stream="s0")
        self.assertEqual(status, 403)
        self.assertIn("api_token_file", words)
        status, answer, _ = self.ask("PUT", "/api/v1/configuration", before["toml"], If_Match="*",
                                     Authorization=f"Bearer {TOKEN}")
        self.assertEqual(status, 403, answer)
        self.assertEqual(self.get("configuration"), before)
        self.end()


class Changing(Api):
    def test_changes_are_the_prompts_and_so_are_refusals(self):
        self.begin()
        self.assertEqual(self.post("stream/add", name="s1", port="p0", endpoints="239.10.10.12:7148",
                                   settings={"heaps.max_bytes": "128KiB", "sink.kind": "verify"}),
                         (200, "stream s1 receives 239.10.10.12:7148"))
        self.assertEqual(self.post("send/add", name="d1", port="p0", endpoints="239.10.10.12:7148",
                                   settings={"heap_size": "8KiB", "verify": True, "rate": "20Mbps"})[0], 200)
        self.wait_for_packets("s1")
        capture = self.directory / "s1.pcap"
        self.assertEqual(self.post("capture/start", stream="s1", file=str(capture))[0], 200)
        self.wait_for(lambda: any(one["packets"]["taken"] > 0 for one in self.get("captures")), "captured packets")
        self.assertEqual(self.post("capture/stop", stream="s1")[0], 200)
        self.assertGreater(capture.stat().st_size, 100)
        for path, members in (("stream/set", {"stream": "s1", "settings": {"heaps.queue_depth": 64}}),
                              ("stream/stop", {"stream": "s1"}), ("stream/start", {"stream": "s1"}),
                              ("endpoint/add", {"stream": "s1", "endpoints": "239.10.10.13:7148"}),
                              ("endpoint/delete", {"stream": "s1", "endpoints": "239.10.10.13:7148"}),
                              ("send/set", {"send": "d1", "settings": {"rate": "10Mbps"}}),
                              ("dummy", {"send": "d1", "packets": 8}), ("log/level", {"level": "notice"})):
            self.assertEqual(self.post(path, **members)[0], 200, path)
        saved = self.directory / "saved.toml"
        self.assertEqual(self.post("save/config", file=str(saved)), (200, f"saved: {saved}"))
        self.assertIn("queue_depth = 64", saved.read_text(encoding="utf-8"))

        before = self.get("configuration")
        for path, members, line in (
                ("stream/add", {"name": "s2", "port": "p0", "endpoints": "239.10.10.11:7148"},
                 "stream add s2 port p0 endpoints 239.10.10.11:7148"),
                ("stream/add", {"name": "s2", "port": "p0", "endpoints": "239.10.10.14:7148",
                                "settings": {"heaps.max_bytes": "1GiB"}},
                 "stream add s2 port p0 endpoints 239.10.10.14:7148 heaps.max_bytes 1GiB"),
                ("stream/set", {"stream": "s0", "settings": {"lcores": 999}}, "stream set s0 lcores 999"),
                ("stream/set", {"stream": "s0", "settings": {"nonsense": 1}}, "stream set s0 nonsense 1"),
                ("stream/delete", {"stream": "nope"}, "stream delete nope"),
                ("send/set", {"send": "d1", "settings": {"heap_size": "16KiB"}}, "send set d1 heap_size 16KiB"),
                ("endpoint/delete", {"stream": "s0", "endpoints": "239.1.1.1:7148"},
                 "endpoint delete s0 239.1.1.1:7148"),
                ("capture/stop", {"stream": "s0"}, "capture stop s0"),
                ("port/start", {"port": "p0"}, "port start p0"),
                ("save/config", {"file": str(saved)}, f"save config {saved}")):
            with self.subTest(line=line):
                refused = self.prompt(*line.split())
                self.assertNotEqual(refused.returncode, 0)
                status, words = self.post(path, **members)
                self.assertIn(status, (409, 422))
                self.assertEqual(words, free_of_prefix(refused.stderr))
        self.assertEqual(self.get("configuration"), before)
        log = self.running.text(1)
        self.assertRegex(log, r"api: 127\.0\.0\.1:\d+ made the change `stream stop s1`")
        self.assertRegex(log, r"api: 127\.0\.0\.1:\d+ asked for `stream delete nope` in vain: ")
        self.assertNotIn(TOKEN, log)
        self.assertEqual(self.post("shutdown")[0], 200)
        report = self.running.wait().report
        self.assertEqual(sum(stream["info"]["wrong"] for stream in report["streams"]), 0)

    def test_a_whole_configuration_is_replaced_or_nothing_is(self):
        self.begin()
        status, text, answer = self.ask("GET", "/api/v1/configuration?format=toml")
        self.assertEqual(status, 200)
        first = answer.getheader("ETag")
        wanted = text.replace("queue_depth = 256", "queue_depth = 99")
        self.assertNotEqual(wanted, text)
        self.assertEqual(self.put(wanted, first), (200, "the configuration was carried out: 1 stream, 1 sender"))
        self.assertIn("queue_depth = 99", self.prompt("show", "config").stdout)
        status, words = self.put(text, first)
        self.assertEqual(status, 412, "the other operator's change would be lost")
        self.assertIn(self.get("configuration")["version"], words)
        second = f'"{self.get("configuration")["version"]}"'
        with concurrent.futures.ThreadPoolExecutor(8) as writers:
            at_once = list(writers.map(lambda depth: self.put(text.replace("queue_depth = 256", f"queue_depth = {depth}"), second)[0],
                                       range(50, 58)))
        self.assertEqual(sorted(at_once), [200] + [412] * 7, "one of several writers at once")
        self.assertEqual(self.put(wanted, f'"{self.get("configuration")["version"]}"')[0], 200)
        now = f'"{self.get("configuration")["version"]}"'
        for bad, status, says in (("version = 1\nnonsense\n", 422, "configuration:2"),
                                  (wanted.replace("queue_depth = 99", "queue_depth = 0"), 422, "queue_depth"),
                                  (wanted.replace('device = "net_ring0"', 'device = "net_null0"'), 409, "p0"),
                                  (wanted.replace('"64MiB"', '"65MiB"'), 409, "memory"), ("", 422, "version")):
            with self.subTest(says=says):
                found, words = self.put(bad, now)
                self.assertEqual(found, status, words)
                self.assertIn(says, words)
        self.assertEqual(f'"{self.get("configuration")["version"]}"', now)
        self.wait_for_packets()
        self.running.interrupt()
        # The stream was received anew once, and its heaps in flight ended incomplete.
        self.assertEqual(self.running.wait().report["streams"][0]["info"]["wrong"], 0)

    def test_a_shard_replaces_its_own_part(self):
        self.begin("--shard", "1/2")
        _, text, answer = self.ask("GET", "/api/v1/configuration?format=toml")
        self.assertIn('endpoints = ["239.10.10.11:7148"]\n', text)
        wanted = text.replace("queue_depth = 256", "queue_depth = 99")
        self.assertEqual(self.put(wanted, answer.getheader("ETag"))[0], 200)
        shown = self.prompt("show", "stream").stdout
        self.assertIn("; shard 1/2: 1 of 2 endpoints of the plan", shown)
        now = self.get("configuration")
        self.assertIn("queue_depth = 99", now["toml"])
        # The text is the shard's, and nothing of it is dealt again.
        whole = wanted.replace('["239.10.10.11:7148"]', '["239.10.10.10+1:7148"]')
        self.assertEqual(self.put(whole, f'"{now["version"]}"')[0], 200)
        self.wait_for_packets()
        self.assertEqual(len([one for one in self.get("streams/s0")["by_endpoint"] if one["endpoint"] != "former"]), 2)
        self.running.process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: "SIGHUP: shard 1/2: 1 of 2 endpoints" in self.running.text(1), "word of the file's plan")
        self.assertNotIn("queue_depth = 99", self.get("configuration")["toml"])
        self.running.interrupt()
        report = self.running.wait().report
        self.assertEqual((report["shard"]["index"], report["shard"]["count"]), (1, 2))
        self.assertEqual(report["streams"][0]["info"]["wrong"], 0)

    def test_a_token_file_that_protects_nothing_is_refused(self):
        words = ("recv", "239.1.1.1:7148", "--port", "net_null0", "--metrics", 0, "--api-token-file", self.token_file)
        self.token_file.chmod(0o644)
        self.refused(*words, status=1, says=("open to others (mode 644)", f"chmod 600 {self.token_file}"))
        self.token_file.chmod(0o600)
        self.token_file.write_text("short\n", encoding="ascii")
        self.refused(*words, says=("holds no token", "openssl rand"))
        self.token_file.unlink()
        self.refused(*words, status=1, says=("No such file",))
        self.refused("recv", "239.1.1.1:7148", "--port", "net_null0", "--api-token-file", self.token_file,
                     says=("the API has no address", "--metrics"))

    def test_an_address_that_is_taken_is_refused(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.refused("recv", "239.1.1.1:7148", "--port", "net_null0", "--metrics", port, status=1,
                         says=(f"another program listens on 127.0.0.1:{port}", "give another port"))


class Hostile(Api):
    def setUp(self):
        super().setUp()
        self.connections = []

    def connect(self, data=b""):
        client = socket.create_connection(("127.0.0.1", self.port), timeout=60 * harness.PATIENCE)
        self.addCleanup(client.close)
        self.connections.append(client)
        with contextlib.suppress(OSError):
            client.sendall(data)
        return client

    def status_of(self, data, *more):
        """The status that a raw request gets; None: the connection was closed."""
        client = self.connect(data)
        with contextlib.suppress(OSError):
            for part in more:
                client.sendall(part)
        found = b""
        with contextlib.suppress(OSError):
            while part := client.recv(65536):
                found += part
        client.close()
        return int(found.split()[1]) if found.startswith(b"HTTP/1.1 ") else None

    def scraped(self):
        status, text, _ = self.ask("GET", "/metrics")
        return status == 200 and "spead_run_duration_seconds" in text

    def test_hostile_clients_lose_their_own_connections_and_no_packet(self):
        self.begin(rate="")  # as fast as the receiver takes packets
        self.wait_for_packets()
        descriptors_of = f"/proc/{self.running.process.pid}/fd"
        descriptors = len(os.listdir(descriptors_of))
        before = self.get("configuration")
        line = b"POST /api/v1/stream/stop HTTP/1.1\r\n"
        head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: {JSON}\r\n".encode()
        with self.subTest("slowloris"):
            for _ in range(100):
                self.connect(b"POST /api/v1/stream/stop HTTP/1.1\r\nHost: x\r\nX-Slow: ")
            self.assertTrue(self.scraped())
        with self.subTest("a thousand connections"):
            for _ in range(1000):
                self.connect()
            self.assertTrue(self.scraped())
        with self.subTest("half bodies"):
            for _ in range(100):
                self.connect(b"POST /api/v1/stream/stop HTTP/1.1\r\nContent-Length: 1000\r\n" + head + b"\r\n{")
            self.assertTrue(self.scraped())
        with self.subTest("streams that nobody reads"):
            for _ in range(20):
                self.connect(b"GET /api/v1/stream?interval=200ms HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertTrue(self.scraped())
        with self.subTest("huge"):
            self.assertEqual(self.status_of(line + b"Content-Length: 2147483648\r\n" + head + b"\r\n"), 413)
            self.assertIn(self.status_of(line + b"Transfer-Encoding: chunked\r\n" + head + b"\r\n80000000\r\n",
                                         *[b"x" * (1 << 20)] * 64), (413, None))
            self.assertIn(self.status_of(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Long: ", *[b"x" * (1 << 20)] * 64), (431, None))
            self.assertIn(self.status_of(b"G" * (1 << 20)), (400, 431, None))
        with self.subTest("strangers"):
            length, body = line + b"Content-Length: 15\r\n", b'\r\n{"stream":"s0"}'
            stop = length + b"Content-Type: application/json\r\n"
            self.assertEqual(self.status_of(length + head.replace(b"127.0.0.1", b"evil.example") + body), 421)
            self.assertEqual(self.status_of(b"GET /api/v1/report HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 421)
            self.assertEqual(self.status_of(length + head + b"Origin: http://evil.example\r\n" + body), 403)
            self.assertEqual(self.status_of(stop + head + body), 400, "two types")
            for token in (b"", b"Authorization: Bearer " + b"0" * len(TOKEN) + b"\r\n"):
                self.assertEqual(self.status_of(stop + b"Host: 127.0.0.1\r\n" + token + body), 401)
        with self.subTest("nonsense"):
            for bad in (b"{", b"[]", b"[" * 1000, b"\xff\xfe", b'{"stream":"s0"}x'):
                request = line + b"Content-Length: %d\r\n" % len(bad) + head + b"\r\n" + bad
                self.assertEqual(self.status_of(request), 400, bad)
            for path, status in (("nothing", 404), ("streams/nope", 404), ("report?x=1", 400), ("%zz", 400),
                                 ("../../etc/passwd", 404), ("stream?interval=0", 400)):
                self.assertEqual(self.status_of(f"GET /api/v1/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()), status, path)
            status, _, answer = self.ask("DELETE", "/api/v1/report")
            self.assertEqual((status, answer.getheader("Allow")), (405, "GET, HEAD"))
            status, _, answer = self.ask("GET", "/api/v1/stream/stop")
            self.assertEqual((status, answer.getheader("Allow")), (405, "POST"))
        self.assertTrue(self.scraped())
        self.assertEqual(self.get("configuration"), before)
        for connection in self.connections:
            connection.close()
        self.wait_for(lambda: len(os.listdir(descriptors_of)) <= descriptors + 2, "its descriptors back")
        self.wait_for_packets()
        self.assert_stream(self.get("report"), "s0", evicted=0, timed_out=0, flushed=0, dropped_full=0)
        self.assertEqual(self.post("stream/stop", stream="s0")[0], 200)
        self.assertEqual(self.post("stream/start", stream="s0")[0], 200)
        self.wait_for_packets()
        self.running.interrupt()
        report = self.running.wait().report
        self.assertEqual(report["streams"][0]["info"]["wrong"], 0)
        self.assertEqual(sum(nic["missed"] for nic in (port["nic"] for port in report["ports"])), 0)

    def test_the_end_waits_for_no_body(self):
        self.begin()
        self.wait_for_packets()
        head = (f"PUT /api/v1/configuration HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
                "If-Match: *\r\nContent-Length: 1000000\r\n")
        waiting = self.connect(f"{head}Expect: 100-continue\r\n\r\n".encode())
        self.assertIn(b" 100 ", waiting.recv(100))
        waiting.sendall(b"#" * 500_000)
        # One more writes while the process ends.
        writing = self.connect(f"{head}\r\n".encode())
        over = threading.Event()

        def write():
            with contextlib.suppress(OSError):
                while not over.is_set():
                    writing.sendall(b"#")

        writer = threading.Thread(target=write)
        writer.start()
        self.running.process.send_signal(signal.SIGTERM)
        report = self.running.wait().report
        over.set()
        writer.join()
        self.assert_stream(report, "s0", evicted=0, timed_out=0, dropped_full=0)
        self.assertEqual(report["streams"][0]["info"]["wrong"], 0)
        self.assertEqual(waiting.recv(100), b"")


if __name__ == "__main__":
    harness.main()
