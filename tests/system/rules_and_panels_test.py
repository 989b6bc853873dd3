#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The alert rules and the dashboard's panels under promtool, without a process."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import harness


def second_shard(host):
    """The metrics of a process that is shard 1 of 2, on this host."""
    series = {'spead_shard_info{plan="x",shard="1",shards="2"': "1+0x40", 'spead_plan_endpoints{scope="all"': "5+0x40",
              'spead_plan_endpoints{scope="mine"': "2+0x40", 'spead_stream_shared{stream="all"': "1+0x40",
              'spead_stream_endpoint_packets_total{stream="s0",endpoint="b"': "0+1x40",
              'spead_stream_endpoint_packets_total{stream="all",endpoint="c"': "0+1x40"}
    return {f'{name},instance="{host}"}}': values for name, values in series.items()}


def asked_by(name):
    """Returns [(title of the panel, expression)] of a dashboard, with values for Grafana's variables."""
    file = Path(os.environ["DPDK_SPEAD_SOURCE_ROOT"]) / "config/grafana" / name
    dashboard = json.loads(file.read_text(encoding="utf-8"))
    values = {"$__rate_interval": "1m", "$__range": "1h", "$plan": ".*"}
    return [(panel["title"], re.sub(r"\$\w+", lambda found: values.get(found[0], found[0]), target["expr"]))
            for panel in dashboard["panels"] for target in panel.get("targets", [])]


