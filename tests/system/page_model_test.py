#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the live page keeps and counts: the modules of the page in a real browser, with times that the test chooses."""

import harness
import page_test

setUpModule = page_test.setUpModule
tearDownModule = page_test.tearDownModule


class Model(page_test.MadeUpPage):
    def test_series_are_seconds_however_far_apart_reports_are(self):
        process = self.begin()
        self.window.driver.get(process.url)
        self.until_verdict("lost")
        grown = self.window.later("""const [report] = arguments;
            return import("/page/model.js").then(({Model, heapsLost}) => [5, 2, 1.3, 1, 0.2].map((apart) => {
                const model = new Model();
                model.begin({});
                let time = 0;
                for (let i = 0; i * apart < 60; i++, time = i * apart) {
                    const stream = {...report.streams[0], bytes: 1000 * time, chunks: undefined, axes: [{name: "a", expected: [time + 1], present: [time / 2]}]};
                    stream.heaps = {...stream.heaps, complete: 9 * i, evicted: i, timed_out: 0, flushed: 0, dropped_full: 0, unwritten: 0};
                    model.takeReport({...report, streams: [stream], duration_s: time, cleared_s: 0}, 1000 * time);
                }
                const one = [...model.streams.values()][0];
                const sum = (values) => values.reduce((all, value) => all + value, 0);
                return {apart, last: model.time, points: one.rate.count, columns: one.axes.get("a").count, off: [...model.lcores.values()][0].count,
                        rates: [...new Set(one.rate.list().map(Math.round))], lost: sum(one.lost.list()), all: heapsLost(model.base.streams[0]),
                        shares: [...new Set(one.axes.get("a").list().map((column) => Math.round(1e6 * column[0])))]};
            }));""", process.report)
        for one in grown:
            with self.subTest(apart=one["apart"]):
                self.assertEqual((one["columns"], one["off"]), (one["points"], one["points"]))
                self.assertAlmostEqual(one["points"], one["last"], delta=0.6)
                self.assertEqual((one["rates"], one["shares"], one["lost"]), ([1000], [500000], one["all"]))

    def test_what_never_came_to_a_stream_is_not_what_other_ports_lost(self):
        process = self.begin()
        self.window.driver.get(process.url)
        self.until_verdict("lost")
        counts = self.window.later("""const [report] = arguments;
            const stream = (name, port) => ({...report.streams[0], name, port, packets: {}, info: {missing_packets: 100}});
            const port = (name, missed) => ({...report.ports[0], name, nic: {missed, no_mbuf: 0, errors: 0}});
            const now = {...report, streams: [stream("a", "p0"), stream("b", "p1")], ports: [port("p0", 30), port("p1", 7)]};
            return import("/page/stages.js").then(({countsOf}) => ["a", "b", ""].map((name) => {
                const stages = countsOf(now, null, name);
                return [stages[0].counts[0].total, stages[1].counts[0].total];
            }));""", process.report)
        self.assertEqual(counts, [[70, 30], [93, 7], [163, 37]])

    def test_a_day_takes_no_more_memory_than_minutes(self):
        process = self.begin()
        self.window.driver.get(process.url)
        self.until_verdict("lost")
        kept = self.window.later("""const [report] = arguments;
            return Promise.all([import("/page/model.js"), import("/page/ring.js")]).then(([{Model, POINTS, EVENTS}]) => {
                const model = new Model();
                model.begin({});
                for (let second = 0; second < 86400; second++) {
                    const streams = report.streams.map((one) => ({...one, name: `s${Math.floor(second / 1000)}`, bytes: second}));
                    model.takeReport({...report, streams, duration_s: second + 1, cleared_s: 0}, 1000 * second);
                    model.takeEvent({sequence: second + 1, time: second, text: "", event: "silent", name: ""});
                }
                const rings = [...model.streams.values()].flatMap((one) => [one.rate, one.lost]).concat([...model.lcores.values()]);
                return {streams: model.streams.size, lcores: model.lcores.size, earlier: model.earlier.length,
                        events: model.events.length, last: model.lastEvent, rate: model.streams.get("s86").rate.at(0),
                        points: Math.max(...rings.map((ring) => ring.values.length)), POINTS, EVENTS};
            });""", process.report)
        self.assertEqual(kept, {"streams": 1, "lcores": len(process.report["lcores"]), "earlier": 5, "events": kept["EVENTS"],
                                "last": 86400, "rate": 1, "points": kept["POINTS"], "POINTS": kept["POINTS"],
                                "EVENTS": kept["EVENTS"]})
        process.events = [{"at_s": 1, "name": "s0", "event": "silent", "text": f"event {i}"} for i in range(1000)]
        self.until_text("#event-list li", "event 999")
        self.assertEqual(self.window.run("return document.querySelectorAll('#event-list li').length"), kept["EVENTS"])
        self.assert_quiet(process.url)


if __name__ == "__main__":
    harness.main()
