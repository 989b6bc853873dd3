// SPDX-License-Identifier: BSD-3-Clause
// Keeps what the views show: the latest report, a few earlier ones, and series of fixed length. Its memory is bounded,
// however long the page is open: docs/counters.md has the names of reports.

import {Ring} from "/page/ring.js";
import {number} from "/page/units.js";

export const POINTS = 120; // of a series: two minutes, a point for each second
export const EVENTS = 200; // kept events
export const PARTS = 512; // streams, or lcores, that have series
const PLACES = 64; // of an axis, most
const APART = 2.5; // seconds between the earlier reports that are kept
const EARLIER = 5;
const UNLIKE = 1500; // ms by which a clock that was set differs

export const timeOf = (report) => number(report.cleared_s) + number(report.duration_s);

const sum = (counts, names) => names.reduce((all, name) => all + number(counts?.[name]), 0);

// Counts the heaps of a stream that ended, or that its chunks had room for.
export function heapsEnded(stream) {
    if (stream.chunks)
        return sum(stream.chunks, ["heaps_present", "heaps_missing", "heaps_skipped"]);
    return sum(stream.heaps, ["complete", "evicted", "timed_out", "flushed"]);
}

// Counts those that were not whole or not delivered; one may be both.
export function heapsLost(stream) {
    if (stream.chunks)
        return sum(stream.chunks, ["heaps_missing", "heaps_skipped"]);
    return Math.min(sum(stream.heaps, ["evicted", "timed_out", "flushed", "dropped_full", "unwritten"]), heapsEnded(stream));
}

export const find = (list, key, value) => list?.find((entry) => entry[key] === value);

// Returns how much a count has grown; from 0, if it was cleared meanwhile.
const growth = (now, then) => (number(now) >= number(then) ? number(now) - number(then) : number(now));

class StreamSeries {
    constructor() {
        this.rate = new Ring(POINTS);
        this.lost = new Ring(POINTS);
        this.axes = new Map();
    }

    // Adds `points` seconds. What grew over several of them is their mean; losses are shown once, at the end.
    take(stream, earlier, seconds, points) {
        this.rate.push(growth(stream.bytes, earlier?.bytes) / seconds, points);
        this.lost.push(0, points - 1);
        this.lost.push(growth(heapsLost(stream), earlier ? heapsLost(earlier) : 0));
        const names = new Set();
        for (const axis of stream.axes ?? []) {
            names.add(axis.name);
            if (!this.axes.has(axis.name))
                this.axes.set(axis.name, new Ring(POINTS));
            const then = find(earlier?.axes, "name", axis.name);
            // One column for each second: the part of the heaps that came, for each entry; null: none was expected.
            this.axes.get(axis.name).push(axis.expected.slice(0, PLACES).map((expected, i) => {
                const all = growth(expected, then?.expected[i]);
                return all > 0 ? Math.min(growth(axis.present[i], then?.present[i]) / all, 1) : null;
            }), points);
        }
        for (const name of this.axes.keys())
            if (!names.has(name))
                this.axes.delete(name);
    }
}

export class Model {
    constructor() {
        this.begin(null);
    }

    // Forgets everything, for a process or a run that is another one.
    begin(about) {
        this.about = about;
        this.report = null;
        this.base = null; // the report at the end of the series
        this.baseSecond = 0;
        this.origin = null; // of the run, by this browser's clock
        this.earlier = []; // oldest first
        this.streams = new Map();
        this.lcores = new Map();
        this.pauses = new Map(); // of streams: packets so far, since when no more came, and the longest pause before
        this.events = [];
        this.lastEvent = 0;
        this.lostEvents = 0;
        this.arrived = 0;
    }

    get time() {
        return this.report === null ? 0 : timeOf(this.report);
    }

    // Returns the milliseconds since 1970 of a second of the run, by this browser's clock.
    clockOf(second) {
        return this.origin + second * 1000;
    }

    // Returns the same for an event. Only one whose second is unknown has the time of the process's clock.
    clockOfEvent(event) {
        return event.at_s === null || event.at_s === undefined ? event.time * 1000 : this.clockOf(event.at_s);
    }

