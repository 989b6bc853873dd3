// SPDX-License-Identifier: BSD-3-Clause
#include "stats/stream_cures.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "base/shell_word.hpp"
#include "stats/rates.hpp"

namespace spead::stats {

namespace {

/// Holds the share of the heaps that a consumer must take for a longer queue to be enough.
constexpr double kNearlyAll = 0.9;
/// Holds how many times as many heaps a longer queue takes.
constexpr std::uint64_t kLonger = 4;

/// Returns the part of the heaps that the consumer took; 1: it is unknown.
double share_taken(const StreamSnapshot& s) {
    const auto taken = static_cast<double>(s.heaps_delivered);
    const double all = taken + static_cast<double>(s.heaps_dropped_full);
    return all > 0 && taken > 0 ? taken / all : 1;
}

/// Returns whether the stream's sink writes somewhere.
bool writes(const StreamSnapshot& s) {
    return !s.settings.directory.empty() || !s.settings.ring.empty();
}

/// Returns the action for a stream whose thread may be held by the sink of another one; empty: there is none.
std::string mend_other_sink(const StreamSnapshot& s, const Advice& advice) {
    const Snapshot& run = advice.snapshot();
    // There is a thread for each CPU without an lcore.
    const auto threads = std::ranges::count_if(run.settings.cpus, [&run](unsigned cpu) {
        return std::ranges::none_of(run.lcores, [cpu](const LcoreSnapshot& l) { return l.cpu == cpu; });
    });
    if (writes(s) || static_cast<std::size_t>(threads) >= run.streams.size())
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
    return advice.is_by_option()
               ? fmt::format("restart with `--sink {}`", shell_word("raw:" + s.settings.directory))
               : advice.set(s, kSinkKind, "raw");
}

}  // namespace

Cures with(Cures first, Cures second) {
    first.insert(first.end(), std::make_move_iterator(second.begin()), std::make_move_iterator(second.end()));
    std::erase(first, std::string());
    return first;
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
    return advice.is_by_option() ? fmt::format("restart with another directory in `--sink` (now {})",
                                               shell_word(s.settings.directory))
                                 : advice.set(s, kDirectory, "DIRECTORY");
}

Cures longer_queue(const StreamSnapshot& s, const Advice& advice) {
    std::string longer = advice.raise(s, kQueueDepth, kLonger);
    const double share = share_taken(s);
    if (share >= kNearlyAll && mend_other_sink(s, advice).empty())
        return with(std::move(longer), faster_consumer(s, advice));
    return with(
        faster_consumer(s, advice),
        longer.empty()
            ? std::string()
            : fmt::format("{}; this helps only if the consumer pauses, and it took {:.0f} % of the heaps",
                          longer, share * 100));
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
