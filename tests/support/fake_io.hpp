// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <rte_mbuf.h>

#include "port/port_io.hpp"

/// Simulates a port in memory; a test chooses its faults.
namespace spead::test {

/// Lists the faults. "Every n-th": the packets n, 2n, 3n, ... in order of sending; 0: none.
struct FakeFaults {
    /// Holds how many of the newest sent segments the driver keeps until more are sent (mlx5: 31).
    std::size_t hold_segments = 0;
    /// Limits the packets of one burst that tx_burst takes.
    std::uint16_t most_per_tx_burst = std::numeric_limits<std::uint16_t>::max();
    std::uint16_t most_per_rx_burst = std::numeric_limits<std::uint16_t>::max();
    unsigned drop_every = 0;
    unsigned duplicate_every = 0;
    /// Reorders packets within windows of so many, by `seed`; 0 or 1: they keep their order.
    std::size_t reorder_window = 0;
    std::uint32_t seed = 1;
};

/// Delivers packets of its transmit queue, as copies in mbufs of one's own, to its receive queue. One thread.
class FakeIo {
  public:
    /// Takes `rx_pool`, whose mbufs received packets are.
    FakeIo(rte_mempool* rx_pool, const FakeFaults& faults)
        : pool_(rx_pool), faults_(faults), random_(faults.seed) {}
    ~FakeIo() {
        release();
        for (auto* list : {&arriving_, &mixing_}) {
            for (rte_mbuf* m : *list) {
                rte_pktmbuf_free(m);
            }
        }
    }
    FakeIo(const FakeIo&) = delete;
    FakeIo& operator=(const FakeIo&) = delete;

    port::TxQueue tx_queue() { return {tx, reap, this, 0}; }
    port::RxQueue rx_queue() { return {rx, this, 0, nullptr}; }

    /// Gives back all held mbufs, as stopping a device does.
    void release() { release_down_to(0); }
    /// Lets packets arrive that wait for their window to fill.
    void settle() { mix(); }

    std::size_t held_segments() const { return held_.size(); }
    std::uint64_t sent() const { return sent_; }
    std::uint64_t dropped() const { return dropped_; }
    std::uint64_t duplicated() const { return duplicated_; }
    std::uint64_t reaps() const { return reaps_; }

  private:
    static std::uint16_t tx(void* self, std::uint16_t, rte_mbuf** mbufs, std::uint16_t count) {
        auto& io = *static_cast<FakeIo*>(self);
        const std::uint16_t taken = std::min(count, io.faults_.most_per_tx_burst);
        for (std::uint16_t i = 0; i < taken; ++i) {
            io.carry(*mbufs[i]);
            for (rte_mbuf* m = mbufs[i]; m != nullptr;) {
                io.held_.push_back(std::exchange(m, m->next));
            }
        }
        io.release_down_to(io.faults_.hold_segments);
        return taken;
    }
    static void reap(void* self, std::uint16_t) {
        auto& io = *static_cast<FakeIo*>(self);
        ++io.reaps_;
        io.release_down_to(io.faults_.hold_segments);
    }
    static std::uint16_t rx(void* self, std::uint16_t, rte_mbuf** mbufs, std::uint16_t max) {
        auto& io = *static_cast<FakeIo*>(self);
        const auto n = static_cast<std::uint16_t>(
            std::min<std::size_t>({max, io.faults_.most_per_rx_burst, io.arriving_.size()}));
        for (std::uint16_t i = 0; i < n; ++i) {
            mbufs[i] = io.arriving_.front();
            io.arriving_.pop_front();
        }
        return n;
    }

    static bool hits(std::uint64_t number, unsigned every) { return every != 0 && number % every == 0; }

    void carry(const rte_mbuf& packet) {
        ++sent_;
        if (hits(sent_, faults_.drop_every)) {
            ++dropped_;
            return;
        }
        const bool twice = hits(sent_, faults_.duplicate_every);
        duplicated_ += twice ? 1 : 0;
        for (int copy = 0; copy < (twice ? 2 : 1); ++copy) {
            mixing_.push_back(rte_pktmbuf_copy(&packet, pool_, 0, UINT32_MAX));
        }
        if (mixing_.size() >= faults_.reorder_window) {
            mix();
        }
    }
    void mix() {
        if (faults_.reorder_window > 1) {
            std::shuffle(mixing_.begin(), mixing_.end(), random_);
        }
        // A pool without mbufs is a packet that does not arrive.
        std::erase(mixing_, nullptr);
        arriving_.insert(arriving_.end(), mixing_.begin(), mixing_.end());
        mixing_.clear();
    }
    void release_down_to(std::size_t left) {
        while (held_.size() > left) {
            rte_pktmbuf_free_seg(held_.front());
            held_.pop_front();
        }
    }

    rte_mempool* pool_;
    FakeFaults faults_;
    std::mt19937 random_;
    std::deque<rte_mbuf*> held_;  ///< segments, oldest first
    std::deque<rte_mbuf*> arriving_;
    std::deque<rte_mbuf*> mixing_;
    std::uint64_t sent_ = 0;
    std::uint64_t dropped_ = 0;
    std::uint64_t duplicated_ = 0;
    std::uint64_t reaps_ = 0;
};

}  // namespace spead::test
