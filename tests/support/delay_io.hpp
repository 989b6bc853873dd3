// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include <rte_mbuf.h>

#include "port/port_io.hpp"

namespace spead::test {

/// Simulates a cable of a known length: sent packets arrive, as copies in mbufs of one's own, `delay` ticks
/// of the test's clock later. One thread.
class DelayIo {
  public:
    /// Takes `now`, the test's clock, which outlives this.
    DelayIo(rte_mempool* rx_pool, const std::uint64_t& now, std::uint64_t delay)
        : pool_(rx_pool), now_(now), delay_(delay) {}
    ~DelayIo() {
        for (const OnTheWay& p : on_the_way_)
            rte_pktmbuf_free(p.mbuf);
    }
    DelayIo(const DelayIo&) = delete;
    DelayIo& operator=(const DelayIo&) = delete;

    port::TxQueue tx_queue() { return {tx, nullptr, this, 0}; }
    port::RxQueue rx_queue() { return {rx, this, 0, nullptr}; }

  private:
    struct OnTheWay {
        std::uint64_t arrives;
        rte_mbuf* mbuf;
    };
    static std::uint16_t tx(void* self, std::uint16_t, rte_mbuf** mbufs, std::uint16_t count) {
        auto& io = *static_cast<DelayIo*>(self);
        for (std::uint16_t i = 0; i < count; i++) {
            if (rte_mbuf* const copy = rte_pktmbuf_copy(mbufs[i], io.pool_, 0, UINT32_MAX); copy != nullptr)
                io.on_the_way_.push_back({io.now_ + io.delay_, copy});
            rte_pktmbuf_free(mbufs[i]);
        }
        return count;
    }
    static std::uint16_t rx(void* self, std::uint16_t, rte_mbuf** mbufs, std::uint16_t max) {
        auto& io = *static_cast<DelayIo*>(self);
        std::uint16_t n = 0;
        for (; n < max && !io.on_the_way_.empty() && io.on_the_way_.front().arrives <= io.now_; n++) {
            mbufs[n] = io.on_the_way_.front().mbuf;
            io.on_the_way_.pop_front();
        }
        return n;
    }

    rte_mempool* pool_;
    const std::uint64_t& now_;
    std::uint64_t delay_;
    std::deque<OnTheWay> on_the_way_;
};

}  // namespace spead::test
