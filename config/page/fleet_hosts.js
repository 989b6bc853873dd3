// SPDX-License-Identifier: BSD-3-Clause
// Shows the processes of a fleet, a row for each, the worst first.

import {byId, el, Keyed, row, setAttribute, setText, show} from "/page/dom.js";
import {plain} from "/page/judgement.js";
import {bar, signed, sparkline} from "/page/parts.js";
import {Ring} from "/page/ring.js";
import {age, bits, counted, NOTHING, number, percent, short, whole} from "/page/units.js";

const POINTS = 120; // of a series: looks
const ROWS = 200; // most
const WITH_FILTER = 12; // processes, from which on they can be filtered

export const KINDS = {"no answer": "bad", fault: "bad", problem: "bad", losing: "past", ok: "ok"};

// Returns what is wrong with a process, in few words: the list of problems has all.
const reasonsOf = (host) =>
    host.failure !== "" ? [host.failure] : [...host.faults, ...host.findings.map((finding) => `${finding.where}: ${plain(finding.cause)}`)];

export class Hosts {
    constructor() {
        this.table = byId("host-table");
        this.rows = new Keyed(this.table.tBodies[0], () => this.made());
        this.filter = byId("filter");
        this.series = new Map();
    }

    made() {
        const made = row(this.table);
        made.cells[0].append(el("a", {rel: "noreferrer"}));
        return made;
    }

    // Takes the numbers of a look.
    take(fleet) {
        const here = new Set(fleet.hosts.map((host) => host.address));
        for (const address of this.series.keys())
            if (!here.has(address))
                this.series.delete(address);
        for (const host of fleet.hosts) {
            if (!this.series.has(host.address))
                this.series.set(host.address, {rate: new Ring(POINTS), lost: new Ring(POINTS)});
            const series = this.series.get(host.address);
            series.rate.push(number(host.bytes_per_second));
            series.lost.push(number(host.heaps_lost_now));
        }
    }

    update(fleet) {
        show(byId("filter-row"), fleet.hosts.length > WITH_FILTER);
        const wanted = fleet.hosts.length > WITH_FILTER ? this.filter.value.toLowerCase() : "";
        const entries = fleet.hosts.filter((host) => `${host.address} ${host.shard} ${host.plan ?? ""} ${host.state}`.toLowerCase().includes(wanted));
        const shown = Math.min(entries.length, ROWS);
        setText(byId("filter-words"), shown < fleet.processes ? `the ${shown} worst of ${fleet.processes} are shown` : `${shown} processes`);
        this.rows.update(entries.slice(0, ROWS), (host) => host.address, (made, host) => this.fill(made, host));
    }

    fill(made, host) {
        const [name, shard, state, rate, past, endpoints, now, run, why] = made.cells;
        const link = name.querySelector("a");
        setText(link, host.address);
        setAttribute(link, "href", `http://${host.address}/`);
        setAttribute(made, "data-state", host.state);
        setText(shard, host.shard === "" ? NOTHING : host.plan ? `${host.shard} of ${host.plan}` : host.shard);
        signed(state, KINDS[host.state] ?? "note", `${host.state}, for ${age(host.state_s)}`);
        const away = host.failure !== "";
        const expected = number(host.expected_bytes_per_second);
        bar(rate, expected > 0 ? number(host.bytes_per_second) / (expected * 1.1) : 0,
            away ? NOTHING : expected > 0 ? `${bits(host.bytes_per_second)} of ${bits(expected)}` : bits(host.bytes_per_second),
            {mark: expected > 0 ? 1 / 1.1 : null, kind: number(host.bytes_per_second) < 0.9 * expected ? "bad" : "ok"});
        rate.querySelector("svg").classList.toggle("none", expected === 0);
        const series = this.series.get(host.address);
        sparkline(past, series.rate.list(), {length: POINTS, expected, losses: series.lost.list(),
                                             words: `Rate of ${host.address}, now ${away ? "unknown" : bits(host.bytes_per_second)}; triangles are losses`});
        setText(endpoints, away ? NOTHING : whole(host.endpoints));
        this.lost(now, host.heaps_lost_now, short(host.heaps_lost_now));
        const ended = number(host.heaps_complete) + number(host.heaps_lost);
        this.lost(run, host.heaps_lost, away || ended === 0 ? NOTHING : percent(host.heaps_lost / ended));
        run.title = counted(host.heaps_lost, "heaps");
        setText(why, reasonsOf(host).join("; "));
    }

    // Losses have a diamond, too.
    lost(cell, count, words) {
        setText(cell, count > 0 ? `◆ ${words}` : words);
        cell.classList.toggle("lost", count > 0);
    }
}
