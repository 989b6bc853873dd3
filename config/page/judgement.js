// SPDX-License-Identifier: BSD-3-Clause
// Judges a report: the findings and states that are wrong now, those that are over, and the words for all together.

const LATELY = 5; // seconds after which a finding that no longer grows is over, as in the program
// Causes that are on purpose, or normal at the start.
const NOTES = new Set(["impaired", "cut_by_join"]);
const WELL = new Set(["", "ok"]);
const ORDER = ["bad", "note", "past"];

function kindOf(finding, time) {
    if (finding.until_s !== null)
        return "past";
    if (NOTES.has(finding.cause))
        return "note";
    return finding.last_s > 0 && time - finding.last_s > LATELY ? "past" : "bad";
}

function itemOf(finding, time) {
    const kind = kindOf(finding, time);
    return {kind, key: `${finding.cause}\n${finding.stage}\n${finding.where}\n${finding.until_s}`, cause: finding.cause,
            stage: finding.stage, where: finding.where, count: finding.count, unit: finding.unit, what: finding.what,
            cures: finding.until_s === null ? finding.cures ?? [] : [], first: finding.first_s, last: finding.last_s,
            until: finding.until_s};
}

// The last event is only told if it is that of the state.
function stateItem(part, kind, state, stage) {
    const event = part.health?.last_event?.event === state ? part.health.last_event : null;
    return {kind: "bad", key: `${kind}\n${part.name}`, cause: state, stage, where: part.name, count: null, unit: "",
            what: event?.text || `is ${state}`, cures: [], first: event?.at_s ?? null, last: null, until: null};
}

// Returns the state of a stream, sender or port that is worth a word; "": it is as it should be.
export function stateOf(part) {
    if (["received", "sending", "running", undefined, ""].includes(part.state))
        return WELL.has(part.health?.state ?? "") ? "" : part.health.state;
    return part.state;
}

// Returns all that is to be said, the worst first.
export function itemsOf(report, time) {
    const items = report.findings.map((finding) => itemOf(finding, time));
    const explained = new Set(items.filter((item) => item.kind === "bad").map((item) => item.where));
    const held = items.some((item) => item.kind === "bad" && item.cause === "lcore_silent");
    for (const [kind, stage] of [["streams", "network"], ["sends", "transmit"], ["ports", "port"]])
        for (const part of report[kind]) {
            const state = stateOf(part);
            if (state === "" || ["stopped", "done", "closed", "waiting"].includes(state) || explained.has(part.name))
                continue;
            if (state === "stalled" && held)
                continue;
            items.push(stateItem(part, kind, state, stage));
        }
    // By the beginning, which stays: entries that change places cannot be read.
    return items.sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) || (a.first ?? 0) - (b.first ?? 0));
}

// Names that say too little alone; the others are words already.
const WORDS = {unmatched: "packets for no stream", late: "late packets", misplaced: "packets without a place",
               future: "packets from a wrong clock", ghosts: "forged or stray heaps"};
export const plain = (cause) => WORDS[cause] ?? cause.replaceAll("_", " ");
const some = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;

// Returns the kind and the words of the verdict. They change only when something begins or ends.
export function verdictOf(items) {
    const bad = items.filter((item) => item.kind === "bad");
    const past = items.filter((item) => item.kind === "past");
    if (bad.length > 0) {
        const named = bad.slice(0, 3).map((item) => `${item.where}: ${plain(item.cause)}`);
        const more = bad.length > 3 ? `, and ${bad.length - 3} more` : "";
        return ["bad", `${some(bad.length, "problem")} now – ${named.join(", ")}${more}`];
    }
    if (past.length > 0)
        return ["past", `Nothing is lost now; ${some(past.length, "loss")} earlier in this run`.replace("losss", "losses")];
    return ["ok", "All is well: nothing is lost"];
}

// Returns the kind of a stage's sign: bad, past or ok.
export function kindOfStage(items, stage) {
    const kinds = items.filter((item) => item.stage === stage).map((item) => item.kind);
    return kinds.includes("bad") ? "bad" : kinds.includes("past") ? "past" : "ok";
}
