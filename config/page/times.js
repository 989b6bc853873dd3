// SPDX-License-Identifier: BSD-3-Clause
// Draws the latency of a stream's heaps: from the first packet to the hand-over, in buckets of the report.

import {byId, choices, namesOf, setText, svg} from "/page/dom.js";
import {counted, duration, short} from "/page/units.js";

const WIDE = 480;
const HIGH = 170;
const FLOOR = 140;
const TOP = 16;
const BARS = 40; // most; buckets are joined

// Joins neighbours until there are few enough.
function joined(buckets) {
    const each = Math.ceil(buckets.length / BARS);
    const all = [];
    for (let i = 0; i < buckets.length; i += each) {
        const some = buckets.slice(i, i + each);
        all.push([some.at(-1)[0], some.reduce((count, bucket) => count + bucket[1], 0)]);
    }
    return all;
}

export class Times {
    constructor() {
        this.of = byId("times-of");
        this.drawn = "";
    }

    update(model) {
        choices(this.of, namesOf(model.report.streams));
        const stream = model.report.streams.find((one) => one.name === this.of.value);
        const times = stream?.latency;
        const some = times !== undefined && times.count > 0;
        setText(byId("latency-words"), some ?
            `${counted(times.count, "heaps", short)}: half within ${duration(times.p50_s)}, 99 % within ${duration(times.p99_s)}, all within ${duration(times.max_s)}` :
            stream?.chunks ? "Heaps in chunks have no latency of their own." : "No heap has been handed over yet.");
        const key = some ? JSON.stringify(times) : "";
        if (key === this.drawn)
            return;
        this.drawn = key;
        byId("latency").replaceChildren(...(some ? [this.draw(joined(times.buckets), times, stream.name)] : []));
    }

    draw(buckets, times, name) {
        const most = Math.max(...buckets.map((bucket) => bucket[1]));
        const step = WIDE / Math.max(buckets.length, 8);
        const picture = svg("svg", {class: "histogram", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img",
                                    "aria-label": `Histogram of the heap latency of ${name}: ${byId("latency-words").textContent}`});
        buckets.forEach(([longest, count], i) => {
            const high = count > 0 ? Math.max(count / most * (FLOOR - TOP), 1) : 0;
            picture.append(svg("rect", {class: longest >= times.p99_s ? "tail" : "body", x: (i * step + 1).toFixed(1), width: (step - 2).toFixed(1),
                                        y: (FLOOR - high).toFixed(1), height: high.toFixed(1)}));
        });
        picture.append(svg("line", {class: "axis", x1: 0, x2: WIDE, y1: FLOOR, y2: FLOOR}));
        const labels = new Set([0, Math.floor((buckets.length - 1) / 2), buckets.length - 1]);
        for (const i of labels) {
            const end = i === buckets.length - 1 && i > 0;
            picture.append(svg("text", {x: end ? Math.min((i + 1) * step, WIDE) : i * step, y: FLOOR + 16, "text-anchor": end ? "end" : "start"},
                               `≤ ${duration(buckets[i][0])}`));
        }
        picture.append(svg("text", {x: 0, y: 11}, counted(most, "heaps", short)));
        return picture;
    }
}
