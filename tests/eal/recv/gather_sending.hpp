// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tests/eal/recv/gather_rig.hpp"

namespace spead::recv::test {

/// Sends frames into the rig's port, each whole or in segments, and polls so that the ring has room.
class Sending {
  public:
    explicit Sending(GatherRig& rig, unsigned mbufs = 16383) : rig_(rig), pool_(mbufs, 2048), queue_(pool_) {}
    /// Sends one frame; polls while the ring has no room, because an engine is behind.
    void send(const Bytes& frame, const std::vector<std::size_t>& segments = {}) {
        rte_mbuf* m = segments.empty() ? pool_.make(frame) : queue_.chain(frame, segments);
        if (rig_.send(m))
            sent++;
    }
    /// Returns whether as many mbufs are free as a frame may take.
    bool has(unsigned mbufs) const { return rte_mempool_avail_count(pool_.get()) >= mbufs; }
    const Pool& pool() const { return pool_; }

    std::uint64_t sent = 0;

  private:
    GatherRig& rig_;
    Pool pool_;
    FakeRx queue_;
};

}  // namespace spead::recv::test
