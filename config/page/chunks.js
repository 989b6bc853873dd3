// SPDX-License-Identifier: BSD-3-Clause
// Shows streams with chunks, and for each axis which places came, over time.

import {byId, el, Keyed, setAttribute, setText, show} from "/page/dom.js";
import {POINTS} from "/page/model.js";
import {NOTHING, percent, short} from "/page/units.js";

const STREAMS = 16; // most
const CELL = 4; // pixels of a place's height in the map, least
const HIGH = 128;

const share = (part, all) => (all > 0 ? part / all : null);

export class Chunks {
    constructor() {
        this.list = new Keyed(byId("chunk-list"), () => el("article", {}, el("h3"), el("p"), el("div", {class: "maps"})));
        this.maps = new WeakMap();
    }

    update(model) {
        const all = model.report.streams.filter((one) => one.chunks).slice(0, STREAMS);
        show(byId("chunks"), all.length > 0);
        this.list.update(all, (one) => one.name, (made, stream) => {
            const [head, words, maps] = made.children;
            const chunks = stream.chunks;
            setText(head, stream.name);
            setText(words, `${short(chunks.taken)} chunks taken, ${short(chunks.complete)} complete; ` +
                `${percent(share(chunks.heaps_present, chunks.heaps_expected - (chunks.heaps_cut ?? 0)))} of the heaps present, ` +
                `${short(chunks.heaps_missing)} missing; ${chunks.free} of ${chunks.buffers} chunks free` +
                (chunks.counted_with ? `; counted with ${chunks.counted_with}` : ""));
            if (!this.maps.has(maps))
                this.maps.set(maps, new Keyed(maps, () => el("figure", {}, el("canvas", {role: "img"}), el("figcaption"))));
            this.maps.get(maps).update(stream.axes ?? [], (axis) => axis.name,
                                       (figure, axis) => this.map(figure, stream, axis, model.streams.get(stream.name)?.axes.get(axis.name)));
        });
    }

    map(figure, stream, axis, series) {
        const [canvas, caption] = figure.children;
        const each = axis.places_each;
        const lowest = axis.lowest.filter((one) => one.present < one.expected)
            .sort((a, b) => a.present / a.expected - b.present / b.expected)
            .map((one) => `${one.place}: ${percent(share(one.present, one.expected))}`).slice(0, 4);
        setText(caption, `${axis.name}: ${axis.places} places${each > 1 ? `, ${each} in each row` : ""}, the first above; ` +
            `${series ? `${series.count} s` : NOTHING} to now at the right. ${lowest.length ? `Lowest in this run – ${lowest.join(", ")}` : "Nothing is missing"}`);
        setAttribute(canvas, "aria-label", `Presence over time. ${caption.textContent}`);
        if (series)
            this.draw(canvas, series.list(), axis.expected.length);
    }

    // Paints present parts by shade, and what is missing also by a hatch, so that shades need not be told apart.
    draw(canvas, columns, places) {
        const cell = Math.max(CELL, Math.floor(HIGH / Math.max(places, 1)));
        canvas.width = POINTS * 4;
        canvas.height = places * cell;
        const paint = canvas.getContext("2d");
        const style = getComputedStyle(canvas);
        const here = style.getPropertyValue("--ok");
        const gone = style.getPropertyValue("--bad");
        columns.forEach((column, i) => {
            const x = (POINTS - columns.length + i) * 4;
            column.forEach((part, place) => {
                if (part === null)
                    return;
                const y = place * cell;
                paint.globalAlpha = 0.25 + 0.75 * part;
                paint.fillStyle = here;
                paint.fillRect(x, y, 4, cell - 1);
                if (part < 1) {
                    paint.globalAlpha = 1;
                    paint.fillStyle = gone;
                    paint.fillRect(x, y + Math.floor((cell - 1) * part), 2, Math.ceil((cell - 1) * (1 - part)));
                }
            });
        });
        paint.globalAlpha = 1;
    }
}
