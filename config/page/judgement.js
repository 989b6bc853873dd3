// SPDX-License-Identifier: BSD-3-Clause
// Judges a report: the findings and states that are wrong now, those that are over, and the words for all together.

import {age, counted} from "/page/units.js";

const LATELY = 5; // seconds after which a finding that no longer grows is over, as in the program
// Causes that are on purpose, or normal at the start.
const NOTES = new Set(["impaired", "cut_by_join"]);
const WELL = new Set(["", "ok"]);
const ELSEWHERE = "see the finding of "; // begins the first cure of what another finding explains
const PAUSE = 10; // seconds without a packet that are worth a word
// Causes at a port that explain the states of its streams, too.
const ON_THE_WAY = new Set(["receive_ring_short", "no_buffers", "nic_errors", "lcore_too_slow", "lcore_interrupted", "engine_too_slow"]);
// Cures of states that no finding explains.
const CURES = {
    slow: ["compare with the rate of the sender: it may send less", "look for drops in the switches on the way: heaps of which nothing came are in no count"],
    silent: ["look whether its sender still sends", "look whether the switches still forward its packets to this machine"],
    pause: ["look whether its sender still sends", "to have a pause reported as a problem, set `silent_after` of the stream"],
};
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
            what: event?.text || `is ${state}`, cures: CURES[state] ?? [], first: event?.at_s ?? null, last: null, until: null};
}

// Nobody has said that the stream may not pause.
function pauseItem(stream, seconds, time) {
    return {kind: "note", key: `pause\n${stream.name}`, cause: "no packets", stage: "network", where: stream.name, count: null, unit: "",
            what: `no packet for at least ${age(seconds)}, after ${counted(stream.packets.received, "packets")}`, cures: CURES.pause,
            first: time - seconds, last: null, until: null};
}

// Returns whether a stream has paused for long, and nothing else says so.
export const isPaused = (stream, seconds) => seconds > PAUSE && stateOf(stream) === "" && stream.packets.received > 0;

const portsOf = (part) => [part.port, ...(part.paths ?? []).map((path) => path.port)];

// Returns the finding about a port of a stream that explains what the stream lacks.
export const wayOf = (stream, items) =>
    items.find((item) => item.kind === "bad" && ON_THE_WAY.has(item.cause) && portsOf(stream).includes(item.where));

// Returns the state of a stream, sender or port that is worth a word; "": it is as it should be.
export function stateOf(part) {
    if (["received", "sending", "running", undefined, ""].includes(part.state))
        return WELL.has(part.health?.state ?? "") ? "" : part.health.state;
    return part.state;
}

// Returns all that is to be said, the worst first. `pauseOf`: the seconds since the last packet of a stream, by its name.
export function itemsOf(report, time, pauseOf = () => 0) {
    const items = report.findings.map((finding) => itemOf(finding, time));
    const explained = new Set(items.filter((item) => item.kind === "bad").map((item) => item.where));
    const held = items.some((item) => item.kind === "bad" && item.cause === "lcore_silent");
    for (const [kind, stage] of [["streams", "network"], ["sends", "transmit"], ["ports", "port"]])
        for (const part of report[kind]) {
            const state = stateOf(part);
            if (state === "" || ["stopped", "done", "closed", "waiting"].includes(state) || explained.has(part.name))
                continue;
            if (state === "stalled" && held || kind === "streams" && wayOf(part, items))
                continue;
            items.push(stateItem(part, kind, state, stage));
        }
    for (const stream of report.streams)
        if (isPaused(stream, pauseOf(stream.name)) && !explained.has(stream.name))
            items.push(pauseItem(stream, pauseOf(stream.name), time));
    // Causes before what they cause and before mere states, and then by the beginning, which stays: entries that change
    // places cannot be read.
    const depth = (item) => (item.count === null ? 2 : item.cures[0]?.startsWith(ELSEWHERE) ? 1 : 0);
    return items.sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) || depth(a) - depth(b) || (a.first ?? 0) - (b.first ?? 0));
}

// Names that say too little alone; the others are words already.
const WORDS = {
    nothing_came: "no packets come", network_loss: "packets lost in the network", path_loss: "packets lost on one path",
    receive_ring_short: "receive queue too short", no_buffers: "no free packet buffers", nic_errors: "device errors",
    lcore_interrupted: "lcore kept off its CPU", lcore_silent: "does not answer", unmatched: "packets for no stream",
    not_spead: "packets that are not SPEAD", not_in_format: "packets of another format", gso_frames: "frames too long",
    misplaced: "packets without a place", future: "packets from a wrong clock", late: "late packets", ghosts: "forged or stray heaps",
    max_live_too_small: "too few heaps may be open", pool_too_small: "too little heap memory", no_chunk: "no free chunk",
    consumer_holds_pool: "waiting heaps hold the memory", sink_full: "readers of its ring too slow", sink_no_place: "no place in the sink's files",
};
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
    const paused = items.filter((item) => item.cause === "no packets").map((item) => item.where);
    const quiet = paused.length === 0 ? "" : `; no packets of ${paused.slice(0, 3).join(", ")}${paused.length > 3 ? ` and ${paused.length - 3} more` : ""}`;
    if (past.length > 0)
        return ["past", `Nothing is lost now; ${some(past.length, "loss")} earlier in this run${quiet}`.replace("losss", "losses")];
    return quiet === "" ? ["ok", "All is well: nothing is lost"] : ["note", `Nothing is lost${quiet}`];
}

// Returns the kind of a stage's sign: bad, past or ok.
export function kindOfStage(items, stage) {
    const kinds = items.filter((item) => item.stage === stage).map((item) => item.kind);
    return kinds.includes("bad") ? "bad" : kinds.includes("past") ? "past" : "ok";
}
