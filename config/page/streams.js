// SPDX-License-Identifier: BSD-3-Clause
// Shows streams and senders, a row for each, the worst first.

import {byId, Keyed, row, setText, show} from "/page/dom.js";
import {isPaused, plain, stateOf, wayOf} from "/page/judgement.js";
import {find, heapsEnded, heapsLost, POINTS} from "/page/model.js";
import {bar, signed, sparkline} from "/page/parts.js";
import {age, bits, bytes, counted, NOTHING, number, percent, perSecond, short} from "/page/units.js";

const ROWS = 60; // most
const WITH_FILTER = 12; // streams, from which on names can be filtered

const OFF = ["stopped", "waiting", "done", "closed"];

// Returns the sign and words of a part's state. A finding about the part makes a good state bad, and so does one about its port
// while it loses.
function signOf(part, items, well, {losing = false, pause = 0} = {}) {
    const state = stateOf(part);
    const mine = items.filter((item) => item.where === part.name);
    const bad = mine.find((item) => item.kind === "bad");
    if (OFF.includes(state))
        return ["off", state];
    const reason = bad ?? (losing ? wayOf(part, items) : undefined);
    if (state !== "")
        return ["bad", reason && reason.cause !== state ? `${state}: ${plain(reason.cause)}` : state];
    if (bad)
        return ["bad", plain(bad.cause)];
    const warned = mine.find((item) => item.kind === "warn");
    if (warned)
        return ["warn", plain(warned.cause)];
    if (part.packets.received === 0)
        return ["note", "no packet so far"];
    const way = losing ? wayOf(part, items) : undefined;
    if (way)
        return ["bad", `loses at ${way.where}: ${plain(way.cause)}`];
    if (isPaused(part, pause))
        return ["note", `no packet for ${age(pause)}`];
    return mine.some((item) => item.kind === "past" && item.weight === "loss") ? ["past", `${well}; lost something earlier`] : ["ok", well];
}

const RANK = {bad: 0, warn: 1, note: 2, past: 3, ok: 4, off: 5};

const share = (part, all) => (all > 0 ? part / all : null);

// Returns the size of a stream's loss, in powers of ten: rows that change places often cannot be read.
const sizeOf = (stream) => Math.round(Math.log10(Math.max(share(heapsLost(stream), heapsEnded(stream)) ?? 0, 1e-9)));

export class Streams {
    constructor() {
        this.table = byId("stream-table");
        this.rows = new Keyed(this.table.tBodies[0], () => row(this.table));
        this.filter = byId("filter");
        this.sends = byId("send-table");
        this.sendRows = new Keyed(this.sends.tBodies[0], () => row(this.sends));
    }

    update(model, items) {
        const all = model.report.streams;
        show(byId("filter-row"), all.length > WITH_FILTER);
        show(this.table, all.length > 0);
        show(byId("stream-none"), all.length === 0);
        const wanted = all.length > WITH_FILTER ? this.filter.value.toLowerCase() : "";
        const entries = all.filter((stream) => stream.name.toLowerCase().includes(wanted))
            .map((stream) => ({stream, sign: signOf(stream, items, "received", {losing: this.loses(stream, model), pause: model.pauseOf(stream.name)})}));
        entries.sort((a, b) => RANK[a.sign[0]] - RANK[b.sign[0]] || sizeOf(b.stream) - sizeOf(a.stream));
        setText(byId("filter-words"), entries.length > ROWS ? `the ${ROWS} worst of ${entries.length} are shown` : `${entries.length} of ${all.length}`);
        this.rows.update(entries.slice(0, ROWS), (entry) => entry.stream.name,
                         (made, entry) => this.fill(made, entry, model));
        this.updateSends(model, items);
    }

    loses(stream, model) {
        const then = find(model.before(10)?.streams, "name", stream.name);
        return then ? heapsLost(stream) > heapsLost(then) : false;
    }

    fill(made, {stream, sign}, model) {
        const [name, state, rate, past, lately, run, missing, queue, pool] = made.cells;
        setText(name, stream.name);
        name.title = stream.endpoints?.join(", ") ?? "";
        signed(state, ...sign);
        this.rate(rate, past, stream, model);
        const then = find(model.before(10)?.streams, "name", stream.name);
        const grown = (of) => (model.before(10) === null ? null : Math.max(of(stream) - (then ? of(then) : 0), 0));
        this.loss(lately, share(grown(heapsLost), grown(heapsEnded)), grown(heapsLost));
        this.loss(run, share(heapsLost(stream), heapsEnded(stream)), heapsLost(stream));
        setText(missing, bytes(stream.info.missing_bytes));
        const places = stream.chunks ?
            [stream.chunks.buffers - stream.chunks.free, stream.chunks.buffers, "chunks now"] :
            [stream.queue?.most, stream.queue?.heaps, "heaps"];
        bar(queue, share(number(places[0]), number(places[1])), `${short(places[0])} of ${short(places[1])} ${places[2]}`,
            {kind: places[0] >= places[1] && places[1] > 0 ? "bad" : "plain"});
        const used = share(number(stream.pool?.most), number(stream.pool?.bytes));
        bar(pool, used, used === null ? NOTHING : `${bytes(stream.pool.most)} of ${bytes(stream.pool.bytes)}`, {kind: used >= 1 ? "bad" : "plain"});
    }

    rate(cell, past, stream, model) {
        const series = model.streams.get(stream.name);
        const expected = number(stream.info.expected_rate);
        const now = series && series.rate.count > 0 ? (series.rate.at(0) + series.rate.at(series.rate.count > 1 ? 1 : 0)) / 2 : null;
        const words = expected > 0 ? `${bits(now)} of ${bits(expected)}` : bits(now);
        bar(cell, expected > 0 ? share(number(now), expected * 1.1) : 0, words,
            {mark: expected > 0 ? 1 / 1.1 : null, kind: expected > 0 && now !== null && now < 0.9 * expected ? "bad" : "ok"});
        cell.querySelector("svg").classList.toggle("none", expected === 0);
        if (series)
            sparkline(past, series.rate.list(), {length: POINTS, expected, losses: series.lost.list(),
                                                 words: `Rate of ${stream.name}, now ${words}; triangles are losses`});
    }

    // Losses have a diamond, too.
    loss(cell, part, count) {
        setText(cell, part === null ? NOTHING : part > 0 ? `◆ ${percent(part)}` : percent(part));
        cell.classList.toggle("lost", part > 0);
        cell.title = counted(count, "heaps");
    }

    updateSends(model, items) {
        const all = model.report.sends;
        show(byId("senders"), all.length > 0);
        this.sendRows.update(all.slice(0, ROWS), (send) => send.name, (made, send) => {
            const [name, state, rate, packets, heaps, lost] = made.cells;
            setText(name, send.name);
            name.title = send.endpoints?.join(", ") ?? "";
            signed(state, ...signOf(send, items, "sending"));
            const bytesOf = (report) => find(report.sends, "name", send.name)?.bytes;
            const packetsOf = (report) => find(report.sends, "name", send.name)?.packets;
            setText(rate, bits(model.rateOf(bytesOf)));
            setText(packets, `${short(send.packets)}, ${perSecond(model.rateOf(packetsOf))}`);
            setText(heaps, short(send.heaps));
            setText(lost, short(send.aborted + send.timed_out));
        });
    }
}
