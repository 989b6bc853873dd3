// SPDX-License-Identifier: BSD-3-Clause
#include "stats/stream_cures.hpp"

#include <algorithm>
#include <bit>
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

}  // namespace

Cures with(std::string first, std::string second) {
    Cures cures;
    for (std::string* const one : {&first, &second})
        if (!one->empty())
            cures.push_back(std::move(*one));
    return cures;
}

std::string faster_consumer(const StreamSnapshot& s) {
    if (!s.settings.directory.empty())
        return fmt::format(
            "let the sink write faster: `df {}` shows its disk, `cat /proc/pressure/io` how long programs "
            "wait for "
            "disks, and `directory` names another one",
            shell_word(s.settings.directory));
    if (s.settings.fills_ring)
        return "let the readers of the ring keep up, or make the ring with more blocks (`dada_db -n`)";
    return "do less per heap";
}

Cures longer_queue(const StreamSnapshot& s, const Advice& advice) {
    std::string longer = advice.raise(s, kQueueDepth, kLonger);
    const double share = share_taken(s);
    if (share >= kNearlyAll)
        return with(std::move(longer), faster_consumer(s));
    return with(
        fmt::format("{} (the consumer took {:.0f} % of the heaps)", faster_consumer(s), share * 100),
        longer.empty() ? std::string() : longer + "; a longer queue helps only if the consumer pauses");
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
    Cures cures = with(advice.raise_memory(s, need), std::move(more));
    if (!other.empty())
        cures.push_back(std::move(other));
    return cures;
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
    cures.push_back(fmt::format("see whether the interface dropped packets: `ip -s link show {0}`",
                                shell_word(port->settings.interface)));
    return cures;
}

}  // namespace spead::stats
