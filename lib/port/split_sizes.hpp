// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "port/driver.hpp"

/// Plans ports that cut received packets into headers, for the CPU, and data, for an engine
/// (gather/engine.hpp). Control code, without side effects.
namespace spead::port {

/// Refuses what cannot be together with `split`: drivers that cannot cut, and options with which the CPU
/// would read data. Does nothing where packets stay whole. Throws UsageError.
void check_split(const PortRequest& request, const Driver& driver, std::span<const Driver* const> table);

/// Returns the pools of a queue whose packets a card cuts, and sets its descriptors, which count segments.
/// `frame`: the longest one that the port receives. A card pads the segments of a packet to a power of two,
/// so the data of any frame fit into one mbuf. `most_descriptors` is a power of two. Throws UsageError when
/// no frame is long enough to be cut.
SplitSizes card_split(const PortRequest& request, std::uint32_t frame, std::uint32_t most_descriptors,
                      QueueSizes& rx);

/// Returns the pools of a queue whose packets this program cuts. Longer frames than those of the request's
/// packets take several mbufs of data.
SplitSizes software_split(const PortRequest& request);

/// Returns how many packets a queue of these descriptors holds.
std::uint32_t queued_packets(std::uint32_t descriptors, const std::optional<SplitSizes>& split) noexcept;

/// Adds mbufs that filters, engines and heaps may keep to the pools of a queue.
void add_mbufs(SplitSizes& split, std::uint32_t more);

}  // namespace spead::port
