// SPDX-License-Identifier: BSD-3-Clause
#include "observe/rising_counts.hpp"

#include <algorithm>
#include <utility>

namespace spead::observe {

namespace {

RisingCounts::Counts counts_of(const stats::StreamSnapshot& s) {
    return {s.packets[static_cast<std::size_t>(PacketOutcome::placed)], s.bytes, s.heaps_started};
}

}  // namespace

void RisingCounts::update(const stats::Snapshot& now) {
    const bool cleared = now.cleared_s != cleared_s_;
    cleared_s_ = now.cleared_s;
    std::map<std::string, Reported> reported;
    for (const stats::StreamSnapshot& s : now.streams) {
        Counts counts = counts_of(s);
        const auto before = reported_.find(s.name);
        if (!cleared && before != reported_.end() && before->second.number == s.number) {
            const Counts& least = before->second.counts;
            counts.placed = std::max(counts.placed, least.placed);
            counts.bytes = std::max(counts.bytes, least.bytes);
            counts.heaps_started = std::max(counts.heaps_started, least.heaps_started);
        }
        reported.insert_or_assign(s.name, Reported{s.number, counts});
    }
    reported_ = std::move(reported);
}

RisingCounts::Counts RisingCounts::of(const stats::StreamSnapshot& stream) const {
    const auto found = reported_.find(stream.name);
    return found == reported_.end() ? counts_of(stream) : found->second.counts;
}

}  // namespace spead::observe
