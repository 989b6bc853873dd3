// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/lcore_watch.hpp"

#include <gmock/gmock.h>

namespace spead::runtime {
namespace {

using namespace std::chrono_literals;
using News = LcoreWatch::News;
using testing::EndsWith;
using testing::IsEmpty;

constexpr LcoreWatch::Clock::time_point kBegin{1h};
/// Has no facts of any thread.
const port::Sysfs kNothing("/nonexistent");

/// Looks every 20 ms from `from` to `to`. Returns the first news that is not none.
News come_by(LcoreWatch& watch, LcoreWatch::Clock::duration from, LcoreWatch::Clock::duration to) {
    News told = News::none;
    for (auto at = from; at <= to; at += 20ms)
        if (const News news = watch.waited(0, kBegin + at); told == News::none)
            told = news;
    return told;
}

TEST(LcoreWatch, SaysNothingOfAnLcoreThatIsLateForAMoment) {
    LcoreWatch watch(2, 3, kNothing);
    EXPECT_EQ(watch.answered(), News::none);
    EXPECT_EQ(come_by(watch, 0s, 980ms), News::none);
    EXPECT_EQ(watch.silence(), 980ms);
    EXPECT_FALSE(watch.silent());
    EXPECT_EQ(watch.answered(), News::none);
    EXPECT_EQ(watch.silence(), 0s);
    EXPECT_EQ(come_by(watch, 2s, 2900ms), News::none) << "it has answered in between";
    EXPECT_EQ(watch.silences(), 0U);
}

TEST(LcoreWatch, TellsOnceThatItIsSilentAndOnceThatItIsBack) {
    LcoreWatch watch(2, 3, kNothing);
    EXPECT_EQ(come_by(watch, 0s, 1s), News::silent);
    EXPECT_TRUE(watch.silent());
    EXPECT_EQ(watch.sentence(), "lcore 2 on CPU 3 has not answered for 1.0 s");
    EXPECT_EQ(come_by(watch, 1020ms, 4s), News::none);
    EXPECT_EQ(watch.silence(), 4s);
    EXPECT_EQ(watch.answered(), News::back);
    EXPECT_EQ(watch.end_sentence(), "lcore 2 on CPU 3 answers again, after 4.0 s");
    EXPECT_FALSE(watch.silent());
    EXPECT_EQ(watch.answered(), News::none);
    EXPECT_EQ(watch.silences(), 1U);
    EXPECT_EQ(come_by(watch, 5s, 7s), News::silent);
    EXPECT_EQ(watch.silences(), 2U);
}

TEST(LcoreWatch, DoesNotCountTimeInWhichWhoeverAsksDidNotRun) {
    LcoreWatch watch(2, 3, kNothing);
    EXPECT_EQ(come_by(watch, 0s, 100ms), News::none);
    // The whole process was stopped for five seconds.
    EXPECT_EQ(watch.waited(0, kBegin + 5100ms), News::none);
    EXPECT_EQ(watch.silence(), 200ms);
}

/// Tests with this thread, which runs and does not answer.
TEST(LcoreWatch, TellsWhatTheThreadDoes) {
    LcoreWatch watch(1, 0);
    watch.waited(gettid(), kBegin);
    News news = News::none;
    for (auto at = 20ms; news == News::none && at < 2s; at += 20ms)
        news = watch.waited(gettid(), kBegin + at);
    EXPECT_EQ(news, News::silent);
    EXPECT_FALSE(watch.activity().empty());
    EXPECT_THAT(watch.sentence(), EndsWith(": " + watch.activity()));
}

TEST(LcoreWatch, DoesWithoutAThreadThatIsNotKnown) {
    LcoreWatch watch(1, 0);
    come_by(watch, 0s, 2s);
    EXPECT_THAT(watch.activity(), IsEmpty());
}

}  // namespace
}  // namespace spead::runtime
