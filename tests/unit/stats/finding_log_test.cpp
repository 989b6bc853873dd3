// SPDX-License-Identifier: BSD-3-Clause
#include "stats/finding_log.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stats/diagnosis.hpp"
#include "stats/since.hpp"
#include "tests/unit/stats/watched_run.hpp"

namespace spead::stats {
namespace {

using test::Watched;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(FindingLog, AStopOfThreeSecondsWithinAnHourIsToldAsSuch) {
    Watched run;
    FindingLog log;
    for (int i = 0; i < 100; i++) {
        run.pass();
        EXPECT_THAT(run.look(log), IsEmpty());
    }
    run.stand_still(3);
    run.port().nic.missed = 118'620;
    run.port().rx_full_bursts = run.port().rx_bursts;
    run.look(log);
    for (int i = 0; i < 100; i++)
        run.pass();
    const std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::lcore_interrupted);
    EXPECT_EQ(found[0].count, 118'620U);
    EXPECT_THAT(found[0].sentence(), HasSubstr("off its CPU for up to 3.0 s"));
    EXPECT_NEAR(found[0].first_s, 23, 0.001);
    EXPECT_NEAR(found[0].last_s, 23, 0.001);
    EXPECT_THAT(found[0].sentence(run.now().duration_s), HasSubstr("(last after 23.0 s of the run)"));
    EXPECT_THAT(found[0].sentence(24), Not(HasSubstr("last after")));
}

TEST(FindingLog, WhatCameBeforeAChangeIsExplainedByTheDeclarationOfThen) {
    Watched run;
    FindingLog log;
    run.stream().has_format = true;
    run.pass();
    run.look(log);
    run.stream().packets[static_cast<std::size_t>(PacketOutcome::malformed)] = 77;
    run.stream().received += 77;
    run.pass();
    run.stream().has_format = false;
    run.change(log, {"s0"});
    run.pass();
    const std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::not_in_format);
    EXPECT_EQ(found[0].count, 77U);
    run.stream().packets[static_cast<std::size_t>(PacketOutcome::malformed)] += 5;
    run.pass();
    const std::vector<Finding> later = run.look(log);
    ASSERT_THAT(later, SizeIs(2));
    EXPECT_EQ(later[0].cause, Cause::not_spead);
    EXPECT_EQ(later[0].count, 5U);
}

TEST(FindingLog, EachLossIsExplainedByItsOwnInterval) {
    Watched run;
    FindingLog log;
    run.pass();
    run.look(log);
    run.pass(0.95);
    run.port().nic.missed += 5;
    run.look(log);
    run.pass();
    run.port().nic.missed += 7;
    run.look(log);
    run.pass();
    run.port().nic.missed += 13;
    run.port().rx_gather_full += 100'000;
    run.look(log);
    run.stand_still(0.02);
    run.pass();
    run.now().lcores[0].longest_loop_now = 20'000'000;
    run.port().nic.missed += 11;
    for (int i = 0; i < 50; i++) {
        run.look(log);
        run.pass();
    }
    std::map<Cause, std::uint64_t> counts;
    for (const Finding& f : run.look(log))
        counts[f.cause] = f.count;
    const std::map<Cause, std::uint64_t> wanted{{Cause::lcore_too_slow, 5},
                                                {Cause::receive_ring_short, 7},
                                                {Cause::lcore_interrupted, 11},
                                                {Cause::engine_too_slow, 13}};
    EXPECT_EQ(counts, wanted);
}

TEST(FindingLog, WhatIsLostBeforeTheLcoresFetchIsTheStarts) {
    Watched run;
    FindingLog log;
    run.pass();
    run.port().nic.missed = 12;
    run.port().missed_at_start = 9;
    run.look(log);
    run.pass();
    std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(2));
    EXPECT_EQ(found[0].cause, Cause::receive_ring_short);
    EXPECT_EQ(found[0].count, 3U);
    EXPECT_EQ(found[1].cause, Cause::missed_at_start);
    EXPECT_EQ(found[1].count, 9U);
    EXPECT_EQ(kind_of(found[1].cause), Kind::note);
    // The port was stopped and started again.
    run.port().nic.missed += 5;
    run.port().missed_at_start += 5;
    run.change(log, {"p0"});
    run.pass();
    found = run.look(log);
    ASSERT_FALSE(found.empty());
    for (const Finding& f : found)
        EXPECT_GT(f.until_s, 0) << f.sentence();
    run.port().nic.missed += 4;
    run.port().missed_at_start += 4;
    run.pass();
    found = run.look(log);
    EXPECT_EQ(found[0].cause, Cause::missed_at_start);
    EXPECT_EQ(found[0].count, 4U);
}

