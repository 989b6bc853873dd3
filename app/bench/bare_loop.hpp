// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
        return port::pool_bytes_of(kMbufs, kHeaderRoom, kCache) + port::pool_bytes_of(kMbufs, 0, kCache) +
               port::pool_bytes_of(kMbufs, kCopyRoom, kCache);
    }

    BareLoop(const port::TxQueue& queue, std::span<const std::byte> memory)
        : queue_(queue), all_(memory), memory_(memory) {
        static unsigned number = 0;
        const auto make = [&](std::uint16_t room) {
            return rte_pktmbuf_pool_create(fmt::format("bench_bare{}", number++).c_str(), kMbufs, kCache, 0,
                                           room, SOCKET_ID_ANY);
        };
        headers_ = make(kHeaderRoom);
        externals_ = make(0);
        copies_ = make(kCopyRoom);
        if (headers_ == nullptr || externals_ == nullptr || copies_ == nullptr) {
            free_pools();
            throw Error("bench transmit", "no EAL memory for the reference's mbufs; give EAL more (-m)");
        }
        info_.free_cb = [](void*, void*) {};
    }
    ~BareLoop() { free_pools(); }
    BareLoop(const BareLoop&) = delete;
    BareLoop& operator=(const BareLoop&) = delete;

    /// Sends from the first `bytes` of the memory from now on.
    void use(std::size_t bytes) {
        memory_ = all_.first(std::min(bytes, all_.size()));
        if (at_ >= memory_.size())
            at_ = 0;
    }

    /// Returns whether burst_copied can send that payload. Copies of more cost more than a second mbuf.
    static bool copies(std::uint32_t payload) { return payload <= kMostCopied; }

    /// Sends one burst of packets that hold a copy of their payload; returns how many the port took.
    std::uint32_t burst_copied(std::uint32_t payload) {
        std::array<rte_mbuf*, kBurst> mbufs;
        if (rte_pktmbuf_alloc_bulk(copies_, mbufs.data(), kBurst) != 0)
            return 0;
        for (rte_mbuf* const m : mbufs) {
            std::memcpy(rte_pktmbuf_mtod_offset(m, std::byte*, kHeaders), next(payload), payload);
            m->pkt_len = kHeaders + payload;
            m->data_len = static_cast<std::uint16_t>(m->pkt_len);
        }
        return send(mbufs);
    }

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
            auto* const at = const_cast<std::byte*>(next(payload));
            rte_pktmbuf_attach_extbuf(&tail, at, reinterpret_cast<rte_iova_t>(at),
                                      static_cast<std::uint16_t>(payload), &info_);
            tail.data_len = static_cast<std::uint16_t>(payload);
        }
        return send(heads);
    }

  private:
    static constexpr std::uint32_t kBurst = 32;
    static constexpr std::uint32_t kMbufs = 2047;
    static constexpr std::uint16_t kHeaderRoom = 512;
    static constexpr std::uint16_t kCache = 128;
    static constexpr std::uint16_t kHeaders = 82;  ///< Ethernet, IPv4, UDP and the usual SPEAD header
    static constexpr std::uint32_t kMostCopied = 1408;
    static constexpr std::uint16_t kCopyRoom = RTE_PKTMBUF_HEADROOM + 1536;

    const std::byte* next(std::uint32_t payload) {
        if (at_ + payload > memory_.size())  // the payload before may have been smaller
            at_ = 0;
        const std::byte* const at = memory_.data() + at_;
        at_ += payload;
        return at;
    }
    std::uint32_t send(std::array<rte_mbuf*, kBurst>& packets) const {
        const std::uint16_t taken = queue_.tx_burst(packets.data(), kBurst);
        rte_pktmbuf_free_bulk(packets.data() + taken, kBurst - taken);
        return taken;
    }
    void free_pools() {
        rte_mempool_free(headers_);
        rte_mempool_free(externals_);
        rte_mempool_free(copies_);
    }

    port::TxQueue queue_;
    std::span<const std::byte> all_;
    std::span<const std::byte> memory_;
    rte_mempool* headers_ = nullptr;
    rte_mempool* externals_ = nullptr;
    rte_mempool* copies_ = nullptr;
    rte_mbuf_ext_shared_info info_{};
    std::size_t at_ = 0;
};

}  // namespace spead::app
