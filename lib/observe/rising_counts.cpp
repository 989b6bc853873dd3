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
    std::map<std::string, Told> told;
    for (const stats::StreamSnapshot& s : now.streams) {
        Counts counts = counts_of(s);
        const auto before = told_.find(s.name);
        if (!cleared && before != told_.end() && before->second.number == s.number) {
            const Counts& least = before->second.counts;
            counts.placed = std::max(counts.placed, least.placed);
            counts.bytes = std::max(counts.bytes, least.bytes);
            counts.heaps_started = std::max(counts.heaps_started, least.heaps_started);
        }
        told.insert_or_assign(s.name, Told{s.number, counts});
    }
    told_ = std::move(told);
}

RisingCounts::Counts RisingCounts::of(const stats::StreamSnapshot& stream) const {
    const auto found = told_.find(stream.name);
    return found == told_.end() ? counts_of(stream) : found->second.counts;
}

}  // namespace spead::observe
