// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace spead::recv {

/// Holds the longest payload that is prefetched when its packet is parsed, in bytes: it is copied some
/// packets later. Packets in order from memory take 164 ns in place of 201 (bench assemble
/// --payload 1408 --heap-size 64KiB --packet-set 512MiB --heap-set 4MiB), and packets in the cache 1 ns
/// more. From 4 KiB on it gained nothing (Zen 4, before copies ran beside the parsing).
inline constexpr std::uint32_t kPrefetchedPayload = 2048;

}  // namespace spead::recv
