// SPDX-License-Identifier: BSD-3-Clause
// Lists the stages of a packet's way and their counters (docs/counters.md), and adds them up over streams and ports.

import {number} from "/page/units.js";

const total = (parts, of) => parts.reduce((all, part) => all + number(of(part)), 0);

// Says in the picture what a counter counts; the table has its name.
const WORDS = {
    missed: "not fetched in time", no_mbuf: "no free buffer", errors: "device errors", unmatched: "for no stream",
    malformed: "malformed", fragment: "IP fragments", bad_checksum: "wrong checksums", not_udp: "not UDP", igmp: "IGMP", arp: "ARP",
    mld: "MLD", ndp: "NDP", oversize: "too large", heap_too_big: "of too large heaps", invalid: "marked invalid",
    no_item: "without an item", bad_length: "of another length", bad_step: "between two steps", out_of_range: "outside of an axis",
    rejected: "callback refused", filtered: "filtered out", held: "a filter holds", captured: "captured",
    capture_full: "capture was full", control: "stream control", stopped: "after a stop item", late: "too late",
    header_in_device: "header cut by the port",
    inconsistent: "contradictory", out_of_order: "out of order", future: "too far ahead", duplicate: "duplicates",
    redundant: "by both paths", evicted: "heaps given up", timed_out: "heaps timed out", heaps_missing: "heaps missing",
    heaps_skipped: "heaps skipped", flushed: "heaps cut by a stop", no_memory: "no memory", no_chunk: "no free chunk",
    dropped_full: "queue was full", unwritten: "not written", queued: "heaps waiting"};
export const wordsOf = (name) => WORDS[name] ?? name;

// Counts at a stage. `kind`: lost, or ended here as it should be ("aside").
const port = (group, name, kind, meaning) =>
    ({name, kind, meaning, of: (view) => total(view.ports, (one) => one[group][name])});
const packet = (name, kind, meaning) =>
    ({name, kind, meaning, of: (view) => total(view.streams, (one) => one.packets[name])});
const heap = (name, kind, meaning) =>
    ({name, kind, meaning, of: (view) => total(view.streams, (one) => one.heaps[name])});
const chunk = (name, kind, meaning) =>
    ({name, kind, meaning, of: (view) => total(view.streams, (one) => one.chunks?.[name])});

// Estimates the packets of given-up heaps that no stage here has lost.
function neverCame(view) {
    const here = total(view.ports, (one) => one.nic.missed + one.nic.no_mbuf) +
        total(view.streams, (one) => ["late", "no_memory", "no_chunk", "oversize", "malformed", "header_in_device"]
            .reduce((all, name) => all + number(one.packets[name]), 0));
    return Math.max(total(view.streams, (one) => one.info.missing_packets) - here, 0);
}

const heapsDone = (view) => total(view.streams, (one) => (one.chunks ? one.chunks.heaps_present : one.heaps.complete));
const delivered = (view) =>
    total(view.streams, (one) => (one.chunks ? one.chunks.delivered : one.heaps.delivered));

