// SPDX-License-Identifier: BSD-3-Clause
#include "stats/loss_record.hpp"

#include <algorithm>
#include <utility>

#include "stats/grown.hpp"
#include "stats/stream_ports.hpp"
#include "stats/stream_senders.hpp"

namespace spead::stats {

namespace {

/// Holds the busy fraction above which an lcore can hardly take more.
constexpr double kBusy = 0.9;
/// Holds the busy fraction below which an lcore is never blamed.
constexpr double kHalfBusy = 0.5;
constexpr double kFullBursts = 0.5;
/// Holds the share of polls that left the queue alone for an engine, of those that did or found packets.
constexpr double kEngineBehind = 0.25;
/// Holds the seconds off its CPU that mean an interruption of an lcore: rings hold a few milliseconds.
constexpr double kInterrupted = 0.002;

/// Holds the seconds after the first packets of an endpoint in which heaps that were cut by the join of its
/// group end, if heaps have no time-out.
constexpr double kSettling = 2;

/// Holds the seconds after a change in which packets arrive that were on their way between two lcores.
constexpr double kBetweenLcores = 0.1;
/// Limits them in a look: others of no stream may come meanwhile.
constexpr std::uint64_t kMostBetweenLcores = 1024;

/// Returns how many endpoints the stream has: a text may be a range of them.
std::uint64_t endpoints_of(const StreamSnapshot& s) {
    std::uint64_t all = 0;
    for (const std::string& text : s.endpoints)
        all += std::max<std::uint64_t>(meant_by(text).size(), 1);
    return std::max<std::uint64_t>(all, 1);
}

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
}

/// Returns how busy an lcore was while it had its CPU: an interrupted loop counts as busy, or idle, for as
/// long as the interruption took.
double busy_share(const LcoreCounters& c) {
    const std::uint64_t interrupted = std::min(c.interrupted_cycles, c.cycles);
    return share(c.busy_cycles - std::min(interrupted, c.busy_cycles), c.cycles - interrupted);
}

/// Returns the heaps that stayed incomplete so far, or that are missing in chunks.
std::uint64_t incomplete_heaps(const StreamSnapshot& s) {
    return s.chunks.any() ? s.chunks.heaps_missing
                          : s.heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)] +
                                s.heaps_ended[static_cast<std::size_t>(HeapEnd::timed_out)];
}

std::uint64_t packets_without_item(const StreamSnapshot& s) {
    return s.packets[static_cast<std::size_t>(PacketOutcome::no_item)];
}

/// Returns the packets of so many heaps of the tracked way; 0: it is not known.
std::uint64_t packets_of_heaps(const StreamSnapshot& s, std::uint64_t heaps) {
    const std::uint64_t placed = s.packets[static_cast<std::size_t>(PacketOutcome::placed)];
    return s.heaps_started == 0 ? 0 : heaps * (placed / s.heaps_started + 1);
}

/// Returns `all` less a part, which may be an estimate.
std::uint64_t without(std::uint64_t all, std::uint64_t part) {
    return all - std::min(all, part);
}

bool polls(const LcoreSnapshot& l, const std::string& port) {
    return std::any_of(l.ports.begin(), l.ports.end(), [&](const auto& one) { return one.name == port; });
}

}  // namespace

