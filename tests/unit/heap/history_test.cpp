// SPDX-License-Identifier: BSD-3-Clause
#include "heap/history.hpp"

#include <deque>
#include <random>

#include <gtest/gtest.h>

namespace spead::heap {
namespace {

TEST(History, GivesKeysBackInTheOrderTheyCame) {
    History h(3);
    EXPECT_TRUE(h.empty());
    h.remember(7, 100);
    h.remember(5, 101);
    EXPECT_EQ(h.size(), 2U);
    EXPECT_EQ(h.oldest().key, 7U);
    EXPECT_EQ(h.oldest().time, 100U);
    h.forget_oldest();
    EXPECT_EQ(h.oldest().key, 5U);
}

TEST(History, IsFullAtItsCapacityAndWrapsAround) {
    for (const std::size_t capacity : {1U, 2U, 3U, 64U, 100U}) {
        History h(capacity);
        std::deque<std::uint64_t> model;
        std::mt19937_64 random(capacity);
        for (int i = 0; i < 2000; i++) {
            ASSERT_EQ(h.size(), model.size());
            ASSERT_EQ(h.empty(), model.empty());
            ASSERT_EQ(h.full(), model.size() == capacity);
            if (!model.empty()) {
                ASSERT_EQ(h.oldest().key, model.front());
            }
            if (h.full() || (!h.empty() && random() % 3 == 0)) {
                h.forget_oldest();
                model.pop_front();
            } else {
                const std::uint64_t key = random();
                h.remember(key, key ^ 1);
                model.push_back(key);
            }
        }
    }
}

}  // namespace
}  // namespace spead::heap
