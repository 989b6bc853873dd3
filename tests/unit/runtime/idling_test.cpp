// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/idling.hpp"

#include <deque>

#include <gtest/gtest.h>

namespace spead::runtime {
namespace {

/// Holds streams that ask for a poll mode, and the lcores on which they have a lane.
struct Asked {
    WorkerLayout layout;
    std::deque<Worker> workers;
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<ReceivePlan> plans;

    Asked() {
        workers.emplace_back(layout);
        workers.emplace_back(layout);
    }
    void add(PollMode mode, std::uint32_t max_poll, const std::vector<std::size_t>& on) {
        plans.emplace_back().poll = mode;
        plans.back().max_poll = max_poll;
        streams.push_back(std::make_unique<Stream>());
        for (const std::size_t w : on) {
            streams.back()->lanes.push_back(std::make_unique<StreamLane>());
            streams.back()->lanes.back()->worker = &workers[w];
        }
    }
    IdleWish wish(std::size_t worker) const { return idle_wish(workers[worker], streams, plans); }
};

TEST(Idling, AnLcoreWithoutStreamsPollsAdaptively) {
    Asked asked;
    asked.add(PollMode::busy, 7, {});
    EXPECT_EQ(asked.wish(0), (IdleWish{PollMode::adaptive, ReceivePlan{}.max_poll}));
}

TEST(Idling, OnlyStreamsOfTheLcoreCount) {
    Asked asked;
    asked.add(PollMode::interrupt, 5, {0});
    asked.add(PollMode::adaptive, 9, {1});
    EXPECT_EQ(asked.wish(0), (IdleWish{PollMode::interrupt, 5}));
    EXPECT_EQ(asked.wish(1), (IdleWish{PollMode::adaptive, 9}));
}

TEST(Idling, OneStreamThatPollsAlwaysKeepsTheLcoreBusyAndTheLongestPollWins) {
    Asked asked;
    asked.add(PollMode::interrupt, 5, {0, 1});
    asked.add(PollMode::adaptive, 90, {0});
    EXPECT_EQ(asked.wish(0), (IdleWish{PollMode::interrupt, 90}));
    asked.add(PollMode::busy, 1, {0});
    asked.add(PollMode::interrupt, 2, {0});
    EXPECT_EQ(asked.wish(0), (IdleWish{PollMode::busy, 90}));
    EXPECT_EQ(asked.wish(1), (IdleWish{PollMode::interrupt, 5}));
}

}  // namespace
}  // namespace spead::runtime
