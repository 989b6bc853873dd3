// SPDX-License-Identifier: BSD-3-Clause
#include "stats/loss_clues.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/core.h>

#include "base/outcome.hpp"
#include "stats/stream_senders.hpp"

namespace spead::stats {

namespace {

/// Holds the lost heaps from which on a share of them says something.
constexpr double kEnough = 8;
/// Holds how many times as large a share may be that is alike.
constexpr double kAlike = 4;

struct Lost {
    double heaps = 0;
    double of = 0;

    double share() const { return of > 0 ? heaps / of : 0; }
};

Lost lost_of(const StreamSnapshot& s) {
    if (s.chunks.any())
        return {static_cast<double>(s.chunks.heaps_missing), static_cast<double>(s.chunks.heaps_expected)};
    const std::uint64_t lost = s.heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)] +
                               s.heaps_ended[static_cast<std::size_t>(HeapEnd::timed_out)];
    return {static_cast<double>(lost),
            static_cast<double>(lost + s.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)])};
}

bool share_a_sender(const Snapshot& snapshot, const StreamSnapshot& one, const StreamSnapshot& other) {
    const std::vector<std::string> of_one = senders_to(snapshot, one.name);
    const std::vector<std::string> of_other = senders_to(snapshot, other.name);
    return std::ranges::any_of(of_one, [&](const std::string& source) {
        return std::ranges::find(of_other, source) != of_other.end();
    });
}

}  // namespace

LossClue clue_of_others(const Snapshot& snapshot, const StreamSnapshot& s) {
    const Lost mine = lost_of(s);
    const StreamSnapshot* whole = nullptr;
    bool of_same_sender = false;
    std::size_t alike = 0;
    for (const StreamSnapshot& other : snapshot.streams) {
        const Lost its = lost_of(other);
        const double expected = mine.share() * its.of;
        if (&other == &s || !s.path_ports.empty() || s.port.empty() || !other.comes_by(s.port) ||
            !other.chunks_counted_with.empty() || expected < kEnough)
            continue;
        if (its.heaps == 0) {
            const bool same = share_a_sender(snapshot, s, other);
            if (whole == nullptr || (same && !of_same_sender)) {
                whole = &other;
                of_same_sender = same;
            }
        } else if (its.heaps >= kEnough && its.share() * kAlike >= mine.share() &&
                   its.share() <= mine.share() * kAlike) {
            alike++;
        }
    }
    if (whole != nullptr && of_same_sender)
        return {
            fmt::format("{}, of the same sender by port {}, lost nothing", whole->name, s.port),
            fmt::format("look at what only {0} passes, because {1} comes whole from the same sender to the "
                        "same port: the way of its group through the switches, and its own rate and "
                        "bursts at the sender",
                        s.name, whole->name)};
    if (whole != nullptr)
        return {
            fmt::format("{}, of another sender by port {}, lost nothing", whole->name, s.port),
            fmt::format("look first at the sender of {} and its way to the switch where that of {} joins: "
                        "from there on, both share the way",
                        s.name, whole->name)};
    if (alike == 0)
        return {};
    return {fmt::format("{} of port {} {} alike",
                        alike == 1 ? "another stream" : fmt::format("{} other streams", alike), s.port,
                        alike == 1 ? "loses" : "lose"),
            fmt::format("look at what they share: the link to port {} and the switch before it", s.port),
            true};
}

Cures with_clue(const LossClue& clue, Cures looks) {
    if (!clue.cure.empty())
        looks.insert(clue.is_shared ? looks.end() : looks.begin(), clue.cure);
    return looks;
}

}  // namespace spead::stats
