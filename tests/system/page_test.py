#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The live page in a real browser: it names causes and cures in the words of the findings, changes the process only as
it has shown, survives the process, and trusts no text."""

import contextlib
import copy
import json
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import browser
import harness
import threads
import wire

TOKEN = "0123456789abcdef-of-the-test"
ACCESSIBLE = (Path(__file__).parent / "accessible.js").read_text(encoding="utf-8")
WINDOW = None


def setUpModule():
    global WINDOW
    if not browser.why_not():
        WINDOW = browser.Browser()


def tearDownModule():
    if WINDOW is not None:
        WINDOW.close()


class Page(harness.ProgramTest):
    def setUp(self):
        if why := browser.why_not():
            self.skipTest(why)
        super().setUp()
        self.window = WINDOW
        self.window.driver.get("about:blank")
        self.window.errors(), self.window.requests()
        self.window.prefer(color_scheme="light")
        self.window.resize(1400)

    def until(self, condition, what):
        end = 30 * harness.PATIENCE
        found = self.window.later(f"const test = () => {condition};"
                                  "return new Promise((done) => { const began = Date.now(); const look = () => {"
                                  f"const is = test(); if (is || Date.now() - began > {1000 * end}) done(is); else setTimeout(look, 20); }};"
                                  "look(); });")
        self.assertTrue(found, f"no {what} within {end} s; the page shows: {self.window.text('#verdict, .finding')}; "
                               f"{self.window.errors()}")
        return found

    def until_verdict(self, pattern):
        self.until(f"/{pattern}/.test(document.querySelector('#verdict-words').textContent)", f"verdict `{pattern}`")

    def until_text(self, selector, pattern):
        self.until(f"[...document.querySelectorAll({json.dumps(selector)})].some((e) => /{pattern}/.test(e.textContent))",
                   f"`{pattern}` in {selector}")

    def get(self, path):
        with urllib.request.urlopen(f"{self.url}api/v1/{path}", timeout=30 * harness.PATIENCE) as answer:
            return json.load(answer)

    def expect_finding(self, cause, where, cure):
        """The page shows the finding in the words of the API, as a fault of now, with its cure."""
        self.until_text(f".finding.bad[data-cause={cause}] h3", f"^{where}: ")
        end = time.monotonic() + 30 * harness.PATIENCE
        while True:
            finding = next(one for one in self.get("findings") if one["cause"] == cause)
            shown = re.sub(r"\d[\d.]*", "#", "".join(self.window.text(f".finding.bad[data-cause={cause}]")))
            words = re.sub(r"\d[\d.]*", "#", f"{finding['unit']} {finding['what']}")
            # The page may be a snapshot behind.
            cures = [re.sub(r"\d[\d.]*", "#", one.replace("`", "")) for one in finding["cures"]]
            if words in shown and all(one in shown for one in cures) or time.monotonic() > end:
                break
        self.assertIn(words, shown)
        self.assertIn("What to do, in this order:", shown)
        for one in cures:
            self.assertIn(one, shown)
        self.assertRegex("\n".join(finding["cures"]), cure)

    def expect_stage(self, stage, kind):
        self.until(f"document.querySelector('[data-stage={stage}]').dataset.kind === '{kind}'", f"{kind} stage {stage}")

    def assert_quiet(self, url):
        """The page has reported no error, and asked nobody but its process."""
        self.assertEqual(self.window.errors(), [])
        asked = self.window.requests()
        self.assertTrue(asked)
        self.assertEqual([one for one in asked if not one.startswith((url, "about:", "data:"))], [])


class Real(Page):
    """A process with a stream for each fault."""

    def begin(self, port=0, number=1):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
            found.bind(("127.0.0.1", 0))
            self.udp = found.getsockname()[1]
        token = self.directory / "token"
        token.write_text(TOKEN + "\n", encoding="ascii")
        token.chmod(0o600)
        path = self.directory / "run.toml"
        path.write_text(f"""version = 1
