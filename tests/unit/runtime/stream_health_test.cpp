// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stream_health.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

namespace spead::runtime {
namespace {

using stats::StreamEvent;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Watches a stream. A test gives its packets, heaps and losses second by second.
class WatchedStream {
  public:
    explicit WatchedStream(const HealthLimits& limits) : health(limits) { step(0, 0, 0); }

    /// Goes on by `duration` seconds. Meanwhile `heaps` heaps of 1000 bytes come, one packet each, and `lost`
    /// of them are lost.
    std::vector<StreamEvent> step(double duration, std::uint64_t heaps, std::uint64_t lost = 0) {
        now += duration;
        counts.packets += heaps;
        counts.bytes += (heaps - lost) * 1000;
        counts.heaps += heaps;
        counts.lost += lost;
        std::vector<StreamEvent> kinds;
        for (const stats::LastEvent& e : health.update(now, counts)) {
            kinds.push_back(e.kind);
            text = e.text;
            EXPECT_DOUBLE_EQ(e.at_s, now);
        }
        return kinds;
    }

    StreamHealth health;
    StreamHealth::Counts counts;
    double now = 100;
    std::string text;
};

TEST(StreamHealth, TellsSilenceAndItsEndOnceEach) {
    WatchedStream w({2, 0, 0});
    EXPECT_THAT(w.step(1, 10), IsEmpty());
    EXPECT_THAT(w.step(1.9, 0), IsEmpty());
    EXPECT_EQ(w.health.state(), "ok");
    EXPECT_THAT(w.step(0.1, 0), ElementsAre(StreamEvent::silent));
    EXPECT_EQ(w.text, "no packet for 2.0 s");
    EXPECT_EQ(w.health.state(), "silent");
    EXPECT_THAT(w.step(5, 0), IsEmpty());
    EXPECT_THAT(w.step(1, 1), ElementsAre(StreamEvent::back));
    EXPECT_EQ(w.text, "packets come again after 8.0 s");
    EXPECT_EQ(w.health.state(), "ok");
    EXPECT_THAT(w.step(2, 0), ElementsAre(StreamEvent::silent)) << "again";
    EXPECT_EQ(w.health.events(StreamEvent::silent), 2U);
    EXPECT_EQ(w.health.events(StreamEvent::back), 1U);
    ASSERT_TRUE(w.health.last_event());
    EXPECT_EQ(w.health.last_event()->kind, StreamEvent::silent);
}

TEST(StreamHealth, AStreamThatNeverBeganIsSilentToo) {
    WatchedStream w({2, 0, 1e6});
    EXPECT_THAT(w.step(2, 0), ElementsAre(StreamEvent::silent)) << "and not slow as well";
}

/// Ends heaps that turn out to have no payload: their bytes are taken back.
TEST(StreamHealth, FewerBytesAreNoRate) {
    WatchedStream w({0, 0, 8e6});
    EXPECT_THAT(w.step(1, 1000), IsEmpty());
    EXPECT_THAT(w.step(1, 10), ElementsAre(StreamEvent::slow));
    w.counts.bytes -= 20'000;
    EXPECT_THAT(w.step(1, 10), IsEmpty()) << w.text;
    EXPECT_EQ(w.health.state(), "slow");
}

TEST(StreamHealth, TellsLossesAboveTheThresholdUntilTheyAreWellBelow) {
    WatchedStream w({0, 0.1, 0});
    EXPECT_THAT(w.step(1, 100, 10), IsEmpty()) << "the threshold itself may be lost";
    EXPECT_THAT(w.step(1, 100, 11), ElementsAre(StreamEvent::losing));
    EXPECT_EQ(w.text, "11 of 100 heaps were lost within 1.0 s, more than 10 %");
    EXPECT_EQ(w.health.state(), "losing");
    EXPECT_THAT(w.step(1, 100, 50), IsEmpty());
    EXPECT_THAT(w.step(1, 100, 6), IsEmpty()) << "on the edge nothing changes";
    EXPECT_THAT(w.step(1, 0), IsEmpty()) << "no heap says nothing";
    EXPECT_THAT(w.step(1, 100, 5), ElementsAre(StreamEvent::recovered));
    EXPECT_EQ(w.health.state(), "ok");
    EXPECT_THAT(w.step(1, 100, 11), ElementsAre(StreamEvent::losing));
}

TEST(StreamHealth, JudgesWholeIntervalsOnly) {
    WatchedStream w({0, 0.1, 0});
    EXPECT_THAT(w.step(0.5, 10, 10), IsEmpty());
    EXPECT_THAT(w.step(0.5, 990), IsEmpty()) << "10 of 1000";
}

TEST(StreamHealth, TellsARateBelowTheExpectedUntilItIsNearIt) {
    WatchedStream w({0, 0, 100'000});  // 100 heaps per second
    EXPECT_THAT(w.step(5, 0), IsEmpty()) << "nothing is slow before it begins";
    EXPECT_THAT(w.step(1, 30), IsEmpty()) << "nor in the second in which it begins";
    EXPECT_THAT(w.step(1, 91), IsEmpty());
    EXPECT_THAT(w.step(1, 89), ElementsAre(StreamEvent::slow));
    EXPECT_THAT(w.text, HasSubstr("expected"));
    EXPECT_EQ(w.health.state(), "slow");
    EXPECT_THAT(w.step(1, 93), IsEmpty());
    EXPECT_THAT(w.step(1, 96), ElementsAre(StreamEvent::recovered));
    EXPECT_THAT(w.step(1, 0), ElementsAre(StreamEvent::slow)) << "where silence is not watched";
}

TEST(StreamHealth, RecoversWhenNothingIsWrongAnyMore) {
    WatchedStream w({0, 0.1, 100'000});
    w.step(1, 100);
    EXPECT_THAT(w.step(1, 100, 50), ElementsAre(StreamEvent::losing, StreamEvent::slow));
    EXPECT_EQ(w.health.state(), "losing, slow");
    EXPECT_THAT(w.step(1, 50, 0), IsEmpty()) << "still slow";
    EXPECT_EQ(w.health.state(), "slow");
    EXPECT_THAT(w.step(1, 100, 0), ElementsAre(StreamEvent::recovered));
}

TEST(StreamHealth, WhatIsJudgedBeginsWithTheEndOfSilence) {
    WatchedStream w({1, 0, 100'000});
    w.step(1, 100);
    EXPECT_THAT(w.step(1, 0), ElementsAre(StreamEvent::silent));
    EXPECT_THAT(w.step(3.5, 1), ElementsAre(StreamEvent::back));
    EXPECT_THAT(w.step(0.9, 90), IsEmpty());
    EXPECT_THAT(w.step(0.1, 10), IsEmpty()) << "100 heaps in this second, and not 1 in four before";
}

TEST(StreamHealth, CountsThatRunBackwardsAreANewStream) {
    WatchedStream w({2, 0.1, 0});
    w.step(1, 1000);
    w.counts = {};
    EXPECT_THAT(w.step(1.5, 0), IsEmpty());
    EXPECT_THAT(w.step(1.5, 10, 5), ElementsAre(StreamEvent::losing));
}

TEST(StreamHealth, GoesOnCountingWhenSomethingElseIsExpected) {
    WatchedStream w({2, 0, 0});
    EXPECT_THAT(w.step(2, 0), ElementsAre(StreamEvent::silent));
    w.health.expect({});
    EXPECT_EQ(w.health.state(), "") << "nothing is expected";
    EXPECT_THAT(w.step(10, 0), IsEmpty());
    EXPECT_THAT(w.step(1, 10), IsEmpty()) << "nobody waited for it";
    w.health.expect({3, 0, 0});
    EXPECT_EQ(w.health.limits().silent_after, 3);
    EXPECT_EQ(w.health.state(), "ok");
    EXPECT_THAT(w.step(2.9, 0), IsEmpty()) << "silence is counted from the first look";
    EXPECT_THAT(w.step(3, 0), ElementsAre(StreamEvent::silent));
    EXPECT_EQ(w.health.events(StreamEvent::silent), 2U);
    EXPECT_EQ(w.health.events(StreamEvent::back), 0U);
    EXPECT_DOUBLE_EQ(w.health.last_event()->at_s, w.now);
}

TEST(StreamHealth, CountsWhatWasLost) {
    stats::StreamSnapshot s;
    s.received = 5;
    s.bytes = 6;
    s.heaps_ended = {10, 1, 2, 4};
    s.heaps_dropped_full = 8;
    const StreamHealth::Counts c = StreamHealth::counts_of(s);
    EXPECT_EQ(c.packets, 5U);
    EXPECT_EQ(c.bytes, 6U);
    EXPECT_EQ(c.heaps, 17U);
    EXPECT_EQ(c.lost, 11U) << "evicted, timed out, thrown away; not what the end of the run cut off";
}

TEST(StreamHealth, HeapsThatAJoinOrAChangeCutAreNoLossOfTheStream) {
    WatchedStream w({0, 0.1, 0});
    w.counts.cut += 30;
    EXPECT_THAT(w.step(1, 100, 30), IsEmpty()) << w.text;
    EXPECT_EQ(w.health.state(), "ok");
    w.counts.cut += 5;
    EXPECT_THAT(w.step(1, 100, 16), ElementsAre(StreamEvent::losing));
    EXPECT_EQ(w.text,
              "11 of 100 heaps were lost within 1.0 s, more than 10 %; the join of a group, or a change, "
              "cut 5 more");
    stats::StreamSnapshot s;
    s.heaps_ended = {10, 1, 2, 4};
    s.cut_at_start.by_change = 2;
    s.cut_at_start.heaps = 9;
    s.cut_at_start.by_join = 3;
    EXPECT_EQ(StreamHealth::counts_of(s).cut, 5U);
}

TEST(StreamHealth, HeapsThatAreMissingInChunksAreLost) {
    stats::StreamSnapshot s;
    s.chunks.buffers = 8;
    StreamHealth health({0, 0.01, 0});
    health.update(0, StreamHealth::counts_of(s));
    s.received += 900;
    s.chunks.heaps_expected = 1000;
    s.chunks.heaps_present = 900;
    s.chunks.heaps_cut = 100;
    EXPECT_THAT(health.update(1, StreamHealth::counts_of(s)), IsEmpty()) << "the run began there";
    s.received += 900;
    s.chunks.heaps_expected += 1000;
    s.chunks.heaps_present += 950;
    s.chunks.heaps_missing += 50;
    // Heaps of the tracked way end, too; chunks have them.
    s.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)] = 5000;
    const auto news = health.update(2, StreamHealth::counts_of(s));
    ASSERT_EQ(news.size(), 1U);
    EXPECT_EQ(news[0].kind, StreamEvent::losing);
    EXPECT_THAT(news[0].text, HasSubstr("50 of 1000 heaps were lost"));
    s.chunks.heaps_skipped += 10;
    EXPECT_EQ(StreamHealth::counts_of(s).lost, 60U) << "no chunk was there for them";
    s.chunks_counted_with = "s0";
    EXPECT_EQ(StreamHealth::counts_of(s).lost, 0U) << "s0 reports them";
    EXPECT_EQ(StreamHealth::counts_of(s).heaps, 0U);
}

TEST(StreamHealth, AStreamThatGetsChunksBeginsToCountAnew) {
    WatchedStream w({0, 0.01, 0});
    w.step(1, 1000);
    w.counts.heaps = 0;
    EXPECT_THAT(w.step(1, 10), IsEmpty()) << "fewer heaps than before are no loss of 2^64";
    EXPECT_THAT(w.step(1, 10, 5), ElementsAre(StreamEvent::losing));
}

TEST(StreamHealth, AStreamThatReportsForItsGroupFromNowOnHasNotLostItsPast) {
    stats::StreamSnapshot s;
    s.chunks.buffers = 8;
    s.chunks.heaps_expected = 1000;
    s.chunks.heaps_missing = 400;
    s.chunks_counted_with = "s0";
    StreamHealth health({0, 0.01, 0});
    health.update(0, StreamHealth::counts_of(s));
    s.received += 100;
    s.chunks.heaps_expected += 100;
    s.chunks_counted_with.clear();
    EXPECT_THAT(health.update(1.5, StreamHealth::counts_of(s)), IsEmpty()) << "s0 was removed, and had told";
    s.received += 100;
    s.chunks.heaps_expected += 100;
    s.chunks.heaps_missing += 5;
    const auto news = health.update(3, StreamHealth::counts_of(s));
    ASSERT_EQ(news.size(), 1U);
    EXPECT_THAT(news[0].text, HasSubstr("5 of 100 heaps were lost"));
}

TEST(StreamHealth, AJumpIsAnEventWithASentenceOfItsOwn) {
    EXPECT_EQ(sentence_of("s0", {StreamEvent::resync, 1, "the time of its packets jumped"}),
              "stream s0: the time of its packets jumped");
    EXPECT_EQ(sentence_of("s0", {StreamEvent::losing, 1, "x"}), "stream s0 is losing: x");
}

/// Watches a stream with two paths.
class WatchedPaths {
  public:
    explicit WatchedPaths(double patience = 1) : health({0, 0, 0, patience}) {
        counts.path_ports = {"p0", "p1"};
        step(0, 0, 0);
    }
    /// Goes on by `duration` seconds, with so many packets of each path.
    std::vector<StreamEvent> step(double duration, std::uint64_t first, std::uint64_t second) {
        now += duration;
        counts.path_packets[0] += first;
        counts.path_packets[1] += second;
        counts.packets += first + second;
        std::vector<StreamEvent> kinds;
        for (const stats::LastEvent& e : health.update(now, counts)) {
            kinds.push_back(e.kind);
            text = e.text;
        }
        return kinds;
    }

    StreamHealth health;
    StreamHealth::Counts counts;
    double now = 100;
    std::string text;
};

TEST(StreamHealth, TellsAPathThatIsSilentWhileTheOtherOneIsNot) {
    WatchedPaths w;
    EXPECT_THAT(w.step(0.5, 10, 10), IsEmpty());
    EXPECT_THAT(w.step(0.5, 10, 0), IsEmpty());
    EXPECT_EQ(w.health.state(), "ok");
    EXPECT_THAT(w.step(0.5, 10, 0), IsEmpty());
    EXPECT_THAT(w.step(0.5, 10, 0), ElementsAre(StreamEvent::path_silent));
    EXPECT_THAT(w.text, HasSubstr("by port p1 has brought no packet for 1.5 s"));
    EXPECT_EQ(w.health.state(), "path_silent");
    EXPECT_THAT(w.step(5, 10, 0), IsEmpty()) << "once";
    EXPECT_THAT(w.step(0.5, 10, 1), ElementsAre(StreamEvent::path_back));
    EXPECT_THAT(w.text, HasSubstr("by port p1 brings packets again after 7.0 s"));
    EXPECT_EQ(w.health.state(), "ok");
    EXPECT_EQ(w.health.events(StreamEvent::path_silent), 1U);
}

TEST(StreamHealth, TellsASilentPathThoughLooksAreFurtherApartThanThePatience) {
    WatchedPaths w(0.01);
    EXPECT_THAT(w.step(0.02, 10, 10), IsEmpty());
    EXPECT_THAT(w.step(0.02, 10, 0), IsEmpty());
    EXPECT_THAT(w.step(0.02, 10, 0), ElementsAre(StreamEvent::path_silent));
}

TEST(StreamHealth, AStreamThatPausesHasNoSilentPath) {
    WatchedPaths w;
    EXPECT_THAT(w.step(0.5, 10, 10), IsEmpty());
    EXPECT_THAT(w.step(50, 0, 0), IsEmpty());
    EXPECT_THAT(w.step(0.01, 10, 0), IsEmpty()) << "one is the first to come again";
    EXPECT_THAT(w.step(0.01, 0, 10), IsEmpty());
    EXPECT_THAT(w.step(50, 0, 10), IsEmpty()) << "again, and it was the last before the pause, too";
    EXPECT_THAT(w.step(0.6, 0, 10), IsEmpty());
    EXPECT_THAT(w.step(0.6, 0, 10), ElementsAre(StreamEvent::path_silent));
    EXPECT_THAT(w.text, HasSubstr("by port p0"));
}

}  // namespace
}  // namespace spead::runtime
