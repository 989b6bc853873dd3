// SPDX-License-Identifier: BSD-3-Clause
// Draws where packets end: the stages from left to right (on a narrow page from above), and under each what ended there.

import {byId, choices, Keyed, namesOf, row, setAttribute, setText, svg} from "/page/dom.js";
import {kindOfStage} from "/page/judgement.js";
import {SIGNS} from "/page/parts.js";
import {balanceOf, countsOf, wordsOf} from "/page/stages.js";
import {counted, perSecond, short, whole} from "/page/units.js";

const LINES = 5; // counters under a stage, most
const WORDS = {ok: "nothing was lost here", past: "losses were counted here", warn: "close to a loss", bad: "the place of a problem"};

// Returns the kind of a stage: that of its findings. Losses that are counted here may have their cause at another stage.
function kindOf(stage, items) {
    const kind = kindOfStage(items, stage.id);
    return kind === "ok" && stage.counts.some((count) => count.kind === "lost" && count.total > 0) ? "past" : kind;
}

// Returns a stage whose counts that a finding is about are losses, as packets for no stream may be.
function withCauses(stage, items) {
    const causes = new Set(items.filter((item) => item.kind === "bad" && item.stage === stage.id).map((item) => item.cause));
    return {...stage, counts: stage.counts.map((count) => (causes.has(count.name) ? {...count, kind: "lost"} : count))};
}

// Returns the counters of a stage that are shown: those that are not 0, losses first.
function linesOf(stage) {
    const all = stage.counts.filter((count) => count.total > 0)
        .sort((a, b) => (a.kind === b.kind ? b.lately - a.lately || b.total - a.total : a.kind === "lost" ? -1 : 1));
    return all.length <= LINES ? all : all.slice(0, LINES - 1).concat({name: `and ${all.length - LINES + 1} more`, kind: "aside", total: null});
}

export class Picture {
    constructor() {
        this.of = byId("picture-of");
        this.narrow = matchMedia("(max-width: 60rem)");
        this.drawn = "";
        this.rows = new Keyed(byId("stages-table").tBodies[0], () => row(byId("stages-table")));
    }

    update(model, items) {
        choices(this.of, [["", "all"], ...namesOf(model.report.streams)]);
        const stream = this.of.value;
        const earlier = model.before(5);
        const seconds = earlier === null ? 0 : model.time - (earlier.cleared_s + earlier.duration_s);
        const stages = countsOf(model.report, earlier, stream);
        const mine = stream === "" ? items : items.filter((item) => item.where === stream || ["port", "lcore", "classify"].includes(item.stage));
        this.draw(stages.map((stage) => ({...withCauses(stage, mine), signs: kindOf(stage, mine)})), seconds);
        const sums = balanceOf(model.report, stream);
        setText(byId("picture-sum"), `${counted(sums.all, "packets")} came = ${whole(sums.placed)} placed in heaps + ${whole(sums.ended)} ended before` +
                (sums.missed > 0 ? `; ${counted(sums.missed, "more packets")} came and were not fetched in time` : ""));
        this.table(countsOf(model.report, model.before(10), stream));
    }

    // Draws anew only if something has changed. Text is text, so a new drawing is as safe as an old one.
    draw(stages, seconds) {
        const down = this.narrow.matches;
        const described = stages.map((stage) => ({
            ...stage, rate: stage.lately === null || seconds <= 0 ? "" : perSecond(stage.lately / seconds, "/s"),
            sum: stage.total === null ? "before this machine" : `${short(stage.total)} ${stage.unit}`, lines: linesOf(stage)}));
        const key = JSON.stringify([down, described]);
        if (key === this.drawn)
            return;
        this.drawn = key;
        const words = described.map((stage) => `${stage.title}: ${WORDS[stage.signs]}${stage.lines.filter((line) => line.kind === "lost")
            .map((line) => `, ${wordsOf(line.name)}: ${short(line.total)}`).join("")}`).join(". ");
        const picture = down ? this.downwards(described) : this.rightwards(described);
        setAttribute(picture, "role", "img");
        setAttribute(picture, "aria-label", `Stages of a packet's way. ${words}`);
        byId("stages").replaceChildren(picture);
    }

