// SPDX-License-Identifier: BSD-3-Clause
#include "stats/stream_cures.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/shell_word.hpp"
#include "stats/rates.hpp"

namespace spead::stats {

namespace {

/// Holds the share of the heaps that a consumer must take for a longer queue to be enough.
constexpr double kNearlyAll = 0.9;
/// Holds how many times as many heaps a longer queue takes.
constexpr std::uint64_t kLonger = 4;
/// Holds the seconds of losses that say whether the consumer is always too slow, or pauses.
constexpr double kLasting = 1;
/// Holds the share of that time in which the queue of a consumer is full that is always too slow.
constexpr double kMostly = 0.75;

/// Returns the part of the heaps that the consumer took; 1: it is unknown.
double share_taken(const StreamSnapshot& s) {
    const auto taken = static_cast<double>(s.heaps_delivered);
    const double all = taken + static_cast<double>(s.heaps_dropped_full);
    return all > 0 && taken > 0 ? taken / all : 1;
}

double full_share(const DroppedWhile& why) {
    return why.full_s / (why.full_s + why.room_s);
}

/// Returns whether the stream's sink writes somewhere.
bool writes(const StreamSnapshot& s) {
    return !s.settings.directory.empty() || !s.settings.ring.empty();
}

/// Returns the number of threads that take heaps: there is one for each CPU without an lcore, and one if none
/// is left. Equal to 0 if the CPUs are unknown.
std::size_t consumer_threads(const Snapshot& run) {
    return run.settings.allowed_cpus.empty() ? 0 : std::max<std::size_t>(cpus_without_lcores(run).size(), 1);
}

/// Returns the action for a stream whose thread may be held by the sink of another one; empty: there is none.
std::string mend_other_sink(const StreamSnapshot& s, const Advice& advice) {
    const Snapshot& run = advice.snapshot();
    if (writes(s) || consumer_threads(run) >= run.streams.size())
        return {};
    const auto slow = std::ranges::find_if(run.streams, [](const StreamSnapshot& other) {
        return writes(other) && (other.heaps_without_place() != 0 || other.packets_without_memory() != 0 ||
                                 other.chunks.short_of != 0);
    });
    return slow == run.streams.end() ? std::string()
                                     : fmt::format(
                                           "see the finding of {} first: its sink is slow, and one thread "
                                           "may take the heaps of both",
                                           slow->name);
}

/// Returns the action that lets the sink write all heaps one after the other.
std::string one_file(const StreamSnapshot& s, const Advice& advice) {
    return advice.is_by_option("--sink")
               ? fmt::format("restart with `--sink {}`", shell_word("raw:" + s.settings.directory))
               : advice.set(s, kSinkKind, "raw");
}

}  // namespace

Cures with(Cures first, Cures second) {
    first.insert(first.end(), std::make_move_iterator(second.begin()), std::make_move_iterator(second.end()));
    std::erase(first, std::string());
    return first;
}

std::string where_it_writes(const StreamSnapshot& s) {
    const StreamSettings& set = s.settings;
    if (!set.directory.empty())
        return fmt::format(", which writes to {},", shell_word(set.directory));
    return set.ring.empty() ? std::string() : fmt::format(", which writes to the ring {},", set.ring);
}

Cures roomier_ring(const StreamSnapshot& s, const Advice& advice) {
    const StreamSettings& ring = s.settings;
    Cures cures =
        fmt::format("let the readers of the ring keep up: `dada_dbmetric -k {}` shows how full it is",
                    ring.ring.empty() ? "dada" : ring.ring);
    if (ring.ring_blocks == 0) {
        cures.push_back("make the ring with more blocks (`dada_db -n`)");
        return cures;
    }
    const std::string stop = advice.prompt("stream stop " + s.name);
    const std::string start = advice.prompt("stream start " + s.name);
    cures.push_back(fmt::format(
        "make the ring with twice the blocks (now {}): {}, `dada_db -k {} -d`, `dada_db -k {} -b {} -n {} -r "
        "{}`, begin the readers anew, and {}",
        ring.ring_blocks, stop.empty() ? "end this run" : stop, ring.ring, ring.ring, ring.ring_block_bytes,
        2 * ring.ring_blocks, ring.ring_readers, start.empty() ? "start it again" : start));
    return cures;
}

Cures faster_consumer(const StreamSnapshot& s, const Advice& advice) {
    const StreamSettings& set = s.settings;
    if (!set.ring.empty())
        return roomier_ring(s, advice);
    if (set.directory.empty())
        return with(mend_other_sink(s, advice), "do less per heap");
    Cures cures;
    if (set.file_for_each)
        cures.push_back("write one file in place of one for each heap: " + one_file(s, advice));
    cures.push_back(fmt::format(
        "see what slows its disk down: `df {}` names it, and `cat /proc/pressure/io` shows how long programs "
        "wait for disks",
        shell_word(set.directory)));
    cures.push_back("write to a faster disk: " + other_directory(s, advice));
    return cures;
}

std::string other_directory(const StreamSnapshot& s, const Advice& advice) {
    // One option has the kind of the sink and its directory.
    return advice.is_by_option("--sink") ? fmt::format("restart with another directory in `--sink` (now {})",
                                                       shell_word(s.settings.directory))
                                         : advice.set(s, kDirectory, "DIRECTORY");
}

bool lasts(const StreamSnapshot& s) {
    const DroppedWhile& why = s.dropped_while;
    return why.full_s + why.room_s >= kLasting ? full_share(why) > kMostly : share_taken(s) < kNearlyAll;
}

std::string how_long_slow(const StreamSnapshot& s) {
    const DroppedWhile& why = s.dropped_while;
    if (why.full_s + why.room_s < kLasting)
        return {};
    return lasts(s)
               ? fmt::format(
                     "; the queue stayed full, at {:.0f} % of the looks: the consumer is always too slow",
                     full_share(why) * 100)
               : fmt::format(
                     "; the queue had room at {:.0f} % of the looks: the consumer pauses, or heaps come "
                     "in bursts",
                     100 - full_share(why) * 100);
}

Cures steadily_faster_consumer(const StreamSnapshot& s, const Advice& advice) {
    Cures cures = faster_consumer(s, advice);
    const std::size_t streams = advice.snapshot().streams.size();
    const std::size_t threads = consumer_threads(advice.snapshot());
    // More threads do not write more to a disk or ring; they may make more files.
    if (writes(s) && !s.settings.file_for_each)
        return with(std::move(cures), "or let the senders send less");
    if (threads < streams && threads != 0)
        cures.push_back(fmt::format("leave more CPUs without lcores: {} {} the heaps of {}",
                                    counted(threads, "threads"), word_for(threads, "takes", "take"),
                                    counted(streams, "streams")));
    else if (threads != 0 && (s.endpoints.size() > 1 || s.by_endpoint.size() > 1))
        cures.push_back(fmt::format(
            "give a part of the endpoints of {} to a further stream: each has a thread for its consumer",
            s.name));
    cures.push_back("or let the senders send less");
    return cures;
}

Cures longer_queue(const StreamSnapshot& s, const Advice& advice) {
    if (lasts(s))
        return steadily_faster_consumer(s, advice);
    const std::uint64_t now = s.settings.queue_depth;
    std::string longer = advice.raise_to(
        s, kQueueDepth, std::max(kLonger * now, std::bit_ceil(now + s.dropped_while.most_of_once)));
    if (!mend_other_sink(s, advice).empty())
        return with(faster_consumer(s, advice), std::move(longer));
    return with(std::move(longer), faster_consumer(s, advice));
}

Cures more_live(const StreamSnapshot& s, const Advice& advice, std::string other) {
    std::string more = advice.raise(s, kMaxLive);
    const StreamSettings& set = s.settings;
    const std::uint64_t memory = advice.snapshot().settings.heap_memory;
    const std::uint64_t need = set.needs_all && set.max_bytes <= kMostHeapBytes
                                   ? (2 * set.max_live * set.substreams + 1) * std::bit_ceil(set.max_bytes)
                                   : 0;
    if (need <= memory || set.own_memory)
        return with(std::move(more), std::move(other));
    return with(with(advice.raise_memory(s, need), std::move(more)), std::move(other));
}

Cures larger_heaps(const StreamSnapshot& s, const Advice& advice) {
    std::string larger = advice.raise(s, kMaxBytes);
    // Each lcore has its part of the memory, in powers of two.
    const std::uint64_t need =
        std::bit_ceil(std::min(2 * s.settings.max_bytes, kMostHeapBytes)) * advice.snapshot().lcores.size();
    const bool enough =
        s.settings.max_bytes == 0 || s.settings.own_memory || need <= advice.snapshot().settings.heap_memory;
    return with(enough ? std::string() : advice.raise_memory(s, need), std::move(larger));
}

Cures where_packets_went(const StreamSnapshot& s, const Advice& advice) {
    Cures cures;
    const PortSnapshot* const port = find(advice.snapshot().ports, s.port);
    if (port == nullptr || port->settings.interface.empty())
        return cures;
    if (port->settings.socket_buffer != 0)
        cures.push_back(
            "see whether the kernel dropped packets of any socket here: `nstat -az UdpRcvbufErrors "
            "UdpInCsumErrors Udp6RcvbufErrors Udp6InCsumErrors`");
    cures.push_back(
        fmt::format("see whether the interface dropped packets: in `ip -s link show {0}`, `errors`, "
                    "`dropped` and `missed` of RX grow then",
                    shell_word(port->settings.interface)));
    return cures;
}

}  // namespace spead::stats
