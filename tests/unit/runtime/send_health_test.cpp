// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/send_health.hpp"

#include <gmock/gmock.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/stream_health.hpp"

namespace spead::runtime {
namespace {

using stats::StreamEvent;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct WatchedSend {
    SendHealth health;
    SendHealth::Look look{true, false, 0, "p0", "look at the cat"};
    double now = 0;

    std::vector<std::string> update() {
        now += 0.5;
        std::vector<std::string> told;
        for (const stats::LastEvent& event : health.update(now, look))
            told.push_back(sentence_of("d0", event));
        return told;
    }
};

TEST(SendHealth, IsOkAsLongAsThePortTakesPackets) {
    WatchedSend w;
    EXPECT_EQ(w.health.state(), "") << "before it was looked at";
    for (int i = 0; i < 10; i++)
        EXPECT_THAT(w.update(), IsEmpty());
    EXPECT_EQ(w.health.state(), "ok");
    EXPECT_FALSE(w.health.last_event());
}

TEST(SendHealth, TellsOnceThatThePortTakesNothingAndOnceThatItDoesAgain) {
    WatchedSend w;
    w.update();
    w.look.stuck = true;
    w.look.outages = 1;
    EXPECT_THAT(w.update(),
                ElementsAre("send d0 is stuck: port p0 has taken nothing for a second; look at the cat"));
    EXPECT_EQ(w.health.state(), "stuck");
    EXPECT_EQ(w.health.suspects(), "look at the cat");
    for (int i = 0; i < 9; i++)
        EXPECT_THAT(w.update(), IsEmpty());
    w.look.stuck = false;
    EXPECT_THAT(w.update(), ElementsAre("send d0: port p0 takes packets again, after 6.0 s"));
    EXPECT_EQ(w.health.state(), "ok");
    EXPECT_THAT(w.health.events(), ElementsAre(1, 1));
    EXPECT_EQ(w.health.last_event()->kind, StreamEvent::unstuck);
    EXPECT_EQ(w.health.last_event()->at_s, w.now);
}

TEST(SendHealth, TellsOfAnOutageThatBeganAndEndedBetweenTwoLooks) {
    WatchedSend w;
    w.look.outages = 1;
    EXPECT_EQ(w.update().size(), 2U);
    EXPECT_EQ(w.health.state(), "ok");
    EXPECT_THAT(w.health.events(), ElementsAre(1, 1));
}

TEST(SendHealth, APortThatStopsIsNotStuck) {
    WatchedSend w;
    w.look.stuck = true;
    w.look.outages = 1;
    w.update();
    w.look.on = w.look.stuck = false;
    EXPECT_THAT(w.update(), IsEmpty());
    EXPECT_EQ(w.health.state(), "");
    w.look.on = true;
    EXPECT_THAT(w.update(), IsEmpty());
    EXPECT_EQ(w.health.state(), "ok");
    w.look.stuck = true;
    w.look.outages = 2;
    w.look.suspects = "look at the dog";
    EXPECT_EQ(w.update().size(), 1U);
    EXPECT_EQ(w.health.suspects(), "look at the dog");
}

TEST(Suspects, NameTheMtuFirstWherePacketsAreLongerThanTheUsualOne) {
    EXPECT_THAT(suspects_of({true, false, false, 8972}), HasSubstr("first suspect is the MTU"));
    EXPECT_THAT(suspects_of({true, false, false, 8972}), HasSubstr("9000 bytes"));
    EXPECT_THAT(suspects_of({true, false, true, 8972}), HasSubstr("first suspect is the MTU"))
        << "a peer's buffers";
    EXPECT_THAT(suspects_of({true, false, false, 1473}), HasSubstr("MTU"));
    EXPECT_THAT(suspects_of({true, false, false, 1472}), testing::Not(HasSubstr("MTU")));
}

TEST(Suspects, CountTheHeadersOfIpv6) {
    EXPECT_THAT(suspects_of({true, false, false, 1453, 48}),
                testing::AllOf(HasSubstr("1501 bytes"), HasSubstr("1452 fits 1500")));
    EXPECT_THAT(suspects_of({true, false, false, 1452, 48}), testing::Not(HasSubstr("MTU")));
}

TEST(Suspects, KnowWhatThePortIs) {
    EXPECT_THAT(suspects_of({true, true, false, 8972}), HasSubstr("ring"));
    EXPECT_THAT(suspects_of({true, true, false, 8972, 28, "cuda"}),
                HasSubstr("the engine `cuda` stands still"));
    EXPECT_THAT(suspects_of({false, false, true, 8972}), HasSubstr("no process is at its other end"));
    EXPECT_THAT(suspects_of({true, false, true, 1472}), HasSubstr("peer"));
    EXPECT_THAT(suspects_of({false, false, false, 1472}), HasSubstr("link is down"));
    EXPECT_THAT(suspects_of({true, false, false, 1472}), HasSubstr("PAUSE"));
}

}  // namespace
}  // namespace spead::runtime
