// SPDX-License-Identifier: BSD-3-Clause
#include "send/payload_refs.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace spead::send {
namespace {

/// Releases an external buffer as rte_pktmbuf_free does.
void release(rte_mbuf_ext_shared_info* info) {
    if (rte_mbuf_ext_refcnt_update(info, -1) == 0)
        info->free_cb(nullptr, info->fcb_opaque);
}

class Refs : public testing::Test {
  protected:
    void SetUp() override { refs.initialise(); }
    PayloadRefs refs;
};

TEST_F(Refs, AreDrainedBeforeAnythingWasAttached) {
    EXPECT_TRUE(refs.drained());
    refs.close();
    EXPECT_TRUE(refs.drained());
}

TEST_F(Refs, AreDrainedWhenTheLastMbufIsFreedAfterTheClose) {
    rte_mbuf_ext_shared_info* const info = refs.reserve(2);
    ASSERT_NE(info, nullptr);
    refs.attached(2);
    refs.close();
    release(info);
    EXPECT_FALSE(refs.drained());
    release(info);
    EXPECT_TRUE(refs.drained());
}

TEST_F(Refs, StayOpenWhileMoreMbufsMayBeAttached) {
    rte_mbuf_ext_shared_info* const info = refs.reserve(1);
    refs.attached(1);
    release(info);
    EXPECT_FALSE(refs.drained());
    refs.close();
    EXPECT_TRUE(refs.drained());
}

TEST_F(Refs, ReservedButUnusedDoNotCount) {
    ASSERT_NE(refs.reserve(32), nullptr);
    refs.close();
    EXPECT_TRUE(refs.drained());
}

TEST_F(Refs, GoOnWithASecondBatchAndStallOnlyWhileBothAreOut) {
    std::vector<rte_mbuf_ext_shared_info*> attached;
    const auto attach = [&](std::uint16_t n) {
        rte_mbuf_ext_shared_info* const info = refs.reserve(n);
        if (info == nullptr)
            return false;
        refs.attached(n);
        attached.insert(attached.end(), n, info);
        return true;
    };
    while (attach(32)) {
    }
    // If the rest of a batch is too little for a reservation, it is given back and not lost.
    EXPECT_EQ(attached.size(), 2 * (PayloadRefs::kBatch / 32 * 32U));
    rte_mbuf_ext_shared_info* const first = attached.front();
    for (std::size_t i = 0; i < PayloadRefs::kBatch / 32 * 32; ++i)
        release(first);
    attached.erase(attached.begin(), attached.begin() + PayloadRefs::kBatch / 32 * 32);
    EXPECT_TRUE(attach(32));
    EXPECT_EQ(attached.back(), first);
    refs.close();
    for (rte_mbuf_ext_shared_info* info : attached) {
        EXPECT_FALSE(refs.drained());
        release(info);
    }
    EXPECT_TRUE(refs.drained());
}

}  // namespace
}  // namespace spead::send