class Rules(unittest.TestCase):
    """The alert rules under promtool: each fires for its own case alone, and none when all is well."""

    FILE = Path(os.environ["DPDK_SPEAD_SOURCE_ROOT"]) / "config/prometheus/dpdk-spead.rules.yml"
    STILL, WELL, RISES = "0+0x40", "1+0x40", "0+1x40"
    # Each metric as it is where nothing is wrong, by label, over ten minutes.
    ALL_WELL = {
        'up{}': WELL, 'spead_build_info{version="1"}': WELL, 'process_open_fds{}': "10+0x40", 'process_max_fds{}': "100+0x40",
        'spead_snapshot_age_seconds{}': "0.1+0x40", 'spead_lcore_up{lcore="2",cpu="3"}': WELL,
        'spead_engine_up{engine="cuda"}': WELL, 'spead_port_detached{port="p0"}': STILL, 'spead_port_nic_missed_packets_total{port="p0"}': STILL,
        'spead_stream_up{stream="s0"}': WELL, 'spead_stream_received_packets_total{stream="s0"}': "0+1000x40",
        'spead_stream_bytes_per_second{stream="s0"}': "96+0x40",
        'spead_stream_expected_bytes_per_second{stream="s0"}': "100+0x40",
        'spead_stream_heaps_total{stream="s0",end="complete"}': "0+10000x40",
        'spead_stream_heaps_total{stream="s0",end="evicted"}': "0+9x40",
        'spead_stream_heaps_dropped_full_total{stream="s0"}': STILL, 'spead_stream_heaps_wrong_total{stream="s0"}': STILL,
        'spead_stream_chunk_heaps_expected_total{stream="s0"}': "0+10000x40",
        'spead_stream_chunk_heaps_missing_total{stream="s0"}': STILL,
        'spead_stream_chunk_heaps_skipped_total{stream="s0"}': STILL,
        'spead_stream_heaps_unwritten_total{stream="s0"}': STILL, 'spead_stream_chunks_unwritten_total{stream="s0"}': STILL,
        'spead_stream_sink_failed{stream="s0"}': STILL, 'spead_send_healthy{send="d0"}': WELL,
        'spead_send_timed_out_heaps_total{send="d0"}': STILL,
        'spead_capture_dropped_full_packets_total{stream="s0"}': STILL,
        'spead_capture_unwritten_packets_total{stream="s0"}': STILL,
        # Two shards of a plan, one of them twice, and a stream that both have.
        'spead_shard_info{plan="x",shard="0",shards="2"}': WELL,
        'spead_plan_endpoints{scope="all"}': "5+0x40", 'spead_plan_endpoints{scope="mine"}': "3+0x40",
        'spead_stream_endpoint_packets_total{stream="s0",endpoint="a"}': RISES,
        'spead_stream_endpoint_packets_total{stream="all",endpoint="c"}': RISES,
        'spead_stream_shared{stream="all"}': WELL, 'spead_stream_shared{stream="s0"}': STILL,
        **second_shard("i:9100"), **second_shard("j:9100")}
    WRONG = {
        "SpeadProcessAbsent": {'up{}': STILL},
        "SpeadNumbersOld": {'spead_snapshot_age_seconds{}': "0+15x40"},
        "SpeadLcoreSilent": {'spead_lcore_up{lcore="2",cpu="3"}': STILL},
        "SpeadEngineStalled": {'spead_engine_up{engine="cuda"}': STILL},
        "SpeadPortDetached": {'spead_port_detached{port="p0"}': WELL},
        "SpeadStreamStopped": {'spead_stream_up{stream="s0"}': STILL,
                               'spead_stream_received_packets_total{stream="s0"}': STILL},
        "SpeadNothingCame": {'spead_stream_received_packets_total{stream="s0"}': STILL},
        "SpeadStreamSilent": {'spead_stream_received_packets_total{stream="s0"}': "0+1000x20 20000+0x20"},
        "SpeadStreamSlow": {'spead_stream_bytes_per_second{stream="s0"}': "94+0x40"},
        "SpeadHeapsLost": {'spead_stream_heaps_total{stream="s0",end="evicted"}': "0+11x40"},
        "SpeadChunksLackHeaps": {'spead_stream_chunk_heaps_missing_total{stream="s0"}': "0+11x40"},
        "SpeadSinkLoses": {'spead_stream_chunks_unwritten_total{stream="s0"}': RISES},
        "SpeadConsumerSlow": {'spead_stream_heaps_dropped_full_total{stream="s0"}': RISES},
        "SpeadHeapsWrong": {'spead_stream_heaps_wrong_total{stream="s0"}': "0+0x30 1+0x10"},
        "SpeadSinkFailed": {'spead_stream_sink_failed{stream="s0"}': WELL},
        "SpeadPortLosesPackets": {'spead_port_nic_missed_packets_total{port="p0"}': RISES},
        "SpeadSenderStuck": {'spead_send_healthy{send="d0"}': STILL},
        "SpeadSenderLosesHeaps": {'spead_send_timed_out_heaps_total{send="d0"}': RISES},
        "SpeadCaptureLosesPackets": {'spead_capture_unwritten_packets_total{stream="s0"}': RISES},
        "SpeadDescriptorsScarce": {'process_open_fds{}': "91+0x40"},
        "SpeadPlanIncomplete": {'spead_plan_endpoints{scope="mine"}': "2+0x40"},
        "SpeadEndpointTwice": {'spead_stream_endpoint_packets_total{stream="s0",endpoint="a",instance="i:9100"}': RISES}}

    def test_each_alert_fires_for_what_it_is_for_alone(self):
        self.assertEqual(set(re.findall(r"- alert: (\w+)", self.FILE.read_text(encoding="utf-8"))), self.WRONG.keys())
        promtool = shutil.which("promtool")
        if promtool is None:
            self.skipTest("promtool is not installed (scripts/deps --prometheus)")
        checked = subprocess.run([promtool, "check", "rules", self.FILE], capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

        def case(alert, changes):
            place = 'job="dpdk-spead",process="x"'
            series = [{"series": re.sub(r"\{(?=.)", "{" + place + ('' if "instance=" in name else ',instance="h:9100"') + ",",
                                        name).replace(",}", "}"), "values": values}
                      for name, values in {**self.ALL_WELL, **changes}.items()]
            firing = [] if alert is None else [{"labels": f'{{alertname="{alert}"}}', "value": 1}]
            return {"name": str(alert), "interval": "15s", "input_series": series, "promql_expr_test": [
                {"expr": 'count by (alertname) (ALERTS{alertstate="firing"})', "eval_time": "10m", "exp_samples": firing}]}

        cases = [case(alert, changes) for alert, changes in [(None, {}), *self.WRONG.items()]]
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "cases.yml"
            file.write_text(json.dumps({"rule_files": [str(self.FILE)], "evaluation_interval": "15s", "tests": cases}),
                            encoding="utf-8")
            tested = subprocess.run([promtool, "test", "rules", file], capture_output=True, text=True, check=False)
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)

    def test_every_panel_asks_in_promql(self):
        promtool = shutil.which("promtool")
        if promtool is None:
            self.skipTest("promtool is not installed (scripts/deps --prometheus)")
        for name in ("dpdk-spead.json", "dpdk-spead-fleet.json"):
            rules = [{"record": f"panel:{i}", "expr": expression}
                     for i, (_, expression) in enumerate(asked_by(name))]
            with tempfile.TemporaryDirectory() as directory:
                file = Path(directory) / "panels.yml"
                file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}), encoding="utf-8")
                checked = subprocess.run([promtool, "check", "rules", file], capture_output=True, text=True, check=False)
            self.assertEqual(checked.returncode, 0, name + checked.stdout + checked.stderr)

    # What one panel of the fleet's dashboard says of ALL_WELL, and of the series that an alert is for.
    FLEET = {"Hosts that do not answer": (0, "SpeadProcessAbsent", 1),
             "Endpoints that no shard has": (0, "SpeadPlanIncomplete", 1),
             "Endpoints in two shards": (0, "SpeadEndpointTwice", 1), "Shards that answer": (2, None, 2),
             "Received, of what is expected": (0.96, "SpeadStreamSlow", 0.94)}

    def test_the_fleet_dashboard_says_what_is_wrong(self):
        promtool = shutil.which("promtool")
        if promtool is None:
            self.skipTest("promtool is not installed (scripts/deps --prometheus)")
        asked = dict(asked_by("dpdk-spead-fleet.json"))

        def case(title, alert, value):
            place = 'job="dpdk-spead",process="x",spead_plan="x"'
            series = [{"series": re.sub(r"\{(?=.)", "{" + place + ('' if "instance=" in name else ',instance="h:9100"') + ",",
                                        name).replace(",}", "}"), "values": values}
                      for name, values in {**self.ALL_WELL, **self.WRONG.get(alert, {})}.items()]
            return {"name": title, "interval": "15s", "input_series": series, "promql_expr_test": [
                {"expr": asked[title], "eval_time": "10m", "exp_samples": [{"labels": "{}", "value": value}]}]}

        cases = [case(title, alert, value) for title, (well, wrong, then) in self.FLEET.items()
                 for alert, value in ((None, well), (wrong, then))]
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "cases.yml"
            file.write_text(json.dumps({"rule_files": [str(self.FILE)], "evaluation_interval": "15s", "tests": cases}),
                            encoding="utf-8")
            tested = subprocess.run([promtool, "test", "rules", file], capture_output=True, text=True, check=False)
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)


if __name__ == "__main__":
    harness.main()