TEST(FindingLog, LossesOfTwoPathsAreToldApart) {
    Watched run;
    FindingLog log;
    StreamSnapshot& s = run.stream();
    s.path_ports = {"p0", "p1"};
    run.pass();
    run.look(log);
    const auto receive = [&](std::uint64_t both, std::uint64_t p0_lacks, std::uint64_t p1_lacks) {
        for (std::size_t path = 0; path < 2; path++) {
            PathCounters& p = s.paths[path];
            const std::uint64_t alone = path == 0 ? p1_lacks : p0_lacks;
            p.packets += both + alone;
            p.placed += alone + (path == 0 ? both : 0);
            p.redundant += path == 1 ? both : 0;
            p.passed += both + p0_lacks + p1_lacks;
        }
        run.pass();
    };
    receive(500, 100, 0);
    const double early = run.now().duration_s;
    run.look(log);
    for (int i = 0; i < 40; i++)
        receive(500, 0, 0);
    receive(500, 0, 10);
    const std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(2));
    EXPECT_THAT(found[0].what, HasSubstr("port p1")) << "the loss of now is first";
    EXPECT_EQ(found[0].count, 10U);
    EXPECT_NEAR(found[0].first_s, run.now().duration_s, 0.001);
    EXPECT_THAT(found[1].what, HasSubstr("port p0"));
    EXPECT_EQ(found[1].count, 100U);
    EXPECT_NEAR(found[1].last_s, early, 0.001);
    run.change(log, {"s0"});
    std::vector<std::uint64_t> counts;
    for (const Finding& f : run.look(log))
        counts.push_back(f.count);
    EXPECT_THAT(counts, testing::UnorderedElementsAre(10U, 100U));
}

TEST(FindingLog, WhatWasFoundOfAQueueIsOverWhenTheQueueIsAnother) {
    Watched run;
    FindingLog log;
    run.pass();
    run.look(log);
    run.pass();
    run.stream().heaps_dropped_full = 500;
    run.stream().queue_most_now = 4;
    ASSERT_THAT(run.look(log), SizeIs(1));
    EXPECT_THAT(run.look(log)[0].sentence(), HasSubstr("up to 4 of 4 places"));
    EXPECT_THAT(run.look(log)[0].sentence(), HasSubstr("; raise"));

    // The last ones are dropped while the change is carried out.
    run.stream().heaps_dropped_full = 510;
    run.stream().queue_capacity = 1024;
    run.change(log, {"s0", "p0"});
    run.pass();
    run.stream().queue_most_now = 3;
    std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].count, 510U);
    EXPECT_THAT(found[0].sentence(), HasSubstr("up to 4 of 4 places"));
    EXPECT_THAT(found[0].sentence(), HasSubstr("until s0 was changed after 0.4 s"));
    EXPECT_THAT(found[0].sentence(), Not(HasSubstr("raise")));

    run.pass();
    run.stream().heaps_dropped_full = 512;
    run.stream().queue_most_now = 1024;
    found = run.look(log);
    ASSERT_THAT(found, SizeIs(2)) << "what holds, then what is over";
    EXPECT_EQ(found[0].count, 2U);
    EXPECT_THAT(found[0].sentence(), HasSubstr("up to 1024 of 1024 places"));
    EXPECT_EQ(found[1].count, 510U);

    // After another change, ended findings of the same cause are reported together.
    run.change(log, {"s0"});
    found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].count, 512U);
}

