// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "port/driver.hpp"

/// Plans the common parts of all families of cards. Internal to drivers/.
namespace spead::drivers {

inline constexpr std::uint32_t kLeastCardDescriptors = 256;
inline constexpr std::uint16_t kCardTxDescriptors = 1024;

/// Fills in the values that depend on the card's future MTU: the largest frame, the sizes of queues and
/// pools. A packet takes one mbuf, however large the MTU lets it be. The card holds one mbuf per descriptor,
/// a power of two of them up to `most_descriptors`. `plan` has names and queue counts.
void plan_card_queues(const port::PortRequest& request, std::uint32_t mtu, std::uint32_t most_descriptors,
                      port::PreparedDevice& plan);

/// Returns a receive queue of so many descriptors, and its pool.
port::QueueSizes card_rx_queue(std::uint32_t descriptors, std::uint32_t frame);

/// Throws Error when the memory that the card must reach cannot be locked.
void check_lockable(const port::Machine& machine, const port::PortRequest& request,
                    const port::PreparedDevice& plan);

}  // namespace spead::drivers
