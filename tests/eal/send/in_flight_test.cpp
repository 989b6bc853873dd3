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

/// Submits a heap and accepts it.
Slot& push(InFlight& heaps) {
    heaps.to_submit(0) = {};
    heaps.submit(1);
    return heaps.accept();
}

TEST(InFlight, HeapsAreToldOldestFirst) {
    InFlight heaps(3, -1, "test");
    EXPECT_TRUE(heaps.empty());
    for (int i = 0; i < 4; ++i)
        push(heaps);
    EXPECT_EQ(serials(heaps), (std::vector<std::uint64_t>{0, 1, 2, 3}));
    heaps.pop();
    push(heaps);
    EXPECT_EQ(serials(heaps), (std::vector<std::uint64_t>{1, 2, 3, 4}));
    EXPECT_EQ(heaps.oldest().serial, 1U);
}

TEST(InFlight, AHeapThatIsPoppedBeforeAGroupHadItIsNotFreshAnyMore) {
    InFlight heaps(4, -1, "test");
    push(heaps);
    push(heaps);
    push(heaps);
    EXPECT_EQ(heaps.take_fresh()->serial, 0U);
    heaps.pop();
    heaps.pop();
    EXPECT_EQ(heaps.take_fresh()->serial, 2U);
    EXPECT_EQ(heaps.take_fresh(), nullptr);
    heaps.pop();
    EXPECT_FALSE(heaps.any_fresh());
    EXPECT_EQ(push(heaps).serial, 3U);
    EXPECT_EQ(heaps.take_fresh()->serial, 3U);
}

TEST(InFlight, HeapsThatAreGivenUpBeforeAGroupHadThemAreSkipped) {
    InFlight heaps(8, -1, "test");
    for (int i = 0; i < 5; ++i)
        push(heaps).progress = i == 2 ? Progress::open : Progress::aborted;
    heaps.skip_given_up();
    EXPECT_EQ(heaps.take_fresh()->serial, 2U);
    EXPECT_TRUE(heaps.any_fresh());
    heaps.skip_given_up();
    EXPECT_FALSE(heaps.any_fresh());
    EXPECT_EQ(serials(heaps).size(), 5U) << "they are in flight as before";
}

TEST(InFlight, EntriesReachTheLcoreAndComeBackInOrder) {
    InFlight heaps(2, -1, "test");
    std::uint64_t submitted = 0, completed = 0;
    for (int round = 0; round < 10; ++round) {
        ASSERT_EQ(heaps.submitted(), 0U);
        heaps.to_submit(0).cnt = submitted++;
        heaps.to_submit(1).cnt = submitted++;
        ASSERT_EQ(heaps.submitted(), 0U) << "not before they are given";
        heaps.submit(2);
        ASSERT_EQ(heaps.submitted(), 2U);
        ASSERT_EQ(heaps.accept().entry.cnt, submitted - 2);
        ASSERT_EQ(heaps.accept().entry.cnt, submitted - 1);
        heaps.oldest().entry.time = 5;
        heaps.pop();
        ASSERT_EQ(heaps.completions(), 0U) << "not before they are given back";
        heaps.complete();
        ASSERT_EQ(heaps.completions(), 1U);
        heaps.pop();
        heaps.complete();
        ASSERT_EQ(heaps.completions(), 2U);
        ASSERT_EQ(heaps.completion(0).time, 5U);
        ASSERT_EQ(heaps.completion(0).cnt, completed++);
        ASSERT_EQ(heaps.completion(1).cnt, completed++);
        heaps.take_completions(2);
        ASSERT_EQ(heaps.completions(), 0U);
    }
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
                if (model.size() != 8) {
                    ASSERT_EQ(push(heaps).serial, next);
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
    }
}

}  // namespace
}  // namespace spead::send
