// SPDX-License-Identifier: BSD-3-Clause
// Shows lcores, ports and captures.

import {byId, Keyed, row, setText, show} from "/page/dom.js";
import {stateOf} from "/page/judgement.js";
import {find, POINTS} from "/page/model.js";
import {bar, signed, sparkline} from "/page/parts.js";
import {bits, bytes, counted, duration, NOTHING, number, percent, perSecond, short} from "/page/units.js";

const ROWS = 128; // most
const SOURCES = 3;
const HIGH_LOAD = 0.9;

export class Machine {
    constructor() {
        for (const name of ["lcore", "port", "capture"]) {
            this[name] = byId(`${name}-table`);
            this[`${name}Rows`] = new Keyed(this[name].tBodies[0], () => row(this[name]));
        }
    }

    update(model) {
        this.lcores(model);
        this.ports(model);
        this.captures(model);
    }

    lcores(model) {
        this.lcoreRows.update(model.report.lcores.slice(0, ROWS), (one) => one.lcore, (made, lcore) => {
            const [name, load, past, full, longest, work] = made.cells;
            setText(name, `${lcore.lcore} on CPU ${lcore.cpu}`);
            const series = model.lcores.get(lcore.lcore);
            const now = series ? series.at(0) : null;
            const silent = lcore.state === "silent";
            bar(load, now, silent ? `✖ no answer for ${duration(lcore.silent_s)}` : percent(now),
                {kind: silent || now >= HIGH_LOAD ? "bad" : "plain"});
            if (series)
                sparkline(past, series.list(), {length: POINTS, most: 1, words: `Load of lcore ${lcore.lcore}, now ${percent(now)}`});
            setText(full, lcore.bursts > 0 ? percent(lcore.full_bursts / lcore.bursts) : NOTHING);
            setText(longest, duration(lcore.longest_loop_s));
            setText(work, [...lcore.streams.map((one) => one.name), ...lcore.sends.map((one) => one.name ?? one)].join(", ") || "idle");
        });
    }

    ports(model) {
        this.portRows.update(model.report.ports.slice(0, ROWS), (port) => port.name, (made, port) => {
            const [name, state, received, lost, buffers, sources] = made.cells;
            setText(name, `${port.name} (${port.driver})`);
            const wrong = stateOf(port);
            signed(state, wrong === "" ? "ok" : ["stopped", "closed"].includes(wrong) ? "off" : "bad", wrong === "" ? "running" : wrong);
            const rxOf = (report) => find(report.ports, "name", port.name)?.rx;
            setText(received, `${bits(model.rateOf((report) => rxOf(report)?.bytes))}, ${perSecond(model.rateOf((report) => rxOf(report)?.packets))}`);
            const {missed, no_mbuf: noBuffer, errors} = port.nic;
            setText(lost, missed + noBuffer + errors === 0 ? "0" :
                `◆ ${[[missed, "missed"], [noBuffer, "no_mbuf"], [errors, "errors"]].filter(([count]) => count > 0)
                    .map(([count, what]) => `${short(count)} ${what}`).join(", ")}`);
            lost.classList.toggle("lost", missed + noBuffer + errors > 0);
            const free = port.info.buffers;
            bar(buffers, free ? free.fewest_free / free.size : 0, free ? `${short(free.fewest_free)} of ${short(free.size)}` : NOTHING,
                {kind: free && free.fewest_free === 0 ? "bad" : "plain"});
            buffers.querySelector("svg").classList.toggle("none", !free);
            setText(sources, port.talkers.slice(0, SOURCES).map((one) => `${one.source} → ${one.stream ?? "no stream"}`).join(", ") || NOTHING);
        });
    }

    captures(model) {
        const all = model.report.captures ?? [];
        show(byId("captures"), all.length > 0);
        this.captureRows.update(all.slice(-ROWS).map((capture, i) => ({capture, i})), (one) => `${one.i} ${one.capture.stream}`, (made, {capture}) => {
            const [stream, state, written, dropped, file] = made.cells;
            setText(stream, capture.stream);
            const failed = capture.failure !== "" && capture.failure !== null;
            signed(state, failed ? "bad" : capture.state === "running" ? "ok" : "off", failed ? capture.failure : capture.state);
            setText(written, `${counted(capture.packets.written, "packets", short)}, ${bytes(capture.bytes)}`);
            setText(dropped, short(number(capture.packets.dropped_full) + number(capture.packets.unwritten)));
            setText(file, capture.files.map((one) => one.path).join(", "));
        });
    }
}
