// SPDX-License-Identifier: BSD-3-Clause
// Judges a report: the findings and states that are wrong now, those that are over, and the words for all together.

import {age, counted} from "/page/units.js";

const LATELY = 5; // seconds after which a finding that no longer grows is over, as in the program
const WELL = new Set(["", "ok"]);
const ELSEWHERE = "see the finding of "; // begins the first cure of what another finding explains
const PAUSE = 10; // seconds without a packet that are worth a word
// Causes at a port that explain the states of its streams, too.
const ON_THE_WAY = new Set(["receive_ring_short", "no_buffers", "nic_errors", "lcore_too_slow", "lcore_interrupted", "engine_too_slow"]);
// Cures of states that no finding explains.
const CURES = {
    slow: ["compare with the rate of the sender: it may send less", "look for drops in the switches on the way: heaps of which nothing came are in no count"],
    silent: ["look whether the switches still forward its packets to this machine"],
    pause: ["to have a pause reported as a problem, set `silent_after` of the stream"],
};
const SOURCES = 3; // named
const ORDER = ["bad", "warn", "note", "past"];
const KINDS = {loss: "bad", warning: "warn", note: "note"};

function kindOf(finding, time) {
    if (finding.until_s !== null)
        return "past";
    const kind = KINDS[finding.kind] ?? "bad";
    return kind !== "note" && finding.last_s > 0 && time - finding.last_s > LATELY ? "past" : kind;
}

function itemOf(finding, time) {
    const kind = kindOf(finding, time);
    return {kind, weight: finding.kind ?? "loss", key: `${finding.cause}\n${finding.stage}\n${finding.where}\n${finding.until_s}`,
            cause: finding.cause, stage: finding.stage, where: finding.where, count: finding.count, unit: finding.unit, what: finding.what,
            cures: finding.until_s === null ? finding.cures ?? [] : [], first: finding.first_s, last: finding.last_s,
            until: finding.until_s};
}

// Returns the action at the senders of a stream, whose addresses its ports have noted.
function askSenders(report, stream) {
    const known = report.ports.flatMap((port) => port.talkers ?? []).filter((one) => one.stream === stream && one.source.includes("."));
    const sources = [...new Set(known.map((one) => one.source))].slice(0, SOURCES).join(", ");
    return sources === "" ? "look whether its sender still sends" : `look whether its sender still sends: packets came from ${sources}`;
}

// Returns the actions for a state. A stream that is slow may lack packets for which its port has a finding.
function curesOf(state, stray) {
    const cures = CURES[state] ?? [];
    return state.includes("slow") && stray !== undefined ? [`${ELSEWHERE}${stray.where} first: its packets for no stream may be missing here`, ...cures] : cures;
}

// The last event is only told if it is that of the state.
function stateItem(report, part, kind, state, stage, stray) {
    const cures = curesOf(state, stray);
    const event = part.health?.last_event?.event === state ? part.health.last_event : null;
    return {kind: "bad", key: `${kind}\n${part.name}`, cause: state, stage, where: part.name, count: null, unit: "",
            what: event?.text || `is ${state}`, cures: state === "silent" ? [askSenders(report, part.name), ...cures] : cures,
            first: event?.at_s ?? null, last: null, until: null};
}

// Nobody has said that the stream may not pause.
function pauseItem(report, stream, seconds, time) {
    return {kind: "note", key: `pause\n${stream.name}`, cause: "no packets", stage: "network", where: stream.name, count: null, unit: "",
            what: `no packet for at least ${age(seconds)}, after ${counted(stream.packets.received, "packets")}`,
            cures: [askSenders(report, stream.name), ...CURES.pause], first: time - seconds, last: null, until: null};
}

// Returns whether a stream has paused for long, and nothing else says so.
export const isPaused = (stream, seconds) => seconds > PAUSE && stateOf(stream) === "" && stream.packets.received > 0;

const portsOf = (part) => [part.port, ...(part.paths ?? []).map((path) => path.port)];

// Returns the finding about a port of a stream that explains what the stream lacks.
export const wayOf = (stream, items) =>
    items.find((item) => item.kind === "bad" && ON_THE_WAY.has(item.cause) && portsOf(stream).includes(item.where));

const strayOf = (part, items) => items.find((item) => item.kind === "bad" && item.cause === "unmatched" && portsOf(part).includes(item.where));

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
    const held = items.some((item) => item.kind === "bad" && (item.cause === "lcore_silent" || item.cause === "engine_stalled"));
    for (const [kind, stage] of [["streams", "network"], ["sends", "transmit"], ["ports", "port"]])
        for (const part of report[kind]) {
            const state = stateOf(part);
            if (state === "" || ["stopped", "done", "closed", "waiting"].includes(state) || explained.has(part.name))
                continue;
            if (state === "stalled" && held || kind === "streams" && wayOf(part, items))
                continue;
            items.push(stateItem(report, part, kind, state, stage, strayOf(part, items)));
        }
    for (const stream of report.streams)
        if (isPaused(stream, pauseOf(stream.name)) && !explained.has(stream.name))
            items.push(pauseItem(report, stream, pauseOf(stream.name), time));
    // Causes before what they cause and before mere states, and then by the beginning, which stays: entries that change
    // places cannot be read.
    const depth = (item) => (item.count === null ? 2 : item.cures[0]?.startsWith(ELSEWHERE) ? 1 : 0);
    return items.sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) || depth(a) - depth(b) || (a.first ?? 0) - (b.first ?? 0));
}

