// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "recv/held_packets.hpp"
#include "recv/packet_filter.hpp"
#include "stats/counters.hpp"

namespace spead::recv {

/// Holds a stream's filter on one lcore, with the buffers lent to it. Belongs to the lcore. ending() and,
/// once the lcore has been joined, reclaim() are for the main thread.
class FilterGate {
  public:
    /// Takes the filter. `most_held`: buffers that the filter may hold at a time; 0: it may hold none.
    FilterGate(std::unique_ptr<PacketFilter> filter, std::uint32_t most_held);

    /// Returns true when the packet is to be placed. False: it was counted in its outcome.
    bool pass(const FilterPacket& packet, stats::StreamCounters& counters) noexcept;
    /// Frees the buffers that holders have given back.
    void reclaim(stats::StreamCounters& counters) noexcept;
    /// Notifies the filter, once, that no more packets come.
    void ending() noexcept {
        if (!std::exchange(reported_, true))
            filter_->ending();
    }

    std::uint32_t packets_out() const noexcept { return held_->packets_out(); }

  private:
    std::unique_ptr<PacketFilter> filter_;
    std::shared_ptr<HeldPackets> held_;
    bool reported_ = false;
};

}  // namespace spead::recv
