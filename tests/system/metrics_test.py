#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prometheus and its tools as clients of a running process; every number is the JSON report's and telemetry's."""

import json
import math
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import harness
import telemetry

SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
METRIC = re.compile(r"\b(?:spead|process)_\w+_\w+")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def fetch(url):
    with urllib.request.urlopen(url, timeout=30 * harness.PATIENCE) as answer:
        return answer.read().decode()


def samples(text, process="dpdk-spead"):
    """{(name, labels): value} of an exposition; labels as a sorted tuple of pairs, without the process's, which every
    series has."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            pairs = LABEL.findall(labels or "")
            assert pairs[:1] == [("process", process)], line
            key = (name, tuple(sorted(pairs[1:])))
            assert key not in found, line
            found[key] = float(value)
    return found


def expected(report):
    """Returns the metrics that a report requires: every count in it, by the table of docs/telemetry.md."""
    out = {}

    def put(name, value, **labels):
        out[name, tuple(sorted(labels.items()))] = value

    shard = report["shard"]
    put("spead_shard_info", 1, plan="dpdk-spead", shard=str(shard["index"]), shards=str(shard["count"]))
    for scope, endpoints in shard["endpoints"].items():
        put("spead_plan_endpoints", endpoints, scope=scope)
    for stream in report["streams"]:
        label = {"stream": stream["name"]}
        put("spead_stream_shared", 0, **label)
        packets, heaps, info = stream["packets"], stream["heaps"], stream["info"]
        put("spead_stream_received_packets_total", packets["received"], **label)
        for outcome in packets.keys() - {"received"}:
            put("spead_stream_packets_total", packets[outcome], outcome=outcome, **label)
        for end in harness.HEAP_ENDS:
            put("spead_stream_heaps_total", heaps[end], end=end, **label)
        for name, value in (("stream_heap_bytes_total", stream["bytes"]), ("stream_heaps_started_total", heaps["started"]),
                            ("stream_heaps_delivered_total", heaps["delivered"]), ("stream_live_heaps", heaps["live"]),
                            ("stream_heaps_dropped_full_total", heaps["dropped_full"]),
                            ("stream_heaps_unwritten_total", heaps["unwritten"]),
                            ("stream_heaps_device_error_total", heaps["device_error"]),
                            ("stream_sink_failed", int(stream["sink"]["failure"] is not None)),
                            ("heap_queue_heaps", heaps["queued"]), ("heap_queue_capacity_heaps", info["queue_heaps"]),
                            ("stream_reordered_packets_total", info["reordered"]),
                            ("stream_missing_packets_total", info["missing_packets"]),
                            ("stream_missing_bytes_total", info["missing_bytes"]),
                            ("stream_interleaved_evictions_total", info["interleaved_evictions"]),
                            ("stream_stop_items_total", info["stop_items"]),
                            ("stream_heaps_verified_total", info["verified"]),
                            ("stream_heaps_wrong_total", info["wrong"])):
            put("spead_" + name, value, **label)
        for name, value in (("stream_heaps_handed_over_total", info["handed_over"]),
                            ("stream_heaps_dropped_oldest_total", info["dropped_oldest"]),
                            ("stream_at_limit_packets_total", info["at_limit"]),
                            ("stream_control_bytes_total", info["control_bytes"]),
                            ("stream_longest_header_bytes", info["longest_header"]),
                            ("heap_queue_most_heaps", stream["queue"]["most"]),
                            ("heap_queue_lcore_capacity_heaps", stream["queue"]["heaps"]),
                            ("heap_memory_bytes", stream["pool"]["bytes"]),
                            ("heap_memory_most_bytes", stream["pool"]["most"])):
            put("spead_" + name, value, **label)
        put("spead_stream_up", stream["state"] == "received", **label)
        for event, times in stream["health"]["events"].items():
            put("spead_stream_events_total", times, event=event, **label)
        for endpoint in stream["by_endpoint"]:
            to = {"endpoint": endpoint["endpoint"], **label}
            put("spead_stream_endpoint_packets_total", endpoint["packets"], **to)
            put("spead_stream_endpoint_heap_bytes_total", endpoint["bytes"], **to)
        for name in ("latency", "gap"):
            put(f"spead_stream_heap_{name}_seconds_count", stream[name]["count"], **label)
            put(f"spead_stream_heap_{name}_seconds_bucket", stream[name]["count"], le="+Inf", **label)
        if info["expected_rate"] > 0:
            put("spead_stream_expected_bytes_per_second", info["expected_rate"], **label)
    for send in report["sends"]:
        info = send["info"]
        for payload in ("zero_copy", "copied"):
            put("spead_send_packets_total", send[f"{payload}_packets"], payload=payload, send=send["name"])
        for name, value in (("heaps", send["heaps"]), ("aborted_heaps", send["aborted"]),
                            ("timed_out_heaps", send["timed_out"]), ("bytes", send["bytes"]),
                            ("control_heaps", info["control_heaps"]), ("frame_bytes", info["frame_bytes"]),
                            ("dropped_packets", info["dropped"]), ("unregistered_packets", info["unregistered_packets"]),
                            ("full_bursts", info["tx_full"]), ("stalls", info["stalls"]),
                            ("outages", info["outages"]), ("left_out_heaps", info["left_out"])):
            put(f"spead_send_{name}_total", value, send=send["name"])
        for event, times in send["health"]["events"].items():
            put("spead_send_events_total", times, event=event, send=send["name"])
        put("spead_send_healthy", send["health"]["state"] == "ok", send=send["name"])
    for port in report["ports"]:
        rx, tx, nic, info = port["rx"], port["tx"], port["nic"], port["info"]
        put("spead_port_up", port["state"] == "running", port=port["name"])
        put("spead_port_detached", port["state"] == "detached", port=port["name"])
        for reason in rx.keys() - {"packets", "bytes", "reassembled"}:
            put("spead_port_rx_refused_packets_total", rx[reason], reason=reason, port=port["name"])
        for name, value in (("rx_packets", rx["packets"]), ("rx_bytes", rx["bytes"]),
                            ("rx_reassembled_packets", rx["reassembled"]),
                            ("rx_reassembled_datagrams", (info["reassembly"] or {"datagrams": 0})["datagrams"]),
                            ("rx_given_up_datagrams", (info["reassembly"] or {"given_up": 0})["given_up"]),
                            ("rx_stream_packets", info["to_streams"]), ("rx_vlan_tagged_packets", info["vlan_tagged"]),
                            ("rx_multi_segment_packets", info["multi_segment"]),
                            ("rx_oversized_frames", info["oversized_frames"]),
                            ("rx_gather_full_polls", info["gather_full"]),
                            ("rx_hosts_full_packets", info["hosts_full"]), ("tx_packets", tx["packets"]),
                            ("tx_bytes", tx["bytes"]), ("tx_dropped_packets", tx["dropped"]),
                            ("tx_host_packets", info["host_frames"]), ("nic_missed_packets", nic["missed"]),
                            ("nic_no_mbuf", nic["no_mbuf"]), ("nic_errors", nic["errors"])):
            put(f"spead_port_{name}_total", value, port=port["name"])
        for name in ("bursts", "full_bursts"):
            put(f"spead_port_rx_{name}_total", info[name], port=port["name"])
        put("spead_port_rx_descriptors", info["rx_descriptors"], port=port["name"])
    for capture in report["captures"]:
        packets = capture["packets"]
        for name, value in (("taken_packets_total", packets["taken"]), ("taken_bytes_total", capture["bytes"]),
                            ("written_packets_total", packets["written"]),
                            ("unwritten_packets_total", packets["unwritten"]),
                            ("dropped_full_packets_total", packets["dropped_full"]),
                            ("cut_packets_total", capture["info"]["cut"]),
                            ("buffered_packets", packets["buffered"]),
                            ("files_total", sum(file["files"] for file in capture["files"])),
                            ("file_bytes_total", sum(file["bytes"] for file in capture["files"]))):
            put(f"spead_capture_{name}", value, stream=capture["stream"])
    for lcore in report["lcores"]:
        place = {"lcore": str(lcore["lcore"]), "cpu": str(lcore["cpu"])}
        for kind in ("stream", "port"):
            for share in lcore[f"{kind}s"]:
                put(f"spead_lcore_{kind}_packets_total", share["received"], **{kind: share["name"]}, **place)
        for name in ("bursts", "full_bursts", "silences"):
            put(f"spead_lcore_{name}_total", lcore[name], **place)
        put("spead_lcore_up", lcore["state"] == "running", **place)
    for engine in report.get("engines", []):
        put("spead_engine_up", engine["state"] == "running", engine=engine["name"])
    return out


class Serving(telemetry.StayingUp):
    def start_serving(self, *options, **others):
        """(running, URL of its metrics)"""
        running = self.start_counting("--metrics", 0, *options, **others)
        url = re.search(r"metrics are at (http://127\.0\.0\.1:\d+/metrics)", running.text(1))
        self.assertIsNotNone(url, running.text(1))
        return running, url.group(1)


class Metrics(Serving):
    def test_report_telemetry_and_metrics_agree(self):
        running, url = self.start_serving()
        client = self.connect(running)
        self.settled(running, client)
        text = fetch(url)
        told = client.report()
        running.interrupt()
        report = running.wait().report
        found = samples(text)
        wanted = expected(report)
        self.assertEqual({key: found.get(key) for key in wanted}, wanted)
        self.assertEqual(expected(told), wanted)
        left = {name for name, _ in found.keys() - wanted.keys() if name.startswith("spead_")}
        left.remove("spead_build_info")
        rates = {f"spead_{kind}_{what}_per_second" for kind in ("stream", "send") for what in ("bytes", "packets")}
        going_on = {f"spead_lcore_{what}" for what in ("busy_seconds_total", "idle_seconds_total", "loops_total",
                                                       "busy_loops_total", "sleeps_total", "longest_loop_seconds",
                                                       "longest_loop_minute_seconds")}
        times = {f"spead_stream_heap_{name}_seconds_{what}" for name in ("latency", "gap") for what in ("bucket", "sum")}
        buffers = {f"spead_port_rx_{what}buffers" for what in ("", "fewest_free_", "fewest_free_minute_")}
        marks = {"spead_heap_queue_most_minute_heaps", "spead_heap_memory_most_minute_bytes"}
        self.assertEqual(left - rates - times - buffers, going_on | marks | {
            "spead_captures_running", "spead_stream_healthy", "spead_run_duration_seconds", "spead_snapshot_age_seconds"})
        for stream in report["streams"]:
            for name in ("latency", "gap"):
                self.assert_same_times(found, stream, name)
        self.assertEqual(found["spead_captures_running", (("stream", "own"),)], 1)
        self.assertEqual(found["spead_capture_taken_packets_total", (("stream", "own"),)],
                         report["streams"][1]["packets"]["received"])
        self.assertEqual(found["spead_stream_expected_bytes_per_second", (("stream", "recorded"),)], 1e6)

    def assert_same_times(self, found, stream, name):
        """Compares a histogram's buckets with the report's, from which each of them follows."""
        times, buckets = stream[name], {}
        for (metric, labels), value in found.items():
            labels = dict(labels)
            if metric == f"spead_stream_heap_{name}_seconds_bucket" and labels["stream"] == stream["name"]:
                buckets[float(labels["le"])] = value
        self.assertEqual(len(buckets), 26)
        for bound, value in buckets.items():
            counted = sum(count for up_to, count in times["buckets"] if up_to <= bound)
            self.assertEqual(value, times["count"] if math.isinf(bound) else counted, bound)
        total = found[f"spead_stream_heap_{name}_seconds_sum", (("stream", stream["name"]),)]
        self.assertAlmostEqual(total, times["mean_s"] * times["count"], delta=1e-6 * total)

    def test_every_name_is_explained_and_of_a_type(self):
        running, url = self.start_serving()
        self.settled(running, self.connect(running))
        text = fetch(url)
        running.interrupt()
        running.wait()
        types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
        helps = dict(re.findall(r"^# HELP (\w+) (.+)$", text, re.MULTILINE))
        for name, kind in types.items():
            self.assertTrue(name.startswith(("spead_", "process_")), name)
            expected_kinds = ("counter",) if name.endswith("_total") else ("gauge", "histogram")
            self.assertIn(kind, expected_kinds, name)
            self.assertTrue(helps[name].endswith("."), name)
        documented = (Path(os.environ["DPDK_SPEAD_SOURCE_ROOT"]) / "docs/telemetry.md").read_text(encoding="utf-8")
        missing = {name for name in types if f"`{name}`" not in documented}
        self.assertEqual(missing, set(), "not in docs/telemetry.md")

    def test_process_metrics_are_the_kernels(self):
        before = time.time()
        running, url = self.start_serving()
        self.settled(running, self.connect(running))
        found = {name: value for (name, _), value in samples(fetch(url)).items()}
        (build,) = [dict(labels) for name, labels in samples(fetch(url)) if name == "spead_build_info"]
        root = Path(f"/proc/{running.process.pid}")
        status = dict(re.findall(r"^(\w+):\s+(\d+)", (root / "status").read_text(), re.MULTILINE))
        resident = int(status["VmRSS"]) * 1024
        limit = int(re.search(r"Max open files\s+(\d+)", (root / "limits").read_text()).group(1))
        descriptors = len(list((root / "fd").iterdir()))
        running.interrupt()
        running.wait()
        version = subprocess.run([harness.program(), "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(version, f"dpdk-spead {build['version']} ({build['dpdk']})\n")
        self.assertEqual(found["spead_build_info"], 1)
        self.assertAlmostEqual(found["process_resident_memory_bytes"], resident, delta=resident / 2)
        self.assertGreater(found["process_virtual_memory_bytes"], found["process_resident_memory_bytes"])
        self.assertEqual(found["process_threads"], int(status["Threads"]))
        self.assertEqual(found["process_max_fds"], limit)
        # The scrape's own connection, and files that it reads, come and go.
        self.assertAlmostEqual(found["process_open_fds"], descriptors, delta=4)
        self.assertGreater(found["process_cpu_seconds_total"], 0)
        self.assertGreater(found["process_start_time_seconds"], before - 2)
        self.assertLess(found["process_start_time_seconds"], time.time() + 2)

    def test_health_and_readiness(self):
        running, url = self.start_serving("--control", self.directory / "control.sock")
        self.settled(running, self.connect(running))
        base = url.removesuffix("/metrics")
        self.assertEqual(fetch(base + "/healthz"), "ok\n")
        self.assertEqual(fetch(base + "/readyz"), "ok\n")

        def refusal():
            try:
                fetch(base + "/readyz")
            except urllib.error.HTTPError as refused:
                with refused:
                    return refused.code, refused.read().decode()
            return None

        def prompt(*words):
            done = subprocess.run([harness.program(), "attach", self.directory / "control.sock", "--", *words], text=True,
                                  capture_output=True, timeout=60 * harness.PATIENCE, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

        prompt("stream", "stop", "recorded")
        running.wait_for(lambda: refusal() == (503, "stream recorded is stopped\n"), "readiness that tells of the stream")
        prompt("port", "stop", "wire")
        reasons = "port wire is stopped\nstream recorded is stopped\nstream own waits for port wire\n"
        running.wait_for(lambda: refusal() == (503, reasons), "readiness that tells of the port")
        self.assertEqual(fetch(base + "/healthz"), "ok\n")
        prompt("port", "start", "wire")
        prompt("stream", "start", "recorded")
        running.wait_for(lambda: refusal() is None, "readiness")
        running.interrupt()
        running.wait()

    def test_promtool_finds_nothing_wrong(self):
        promtool = shutil.which("promtool")
        if promtool is None:
            self.skipTest("promtool is not installed (scripts/deps --prometheus)")
        running, url = self.start_serving()
        self.settled(running, self.connect(running))
        checked = subprocess.run([promtool, "check", "metrics"], input=fetch(url), capture_output=True, text=True)
        running.interrupt()
        running.wait()
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))

    def names_of_chunks(self):
        """The names of the metrics of a stream with chunks, and of its engine."""
        running = self.start("recv", "239.1.1.1:7148", "--port", "net_ring0", "--placement", "heap 4096; time: heap [2]",
                             "--heap-memory", "cpu", "--metrics", 0)
        running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "start")
        url = re.search(r"metrics are at (http://127\.0\.0\.1:\d+/metrics)", running.text(1)).group(1)
        running.wait_for(lambda: "spead_stream_chunks_taken_total" in fetch(url), "a snapshot")
        names = {name for name, _ in samples(fetch(url))}
        running.interrupt()
        running.wait()
        return names

    def test_dashboard_and_rules_ask_for_what_there_is(self):
        running, url = self.start_serving()
        client = self.connect(running)
        self.settled(running, client)
        # Rates are there from the second snapshot on.
        running.wait_for(lambda: client.ask("/spead/info")["sequence"] > 1, "a second snapshot")
        names = {name for name, _ in samples(fetch(url))} | self.names_of_chunks()
        running.interrupt()
        running.wait()
        dashboards = list((Path(os.environ["DPDK_SPEAD_SOURCE_ROOT"]) / "config/grafana").glob("*.json"))
        self.assertTrue(dashboards)
        for file in dashboards:
            dashboard = json.loads(file.read_text(encoding="utf-8"))
            self.assertIn("datasource", [variable["type"] for variable in dashboard["templating"]["list"]])
            panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
            self.assertEqual(len({panel["id"] for panel in dashboard["panels"]}), len(dashboard["panels"]))
            for panel in panels:
                self.assertEqual(panel["datasource"]["uid"], "${datasource}", panel["title"])
                for target in panel["targets"]:
                    asked = set(METRIC.findall(target["expr"]))
                    # Prometheus itself has `up`.
                    self.assertTrue(asked or "up{" in target["expr"], target)
                    self.assertEqual(asked - names, set(), f"{file.name}: {panel['title']}")
                    # Memory is shown in bytes, traffic in bits.
                    if panel["fieldConfig"]["defaults"]["unit"] == "bps":
                        self.assertIn("8", re.split(r" \* | or ", target["expr"]), panel["title"])
                self.assertNotIn(panel["fieldConfig"]["defaults"]["unit"], ("Bps", "binBps", "binbps"), panel["title"])
            places = [(panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y) for panel in dashboard["panels"]
                      for x in range(panel["gridPos"]["w"]) for y in range(panel["gridPos"]["h"])]
            self.assertEqual(len(places), len(set(places)), "panels lie upon each other")
        rules = list((Path(os.environ["DPDK_SPEAD_SOURCE_ROOT"]) / "config/prometheus").glob("*.yml"))
        self.assertTrue(rules)
        for file in rules:
            asked = set(METRIC.findall(file.read_text(encoding="utf-8")))
            self.assertTrue(asked, file)
            self.assertEqual(asked - names, set(), file.name)

    def test_only_get_of_metrics_is_answered(self):
        running, url = self.start_serving()
        self.settled(running, self.connect(running))
        base = url.rsplit("/", 1)[0]
        for path in ("//", "/page/../metrics", "/etc/passwd", "/../../etc/passwd", "/metrics/../x"):
            with self.subTest(path=path), self.assertRaises(urllib.error.HTTPError) as refused:
                fetch(base + path)
            refused.exception.close()
        with socket.create_connection(base.removeprefix("http://").split(":")) as raw:
            raw.sendall(b"\x00\xff" * 1000 + b"\r\n\r\n")
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(4096):
                pass
        self.assertIn("spead_run_duration_seconds", fetch(url))
        running.interrupt()
        running.wait()

    def test_slow_silent_and_huge_clients_lose_their_own_connection_only(self):
        running, url = self.start_serving()
        self.settled(running, self.connect(running))
        address = url.split("/")[2].split(":")
        clients = []

        def client(data=b""):
            clients.append(socket.create_connection(address, timeout=30 * harness.PATIENCE))
            self.addCleanup(clients[-1].close)
            if data:
                clients[-1].sendall(data)
            return clients[-1]

        for data in (b"", b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: "):
            for _ in range(100):
                client(data)
            self.assertIn("spead_run_duration_seconds", fetch(url))
        huge, sent = client(), 0
        try:
            while sent < 200 << 20:
                sent += huge.send(b"x" * (1 << 20))
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.assertLess(sent, 32 << 20, "it went on reading")
        self.assertIn("spead_run_duration_seconds", fetch(url))
        running.interrupt()
        running.wait()

    def test_a_port_in_use_is_said_before_anything_starts(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.refused("loopback", "--metrics", port, status=1,
                         says=(f"another program listens on 127.0.0.1:{port}", "give another port"))
        self.refused("loopback", "--metrics", "192.0.2.1:9100", status=1, says=("192.0.2.1", "not an address of this"))
        self.refused("loopback", "--metrics", "9100x", says=("--metrics", "`9100x`"))

    def test_its_threads_are_on_no_workers_cpu(self):
        running, url = self.start_serving()
        client = self.connect(running)
        self.settled(running, client)
        fetch(url)
        workers = {client.ask(f"/spead/lcore,{lcore}")["cpu"] for lcore in client.ask("/spead/lcores")}
        tasks = Path(f"/proc/{running.process.pid}/task")
        cpus = {}
        for task in tasks.iterdir():
            name = (task / "comm").read_text().strip()
            if name.startswith(("http", "telemetry")):
                status = (task / "status").read_text()
                cpus[name] = re.search(r"^Cpus_allowed_list:\s+(.*)$", status, re.MULTILINE).group(1)
        running.interrupt()
        running.wait()
        self.assertTrue("http" in cpus, cpus)
        if len(os.sched_getaffinity(0)) == 1:
            self.skipTest("there is one CPU only")
        for name, listed in cpus.items():
            for part in listed.split(","):
                first, _, last = part.partition("-")
                self.assertFalse(workers & set(range(int(first), int(last or first) + 1)), (name, listed, workers))


class Prometheus(Serving):
    def test_it_scrapes_the_process_and_answers_a_query(self):
        prometheus = shutil.which("prometheus")
        if prometheus is None:
            self.skipTest("prometheus is not installed (scripts/deps --prometheus)")
        running, url = self.start_serving()
        self.settled(running, self.connect(running))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        configuration = self.directory / "prometheus.yml"
        configuration.write_text("scrape_configs: [{job_name: spead, scrape_interval: 1s, static_configs: [{targets: ["
                                 f"'{url.split('/')[2]}']}}]}}]", encoding="utf-8")
        log = (self.directory / "prometheus.log").open("wb")
        self.addCleanup(log.close)
        server = subprocess.Popen([prometheus, f"--config.file={configuration}",
                                   f"--storage.tsdb.path={self.directory}/tsdb",
                                   f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=subprocess.STDOUT)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)

        def query(expression):
            try:
                words = urllib.parse.urlencode({"query": expression})
                answer = json.loads(fetch(f"http://127.0.0.1:{port}/api/v1/query?{words}"))
            except (urllib.error.URLError, ConnectionError):
                return []  # not up yet
            return answer["data"]["result"]

        received = 'sum by (stream) (spead_stream_packets_total{job="spead"})'
        running.wait_for(lambda: query(received), "answer of Prometheus", timeout=60)
        found = {row["metric"]["stream"]: int(row["value"][1]) for row in query(received)}
        (bytes_row,) = query('spead_stream_heap_bytes_total{stream="own"}')
        running.interrupt()
        report = running.wait().report
        self.assertEqual(found, {stream["name"]: stream["packets"]["received"] for stream in report["streams"]})
        self.assertEqual(int(bytes_row["value"][1]), report["streams"][1]["bytes"])


if __name__ == "__main__":
    harness.main()