// Returns whether another entry, which is there too, probably explains this one.
const isEffect = (item, items) => item.cures[0]?.startsWith(ELSEWHERE) === true &&
    items.some((other) => other.count !== null && other !== item && other.kind === item.kind && item.cures[0].startsWith(`${ELSEWHERE}${other.where} `));

// Names that say too little alone; the others are words already.
const WORDS = {
    nothing_came: "no packets come", network_loss: "packets lost in the network", path_loss: "packets lost on one path",
    path_behind: "copies of one path come too late",
    receive_ring_short: "receive queue too short", missed_at_start: "came before an lcore fetched", no_buffers: "no free packet buffers", nic_errors: "device errors",
    buffers_nearly_out: "hardly a free packet buffer", queue_nearly_full: "hand-over queue nearly full",
    pool_nearly_full: "heap memory nearly full", lcore_held_up: "kept off its CPU",
    lcore_interrupted: "lcore kept off its CPU", lcore_silent: "does not answer", engine_stalled: "moves no payload", unmatched: "packets for no stream",
    not_spead: "packets that are not SPEAD", not_in_format: "packets of another format", gso_frames: "frames too long",
    misplaced: "packets without a place", future: "packets from a wrong clock", late: "late packets", ghosts: "forged or stray heaps",
    max_live_too_small: "too few heaps may be open", pool_too_small: "too little heap memory", no_chunk: "no free chunk",
    consumer_holds_pool: "waiting heaps hold the memory", sink_full: "readers of its ring too slow", sink_no_place: "no place in the sink's files",
};
export const plain = (cause) => WORDS[cause] ?? cause.replaceAll("_", " ");
const some = (count, one) => `${count} ${one}${count === 1 ? "" : one.endsWith("s") ? "es" : "s"}`;

// Names entries by their causes: "s0, s1: packets lost in the network; p0: receive queue too short".
function named(items) {
    const causes = [...new Set(items.slice(0, 3).map((item) => item.cause))];
    const words = causes.map((cause) => `${items.slice(0, 3).filter((item) => item.cause === cause).map((item) => item.where).join(", ")}: ${plain(cause)}`);
    return words.join("; ") + (items.length > 3 ? `; and ${items.length - 3} more` : "");
}

// Returns what is over: "2 losses earlier in this run, and 1 warning".
function earlierOf(items) {
    const past = items.filter((item) => item.kind === "past");
    const losses = past.filter((item) => item.weight === "loss").length;
    const warnings = past.filter((item) => item.weight === "warning").length;
    if (losses === 0)
        return warnings === 0 ? "" : `${some(warnings, "warning")} earlier in this run`;
    return `${some(losses, "loss")} earlier in this run${warnings === 0 ? "" : `, and ${some(warnings, "warning")}`}`;
}

// Returns the kind and the words of the verdict. They change only when something begins or ends.
export function verdictOf(items) {
    const bad = items.filter((item) => item.kind === "bad");
    if (bad.length > 0) {
        const effects = bad.filter((item) => isEffect(item, bad));
        const roots = bad.filter((item) => !effects.includes(item));
        const more = effects.length === 0 ? "" : ` (probably hit by it: ${[...new Set(effects.map((item) => item.where))].slice(0, 3).join(", ")})`;
        return ["bad", `${some(roots.length, "problem")} now – ${named(roots)}${more}`];
    }
    const earlier = earlierOf(items);
    const warned = items.filter((item) => item.kind === "warn");
    if (warned.length > 0)
        return ["warn", `Nothing is lost yet – ${named(warned)}${earlier === "" ? "" : `; ${earlier}`}`];
    const paused = items.filter((item) => item.cause === "no packets").map((item) => item.where);
    const quiet = paused.length === 0 ? "" : `; no packets of ${paused.slice(0, 3).join(", ")}${paused.length > 3 ? ` and ${paused.length - 3} more` : ""}`;
    if (items.some((item) => item.kind === "past" && item.weight === "loss"))
        return ["past", `Nothing is lost now; ${earlier}${quiet}`];
    if (earlier !== "")
        return ["note", `Nothing is lost; ${earlier}${quiet}`];
    return quiet === "" ? ["ok", "All is well: nothing is lost"] : ["note", `Nothing is lost${quiet}`];
}

// Returns the kind of a stage's sign: bad, warn, past or ok.
export function kindOfStage(items, stage) {
    const mine = items.filter((item) => item.stage === stage && (item.kind !== "past" || item.weight === "loss") && !isEffect(item, items));
    return ["bad", "warn", "past"].find((kind) => mine.some((item) => item.kind === kind)) ?? "ok";
}
