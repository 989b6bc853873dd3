// SPDX-License-Identifier: BSD-3-Clause
#include "app/api/work_queue.hpp"

#include <future>
#include <vector>

#include <gtest/gtest.h>

namespace spead::app {
namespace {

TEST(WorkQueue, WorksInOrderOnItsOwnThread) {
    std::vector<int> order;
    std::promise<std::thread::id> last;
    {
        WorkQueue queue("test", {});
        for (int i = 0; i < 5; i++)
            EXPECT_TRUE(queue.post([&order, i] { order.push_back(i); }));
        EXPECT_TRUE(queue.post([&last] { last.set_value(std::this_thread::get_id()); }));
        EXPECT_NE(last.get_future().get(), std::this_thread::get_id());
    }
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(WorkQueue, TakesNoMoreThanItsLimitAndDiscardsTheRestAtTheEnd) {
    std::promise<void> begun;
    std::promise<void> go_on;
    std::shared_future<void> may = go_on.get_future().share();
    int done = 0;
    {
        WorkQueue queue("test", {});
        ASSERT_TRUE(queue.post([&] {
            begun.set_value();
            may.wait();
        }));
        begun.get_future().wait();
        for (std::size_t i = 0; i < WorkQueue::kMost; i++)
            EXPECT_TRUE(queue.post([&done] { done++; }));
        EXPECT_FALSE(queue.post([&done] { done++; }));
        std::thread later([&] { go_on.set_value(); });
        later.join();
    }
    EXPECT_LE(done, static_cast<int>(WorkQueue::kMost));
}

}  // namespace
}  // namespace spead::app