void explain_missed(MissedWhile& evidence, std::uint64_t packets, const PortSnapshot& p,
                    const std::vector<LcoreSnapshot>& lcores, double ticks_per_second) {
    if (packets == 0)
        return;
    double busy = 0;
    double longest = 0;
    bool mostly_interrupted = false;
    unsigned busy_lcore = 0;
    unsigned interrupted_lcore = 0;
    for (const LcoreSnapshot& l : lcores) {
        if (!polls(l, p.name))
            continue;
        if (const double its = busy_share(l.counters); its > busy) {
            busy = its;
            busy_lcore = l.lcore;
        }
        const double interrupted =
            ticks_per_second > 0 ? static_cast<double>(l.counters.longest_loop) / ticks_per_second : 0;
        if (interrupted > longest) {
            longest = interrupted;
            interrupted_lcore = l.lcore;
            mostly_interrupted = share(l.counters.interrupted_cycles, l.counters.cycles) > kHalfBusy;
        }
    }
    const double full = share(p.rx_full_bursts, p.rx_bursts);
    const bool too_slow = busy >= kBusy || (busy >= kHalfBusy && full >= kFullBursts);
    const bool behind = share(p.rx_gather_full, p.rx_gather_full + p.rx_bursts) >= kEngineBehind;
    const bool was_off = longest >= kInterrupted;
    if (behind && !(was_off && mostly_interrupted)) {
        evidence.engine_behind += packets;
    } else if (was_off && (mostly_interrupted || !too_slow)) {
        evidence.interrupted += packets;
        if (longest > evidence.longest_s) {
            evidence.longest_s = longest;
            evidence.interrupted_lcore = interrupted_lcore;
        }
    } else if (too_slow) {
        evidence.busy += packets;
        if (busy > evidence.most_busy) {
            evidence.most_busy = busy;
            evidence.busy_lcore = busy_lcore;
        }
        evidence.most_full = std::max(evidence.most_full, full);
    } else {
        evidence.idle += packets;
    }
}

void explain_dropped(DroppedWhile& evidence, std::uint64_t heaps, std::uint64_t queue_capacity,
                     std::uint64_t queue_most) {
    if (heaps == 0)
        return;
    (queue_capacity != 0 && queue_most < queue_capacity ? evidence.memory_held : evidence.queue_full) +=
        heaps;
    evidence.queue_capacity = queue_capacity;
    evidence.queue_most = queue_most;
}

void explain_no_memory(NoMemoryWhile& evidence, std::uint64_t packets, std::uint64_t queue_capacity,
                       std::uint64_t queue_most) {
    if (packets == 0)
        return;
    if (queue_capacity != 0 && queue_most * 2 >= queue_capacity) {
        evidence.consumer_held += packets;
        evidence.queue_most = std::max(evidence.queue_most, queue_most);
    } else {
        evidence.pool_full += packets;
    }
}

/// Returns the lcores' counts since the last look.
std::vector<LcoreSnapshot> LossRecord::interval_of(const Snapshot& now) {
    std::vector<LcoreSnapshot> interval;
    for (const LcoreSnapshot& l : now.lcores) {
        LcoreCounters& before = lcores_[l.lcore];
        LcoreSnapshot& since = interval.emplace_back(l);
        since.counters.cycles = grown(l.counters.cycles, before.cycles);
        since.counters.busy_cycles = grown(l.counters.busy_cycles, before.busy_cycles);
        since.counters.interrupted_cycles = grown(l.counters.interrupted_cycles, before.interrupted_cycles);
        since.counters.longest_loop = l.longest_loop_now;
        before = l.counters;
    }
    return interval;
}

/// Notes the packets that became unmatched. At a move they may be a stream's: those that were on their way to
/// its former lcore.
void LossRecord::look_at_unmatched(const Snapshot& now) {
    for (const StreamSnapshot& s : now.streams)
        streams_[s.number].unmatched = 0;
    for (const PortSnapshot& p : now.ports) {
        const std::uint64_t all = p.rx[static_cast<std::size_t>(PortOutcome::unmatched)];
        const std::uint64_t fresh = grown(all, std::exchange(ports_[p.name].unmatched, all));
        for (const StreamSnapshot& s : now.streams)
            if (s.comes_by(p.name))
                streams_[s.number].unmatched += fresh;
    }
}

void LossRecord::observe(Snapshot& now) {
    look_at_unmatched(now);
    const std::vector<LcoreSnapshot> interval = interval_of(now);
    const double seconds = now.duration_s - seen_s_;
    seen_s_ = now.duration_s;
    for (PortSnapshot& p : now.ports)
        observe_port(p, interval, now.ticks_per_second);
    for (StreamSnapshot& s : now.streams) {
        observe_stream(s, seconds);
        note_senders(streams_[s.number], s, now);
        observe_change(streams_[s.number], s, now.duration_s);
        observe_joins(streams_[s.number], s, now.duration_s);
        count_group_joins(streams_[s.number], s, now);
    }
}

