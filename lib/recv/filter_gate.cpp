// SPDX-License-Identifier: BSD-3-Clause
#include "recv/filter_gate.hpp"

namespace spead::recv {

FilterGate::FilterGate(std::unique_ptr<PacketFilter> filter, std::uint32_t most_held)
    : filter_(std::move(filter)), held_(HeldPackets::make(most_held)) {}

bool FilterGate::pass(const FilterPacket& packet, stats::StreamCounters& counters) noexcept {
    FilterAnswer answer = filter_->look(packet);
    if (answer == FilterAnswer::hold_or_keep || answer == FilterAnswer::hold_or_drop) {
        if (HeldPacket held = held_->lend(packet)) {
            counters[PacketOutcome::held]++;
            filter_->lent(std::move(held));
            counters.held_now = held_->packets_out();
            return false;
        }
        counters.hold_refused++;
        answer = answer == FilterAnswer::hold_or_keep ? FilterAnswer::keep : FilterAnswer::drop;
    }
    if (answer == FilterAnswer::keep)
        return true;
    counters[PacketOutcome::filtered]++;
    return false;
}

void FilterGate::reclaim(stats::StreamCounters& counters) noexcept {
    held_->reclaim();
    counters.held_now = held_->packets_out();
}

}  // namespace spead::recv
