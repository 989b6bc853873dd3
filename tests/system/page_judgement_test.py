#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the live page calls a problem: states with their cures, unless a finding explains them, and streams that pause."""

import harness
import page_test

setUpModule = page_test.setUpModule
tearDownModule = page_test.tearDownModule


class Judgement(page_test.MadeUpPage):
    def test_a_stream_that_pauses_is_named_and_is_no_problem(self):
        process = self.begin()
        self.window.driver.get(process.url)
        self.until_verdict("^Nothing is lost; no packets of s0$")
        self.until_text("#stream-table tbody td", "●no packet for ")
        self.until_text(".finding.note h3", "^s0: no packet for at least \\d+ s, after \\d+ packets$")
        self.until_text(".finding.note .cure", "look whether its sender still sends.*set silent_after of the stream")
        process.report["ports"][0]["talkers"] = [{"source": "10.0.0.7", "stream": "s0", "packets": 9, "excess": 0}]
        self.until_text(".finding.note .cure", "look whether its sender still sends: packets came from 10\\.0\\.0\\.7")
        self.assertEqual(self.window.run(page_test.ACCESSIBLE), [])
        process.step = 0.01
        process.report["streams"][0]["packets"]["received"] += 1
        self.until_verdict("^All is well: nothing is lost$")
        self.until_text("#stream-table tbody td", "✔received")
        self.assert_quiet(process.url)

    def test_a_warning_comes_before_a_loss_and_is_none(self):
        process = self.begin()
        process.step = 0.01
        where = "lcore 1 on CPU 2"
        warning = self.finding("lcore_held_up", "lcore", where, kind="warning", unit="times", last_s=100)
        process.report["findings"] = [warning]
        self.window.driver.get(process.url)
        self.until_verdict(f"^Nothing is lost yet – {where}: kept off its CPU$")
        self.until_text(".finding.warn .facts", "^A warning, no loss yet · at the lcore · lcore_held_up · first ")
        self.until_text(".finding.warn .cure", "fix of lcore_held_up")
        self.assertEqual(self.window.run("return document.querySelector('[data-stage=lcore]').dataset.kind"), "warn")
        self.assertEqual(self.window.run(page_test.ACCESSIBLE), [])
        process.report["findings"] = [self.finding("no_chunk", "memory", "s0", last_s=50), warning]
        self.until_verdict(f"^Nothing is lost yet – {where}: kept off its CPU; 1 loss earlier in this run$")
        process.report["findings"] = [self.finding("no_chunk", "memory", "s0", last_s=100), warning]
        self.until_verdict("^1 problem now – s0: no free chunk$")
        process.report["findings"] = [self.finding("no_chunk", "memory", "s0", last_s=50), {**warning, "last_s": 60}]
        self.until_verdict("^Nothing is lost now; 1 loss earlier in this run, and 1 warning$")
        process.report["findings"] = [{**warning, "last_s": 60}]
        self.until_verdict("^Nothing is lost; 1 warning earlier in this run$")
        self.until_text(".finding.past .facts", "^A warning that is over")
        self.assertEqual(self.window.run("return document.querySelector('[data-stage=lcore]').dataset.kind"), "ok")
        self.assertEqual(self.window.text("#stream-table tbody td")[0], "✔received")
        self.assert_quiet(process.url)

    def test_losses_are_among_the_events(self):
        process = self.begin()
        process.step = 0.01
        self.window.driver.get(process.url)
        self.until_verdict("lost")
        self.assertEqual(self.window.text("#event-none"), ["No events so far."])
        process.events = [{"at_s": 95, "time": 0, "name": "s0", "event": "losing", "text": "stream s0 loses"}]
        process.report["findings"] = [self.finding("no_chunk", "memory", "s0", first_s=90, last_s=93),
                                      self.finding("late", "window", "s0", first_s=97, last_s=100)]
        self.until_text("#event-list li", "s0: no free chunk – last seen$")
        self.until_text("#event-list li", "stream s0 loses$")
        order = ["late packets – began", "stream s0 loses", "no free chunk – last seen", "no free chunk – began"]
        shown = self.window.text("#event-list li")
        self.assertEqual([next(words for words in order if words in line) for line in shown], order)
        self.assertEqual(self.window.text("#event-none"), [])
        self.assert_quiet(process.url)

    def test_cures_of_what_is_over_are_folded(self):
        process = self.begin()
        process.step = 0.01
        over = self.finding("not_spead", "packet", "s0", last_s=50)
        process.report["findings"] = [over, self.finding("no_chunk", "memory", "s0", last_s=100)]
        self.window.driver.get(process.url)
        self.until_verdict("^1 problem now – s0: no free chunk$")
        is_open = "return document.querySelector(`[data-cause=${arguments[0]}] .cure`).open"
        self.assertEqual([self.window.run(is_open, cause) for cause in ("no_chunk", "not_spead")], [True, False])
        self.window.click("[data-cause=not_spead] summary")
        process.report["findings"][0]["count"] = 6
        self.until_text("[data-cause=not_spead] h3", "^s0: 6 ")
        self.assertTrue(self.window.run(is_open, "not_spead"), "it stays as it was left")
        self.assertEqual(self.window.run(page_test.ACCESSIBLE), [])

    def test_the_usual_pause_of_a_stream_is_none(self):
        process = self.begin()
        self.window.driver.get(process.url)
        self.until_verdict("lost")
        pauses = self.window.later("""const [report] = arguments;
            return import("/page/model.js").then(({Model}) => {
                const model = new Model();
                model.begin({});
                const pauses = [];
                for (let time = 1; time <= 110; time++) {
                    // A packet each twenty seconds, and none after a minute.
                    const stream = {...report.streams[0], packets: {received: Math.floor(Math.min(time, 60) / 20)}};
                    model.takeReport({...report, streams: [stream], duration_s: time, cleared_s: 0}, 1000 * time);
                    pauses.push(model.pauseOf(stream.name));
                }
                return [19, 35, 59, 99, 101].map((second) => pauses[second - 1]);
            });""", process.report)
        self.assertEqual(pauses, [18, 0, 0, 0, 41])

    def test_a_state_has_cures_until_a_finding_of_its_port_explains_it(self):
        process = self.begin()
        process.step = 0.01
        stream = process.report["streams"][0]
        stream["health"] = {"state": "slow", "events": {}, "last_event": {"event": "slow", "at_s": 1, "text": "1 Mb/s come, and 2 Mb/s are expected"}}
        self.window.driver.get(process.url)
        self.until_verdict("^1 problem now – s0: slow$")
        self.until_text(".finding.bad .cure", "compare with the rate of the sender")
        # A cause comes before a state, however early that began.
        process.report["findings"] = [self.finding("unmatched", "classify", stream["port"], first_s=99, last_s=100)]
        self.until_verdict(f"^1 problem now – {stream['port']}: packets for no stream \\(probably hit by it: s0\\)$")
        self.until_text(".finding.bad[data-cause=slow] .cure", f"see the finding of {stream['port']} first: .*compare with the rate")
        effect = self.finding("consumer_too_slow", "consumer", "s1", first_s=98, last_s=100, cures=["see the finding of s0 first"])
        process.report["findings"] = [effect, self.finding("consumer_too_slow", "consumer", "s0", first_s=99, last_s=100)]
        self.until_verdict("^1 problem now – s0: consumer too slow \\(probably hit by it: s1\\)$")
        # What is named elsewhere counts by itself once that is over.
        process.report["findings"] = [effect]
        self.until_verdict("^2 problems now – s1: consumer too slow; s0: slow$")
        twins = [self.finding("network_loss", "network", name, first_s=99, last_s=100) for name in ("s1", "s0")]
        process.report["findings"] = twins
        self.until_verdict("^2 problems now – s1, s0: packets lost in the network$")
        process.report["findings"] = [self.finding("receive_ring_short", "port", stream["port"], first_s=99, last_s=100)]
        self.until_verdict(f"^1 problem now – {stream['port']}: receive queue too short$")
        self.assert_quiet(process.url)


if __name__ == "__main__":
    harness.main()