/// Returns the time in which heaps end that are cut now.
LossRecord::Settling LossRecord::settling(const StreamSnapshot& s, double seconds) {
    const StreamSettings& set = s.settings;
    Settling settling{seconds + kSettling + set.heap_timeout, 0, 0};
    // A chunk is handed over when so many were opened after it, and a heap ends when so many newer ones of
    // its window have begun.
    if (s.chunks.any())
        settling.until_opened = s.chunks.opened + set.window + 2;
    else
        settling.until_started = s.heaps_started + 1 +
                                 (set.max_live + 1) * std::max<std::uint64_t>(set.substreams, 1) *
                                     std::max<std::size_t>(set.cpus.size(), 1);
    return settling;
}

void LossRecord::Cutting::look(const StreamSnapshot& s, double seconds) noexcept {
    seen_s = seconds;
    started = s.heaps_started;
    opened = s.chunks.opened;
    incomplete = incomplete_heaps(s);
    in_cut_chunks = s.chunks.heaps_cut;
    without_item = packets_without_item(s);
}

/// Detects the first packets of endpoints, and counts what their joins have cut.
void LossRecord::observe_joins(StreamCounts& before, StreamSnapshot& s, double seconds) {
    const auto endpoints_that = [&s](auto&& is) {
        return static_cast<std::uint64_t>(std::ranges::count_if(s.by_endpoint, is));
    };
    const std::uint64_t endpoints = endpoints_that([](const EndpointSnapshot& e) { return e.packets != 0; });
    before.first = std::max(
        before.first, endpoints_that([](const EndpointSnapshot& e) { return e.packets != 0 && !e.not_new; }));
    if (endpoints > before.endpoints)
        before.joins.settling = settling(s, seconds);
    count_joins(before, s, seconds);
    before.endpoints = endpoints;
    before.cut.is_known = true;
    s.cut_at_start = before.cut;
}

/// Counts heaps that stayed incomplete while the first ones of an endpoint may still be open, and packets
/// whose heaps they may be. Those of a change are not among them: observe_change() comes before.
void LossRecord::count_joins(StreamCounts& before, StreamSnapshot& s, double seconds) {
    Cutting& joins = before.joins;
    if (joins.holds()) {
        before.cut.heaps += without(grown(incomplete_heaps(s), joins.incomplete),
                                    grown(before.cut.by_change, joins.by_change));
        before.joined_without_item += without(grown(packets_without_item(s), joins.without_item),
                                              grown(before.without_item, joins.without_item_by_change));
    }
    if (!s.chunks.any())
        before.cut.by_join = std::min(before.cut.heaps, before.first);
    else
        before.cut.packets_by_join =
            std::max(before.cut.packets_by_join,
                     std::min(before.joined_without_item,
                              packets_of_heaps(s, std::max(before.first, before.senders))));
    joins.look(s, seconds);
    joins.by_change = before.cut.by_change;
    joins.without_item_by_change = before.without_item;
}

/// Counts heaps that are missing in chunks because a stream that fills them, too, began when they had. These
/// are no more than its share of all, by endpoints, since it was there last, until its first packets have had
/// time to come.
void LossRecord::count_group_joins(StreamCounts& before, StreamSnapshot& s, const Snapshot& now) {
    if (!s.chunks.any() || !s.chunks_counted_with.empty())
        return;
    GroupJoins& group = before.group;
    std::uint32_t newest = s.number;
    std::uint64_t all = 0;
    std::uint64_t late = 0;
    std::uint64_t begun = 0;
    for (const StreamSnapshot& one : now.streams) {
        if (one.number != s.number && one.chunks_counted_with != s.name)
            continue;
        const std::uint64_t endpoints = endpoints_of(one);
        all += endpoints;
        begun += static_cast<std::uint64_t>(std::ranges::count_if(
            one.by_endpoint, [](const EndpointSnapshot& e) { return e.packets != 0 || e.not_new; }));
        if (one.number > std::max(group.newest, s.number))
            late += endpoints;
        newest = std::max(newest, one.number);
    }
    const bool is_open = group.settling.holds(now.duration_s, s.heaps_started, s.chunks.opened);
    if (late != 0 && s.chunks.opened != 0) {
        if (!is_open) {
            group.former = before.cut.by_join;
            group.late = 0;
            group.before = all <= group.most ? group.complete : GroupJoins::Heaps();
        }
        group.late += late;
        group.settling = settling(s, now.duration_s);
    } else if (is_open && group.late != 0 && begun > group.begun) {
        group.settling = settling(s, now.duration_s);
    }
    group.newest = newest;
    group.begun = begun;
    if (late == 0 && all >= group.most) {
        group.most = all;
        group.complete = {s.chunks.heaps_expected, s.chunks.heaps_missing};
    }
    if (group.late == 0 || !group.settling.holds(now.duration_s, s.heaps_started, s.chunks.opened))
        return;
    const std::uint64_t expected = grown(s.chunks.heaps_expected, group.before.expected);
    const std::uint64_t share = expected / all * group.late + expected % all * group.late / all;
    const std::uint64_t most =
        group.former + std::min(grown(s.chunks.heaps_missing, group.before.missing), share);
    before.cut.by_join =
        std::max(before.cut.by_join, std::min(without(s.chunks.heaps_missing, before.cut.by_change), most));
    s.cut_at_start = before.cut;
}