TEST(FindingLog, AChangeOfOneStreamLeavesWhatIsFoundOfOthers) {
    Watched run;
    run.now().streams.push_back(run.stream());
    run.now().streams[1].name = "s1";
    run.now().streams[1].number = 2;
    FindingLog log;
    run.pass();
    run.now().streams[1].heaps_unwritten = 3;
    run.look(log);
    run.change(log, {"s0", "p0"});
    run.pass();
    const std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].until_s, 0);
    EXPECT_DOUBLE_EQ(found[0].first_s, 0.2);
}

TEST(FindingLog, AStreamThatGotNothingWaitsAnewWhenItIsChanged) {
    Watched run;
    run.stream().received = 0;
    FindingLog log;
    for (int i = 0; i < 20; i++)
        run.pass();
    ASSERT_THAT(run.look(log), SizeIs(1));
    EXPECT_EQ(run.look(log)[0].cause, Cause::nothing_came);
    run.change(log, {"s0", "p0"});
    run.pass();
    EXPECT_THAT(run.look(log), IsEmpty()) << "what it was waiting for before is of no interest";
    for (int i = 0; i < 20; i++)
        run.pass();
    ASSERT_THAT(run.look(log), SizeIs(1));
    EXPECT_EQ(run.look(log)[0].count, 4U) << "seconds since the change";
}

/// Passes a fifth of a second in which heaps are thrown away, or the queue has room.
void fill_queue(Watched& run, bool full, bool drops) {
    run.pass();
    run.stream().queue_most_now = 4;
    run.stream().heaps_queued = full ? 4 : 0;
    run.stream().heaps_delivered += 1000;
    run.stream().heaps_dropped_full += drops ? 5 : 0;
}

TEST(FindingLog, AConsumerThatIsAlwaysTooSlowNeedsNoLongerQueue) {
    Watched run;
    run.stream().settings.queue_depth = 4;
    FindingLog log;
    run.look(log);
    for (int i = 0; i < 50; i++) {
        fill_queue(run, i % 10 != 9, i % 3 != 0);
        run.look(log);
    }
    const std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0].what, HasSubstr("the queue stayed full, at 90 % of the looks"));
    EXPECT_THAT(found[0].cures, ElementsAre("do less per heap", "or let the senders send less"));
}

TEST(FindingLog, AConsumerThatPausesNeedsAQueueThatIsLongEnough) {
    Watched run;
    run.stream().settings.queue_depth = 4;
    FindingLog log;
    run.look(log);
    for (int i = 0; i < 50; i++) {
        fill_queue(run, i % 10 < 2, i % 10 < 2);
        run.look(log);
    }
    const std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0].what, HasSubstr("the queue had room at 76 % of the looks: the consumer pauses"));
    EXPECT_THAT(found[0].cures.at(0), HasSubstr("heaps.queue_depth` to 16 (now 4)"));
    EXPECT_THAT(found[0].cures.at(1), "do less per heap");
}

TEST(FindingLog, AConsumerThatWasTooSlowMayOnlyPauseAfterAChange) {
    Watched run;
    run.stream().settings.queue_depth = 4;
    FindingLog log;
    for (int i = 0; i < 500; i++) {
        fill_queue(run, true, true);
        run.look(log);
    }
    run.change(log, {"s0", "p0"});
    for (int i = 0; i < 50; i++) {
        fill_queue(run, i % 10 < 2, i % 10 < 2);
        run.look(log);
    }
    EXPECT_THAT(run.look(log).at(0).what, HasSubstr("the consumer pauses"));
}

TEST(FindingLog, OfAStreamThatIsRemovedItIsToldUntilWhen) {
    Watched run;
    FindingLog log;
    run.pass();
    run.stream().heaps_unwritten = 3;
    run.look(log);
    run.now().streams.clear();
    run.change(log, {"s0"});
    run.pass();
    const std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_GT(found[0].until_s, 0);
}

