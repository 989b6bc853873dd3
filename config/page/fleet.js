// SPDX-License-Identifier: BSD-3-Clause
// Asks for the processes of a fleet again and again, and shows what is wrong with which, and its cure.

import {byId, el, Keyed, setAttribute, setText} from "/page/dom.js";
import {Hosts, KINDS} from "/page/fleet_hosts.js";
import {fillGlossary} from "/page/glossary.js";
import {plain} from "/page/judgement.js";
import {cureBox, fillCures, SIGNS} from "/page/parts.js";
import {age, bits, clock, counted, perSecond} from "/page/units.js";

const PATH = "/api/v1/fleet";
const PATIENCE = 5000; // ms
const LONGEST = 10000; // ms between two questions
const MOST = 30; // problems

const hosts = new Hosts();
const problems = new Keyed(byId("findings"), () =>
    el("li", {class: "finding"}, el("span", {class: "sign", "aria-hidden": "true"}),
       el("div", {}, el("h3"), el("p", {class: "facts"}), cureBox())));
const sleep = (time) => new Promise((wake) => setTimeout(wake, time));
const some = (count, one, many) => `${count} ${count === 1 ? one : many}`;

let fleet = null;
let arrived = null;
let gone = null; // since when the server of this page does not answer
let words = "";

// Returns all that is to be said, the worst process first.
function itemsOf() {
    const items = fleet.faults.map((fault) => ({key: fault, kind: "bad", head: fault, facts: "the plan and its hosts", cures: []}));
    for (const host of fleet.hosts) {
        const since = `for ${age(host.state_s)}`;
        const kind = KINDS[host.state] ?? "note";
        if (host.failure !== "")
            items.push({key: host.address, kind, head: `${host.address}: ${host.failure}`, facts: `no answer, ${since}`, cures: []});
        for (const fault of host.faults)
            items.push({key: `${host.address}\n${fault}`, kind, head: `${host.address}: ${fault}`, facts: `fault, ${since}`, cures: []});
        for (const finding of host.findings)
            items.push({key: `${host.address}\n${finding.where}\n${finding.cause}`, kind, head: `${host.address}, ${finding.where}: ${finding.what}`,
                        facts: `${finding.stage} · ${plain(finding.cause)} · for ${age(host.run_s - finding.first_s)}`, cures: finding.cures});
    }
    return items;
}

function verdictOf() {
    if (gone !== null)
        return ["off", "No answer from the server of this page"];
    if (fleet === null)
        return ["wait", words === "" ? "Asking for the processes" : words];
    const bad = fleet.hosts.filter((host) => KINDS[host.state] !== "ok");
    const silent = bad.filter((host) => host.failure !== "").length;
    if (bad.length === 0)
        return fleet.faults.length > 0 ? ["bad", `A part of a plan is missing`] : ["ok", `All is well with ${some(fleet.processes, "process", "processes")}`];
    const named = bad.slice(0, 3).map((host) => `${host.address}: ${host.state}`).join(", ");
    const more = bad.length > 3 ? `, and ${bad.length - 3} more` : "";
    const kind = silent > 0 || bad.some((host) => KINDS[host.state] === "bad") ? "bad" : "past";
    return [kind, `${bad.length} of ${some(fleet.processes, "process has", "processes have")} a problem – ${named}${more}`];
}

function redraw() {
    const [kind, verdict] = verdictOf();
    setAttribute(byId("verdict"), "class", `verdict ${kind}`);
    setText(byId("verdict").firstElementChild, SIGNS[kind]);
    setText(byId("verdict-words"), verdict);
    document.title = `${SIGNS[kind]} dpdk-spead fleet`;
    document.body.classList.toggle("stale", gone !== null);
    setText(byId("verdict-since"), gone !== null ? `since ${clock(gone)}, for ${age((Date.now() - gone) / 1000)}` : "");
    if (fleet === null)
        return;
    const sum = `${fleet.answer} of ${some(fleet.processes, "process answers", "processes answer")}; ${bits(fleet.bytes_per_second)}, ${perSecond(fleet.packets_per_second)}`;
    setText(byId("about"), `dpdk-spead ${fleet.version} at ${location.host}; ${sum}; asked at ${clock(arrived)}`);
    setText(byId("plans"), fleet.plans.map((plan) => `Plan ${plan.name}: ${plan.endpoints} of ${counted(plan.endpoints_all, "endpoints")} ${plan.endpoints === 1 ? "is" : "are"} received.`).join(" "));
    problems.update(itemsOf().slice(0, MOST), (item) => item.key, (element, item) => {
        setAttribute(element, "class", `finding ${item.kind}`);
        const [sign, body] = element.children;
        setText(sign, SIGNS[item.kind]);
        const [head, facts, cure] = body.children;
        setText(head, item.head);
        setText(facts, item.facts);
        fillCures(cure, item.cures);
    });
    hosts.update(fleet);
}

async function run() {
    for (let failures = 0; ;) {
        try {
            const answer = await fetch(PATH, {cache: "no-store", signal: AbortSignal.timeout(PATIENCE)});
            const body = await answer.json();
            if (answer.ok) {
                if (fleet !== null && fleet.version !== body.version)
                    location.reload(); // these files are of another version than the server
                fleet = body;
                arrived = Date.now();
                hosts.take(fleet);
            }
            words = answer.ok ? "" : body.error;
            gone = null;
            failures = 0;
        } catch {
            gone ??= Date.now();
            failures++;
        }
        redraw();
        const usual = Math.min(Math.max((fleet?.interval_s ?? 1) * 1000, 500), LONGEST);
        await sleep(Math.min(usual * 2 ** Math.min(failures, 4), LONGEST));
    }
}

byId("filter").addEventListener("input", redraw);
document.addEventListener("visibilitychange", redraw);
fillGlossary();
run();