export const STAGES = [
    {id: "network", title: "Network", flow: null, counts: [
        {name: "never came", kind: "lost", of: neverCame,
         meaning: "packets of incomplete heaps that were lost before this machine (an estimate)"}]},
    {id: "port", title: "Port", unit: "packets", flow: (view) =>
        total(view.ports, (one) => one.rx.packets + one.nic.missed), counts: [
        port("nic", "missed", "lost", "the lcore was too slow, or the receive queue too short"),
        port("nic", "no_mbuf", "lost", "the packet pool ran dry"),
        port("nic", "errors", "lost", "the device counted errors")]},
    {id: "lcore", title: "Lcore", unit: "packets", flow: (view) => total(view.ports, (one) => one.rx.packets), counts: []},
    {id: "classify", title: "Which stream", unit: "packets", flow: (view) => total(view.ports, (one) => one.info.to_streams),
     counts: [
        port("rx", "unmatched", "aside", "UDP for no stream: another group, port or source"),
        port("rx", "malformed", "lost", "lengths that contradict each other"),
        port("rx", "fragment", "lost", "IP fragments: larger than an MTU on the way"),
        port("rx", "bad_checksum", "lost", "wrong checksums: cables, the sender"),
        port("rx", "not_udp", "aside", "other traffic"), port("rx", "igmp", "aside", "other traffic"),
        port("rx", "arp", "aside", "other traffic"), port("rx", "mld", "aside", "other traffic"),
        port("rx", "ndp", "aside", "other traffic")]},
    {id: "packet", title: "SPEAD", unit: "packets", flow: (view) => total(view.streams, (one) => one.packets.received),
     counts: [
        packet("malformed", "lost", "breaks a rule of SPEAD, or of the stream's format"),
        packet("oversize", "lost", "larger than max_packet_size"),
        packet("header_in_device", "lost", "its port cuts it inside its header (split)"),
        packet("heap_too_big", "lost", "of a heap larger than heaps.max_bytes"),
        packet("invalid", "lost", "marked as invalid by its sender"),
        packet("no_item", "lost", "lacks an item that the placement needs"),
        packet("bad_length", "lost", "its heap has another length than the placement's"),
        packet("bad_step", "lost", "a value between two steps of an axis"),
        packet("out_of_range", "lost", "a value outside its axis"),
        packet("rejected", "lost", "refused by the place callback"),
        packet("filtered", "aside", "dropped by the stream's filter"), packet("held", "aside", "kept by the stream's filter"),
        packet("captured", "aside", "taken by a capture"), packet("capture_full", "lost", "no room in a capture's buffer"),
        packet("control", "aside", "stream control"), packet("stopped", "aside", "came after a stop item")]},
    {id: "window", title: "Open heaps", unit: "placed", flow: (view) => total(view.streams, (one) => one.packets.placed),
     counts: [
        packet("late", "lost", "its heap had been given up already"),
        packet("inconsistent", "lost", "contradicts other packets of its heap"),
        packet("out_of_order", "lost", "not the next byte of its heap (in_order)"),
        packet("future", "lost", "too far ahead of the open chunks"),
        packet("duplicate", "aside", "brought nothing new"),
        packet("redundant", "aside", "came by the other path first"),
        heap("evicted", "lost", "heaps given up for newer ones"), heap("timed_out", "lost", "heaps without a packet for too long"),
        chunk("heaps_missing", "lost", "heaps of chunks that are not there, or not whole"),
        chunk("heaps_skipped", "lost", "heaps of chunks that were skipped"),
        heap("flushed", "aside", "heaps that were open at a stop")]},
    {id: "memory", title: "Memory", unit: "whole heaps", flow: heapsDone, counts: [
        packet("no_memory", "lost", "no memory when the packet's heap began"),
        packet("no_chunk", "lost", "no chunk was free")]},
    {id: "consumer", title: "Consumer", unit: "delivered", flow: delivered, counts: [
        heap("dropped_full", "lost", "heaps dropped: the queue to the consumer was full"),
        heap("unwritten", "lost", "heaps lost because the sink had failed or had no room"),
        chunk("unwritten", "lost", "chunks lost because the sink had failed or had no room"),
        heap("queued", "aside", "heaps that wait for the consumer now")]},
];

// Says in a sentence where a finding is.
export const stageTitle = (id) => ({network: "in the network", port: "at the port", lcore: "at the lcore", classify: "which stream",
                                    packet: "SPEAD packet", window: "open heaps", memory: "memory", consumer: "at the consumer",
                                    transmit: "in sending"}[id] ?? id);

// Returns the parts of a report that one stream concerns, or all (""). Misses of its port may be other streams', too.
export function partOf(report, stream) {
    const none = {streams: [], ports: []};
    if (report === null)
        return none;
    if (stream === "")
        return {ports: report.ports, streams: [...report.streams, ...(report.removed ? [{...report.removed, name: ""}] : [])]};
    const streams = report.streams.filter((one) => one.name === stream);
    return {ports: report.ports.filter((port) => streams.some((one) => [one.port, ...(one.paths ?? []).map((path) => path.port)]
        .includes(port.name))), streams};
}

// Returns each stage with its numbers, now and within the time since an earlier report (null: unknown).
export function countsOf(report, earlier, stream) {
    const now = partOf(report, stream);
    const then = partOf(earlier, stream);
    const lately = (of) => {
        if (earlier === null)
            return null;
        const grown = of(now) - of(then);
        return grown < 0 ? of(now) : grown;
    };
    return STAGES.map((stage) => ({
        ...stage, total: stage.flow === null ? null : stage.flow(now), lately: stage.flow === null ? null : lately(stage.flow),
        counts: stage.counts.map((count) => ({...count, total: count.of(now), lately: lately(count.of)})),
    }));
}

// Returns the sentence that adds the packets up: each one is in one counter.
export function balanceOf(report, stream) {
    const view = partOf(report, stream);
    const received = total(view.streams, (one) => one.packets.received);
    const placed = total(view.streams, (one) => one.packets.placed);
    if (stream !== "")
        return {all: received, placed, ended: received - placed};
    const all = total(view.ports, (one) => one.rx.packets);
    return {all, placed, ended: all - placed, missed: total(view.ports, (one) => one.nic.missed)};
}
