// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "send/sender.hpp"

struct rte_mempool;

namespace spead::send {

/// Packets given to the driver at once.
inline constexpr std::uint32_t kBurst = 32;
/// mbufs each lcore may keep of a pool.
inline constexpr std::uint16_t kPoolCache = 128;
/// Bytes of headers, or of headers and a small payload, that the header pool's mbufs hold.
inline constexpr std::uint32_t kHeaderBytes = 384;
/// The largest UDP payload that fits an mbuf with headroom and all headers.
inline constexpr std::uint32_t kMaxSendPacket = 65360;

/// Whether the configuration allows payload to be sent from where it lies, as far as can be told without EAL.
bool may_send_external(const SenderConfig& config) noexcept;

/// Sender::memory_need.
///
/// The pools are the limit of segments in flight. Each holds what the queue's descriptors can hold, and
/// beyond that the segments a driver may keep until more are sent and the mbufs that caches withhold: a
/// driver that gives back nothing on its own can therefore always be sent more.
SenderMemory plan_memory(const SenderConfig& config);

/// The mbuf pools of one sender.
class Pools {
  public:
    /// Makes them; throws Error with the arithmetic when there is no memory.
    Pools(const SenderMemory& memory, int numa, const std::string& where);
    /// Frees the pools whose mbufs are all there; the others are left alone for ever, and logged.
    ~Pools();
    Pools(const Pools&) = delete;
    Pools& operator=(const Pools&) = delete;

    rte_mempool* header() const noexcept { return header_; }
    rte_mempool* external() const noexcept { return external_; }  ///< null: not used
    rte_mempool* copy() const noexcept { return copy_; }

    /// mbufs that are not in their pools.
    std::size_t out() const noexcept;

  private:
    std::string where_;
    rte_mempool* header_ = nullptr;
    rte_mempool* external_ = nullptr;
    rte_mempool* copy_ = nullptr;
};

}  // namespace spead::send
