// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <rte_mbuf.h>

namespace spead::recv {

/// Returns whether the UDP checksum of a frame is present and wrong, by its bytes (RFC 768). Call it if the
/// port has not said that it is right. The parsers judge frames that are no whole UDP packet. On the
/// lcore.
bool udp_checksum_is_wrong(const rte_mbuf& mbuf) noexcept;

}  // namespace spead::recv
