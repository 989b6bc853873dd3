// SPDX-License-Identifier: BSD-3-Clause
// Shows the verdict and the findings: what is wrong, since when, at which stage, and its cure.

import {byId, el, Keyed, setAttribute, setText, show} from "/page/dom.js";
import {verdictOf} from "/page/judgement.js";
import {cureBox, fillCures, SIGNS} from "/page/parts.js";
import {stageTitle} from "/page/stages.js";
import {age, clock, number, whole} from "/page/units.js";

const KINDS = {bad: "Now", warn: "A warning, no loss yet", note: "On purpose, or no loss", past: "Over"};
const MOST = 30;
const CAPITALS = /\b(PID|INTERFACE|DIRECTORY|ADDRESS|PLACEMENT|FILE)\b/; // words that cures leave to the user

function made() {
    return el("li", {class: "finding"}, el("span", {class: "sign", "aria-hidden": "true"}),
              el("div", {}, el("h3"), el("p", {class: "facts"}), cureBox()));
}

export class Health {
    constructor() {
        this.list = new Keyed(byId("findings"), made);
    }

    update(model, items, link) {
        const [kind, words] = this.verdict(model, items, link);
        setAttribute(byId("verdict"), "class", `verdict ${kind}`);
        setText(byId("verdict").firstElementChild, SIGNS[kind]);
        setText(byId("verdict-words"), words);
        document.title = `${SIGNS[kind]} ${model.about?.name ?? "dpdk-spead"}`;
        const since = this.since(model, items, kind);
        const passed = since === null ? "" : `since ${clock(since)}, for ${age((Date.now() - since) / 1000)}`;
        setText(byId("verdict-since"), [passed, link.words].filter((part) => part !== "").join("; "));
        document.body.classList.toggle("stale", link.name === "gone" || link.name === "old");
        const cures = items.flatMap((item) => item.cures).join(" ");
        show(byId("cure-words"), cures.includes("`"));
        show(byId("cure-capitals"), CAPITALS.test(cures));
        this.list.update(items.slice(0, MOST), (item) => item.key, (element, item) => this.fill(element, item, model, link));
    }

    verdict(model, items, link) {
        if (link.name === "gone")
            return ["off", "No answer from the process"];
        if (link.name === "old" && model.report !== null)
            return ["off", "The numbers are old"];
        if (model.report === null)
            return ["wait", link.name === "old" ? "The run has not begun yet" : "Asking the process"];
        return verdictOf(items);
    }

    // Returns the time since which the verdict holds; null: unknown.
    since(model, items, kind) {
        if (model.report === null)
            return null;
        if (kind === "off")
            return model.arrived;
        const times = (of, key) => items.filter((item) => item.kind === of && item[key] !== null).map((item) => item[key]);
        if (kind === "bad" || kind === "warn")
            return model.clockOf(Math.min(...times(kind, "first"), model.time));
        const pauses = items.filter((item) => item.cause === "no packets").map((item) => item.first);
        if (kind === "note" && pauses.length > 0)
            return model.clockOf(Math.min(...pauses));
        return model.clockOf(Math.max(number(model.report.cleared_s), ...times("past", "last")));
    }

    fill(element, item, model, link) {
        // What is over leaves room to what is now.
        if (element.dataset.kind !== item.kind)
            element.querySelector(".cure").open = ["bad", "warn"].includes(item.kind);
        setAttribute(element, "class", `finding ${item.kind}`);
        setAttribute(element, "data-cause", item.cause);
        setAttribute(element, "data-kind", item.kind);
        const [sign, body] = element.children;
        setText(sign, SIGNS[item.kind]);
        const [head, facts, cure] = body.children;
        setText(head, `${item.where}: ${item.count === null ? "" : `${whole(item.count)} ${item.unit} `}${item.what}`);
        const times = [];
        if (item.first !== null)
            times.push(`first ${clock(model.clockOf(item.first))}`);
        if (item.kind === "past" && item.until !== null)
            times.push(`until ${item.where} was changed at ${clock(model.clockOf(item.until))}`);
        else if (item.kind === "past" && item.last !== null)
            times.push(`last ${clock(model.clockOf(item.last))}, ${age(model.time - item.last)} ago`);
        else if (item.first !== null && ["bad", "warn"].includes(item.kind))
            times.push(`for ${age(model.time - item.first)}`);
        // Nobody knows what is so now.
        const when = ["bad", "warn"].includes(item.kind) && ["gone", "old"].includes(link.name) ? "At the last report" :
            item.kind === "past" && item.weight === "warning" ? "A warning that is over" : KINDS[item.kind];
        setText(facts, [when, stageTitle(item.stage), item.cause, ...times].join(" · "));
        fillCures(cure, item.cures);
    }
}
