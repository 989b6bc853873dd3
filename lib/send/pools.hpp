// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "send/sender.hpp"

struct rte_mempool;

namespace spead::send {

/// Limits the packets given to the driver at once.
inline constexpr std::uint32_t kBurst = 32;
/// Limits the mbufs of a pool in each lcore's cache.
inline constexpr std::uint16_t kPoolCache = 128;
/// Holds the bytes of headers, or of headers and a small payload, in the header pool's mbufs.
inline constexpr std::uint32_t kHeaderBytes = 384;
/// Holds the largest UDP payload that fits an mbuf with headroom and all headers of IPv4.
inline constexpr std::uint32_t kMaxSendPacket = 65360;

/// Returns whether the configuration allows payload to be sent without a copy, as far as is known without
/// EAL.
bool may_send_external(const SenderConfig& config) noexcept;

/// Returns whether the packets are of IPv6.
bool is_ipv6(const SenderConfig& config) noexcept;

/// Returns the bytes of all headers before the UDP payload.
std::size_t net_header_of(const SenderConfig& config) noexcept;

/// Computes Sender::memory_need.
///
/// The pools limit the segments in flight. Each has mbufs for all of the queue's descriptors, for the
/// segments that a driver may keep until more are sent, and for those that caches withhold. So a driver that
/// gives back nothing on its own can always be sent more.
SenderMemory plan_memory(const SenderConfig& config);

/// Holds the mbuf pools of one sender.
class Pools {
  public:
    /// Makes them. Throws Error with the arithmetic when there is no memory.
    Pools(const SenderMemory& memory, int numa, const std::string& where);
    /// Frees the pools whose mbufs are all there; leaves the others allocated, and logs that.
    ~Pools();
    Pools(const Pools&) = delete;
    Pools& operator=(const Pools&) = delete;

    rte_mempool* header() const noexcept { return header_; }
    rte_mempool* external() const noexcept { return external_; }  ///< null: not used
    rte_mempool* copy() const noexcept { return copy_; }

    /// Returns the number of mbufs that are not in their pools.
    std::size_t out() const noexcept;

  private:
    std::string where_;
    rte_mempool* header_ = nullptr;
    rte_mempool* external_ = nullptr;
    rte_mempool* copy_ = nullptr;
};

}  // namespace spead::send
