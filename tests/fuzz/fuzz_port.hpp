// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include <rte_mbuf.h>

#include "port/port_io.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace spead::fuzz {

/// Stands in for a transmit queue that a script directs: it takes part of a burst or nothing, and keeps
/// segments. A kept segment must not change until it is given back.
class FuzzPort {
  public:
    /// Limits the packets that it takes from now on, and those of one burst.
    std::uint64_t takes = 0;
    std::uint16_t most_at_once = 32;
    /// Sets how many of the newest segments it keeps until more are sent.
    std::size_t keep = 0;
    /// Gets each packet that is taken.
    std::function<void(std::span<const std::uint8_t>)> take;
    std::uint64_t taken = 0;

    FuzzPort() = default;
    ~FuzzPort() { release(); }
    FuzzPort(const FuzzPort&) = delete;
    FuzzPort& operator=(const FuzzPort&) = delete;

    port::TxQueue queue() { return {burst, reap, this, 3}; }
    /// Gives back all, as a port that stops.
    void release() { release_down_to(0); }
    /// Returns whether it keeps a segment of this memory.
    bool keeps_any_of(std::span<const std::byte> memory) const {
        return std::any_of(kept_.begin(), kept_.end(), [&](const Kept& one) {
            const auto* const at = rte_pktmbuf_mtod(one.mbuf, const std::byte*);
            return at < memory.data() + memory.size() && memory.data() < at + one.mbuf->data_len;
        });
    }

  private:
    struct Kept {
        rte_mbuf* mbuf;
        std::uint64_t sum;
    };

    static std::uint64_t sum_of(const rte_mbuf& m) {
        std::uint64_t sum = 14695981039346656037U;
        const auto* const bytes = rte_pktmbuf_mtod(&m, const std::uint8_t*);
        for (std::uint32_t i = 0; i < m.data_len; ++i) {
            sum = (sum ^ bytes[i]) * 1099511628211U;
        }
        return sum;
    }

    static std::uint16_t burst(void* self, std::uint16_t queue, rte_mbuf** mbufs, std::uint16_t count) {
        require(queue == 3 && count != 0 && count <= 32, "bursts have packets, 32 at most");
        return static_cast<FuzzPort*>(self)->take_some(mbufs, count);
    }
    static void reap(void* self, std::uint16_t) {
        auto& port = *static_cast<FuzzPort*>(self);
        port.release_down_to(port.keep);
    }

    std::uint16_t take_some(rte_mbuf** mbufs, std::uint16_t count) {
        const auto n = static_cast<std::uint16_t>(std::min<std::uint64_t>({count, most_at_once, takes}));
        for (std::uint16_t i = 0; i < n; ++i) {
            take_one(*mbufs[i]);
        }
        takes -= n;
        taken += n;
        release_down_to(keep);
        return n;
    }

    void take_one(rte_mbuf& packet) {
        frame_.clear();
        std::uint16_t segments = 0;
        for (rte_mbuf* m = &packet; m != nullptr; m = m->next) {
            const auto* const bytes = rte_pktmbuf_mtod(m, const std::uint8_t*);
            frame_.insert(frame_.end(), bytes, bytes + m->data_len);
            kept_.push_back({m, sum_of(*m)});
            ++segments;
        }
        require(segments == packet.nb_segs && frame_.size() == packet.pkt_len,
                "a packet's segments and lengths add up");
        take(frame_);
    }

    void release_down_to(std::size_t left) {
        while (kept_.size() > left) {
            rte_mbuf* const m = kept_.front().mbuf;
            require(sum_of(*m) == kept_.front().sum, "what a driver keeps does not change");
            kept_.pop_front();
            rte_pktmbuf_free_seg(m);
        }
    }

    std::deque<Kept> kept_;  ///< oldest first
    std::vector<std::uint8_t> frame_;
};

}  // namespace spead::fuzz
