// SPDX-License-Identifier: BSD-3-Clause
#include "send/in_flight.hpp"

#include <deque>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace spead::send {
namespace {

std::vector<std::uint64_t> serials(const InFlight& heaps) {
    std::vector<std::uint64_t> all;
    for (const Slot& slot : heaps)
        all.push_back(slot.serial);
    return all;
}

TEST(InFlight, HeapsAreToldOldestFirst) {
    InFlight heaps(3, -1, "test");
    EXPECT_TRUE(heaps.empty());
    EXPECT_EQ(heaps.room(), 4U) << "a power of two";
    for (int i = 0; i < 4; ++i)
        heaps.push();
    EXPECT_EQ(heaps.room(), 0U);
    EXPECT_EQ(serials(heaps), (std::vector<std::uint64_t>{0, 1, 2, 3}));
    heaps.pop();
    heaps.push();
    EXPECT_EQ(serials(heaps), (std::vector<std::uint64_t>{1, 2, 3, 4}));
    EXPECT_EQ(heaps.oldest().serial, 1U);
}

TEST(InFlight, AHeapThatIsPoppedBeforeAGroupHadItIsNotFreshAnyMore) {
    InFlight heaps(4, -1, "test");
    heaps.push();
    heaps.push();
    heaps.push();
    EXPECT_EQ(heaps.take_fresh()->serial, 0U);
    heaps.pop();
    heaps.pop();
    EXPECT_EQ(heaps.take_fresh()->serial, 2U);
    EXPECT_EQ(heaps.take_fresh(), nullptr);
    heaps.pop();
    EXPECT_FALSE(heaps.any_fresh());
    EXPECT_EQ(heaps.push().serial, 3U);
    EXPECT_EQ(heaps.take_fresh()->serial, 3U);
}

TEST(InFlight, HeapsThatAreGivenUpBeforeAGroupHadThemAreSkipped) {
    InFlight heaps(8, -1, "test");
    for (int i = 0; i < 5; ++i)
        heaps.push().progress = i == 2 ? Progress::open : Progress::aborted;
    heaps.skip_given_up();
    EXPECT_EQ(heaps.take_fresh()->serial, 2U);
    EXPECT_TRUE(heaps.any_fresh());
    heaps.skip_given_up();
    EXPECT_FALSE(heaps.any_fresh());
    EXPECT_EQ(serials(heaps).size(), 5U) << "they are in flight as before";
}

TEST(InFlight, AnyOperationsLeaveWhatAListWouldLeave) {
    struct Known {
        std::uint64_t serial;
        bool fresh;
    };
    std::mt19937 random(7);
    InFlight heaps(8, -1, "test");
    std::deque<Known> model;
    std::uint64_t next = 0;
    for (int i = 0; i < 50'000; ++i) {
        const auto fresh =
            std::find_if(model.begin(), model.end(), [](const Known& known) { return known.fresh; });
        ASSERT_EQ(heaps.any_fresh(), fresh != model.end());
        switch (random() % 3) {
            case 0:
                if (heaps.room() != 0) {
                    ASSERT_EQ(heaps.push().serial, next);
                    model.push_back({next++, true});
                }
                break;
            case 1:
                if (!heaps.empty()) {
                    ASSERT_EQ(heaps.oldest().serial, model.front().serial);
                    heaps.pop();
                    model.pop_front();
                }
                break;
            default: {
                const Slot* const slot = heaps.take_fresh();
                ASSERT_EQ(slot == nullptr, fresh == model.end());
                if (slot != nullptr) {
                    ASSERT_EQ(slot->serial, fresh->serial);
                    fresh->fresh = false;
                }
            }
        }
        std::vector<std::uint64_t> expected;
        for (const Known& known : model)
            expected.push_back(known.serial);
        ASSERT_EQ(serials(heaps), expected);
        ASSERT_EQ(heaps.empty(), model.empty());
        ASSERT_EQ(heaps.room(), 8 - model.size());
    }
}

}  // namespace
}  // namespace spead::send
