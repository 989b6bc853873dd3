#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The page of a fleet in a real browser: the worst process first, in the words of its own findings; a process that is killed
and comes back; and a server whose names are markup."""

import re

import fleet_test
import harness
import page_test

SLOW = """version = 1
[runtime]
name = "archive-host"
control = "off"
metrics = "127.0.0.1:0"
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "archive"
port = "p0"
endpoints = ["239.2.0.0:7148"]
expected_rate = "10Mbps"
heaps = {{ max_bytes = "64KiB", queue_depth = 1, on_full = "drop_newest" }}
sink = {{ kind = "file", directory = "{directory}" }}
[[send]]
name = "to-archive"
port = "p0"
endpoints = ["239.2.0.0:7148"]
rate = "30Mbps"
heap_size = "1KiB"
"""
# Each shard sends to its own endpoints.
SHARD = fleet_test.PLAN.replace("239.1.0.0+3:7148\"]\nheap_size", "{sends}:7148\"]\nheap_size")
MARKUP = "<img src=x onerror=window.owned=1>"

setUpModule, tearDownModule = page_test.setUpModule, page_test.tearDownModule
WHERE = re.compile(r"metrics are at http://(127\.0\.0\.1:\d+)/metrics")


class FleetPage(page_test.Page):
    server = fleet_test.Fleet.server

    def begin(self, name, text, *words, port=0):
        """(running, address of its metrics)"""
        path = self.directory / f"{name}.toml"
        path.write_text(text.replace("127.0.0.1:0", f"127.0.0.1:{port}"), encoding="utf-8")
        running = self.start("run", "--config", path, *words, report=False)
        running.wait_for(lambda: WHERE.search(running.text(1)) and "Ctrl-C ends" in running.text(1), "a start")
        return running, WHERE.search(running.text(1))[1]

    def until_row(self, address, state):
        self.until(f"document.querySelector('#host-table tbody tr').dataset.state === '{state}' && "
                   f"document.querySelector('#host-table tbody a').textContent === '{address}'", f"{address} {state} in the first row")

    def test_the_worst_is_first_in_its_own_words(self):
        first, at_first = self.begin("first", SHARD.format(sends="239.1.0.0+1"), "--shard", "0/2")
        _, at_second = self.begin("second", SHARD.format(sends="239.1.0.2+1"), "--shard", "1/2")
        _, at_slow = self.begin("slow", SLOW.format(directory=self.directory / "out"))
        fleet = self.start("top", "--fleet", f"{at_first},{at_second},{at_slow}", "--interval", "500ms", "--http", "0", report=False)
        where = re.compile(r"the page of the fleet is at (http://127\.0\.0\.1:\d+/)")
        fleet.wait_for(lambda: where.search(fleet.text(1)), "an address")
        url = where.search(fleet.text(1))[1]
        self.window.driver.get(url)

        self.until_row(at_slow, "problem")
        self.until_verdict(f"^1 of 3 processes have a problem – {re.escape(at_slow)}: problem$")
        self.until_text(".finding.bad h3", f"^{re.escape(at_slow)}, archive: \\d+ heaps ")
        self.until_text(".finding.bad .cure", "write to a faster disk")
        self.until_text("#host-table tbody tr:first-child td", "◆ ")
        self.until_text("#host-table tbody tr:first-child td", "of 10.0 Mb.s")
        self.until_text("#plans", "Plan fleet: 4 of 4 endpoints are received")
        self.assertEqual(self.window.run("return document.querySelector('#host-table tbody a').href"), f"http://{at_slow}/")
        for wide, scheme in ((1400, "light"), (390, "dark")):
            self.window.resize(wide)
            self.window.prefer(color_scheme=scheme)
            self.assertEqual(self.window.run(page_test.ACCESSIBLE), [])
        self.window.resize(1400)

        first.process.kill()
        first.process.wait()
        self.until_row(at_first, "no answer")
        self.until_text(".finding.bad h3", "^plan fleet: no host has shard 0.2$")
        self.until_verdict("^2 of 3 processes have a problem")
        self.begin("again", SHARD.format(sends="239.1.0.0+1"), "--shard", "0/2", port=int(at_first.rsplit(":", 1)[1]))
        self.until_row(at_slow, "problem")
        self.until_text("#plans", "Plan fleet: 4 of 4 endpoints are received")
        self.assert_quiet(url)

        fleet.interrupt()
        fleet.wait()
        self.until_verdict("^No answer from the server of this page$")

    def test_names_of_other_hosts_are_text(self):
        answer = (f'spead_shard_info{{plan="{MARKUP}",shard="{MARKUP}",shards="2"}} 1\nspead_port_up{{port="{MARKUP}"}} 0\n').encode()
        head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(answer)
        address = self.server(head + answer)
        fleet = self.start("top", "--fleet", address, "--http", "127.0.0.1:0", report=False)
        fleet.wait_for(lambda: "the page of the fleet is at" in fleet.text(1), "an address")
        self.window.driver.get(re.search(r"at (http://\S+/)", fleet.text(1))[1])
        self.until_row(address, "fault")
        self.until_text(".finding h3", "port <img src=x onerror=window.owned=1> is down")
        self.assertIn(MARKUP, self.window.text("#plans")[0])
        self.assertIsNone(self.window.run("return window.owned ?? null"))
        self.assertEqual(self.window.run("return document.images.length"), 0)


if __name__ == "__main__":
    harness.main()