TEST(FindingLog, NothingIsToldOfTheTimeBeforeAClear) {
    Watched run;
    FindingLog log;
    run.pass();
    run.stream().heaps_unwritten = 3;
    run.port().nic.missed = 9;
    ASSERT_THAT(run.look(log), SizeIs(2));
    log.clear(run.now());
    run.pass();
    EXPECT_THAT(run.look(log), IsEmpty());
    run.port().nic.missed = 10;
    ASSERT_THAT(run.look(log), SizeIs(1));
    EXPECT_EQ(run.look(log)[0].count, 1U);
}

TEST(FindingLog, SinceAnEarlierSnapshotTellsWhatWasFoundAfterIt) {
    Watched run;
    FindingLog log;
    run.pass();
    run.stream().heaps_unwritten = 3;
    run.port().nic.missed = 9;
    Snapshot base = run.now();
    log.observe(base);
    run.stream().heaps_unwritten = 5;
    run.change(log, {"s0"});
    run.stream().heaps_unwritten = 6;
    run.pass();
    Snapshot now = run.now();
    log.observe(now);
    const std::vector<Finding> found = findings_of(since(now, base));
    ASSERT_THAT(found, SizeIs(2));
    EXPECT_EQ(found[0].count, 1U) << "since the change";
    EXPECT_EQ(found[1].count, 2U) << "until the change, after the base";
}

/// Passes ten seconds in which all is well.
void rest(Watched& run, FindingLog& log) {
    for (int i = 0; i < 50; i++) {
        run.pass();
        run.look(log);
    }
}

TEST(FindingLog, WhatIsLostNowComesBeforeWhatIsOver) {
    Watched run;
    FindingLog log;
    run.pass();
    run.look(log);
    run.pass();
    run.stream().heaps_unwritten = 3;
    run.look(log);
    rest(run, log);
    run.pass();
    run.port().nic.missed = 9;
    run.now().sends.emplace_back().name = "d0";
    run.now().sends[0].counters.impaired_lost = 5;
    const std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(3));
    EXPECT_EQ(found[0].cause, Cause::receive_ring_short);
    EXPECT_EQ(found[1].cause, Cause::impaired) << "on purpose";
    EXPECT_EQ(found[2].cause, Cause::sink_failed);
}

TEST(FindingLog, ALossThatIsExplainedLaterIsNoneOfNow) {
    Watched run;
    FindingLog log;
    run.stream().heaps_started = 1000;
    run.look(log);
    run.pass();
    run.stream().heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)] = 500;
    EXPECT_EQ(run.look(log).at(0).count, 500U);
    rest(run, log);
    run.pass();
    run.stream().packets[static_cast<std::size_t>(PacketOutcome::malformed)] = 100;
    for (const Finding& f : run.look(log)) {
        if (f.cause == Cause::network_loss) {
            EXPECT_EQ(f.count, 400U);
            EXPECT_DOUBLE_EQ(f.last_s, 0.2);
        } else {
            EXPECT_EQ(f.cause, Cause::not_spead);
        }
    }
}

/// Follows a stream with two paths of which the second one is behind, over a change of its endpoints.
TEST(FindingLog, CopiesThatWereOnTheirWayAtAChangeDidNotComeAgain) {
    Watched run;
    FindingLog log;
    run.stream().path_ports = {"p0", "p0"};
    run.stream().path_endpoints = {{"239.1.2.3:7148"}, {"239.1.3.3:7148"}};
    const auto bring = [&run](std::uint64_t first, std::uint64_t copies, std::uint64_t awaited) {
        run.pass();
        run.stream().received += first + copies;
        PathCounters& one = run.stream().paths[0];
        PathCounters& other = run.stream().paths[1];
        one.packets += first;
        one.placed += first;
        one.passed += first;
        other.packets += copies;
        other.redundant += copies;
        other.passed += copies;
        other.awaited = awaited;
    };
    bring(100, 90, 10);
    EXPECT_THAT(run.look(log), IsEmpty());
    run.change(log, {"s0"});
    bring(50, 58, 2);
    EXPECT_THAT(run.look(log), IsEmpty()) << "eight of them were sent before the change";
    bring(50, 55, 0);
    const std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::duplicates);
    EXPECT_EQ(found[0].count, 3U) << "ten were on their way";
}

}  // namespace
}  // namespace spead::stats
