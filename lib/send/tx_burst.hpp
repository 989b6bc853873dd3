// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <rte_mbuf.h>

#include "send/pools.hpp"

namespace spead::send {

/// Holds built packets that the driver has not taken yet, in order, with their sums. Owns their mbufs.
class TxBurst {
  public:
    struct Sum {
        std::uint64_t bytes = 0;     ///< of frames
        std::uint32_t external = 0;  ///< packets with a segment of a heap's memory
    };

    bool empty() const noexcept { return begin_ == end_; }
    std::uint32_t size() const noexcept { return end_ - begin_; }
    /// Returns the free places; all, after begin().
    std::uint32_t room() const noexcept { return kBurst - end_; }
    rte_mbuf** frames() noexcept { return &frames_[begin_]; }
    /// Returns the place of the next packets.
    rte_mbuf** next() noexcept { return &frames_[end_]; }

    /// Begins at the first place. Call it only when empty.
    void begin() noexcept { begin_ = end_ = 0; }
    /// Notes that `packets` packets were put at next().
    void add(std::uint32_t packets, std::uint64_t bytes, std::uint32_t external) noexcept {
        end_ += packets;
        sum_.bytes += bytes;
        sum_.external += external;
    }
    /// Notes the heap of the packets, before add. Needed only if heaps may time out.
    void own(std::uint32_t packets, std::uint64_t heap) noexcept {
        std::fill_n(&owners_[end_], packets, heap);
    }

    /// Notes that the driver took the first `packets`. Returns their sums.
    Sum taken(std::uint32_t packets) noexcept {
        Sum left;
        begin_ += packets;
        for (std::uint32_t i = begin_; i < end_; ++i) {
            left.bytes += frames_[i]->pkt_len;
            left.external += is_external(*frames_[i]) ? 1 : 0;
        }
        const Sum gone{sum_.bytes - left.bytes, sum_.external - left.external};
        sum_ = left;
        return gone;
    }

    /// Frees the packets of one heap and closes the gap. Calls f(place) for each, the last one first; `place`
    /// counts from the first packet that the driver has not taken.
    template <typename F>
    void drop_packets_of(std::uint64_t heap, F&& f) {
        for (std::uint32_t i = end_; i-- != begin_;) {
            if (owners_[i] != heap)
                continue;
            sum_.bytes -= frames_[i]->pkt_len;
            sum_.external -= is_external(*frames_[i]) ? 1 : 0;
            rte_pktmbuf_free(frames_[i]);
            std::copy(frames_.begin() + i + 1, frames_.begin() + end_, frames_.begin() + i);
            std::copy(owners_.begin() + i + 1, owners_.begin() + end_, owners_.begin() + i);
            --end_;
            f(i - begin_);
        }
    }
    /// Frees all; returns how many.
    std::uint32_t drop() noexcept {
        const std::uint32_t n = size();
        if (n != 0)
            rte_pktmbuf_free_bulk(frames(), n);
        begin();
        sum_ = {};
        return n;
    }

  private:
    static bool is_external(const rte_mbuf& frame) noexcept { return frame.nb_segs > 1; }

    std::array<rte_mbuf*, kBurst> frames_{};
    std::array<std::uint64_t, kBurst> owners_;  ///< heap numbers, if heaps may time out
    std::uint32_t begin_ = 0, end_ = 0;
    Sum sum_;
};

}  // namespace spead::send