/// Notes how many senders the stream has: a join cuts a heap of each.
void LossRecord::note_senders(StreamCounts& before, const StreamSnapshot& s, const Snapshot& now) {
    if (s.chunks.any())
        before.senders = std::max<std::uint64_t>(before.senders, senders_to(now, s.name).size());
}

/// Counts heaps that stayed incomplete, or whose chunk was cut, because of a change.
void LossRecord::observe_change(StreamCounts& before, StreamSnapshot& s, double seconds) {
    if (before.change.holds()) {
        // The first look after the change counts, however late it is.
        if (before.change.seen_s <= before.changed_s + kBetweenLcores)
            before.under_way += std::min(before.unmatched, kMostBetweenLcores);
        const std::uint64_t by_change =
            std::min(grown(incomplete_heaps(s), before.change.incomplete), before.under_way);
        before.cut.by_change += by_change;
        before.under_way -= by_change;
        before.cut.in_chunks += grown(s.chunks.heaps_cut, before.change.in_cut_chunks);
        before.without_item += grown(packets_without_item(s), before.change.without_item);
        if (s.chunks.any())
            before.cut.packets = std::max(before.cut.packets,
                                          std::min(before.without_item, packets_of_heaps(s, before.halves)));
    }
    before.change.look(s, seconds);
    // The most of late: heaps of many senders begin and end together. A few are not forgotten: on a busy
    // machine, looks may find none for long.
    before.live = std::max(s.heaps_live, before.live - before.live / 8);
    before.received = s.received;
}

void LossRecord::follow(Snapshot& now) {
    look_at_unmatched(now);
    for (StreamSnapshot& s : now.streams) {
        StreamCounts& before = streams_[s.number];
        // The first detailed look may come after the health of the stream was judged.
        if (before.received == 0 && s.received != 0 && before.endpoints == 0) {
            before.joins.settling = settling(s, now.duration_s);
            before.first = endpoints_of(s);
        }
        observe_change(before, s, now.duration_s);
        // Heaps that end before the join is known are counted then.
        if (before.joins.holds())
            count_joins(before, s, now.duration_s);
        s.cut_at_start = before.cut;
    }
}

/// Returns whether the stream was changed, or one that fills chunks with it.
bool LossRecord::is_changed(const StreamSnapshot& s, const Snapshot& now,
                            const std::vector<std::string>& changed) {
    const auto is_named = [&changed](const StreamSnapshot& one) {
        return std::ranges::find(changed, one.name) != changed.end();
    };
    return is_named(s) || std::ranges::any_of(now.streams, [&](const StreamSnapshot& other) {
               return other.chunks_counted_with == s.name && is_named(other);
           });
}

