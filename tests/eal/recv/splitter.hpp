// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include "base/error.hpp"
#include "tests/eal/recv/gather_rig.hpp"

namespace spead::recv::test {

/// Cuts frames as a port does that splits headers from data: the first bytes go into ordinary memory, the
/// rest into an engine's, which the CPU may not touch. Sends them into the rig's port. The destructor expects
/// every mbuf back.
class Splitter {
  public:
    /// Holds the room for data of an mbuf, in either pool.
    static constexpr std::uint16_t kRoom = 2048;

    explicit Splitter(GatherRig& rig, unsigned mbufs = 8191)
        : rig_(rig), headers_(mbufs, kRoom), memory_(rig.engine->allocate(std::size_t{mbufs} * kRoom)) {
        static unsigned count = 0;
        rte_pktmbuf_extmem outside{};
        outside.buf_ptr = memory_->base;
        outside.buf_iova = RTE_BAD_IOVA;
        outside.buf_len = memory_->length;
        outside.elt_size = kRoom;
        const std::string name = "test_device_pool_" + std::to_string(count++);
        payload_ =
            rte_pktmbuf_pool_create_extbuf(name.c_str(), mbufs, 0, 0, kRoom, SOCKET_ID_ANY, &outside, 1);
        rig.source.queue.splits = true;
        if (payload_ == nullptr)
            throw Error("the test's pool of device memory cannot be made");
    }
    ~Splitter() {
        EXPECT_TRUE(full());
        rte_mempool_free(payload_);
    }
    Splitter(const Splitter&) = delete;
    Splitter& operator=(const Splitter&) = delete;

    /// Sends a frame that is cut after so many bytes; a shorter one is not cut. Polls while the ring has no
    /// room, because an engine is behind.
    void send(const Bytes& frame, std::size_t cut) {
        cut = std::min(cut, frame.size());
        rte_mbuf* m = headers_.make({frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(cut)});
        if (cut != frame.size()) {
            ASSERT_EQ(rte_pktmbuf_chain(m, store(std::as_bytes(std::span(frame)).subspan(cut))), 0);
        }
        if (rig_.send(m))
            sent++;
    }
    /// Returns whether as many mbufs are free in each pool.
    bool has(unsigned mbufs) const {
        return rte_mempool_avail_count(headers_.get()) >= mbufs && rte_mempool_avail_count(payload_) >= mbufs;
    }
    bool full() const { return headers_.full() && rte_mempool_full(payload_) == 1; }
    unsigned in_use() const { return rte_mempool_in_use_count(payload_); }

    std::uint64_t sent = 0;

  private:
    rte_mbuf* store(std::span<const std::byte> bytes) {
        rte_mbuf* const m = rte_pktmbuf_alloc(payload_);
        if (m == nullptr)
            throw Error("the test's pool of device memory has no room");
        m->data_off = 0;  // only the first segment has headroom
        rig_.engine->store(rte_pktmbuf_mtod(m, const std::byte*), bytes);
        m->data_len = static_cast<std::uint16_t>(bytes.size());
        m->pkt_len = m->data_len;
        return m;
    }

    GatherRig& rig_;
    Pool headers_;
    std::shared_ptr<const memory::Region> memory_;
    rte_mempool* payload_ = nullptr;
};

}  // namespace spead::recv::test
