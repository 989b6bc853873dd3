// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "port/port_io.hpp"

struct rte_mbuf;
struct rte_mempool;

namespace spead::port {

/// Cuts the packets of a receive queue into headers and data as a card does that splits them, by copies of
/// the CPU. For tests of what comes behind such a card, on devices without hardware: each byte is copied once
/// more than without it.
///
/// A packet becomes an mbuf with its first bytes, and, if it has more, one or more with the rest in memory of
/// a device, of which only the splitter has a writable view. Packets that find no room stay in their queue.
/// Made by control code; then the queue's lcore has it.
class SplitQueue {
  public:
    struct Setup {
        RxQueue inner;
        std::uint32_t at = 0;  ///< bytes of a packet that stay in ordinary memory
        /// Gives mbufs for headers, and for nothing else; like `payload`, without caches.
        rte_mempool* headers = nullptr;
        rte_mempool* payload = nullptr;
        std::uint32_t longest_frame = 0;  ///< bytes
        std::ptrdiff_t to_view = 0;       ///< from an address of the payload's memory to its writable one
    };

    explicit SplitQueue(const Setup& setup) noexcept;
    SplitQueue(const SplitQueue&) = delete;
    SplitQueue& operator=(const SplitQueue&) = delete;

    /// Returns the queue for the lcore; lives as long as this.
    RxQueue queue() noexcept { return {burst, this, of_.inner.queue, of_.headers, true}; }

  private:
    static std::uint16_t burst(void* self, std::uint16_t queue, rte_mbuf** mbufs, std::uint16_t max);
    std::uint16_t room(std::uint16_t max) const noexcept;
    rte_mbuf* cut(rte_mbuf* packet) noexcept;
    void store(rte_mbuf* header, const rte_mbuf* packet) noexcept;

    const Setup of_;
    const std::uint32_t payload_room_;
    const std::uint32_t segments_;  ///< of the longest frame's data
};

}  // namespace spead::port