void LossRecord::settle(Snapshot& now, const std::vector<std::string>& changed) {
    (void)interval_of(now);
    seen_s_ = now.duration_s;
    look_at_unmatched(now);
    for (PortSnapshot& p : now.ports) {
        PortCounts& before = ports_[p.name];
        MissedWhile& why = before.evidence;
        std::uint64_t* most = &why.idle;
        for (std::uint64_t* const one : {&why.engine_behind, &why.interrupted, &why.busy})
            if (*one > *most)
                most = one;
        *most += new_missed(before, p);
        before.bursts = p.rx_bursts;
        before.full_bursts = p.rx_full_bursts;
        before.gather_full = p.rx_gather_full;
        p.missed_while = why;
    }
    for (StreamSnapshot& s : now.streams) {
        StreamCounts& before = streams_[s.number];
        const std::uint64_t no_memory = s.packets_without_memory();
        (before.dropped.memory_held > before.dropped.queue_full ? before.dropped.memory_held
                                                                : before.dropped.queue_full) +=
            grown(s.heaps_without_place(), before.dropped_full);
        (before.memory.consumer_held > before.memory.pool_full ? before.memory.consumer_held
                                                               : before.memory.pool_full) +=
            grown(no_memory, before.no_memory);
        before.dropped_full = s.heaps_without_place();
        before.no_memory = no_memory;
        s.dropped_while = before.dropped;
        s.no_memory_while = before.memory;
        if (is_changed(s, now, changed)) {
            // Of each endpoint, one more may have begun on each lcore while nobody looked.
            before.under_way =
                before.live + before.endpoints * std::max<std::size_t>(s.settings.cpus.size(), 1);
            before.halves += before.under_way;
            before.changed_s = now.duration_s;
            before.change.settling = settling(s, now.duration_s);
        }
        note_senders(before, s, now);
        observe_change(before, s, now.duration_s);
        observe_joins(before, s, now.duration_s);
        count_group_joins(before, s, now);
    }
}

/// Returns the packets missed since the last look, without those of the port's start, which it explains.
std::uint64_t LossRecord::new_missed(PortCounts& before, const PortSnapshot& p) {
    const std::uint64_t missed = grown(p.nic.missed, std::exchange(before.missed, p.nic.missed));
    const std::uint64_t at_start =
        std::min(missed, grown(p.missed_at_start, std::exchange(before.at_start, p.missed_at_start)));
    before.evidence.at_start += at_start;
    return missed - at_start;
}

void LossRecord::observe_port(PortSnapshot& p, const std::vector<LcoreSnapshot>& interval,
                              double ticks_per_second) {
    PortCounts& before = ports_[p.name];
    PortSnapshot since;
    since.name = p.name;
    since.rx_bursts = grown(p.rx_bursts, before.bursts);
    since.rx_full_bursts = grown(p.rx_full_bursts, before.full_bursts);
    since.rx_gather_full = grown(p.rx_gather_full, before.gather_full);
    explain_missed(before.evidence, new_missed(before, p), since, interval, ticks_per_second);
    before.bursts = p.rx_bursts;
    before.full_bursts = p.rx_full_bursts;
    before.gather_full = p.rx_gather_full;
    p.missed_while = before.evidence;
}

/// Notes from the first loss to the last one for how long the queue was full. Its highest mark does not say
/// so: a short queue is full for a moment in every burst.
void LossRecord::observe_spell(StreamCounts& before, std::uint64_t dropped, bool full, double seconds) {
    DroppedWhile& why = before.dropped;
    if (dropped == 0)
        before.of_spell = 0;
    if (dropped == 0 && why.spells == 0)
        return;
    (full ? before.full_s : before.room_s) += seconds;
    if (dropped == 0)
        return;
    why.full_s += std::exchange(before.full_s, 0);
    why.room_s += std::exchange(before.room_s, 0);
    why.spells += before.of_spell == 0;
    before.of_spell += dropped;
    why.most_of_once = std::max(why.most_of_once, before.of_spell);
}

void LossRecord::observe_stream(StreamSnapshot& s, double seconds) {
    StreamCounts& before = streams_[s.number];
    const std::uint64_t no_memory = s.packets_without_memory();
    const std::uint64_t dropped = grown(s.heaps_without_place(), before.dropped_full);
    explain_dropped(before.dropped, dropped, s.queue_capacity, s.queue_most_now);
    observe_spell(before, dropped, s.queue_capacity != 0 && 2 * s.heaps_queued >= s.queue_capacity, seconds);
    explain_no_memory(before.memory, grown(no_memory, before.no_memory), s.queue_capacity, s.queue_most_now);
    before.dropped_full = s.heaps_without_place();
    before.no_memory = no_memory;
    s.dropped_while = before.dropped;
    s.no_memory_while = before.memory;
}

}  // namespace spead::stats