    // The report that came fastest tells best when the run began, until one of the clocks is set or drifts.
    takeOrigin(report, arrived) {
        const began = arrived - timeOf(report) * 1000;
        this.origin = this.origin === null || Math.abs(began - this.origin) > UNLIKE ? began : Math.min(began, this.origin);
    }

    // Returns whether a report is of another run than the ones before it.
    isOfAnotherRun(report) {
        return this.report !== null && timeOf(report) < this.time - 0.5;
    }

    takeReport(report, arrived) {
        const before = this.report;
        if (before !== null && timeOf(report) <= timeOf(before))
            return false;
        this.takePoints(report);
        this.takePauses(report);
        this.takeOrigin(report, arrived);
        if (before !== null && (this.earlier.length === 0 || timeOf(before) - timeOf(this.earlier.at(-1)) >= APART))
            this.earlier.push(before);
        if (this.earlier.length > EARLIER)
            this.earlier.shift();
        this.report = report;
        this.arrived = arrived;
        return true;
    }

    // Adds the seconds that have passed, however far reports are apart: their axes are times.
    takePoints(report) {
        const time = timeOf(report);
        if (this.base === null)
            this.baseSecond = time;
        const points = Math.round(time - this.baseSecond);
        if (this.base !== null && points === 0)
            return;
        if (this.base !== null)
            this.takeSeries(report, this.base, time - timeOf(this.base), Math.min(points, POINTS));
        this.base = report;
        this.baseSecond += points;
    }

    takeSeries(report, before, seconds, points) {
        for (const stream of report.streams.slice(0, PARTS)) {
            if (!this.streams.has(stream.name))
                this.streams.set(stream.name, new StreamSeries());
            this.streams.get(stream.name).take(stream, find(before.streams, "name", stream.name), seconds, points);
        }
        for (const lcore of report.lcores.slice(0, PARTS)) {
            if (!this.lcores.has(lcore.lcore))
                this.lcores.set(lcore.lcore, new Ring(POINTS));
            this.lcores.get(lcore.lcore).push(loadOf(lcore, find(before.lcores, "lcore", lcore.lcore)) ?? 0, points);
        }
        for (const name of this.streams.keys())
            if (!find(report.streams, "name", name))
                this.streams.delete(name);
        for (const lcore of this.lcores.keys())
            if (!find(report.lcores, "lcore", lcore))
                this.lcores.delete(lcore);
    }

    takePauses(report) {
        const former = this.pauses;
        const time = timeOf(report);
        this.pauses = new Map();
        for (const {name, packets} of report.streams.slice(0, PARTS)) {
            const then = former.get(name);
            const usual = Math.max(then?.usual ?? 0, then ? time - then.since : 0);
            this.pauses.set(name, then?.packets === packets.received ? then : {packets: packets.received, since: time, usual});
        }
    }

    // Returns for how many seconds no packet of a stream has come, as far as this page has seen; 0: for no longer than twice
    // its longest pause before, as streams of few packets do.
    pauseOf(name) {
        const {since = this.time, usual = 0} = this.pauses.get(name) ?? {};
        const seconds = this.time - since;
        return seconds > 2 * usual ? seconds : 0;
    }

    takeEvent(event) {
        if (event.sequence <= this.lastEvent)
            return;
        this.lastEvent = event.sequence;
        this.events.unshift(event);
        this.events.length = Math.min(this.events.length, EVENTS);
    }

    // Returns the latest report that is at least so many seconds old, or else the oldest there is; null: there is none.
    before(seconds) {
        const old = this.earlier.filter((report) => this.time - timeOf(report) >= seconds);
        return old.at(-1) ?? this.earlier[0] ?? null;
    }

    // Returns the growth of `count(report)` within some ten seconds; null: there is no earlier report.
    lately(count) {
        const then = this.before(10);
        return then === null ? null : growth(count(this.report), count(then));
    }

    rateOf(count) {
        const then = this.before(2);
        return then === null ? null : growth(count(this.report), count(then)) / (this.time - timeOf(then));
    }
}

// Returns the share of its time in which an lcore had work, since an earlier report; null: unknown.
export function loadOf(lcore, earlier) {
    const busy = number(lcore.busy_s) - number(earlier?.busy_s);
    const all = busy + number(lcore.idle_s) - number(earlier?.idle_s);
    return earlier === undefined || busy < 0 || all <= 0 ? null : Math.min(busy / all, 1);
}
