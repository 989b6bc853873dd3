// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mbuf.h>

namespace spead::recv {

/// Returns whether the UDP checksum of a frame is there and wrong, by its bytes (RFC 768): a port has not
/// said that it is right. What is no whole IPv4 UDP packet is for the parsers to judge. On the lcore.
bool udp_checksum_is_wrong(const rte_mbuf& mbuf) noexcept;

}  // namespace spead::recv
