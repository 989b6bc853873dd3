// SPDX-License-Identifier: BSD-3-Clause
// Lists the latest events: those that the process reports, and the beginnings and ends of findings.

import {byId, el, Keyed, setAttribute, setText, show} from "/page/dom.js";
import {plain} from "/page/judgement.js";
import {SIGNS} from "/page/parts.js";
import {clock} from "/page/units.js";

const GOOD = new Set(["back", "recovered", "unstuck"]);
const SIGN = {loss: "bad", warning: "warn", note: "note"};
const MOST = 200;

function eventLine(event, model) {
    const good = GOOD.has(event.event) || event.text.includes("answers again");
    return {key: `event ${event.sequence}`, at: model.clockOfEvent(event), kind: good ? "ok" : "bad", text: event.text};
}

// Returns the lines of a finding. Its last loss is none of its end while it goes on.
function findingLines(item, model) {
    const name = `${item.where}: ${plain(item.cause)}`;
    const lines = [{key: `first ${item.key}`, at: model.clockOf(item.first), kind: SIGN[item.weight] ?? "bad", text: `${name} – began`}];
    if (item.kind === "past" && item.last !== null)
        lines.push({key: `last ${item.key}`, at: model.clockOf(item.last), kind: "past", text: `${name} – last seen`});
    return lines;
}

export class Events {
    constructor() {
        this.list = new Keyed(byId("event-list"), () =>
            el("li", {}, el("time"), el("span", {class: "sign", "aria-hidden": "true"}), el("span")));
    }

    update(model, items) {
        const found = items.filter((item) => item.weight !== undefined && item.first !== null);
        const lines = [...model.events.map((event) => eventLine(event, model)), ...found.flatMap((item) => findingLines(item, model))]
            .sort((a, b) => b.at - a.at).slice(0, MOST);
        show(byId("event-none"), lines.length === 0);
        show(byId("events-lost"), model.lostEvents > 0);
        setText(byId("events-lost"), `${model.lostEvents} events were missed; the log of the process has them.`);
        this.list.update(lines, (line) => line.key, (made, line) => {
            const [time, sign, words] = made.children;
            setText(time, clock(line.at));
            setAttribute(time, "datetime", new Date(line.at).toISOString());
            setAttribute(sign, "class", `sign ${line.kind}`);
            setText(sign, SIGNS[line.kind]);
            setText(words, line.text);
        });
    }
}