[runtime]
name = "receiver-{number}"
live = true
control = "{self.directory / 'control.sock'}"
metrics = "127.0.0.1:{port}"
api_token_file = "{token}"
[memory]
heaps = "64MiB"
[[port]]
name = "p0"
device = "net_ring0"
[[port]]
name = "p1"
device = "net_ring1"
[[port]]
name = "k"
device = "net_kernel0,iface=lo"
[[receive]]
name = "archive"
port = "p0"
endpoints = ["239.10.10.20:7148"]
heaps = {{ max_bytes = "64KiB", queue_depth = 1, on_full = "drop_newest" }}
sink = {{ kind = "file", directory = "{self.directory / f'out{number}'}" }}
[[send]]
name = "to-archive"
port = "p0"
endpoints = ["239.10.10.20:7148"]
rate = "30Mbps"
heap_size = "1KiB"
[[receive]]
name = "beam"
port = "p1"
endpoints = ["239.1.1.1:7148"]
heaps = {{ max_bytes = "64KiB" }}
[[send]]
name = "to-nobody"
port = "p1"
endpoints = ["239.1.1.2:7148"]
rate = "2Mbps"
heap_size = "8KiB"
[[receive]]
name = "visibilities"
port = "k"
backend = "kernel"
endpoints = ["127.0.0.1:{self.udp}"]
heaps = {{ max_bytes = "64KiB" }}
""", encoding="utf-8")
        running = self.start("run", "--config", path)
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")
        self.url = re.search(r"and the page at (http://127\.0\.0\.1:\d+/)", running.text(1))[1]
        return running

    def send_with_gaps(self, stop):
        """Heaps of 20 packets, of which every third lacks one."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            count = 0
            while not stop.wait(0.01):
                count += 1
                for i, packet in enumerate(wire.heap(count, bytes(20000))):
                    if i != 2 or count % 3:
                        sender.sendto(packet, ("127.0.0.1", self.udp))

    @contextlib.contextmanager
    def lossy_network(self):
        stop = threading.Event()
        thread = threading.Thread(target=self.send_with_gaps, args=(stop,))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def change(self, path, **members):
        """Changes the process beside the page."""
        request = urllib.request.Request(f"{self.url}api/v1/{path}", json.dumps(members).encode(),
                                         {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request, timeout=30 * harness.PATIENCE) as answer:
            return json.load(answer)

    def test_causes_cures_recovery_and_another_process(self):
        running = self.begin()
        self.window.driver.get(self.url)
        with self.lossy_network():
            self.expect_finding("consumer_too_slow", "archive", r"stream set archive sink\.kind raw`")
            self.expect_stage("consumer", "bad")
            self.expect_finding("unmatched", "p1", "compare the endpoints with the sender's destinations")
            self.expect_stage("classify", "bad")
            self.expect_finding("network_loss", "visibilities", "look for drops in the switches")
            self.expect_stage("network", "bad")
            # A machine that is busy may hold the lcore, which is a problem, too.
            self.until_verdict("^\\d problems now – .*archive: consumer too slow")
            self.until_text("#stream-table tr:first-child td", "◆ \\d")
            report = self.get("report")
            self.assertEqual(sorted(self.window.text("#stream-table tbody th")),
                             sorted(stream["name"] for stream in report["streams"]))
            self.assertEqual(self.window.run(ACCESSIBLE), [])
            self.steer()
        self.change("send/stop", send="to-nobody")
        self.until_verdict("^Nothing is lost now; \\d losses earlier in this run")
        self.expect_stage("consumer", "past")
        held = threads.Held(self, threads.worker(running))
        self.until_verdict("problem.* now – .*lcore 1 on CPU \\d+: does not answer")
        self.expect_finding("lcore_silent", "lcore 1 on CPU \\d+", "do not change until it answers")
        self.expect_stage("lcore", "bad")
        with urllib.request.urlopen(f"{self.url}healthz", timeout=30 * harness.PATIENCE) as alive:
            self.assertEqual(alive.read(), b"ok\n", "it is alive for lcore_timeout")
        with self.assertRaisesRegex(urllib.error.HTTPError, "503") as refused:
            urllib.request.urlopen(f"{self.url}readyz", timeout=30 * harness.PATIENCE)
        refused.exception.close()
        held.let_go()
        self.until_verdict("^Nothing is lost now; \\d losses")
        self.until_text(".finding.past[data-cause=lcore_silent]", "keep other programs off its CPU")
        self.until_text("#event-list li", "answers again")
        self.assertEqual([event for event in self.get("events?since=0")["events"] if event["at_s"] is None], [])
        self.assertIn("visibilities", self.window.text("#capture-table tbody")[0])
        self.assert_quiet(self.url)
        self.assertNotIn(TOKEN, running.text(0) + running.text(1))
        for attempt in ("document.createElement('p').innerHTML = '<b>'",
                        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.owned = 1'}))"):
            self.assertEqual(self.window.run(f"try {{ {attempt}; return window.owned ?? 'made'; }} catch (error) {{ return 'refused'; }}"),
                             "refused", attempt)

        running.interrupt()
        running.wait()
        self.until_verdict("^No answer from the process$")
        self.until_text("#verdict-since", "^since \\d\\d:\\d\\d:\\d\\d, for ")
        self.window.errors()  # of the questions without an answer
        running = self.begin(port=int(self.url.rstrip("/").rsplit(":", 1)[1]), number=2)
        self.until("document.querySelector('#name').textContent === 'receiver-2'", "new name")
        self.expect_finding("unmatched", "p1", "compare the endpoints")
        self.assertEqual(self.window.text("#capture-table"), [], "another run has other captures")
        running.interrupt()
        running.wait()

    def steer(self):
        """With the token, the page shows a change and makes it; what the process refuses, it says in its words."""
        self.assertEqual(self.window.text("#controls"), [])
        self.window.type("#token", "not-the-token-of-the-test\n")
        self.ask("stream-stop", "#steer-stream", "archive")
        self.assertEqual(self.window.text("#ask-command"), ["stream stop archive"])
        self.assertEqual(self.window.text("#ask-request"), ['POST /api/v1/stream/stop\n{"stream":"archive"}'])
        self.assertEqual(self.window.run(ACCESSIBLE), [])
        self.window.click("#ask-no")
        self.assertEqual(self.window.text("#answers li"), [])
        self.ask("stream-stop", "#steer-stream", "archive")
        self.window.click("#ask-yes")
        self.until_text("#answers li", "refused \\(401\\): this is not the token of api_token_file")
        self.until("document.querySelector('#token').checkVisibility()", "question for another token")
        self.assertEqual(self.get("streams/archive")["state"], "received")
        self.window.type("#token", TOKEN + "\n")
        self.ask("move", "#steer-stream", "archive")
        self.fill("lcores", 999)
        self.assertEqual(self.window.text("#ask-command"), ["stream set archive lcores 999"])
        self.window.click("#ask-yes")
        self.until_text("#answers li", "stream set archive lcores 999: refused \\(4\\d\\d\\): .*999")
        for change, state in (("stop", "stopped"), ("start", "received")):
            self.ask(f"stream-{change}", "#steer-stream", "beam")
            self.window.click("#ask-yes")
            self.until_text("#answers li", f"stream {change} beam: stream beam is ")
            end = time.monotonic() + 30 * harness.PATIENCE
            while (now := self.get("streams/beam")["state"]) != state and time.monotonic() < end:
                pass  # until the next snapshot
            self.assertEqual(now, state)
        self.ask("move", "#steer-stream", "beam")
        cpus = self.window.run("return document.querySelector('#ask [name=lcores]').value")
        self.assertRegex(cpus, r"^\d+$", "the CPU where it is")
        self.window.click("#ask-yes")
        self.until_text("#answers li", f"stream set beam lcores {cpus}: stream beam: lcores {cpus}")
        saved = self.directory / "saved.toml"
        self.ask("save")
        self.fill("file", saved)
        self.window.click("#ask-yes")
        self.until_text("#answers li", "save config .*: saved: ")
        self.assertIn('name = "archive"', saved.read_text(encoding="utf-8"))
        captured = self.directory / "visibilities.pcap"
        self.ask("capture", "#steer-stream", "visibilities")
        self.fill("file", captured)
        self.assertEqual(self.window.text("#ask-command"), [f"capture start visibilities {captured} capture.duration 10s"])
        self.window.click("#ask-yes")
        self.until_text("#answers li", "capture of visibilities: runs")
        self.change("capture/stop", stream="visibilities")
        self.until_text("#answers li", "capture of visibilities: ended; [1-9].* packets written, 0 dropped")
        self.assertGreater(captured.stat().st_size, 1000)
        self.ask("send-stop", "#steer-send", "to-archive")
        self.window.click("#ask-yes")
        self.until_text("#answers li", "send stop to-archive: sender to-archive is stopped")
        self.until_text("#send-table tr td", "■stopped")
        self.assertEqual(self.window.run("return [location.href, JSON.stringify({...sessionStorage, ...localStorage}), document.cookie]"),
                         [self.url, "{}", ""])
        self.assertFalse([one for one in self.window.errors() if "401" not in one and "status of 4" not in one])

    def fill(self, name, text):
        """Types into a field of the question."""
        self.window.run("const field = document.querySelector(`#ask [name=${arguments[0]}]`); field.value = arguments[1];"
                        "field.dispatchEvent(new Event('input', {bubbles: true}))", name, str(text))

    def ask(self, change, select=None, name=None):
        if select:
            self.window.run("document.querySelector(arguments[0]).value = arguments[1]", select, name)
        self.window.click(f"[data-change={change}]")
        self.assertTrue(self.window.run("return document.querySelector('#ask').open"))


class MadeUpPage(Page):
    """A process that says what the test wants."""

    report = None  # of a real run, made once

    def begin(self, **facts):
        if MadeUpPage.report is None:
            MadeUpPage.report = self.run_program("loopback", "--heaps", 50, "--heap-size", "8KiB").report
        # A machine that is busy may have held its lcores.
        report = {**copy.deepcopy(MadeUpPage.report), "duration_s": 100, "findings": []}
        process = browser.MadeUpProcess(report, **facts)
        self.addCleanup(process.close)
        return process

    @staticmethod
    def finding(cause, stage, where, **more):
        return {"cause": cause, "kind": "note" if cause == "impaired" else "loss", "stage": stage, "where": where, "count": 5, "unit": "packets", "what": f"what of {cause}",
                "cures": [f"fix of {cause}", f"and `do {cause}`"], "first_s": 90, "last_s": 1e9, "until_s": None, "sentence": "", **more}


class MadeUp(MadeUpPage):
    def test_a_finding_of_each_stage_is_in_the_picture(self):
        process = self.begin()
        process.report["findings"] = [
            self.finding("receive_ring_short", "port", "p0"), self.finding("lcore_interrupted", "lcore", "p0"),
            self.finding("not_spead", "packet", "s0", last_s=50), self.finding("late", "window", "s0", until_s=60),
            self.finding("impaired", "transmit", "d0"), self.finding("no_chunk", "memory", "s0")]
        self.window.driver.get(process.url)
        self.until_verdict("^3 problems now")
        self.assertEqual([self.window.run("return document.querySelector(`[data-stage=${arguments[0]}]`).dataset.kind", stage)
                          for stage in ("network", "port", "lcore", "classify", "packet", "window", "memory", "consumer")],
                         ["ok", "bad", "bad", "ok", "past", "past", "bad", "ok"])
        shown = self.window.text(".finding")
        self.assertEqual(len(shown), 6)
        self.assertTrue(all(re.search("in this order:\\s*fix of", one) for one in shown if "late" not in one))
        self.assertEqual(self.window.text(".finding[data-cause=receive_ring_short] code"), ["do receive_ring_short"])
        self.assertIn("On purpose", "".join(one for one in shown if "impaired" in one))
        self.until_text("#steer-words", "This page cannot change the process.* The commands below “What to do” need none")
        self.assertIn("restart the process with --api-token-file token", self.window.text("#steer-words")[0])
        self.until_text("#cure-words", "^Commands run in a shell on the machine of the process")
        self.assertEqual(self.window.text("#token-form, #controls"), [])
        for wide, scheme in ((1400, "dark"), (390, "dark"), (390, "light")):
            with self.subTest(wide=wide, scheme=scheme):
                self.window.resize(wide)
                self.window.prefer(color_scheme=scheme, reduced_motion="reduce")
                self.until(f"document.querySelector('svg.stages').viewBox.baseVal.width {'<' if wide == 390 else '>'} 400", "picture")
                self.assertEqual(self.window.run(ACCESSIBLE), [])
        unnamed = [role for role, name in self.window.accessible_names()
                   if role in ("button", "textbox", "searchbox", "combobox", "link", "image", "table", "dialog") and not name.strip()]
        self.assertEqual(unnamed, [])
        self.assert_quiet(process.url)

    def test_a_selected_command_stays_selected_while_numbers_change(self):
        process = self.begin()
        cures = ["it took 5 % of the heaps", "run `do this` (now 5)", "`one` or `two`"]
        process.report["findings"] = [self.finding("consumer_too_slow", "consumer", "s0", cures=cures)]
        self.window.driver.get(process.url)
        self.until_text(".finding code", "^do this$")
        self.window.run("getSelection().selectAllChildren(document.querySelector('.finding code'))")
        process.report["findings"][0]["cures"] = [cures[0].replace("5", "7"), cures[1].replace("5", "7"), "no code", "more"]
        self.until_text(".finding li", "now 7")
        self.assertEqual(self.window.run("return getSelection().toString()"), "do this")
        self.assertEqual(self.window.text(".finding li"), ["it took 7 % of the heaps", "run do this (now 7)", "no code", "more"])
        self.assertEqual(self.window.text(".finding code"), ["do this"])
        process.report["findings"][0]["cures"] = ["`last`"]
        self.until("document.querySelectorAll('.finding li').length === 1", "a shorter list")
        self.assertEqual(self.window.text(".finding code"), ["last"])

    def test_texts_of_others_stay_texts(self):
        hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
        process = self.begin(name=hostile)
        stream = process.report["streams"][0]
        for name in (hostile, "__proto__", "constructor", "\u202egnorw", "a" * 3000, '"]<svg onload=alert(1)>', ""):
            one = copy.deepcopy(stream)
            one["name"] = name
            one["health"] = {"state": "losing", "events": {}, "last_event": {"event": "losing", "at_s": 1, "text": hostile}}
            one["axes"] = [{"name": hostile, "places": 2, "places_each": 1, "expected": [4, 4], "present": [4, 2],
                            "lowest": [{"place": hostile, "expected": 4, "present": 2, "nothing_in_chunks": 0}]}]
            one["chunks"] = {name: 1 for name in ("taken", "complete", "heaps_present", "heaps_expected", "heaps_missing",
                                                  "heaps_skipped", "free", "buffers", "delivered", "unwritten")}
            process.report["streams"].append(one)
        process.report["findings"] = [self.finding("network_loss", "network", hostile, what=hostile, cures=[hostile, f"`{hostile}`", "`"])]
        process.report["ports"][0]["talkers"] = [{"source": hostile, "stream": hostile, "packets": 1, "excess": 0}]
        process.events = [{"at_s": 1, "name": hostile, "event": hostile, "text": hostile}]
        self.window.driver.get(process.url)
        self.until_text(".finding h3", "<img src=x")
        self.until_text("#event-list li", "<img src=x")
        self.until_text("figcaption", "<img src=x")
        self.assertEqual(self.window.run("return document.querySelectorAll('img, section script, [onerror], [onload]').length"), 0)
        self.assertIn(hostile, self.window.text("#stream-table th"))
        self.assertRegex(self.window.run("return document.title"), "<img")
        self.assertEqual(self.window.run("const s = document.querySelector('#picture-of'); return s.options.length"),
                         len(process.report["streams"]) + 1)
        self.window.resize(390)
        self.until("document.querySelector('svg.stages').viewBox.baseVal.width < 400", "narrow picture")
        self.assertEqual(self.window.run(ACCESSIBLE), [])
        self.assert_quiet(process.url)

    def test_another_run_begins_afresh_and_another_version_with_new_files(self):
        process = self.begin()
        process.events = [{"at_s": 1, "name": "s0", "event": "silent", "text": "stream s0 is silent"}] * 3
        self.window.driver.get(process.url)
        self.until("document.querySelectorAll('#event-list li').length === 3", "events")
        self.window.run("window.here = true")
        process.events = []
        process.facts = {**process.facts, "started": 2}
        self.until("document.querySelectorAll('#event-list li').length === 0", "forgotten events")
        self.assertTrue(self.window.run("return window.here"), "the same page")
        process.facts = {**process.facts, "started": 3, "version": "2"}
        self.until("window.here === undefined", "page of the other version")
        self.until_verdict("lost")
        self.assert_quiet(process.url)

    def test_too_many_pages_and_a_main_thread_that_is_held(self):
        process = self.begin()
        process.full = True
        self.window.driver.get(process.url)
        self.until_verdict("lost")
        self.until_text("#verdict-since", "as many pages as possible follow this process already")
        process.report["findings"] = [self.finding("receive_ring_short", "port", "p0")]
        self.until_verdict("^1 problem now – p0: receive queue too short$")
        process.full = False
        process.report["findings"] = []
        self.window.driver.refresh()
        self.until_verdict("lost")
        process.held = True
        process.facts = {**process.facts, "age_s": 9}
        self.until_verdict("^The numbers are old$")
        self.until_text("#verdict-since", "its numbers are 9 s old")
        self.until("document.body.classList.contains('stale')", "grey page")
        process.held = False
        self.until_verdict("lost")

    def test_events_and_findings_have_the_same_clock(self):
        process = self.begin()
        process.step = 0.2  # as time passes
        process.report["findings"] = [self.finding("no_chunk", "memory", "s0", first_s=90)]
        # The clock of this process is a day late.
        process.events = [{"at_s": 90, "time": time.time() - 86400, "name": "s0", "event": "losing", "text": "stream s0 loses"}]
        self.window.driver.get(process.url)
        self.until_text("#event-list li", "stream s0 loses")
        self.until_text(".finding .facts", "first \\d\\d:")
        at = self.window.run("""const seconds = (text) => text.match(/(\\d\\d):(\\d\\d):(\\d\\d)/).slice(1).reduce((all, part) => 60 * all + Number(part), 0);
            return [document.querySelector("#event-list time").textContent, seconds(document.querySelector("#event-list time").textContent),
                    seconds(document.querySelector(".finding .facts").textContent.match(/first (.*)/)[1])];""")
        # Midnight may pass, and a report come late.
        self.assertLess(min(abs(at[1] - at[2]), 86400 - abs(at[1] - at[2])), 60 * harness.PATIENCE, at)
        self.assertNotIn("-", at[0], "it has the date of another day")

    def test_lists_of_names_are_bounded_and_filtered(self):
        process = self.begin(changes=True)
        stream = process.report["streams"][0]
        process.report["streams"] = [{**stream, "name": f"s{i}"} for i in range(512)]
        self.window.driver.get(process.url)
        self.until_verdict("lost")
        options = "document.querySelector('#{}').options"
        self.until(options.format("steer-stream") + ".length === 500", "bounded names")
        self.until_text("#steer-words", "500 names at most")
        self.assertEqual(self.window.run(f"return {options.format('picture-of')}.length"), 501)
        self.window.type("#filter", "S511")
        self.until(options.format("steer-stream") + ".length === 1", "the name that was filtered")
        self.assertEqual(self.window.run(f"return {options.format('steer-stream')}[0].value"), "s511")
        self.assert_quiet(process.url)


if __name__ == "__main__":
    harness.main()
