// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <fmt/core.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "base/error.hpp"
#include "port/port_io.hpp"
#include "port/sizes.hpp"

namespace spead::app {

/// Sends the two mbufs of each packet without decisions, counts or header writing, as the reference cost.
class BareLoop {
  public:
    /// Returns its EAL memory, an upper estimate.
    static std::size_t memory() {
        return port::pool_bytes_of(kMbufs, kHeaderRoom, kCache) + port::pool_bytes_of(kMbufs, 0, kCache);
    }

    BareLoop(const port::TxQueue& queue, std::span<const std::byte> memory) : queue_(queue), memory_(memory) {
        static unsigned number = 0;
        const auto make = [&](std::uint16_t room) {
            return rte_pktmbuf_pool_create(fmt::format("bench_bare{}", number++).c_str(), kMbufs, kCache, 0,
                                           room, SOCKET_ID_ANY);
        };
        headers_ = make(kHeaderRoom);
        externals_ = make(0);
        if (headers_ == nullptr || externals_ == nullptr) {
            rte_mempool_free(headers_);
            rte_mempool_free(externals_);
            throw Error("bench transmit", "no EAL memory for the reference's mbufs; give EAL more (-m)");
        }
        info_.free_cb = [](void*, void*) {};
    }
    ~BareLoop() {
        rte_mempool_free(headers_);
        rte_mempool_free(externals_);
    }
    BareLoop(const BareLoop&) = delete;
    BareLoop& operator=(const BareLoop&) = delete;

    /// Sends one burst of packets with a payload of that size; returns how many the port took.
    std::uint32_t burst(std::uint32_t payload) {
        std::array<rte_mbuf*, kBurst> heads, tails;
        if (rte_pktmbuf_alloc_bulk(headers_, heads.data(), kBurst) != 0)
            return 0;
        if (rte_pktmbuf_alloc_bulk(externals_, tails.data(), kBurst) != 0) {
            rte_pktmbuf_free_bulk(heads.data(), kBurst);
            return 0;
        }
        rte_mbuf_ext_refcnt_set(&info_, 0x7FFF);
        for (std::uint32_t i = 0; i < kBurst; ++i) {
            rte_mbuf& head = *heads[i];
            rte_mbuf& tail = *tails[i];
            head.data_len = kHeaders;
            head.pkt_len = head.data_len + payload;
            head.nb_segs = 2;
            head.next = &tail;
            auto* const at = const_cast<std::byte*>(memory_.data() + at_);
            rte_pktmbuf_attach_extbuf(&tail, at, reinterpret_cast<rte_iova_t>(at),
                                      static_cast<std::uint16_t>(payload), &info_);
            tail.data_len = static_cast<std::uint16_t>(payload);
            at_ += payload;
            if (at_ + payload > memory_.size())
                at_ = 0;
        }
        const std::uint16_t taken = queue_.tx_burst(heads.data(), kBurst);
        rte_pktmbuf_free_bulk(heads.data() + taken, kBurst - taken);
        return taken;
    }

  private:
    static constexpr std::uint32_t kBurst = 32;
    static constexpr std::uint32_t kMbufs = 2047;
    static constexpr std::uint16_t kHeaderRoom = 512;
    static constexpr std::uint16_t kCache = 128;
    static constexpr std::uint16_t kHeaders = 82;  ///< Ethernet, IPv4, UDP and the usual SPEAD header

    port::TxQueue queue_;
    std::span<const std::byte> memory_;
    rte_mempool* headers_ = nullptr;
    rte_mempool* externals_ = nullptr;
    rte_mbuf_ext_shared_info info_{};
    std::size_t at_ = 0;
};

}  // namespace spead::app