    rightwards(stages) {
        const wide = 166;
        const most = Math.max(...stages.map((stage) => stage.lines.length), 1);
        const high = 92 + most * 34 + 6;
        const picture = svg("svg", {class: "stages", viewBox: `0 0 ${stages.length * wide} ${high}`});
        stages.forEach((stage, i) => {
            const x = i * wide;
            if (i > 0)
                picture.append(svg("path", {class: "way", d: `M${x - 10} 40h12l-5-5m5 5l-5 5`}));
            picture.append(this.box(stage, x + 4, 4, wide - 16, 72));
            stage.lines.forEach((line, k) => picture.append(this.line(line, x + 10, 104 + k * 34, true)));
            if (stage.lines.length > 0)
                picture.append(svg("path", {class: `ends ${stage.signs}`, d: `M${x + 64} 76v10m-4-4l4 4l4-4`}));
        });
        return picture;
    }

    downwards(stages) {
        const wide = 340;
        let y = 2;
        const picture = svg("svg", {class: "stages"});
        for (const stage of stages) {
            const high = Math.max(72, 14 + stage.lines.length * 20);
            picture.append(this.box(stage, 2, y, 136, 72));
            stage.lines.forEach((line, k) => picture.append(this.line(line, 162, y + 20 + k * 20, false)));
            if (stage.lines.length > 0)
                picture.append(svg("path", {class: `ends ${stage.signs}`, d: `M140 ${y + 36}h14m-4-4l4 4l-4 4`}));
            y += high + 20;
            if (stage !== stages.at(-1))
                picture.append(svg("path", {class: "way", d: `M70 ${y - (high - 72) - 18}v${high - 72 + 14}l-5-5m5 5l5-5`}));
        }
        setAttribute(picture, "viewBox", `0 0 ${wide} ${y - 14}`);
        return picture;
    }

    box(stage, x, y, wide, high) {
        return svg("g", {class: `box ${stage.signs}`, "data-stage": stage.id, "data-kind": stage.signs},
                   svg("rect", {x, y, width: wide, height: high, rx: 6}),
                   svg("text", {class: "sign", x: x + 8, y: y + 20}, SIGNS[stage.signs]),
                   svg("text", {class: "title", x: x + 26, y: y + 20}, stage.title),
                   svg("text", {class: "rate", x: x + 8, y: y + 43}, stage.rate),
                   svg("text", {class: "sum", x: x + 8, y: y + 61}, stage.sum));
    }

    // A loss that grows has a diamond beside it, one that does not a dot.
    line(line, x, y, two) {
        const value = line.total === null ? "" : short(line.total);
        const sign = line.kind !== "lost" ? "" : line.lately > 0 ? "◆ " : "• ";
        const kind = line.kind !== "lost" ? "aside" : line.lately > 0 ? "growing" : "lost";
        return svg("g", {class: `end ${kind}`, "data-count": line.name},
                   svg("text", {class: "count", x, y}, `${sign}${value}`),
                   svg("text", {class: "what", x: two ? x : x + 62, y: two ? y + 14 : y}, wordsOf(line.name)));
    }

    table(stages) {
        const lines = stages.flatMap((stage) => [
            ...(stage.total === null ? [] : [{stage, name: stage.unit, total: stage.total, lately: stage.lately, meaning: "passed this stage"}]),
            ...stage.counts.map((count) => ({stage, ...count}))]);
        this.rows.update(lines, (line) => `${line.stage.id} ${line.name} ${line.meaning}`, (made, line) => {
            const [name, count, all, lately, meaning] = made.cells;
            setText(name, line.stage.title);
            setText(count, line.name);
            setText(all, whole(line.total));
            setText(lately, whole(line.lately));
            setText(meaning, line.meaning);
        });
    }
}
