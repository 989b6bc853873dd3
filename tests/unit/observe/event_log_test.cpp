// SPDX-License-Identifier: BSD-3-Clause
#include "observe/event_log.hpp"

#include <gtest/gtest.h>

namespace spead::observe {
namespace {

stats::LastEvent silent_at(double at_s) {
    return {.kind = stats::StreamEvent::silent, .at_s = at_s, .text = "no packet for 1 s"};
}

TEST(EventLog, NumbersEventsFromOne) {
    EventLog log;
    EXPECT_EQ(log.since(0).last, 0U);
    log.add("s0", silent_at(1.5));
    log.add_lcore("lcore 1 on CPU 5 has not answered for 1 s");
    log.add_lcore("lcore 1 on CPU 5 answers again", 2.5);
    const EventLog::Look all = log.since(0);
    ASSERT_EQ(all.events.size(), 3U);
    EXPECT_EQ(all.last, 3U);
    EXPECT_EQ(all.lost, 0U);
    const Json first = event_json(all.events[0]);
    EXPECT_EQ(first["sequence"], 1);
    EXPECT_EQ(first["at_s"], 1.5);
    EXPECT_EQ(first["name"], "s0");
    EXPECT_EQ(first["event"], "silent");
    EXPECT_NE(first["text"].get<std::string>().find("s0"), std::string::npos);
    EXPECT_GT(first["time"], 1.6e9);
    const Json second = event_json(all.events[1]);
    EXPECT_EQ(second["at_s"], Json());
    EXPECT_EQ(second["name"], Json());
    EXPECT_EQ(second["event"], "lcore");
    EXPECT_EQ(second["text"], "lcore 1 on CPU 5 has not answered for 1 s");
    EXPECT_EQ(event_json(all.events[2])["at_s"], 2.5);
    EXPECT_EQ(log.since(1).events.size(), 2U);
    EXPECT_TRUE(log.since(3).events.empty());
    EXPECT_TRUE(log.since(99).events.empty());
}

TEST(EventLog, ForgetsTheOldestAndSaysSo) {
    EventLog log;
    for (std::size_t i = 0; i < EventLog::kMost + 7; i++)
        log.add("s0", silent_at(static_cast<double>(i)));
    const EventLog::Look look = log.since(3);
    EXPECT_EQ(look.events.size(), EventLog::kMost);
    EXPECT_EQ(look.events.front().sequence, 8U);
    EXPECT_EQ(look.lost, 4U);
    EXPECT_EQ(log.since(7).lost, 0U);
}

}  // namespace
}  // namespace spead::observe
