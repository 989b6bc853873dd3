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

namespace spead::stats {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// Makes the snapshots of a run as time passes. One lcore polls the port of its stream, and is busy for a
/// hundredth of the time.
class Watched {
  public:
    Watched() {
        now_.detailed = true;
        now_.ticks_per_second = 1e9;
        StreamSnapshot& s = now_.streams.emplace_back();
        s.name = "s0";
        s.number = 1;
        s.port = "p0";
        s.state = "received";
        s.received = 1;
        s.queue_capacity = 4;
        PortSnapshot& p = now_.ports.emplace_back();
        p.name = "p0";
        p.rx_descriptors = 2048;
        LcoreSnapshot& l = now_.lcores.emplace_back();
        l.lcore = 1;
        l.ports = {{"p0", 0}};
    }

    StreamSnapshot& stream() { return now_.streams[0]; }
    PortSnapshot& port() { return now_.ports[0]; }
    Snapshot& now() { return now_; }

    /// Passes a fifth of a second in which all is well.
    void pass(double busy = 0.01) {
        now_.duration_s += 0.2;
        LcoreSnapshot& l = now_.lcores[0];
        l.counters.cycles += 200'000'000;
        l.counters.busy_cycles += static_cast<std::uint64_t>(2e8 * busy);
        l.longest_loop_now = 100'000;
        l.counters.longest_loop = std::max(l.counters.longest_loop, l.longest_loop_now);
        port().rx_bursts += 100;
        stream().queue_most_now = 1;
    }
    /// Stops the program for `seconds`, during a loop of its lcore that was to rest.
    void stand_still(double seconds) {
        now_.duration_s += seconds;
        LcoreSnapshot& l = now_.lcores[0];
        const auto cycles = static_cast<std::uint64_t>(seconds * 1e9);
        l.counters.cycles += cycles;
        l.counters.interrupted_cycles += cycles;
        l.counters.longest_loop = l.longest_loop_now = cycles;
    }
    std::vector<Finding> look(FindingLog& log) {
        Snapshot s = now_;
        log.observe(s);
        return *s.findings;
    }
    void change(FindingLog& log, const std::vector<std::string>& names) {
        Snapshot s = now_;
        log.changed(s, names);
    }

  private:
    Snapshot now_;
};

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

/// Passes a second in which a heap stays incomplete.
std::vector<Finding> lose_one(Watched& run, FindingLog& log) {
    for (int i = 0; i < 5; i++)
        run.pass();
    run.stream().heaps_started += 1000;
    run.stream().heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)]++;
    return run.look(log);
}

TEST(FindingLog, AHeapThatWasCutByTheJoinEndsSoonAfterIt) {
    Watched run;
    FindingLog log;
    run.stream().by_endpoint = {{"239.1.2.3:7148", 1000, 0}};
    run.look(log);
    EXPECT_EQ(lose_one(run, log).at(0).cause, Cause::cut_by_join);
    for (int i = 0; i < 60; i++) {
        run.pass();
        run.look(log);
    }
    const std::vector<Finding> found = lose_one(run, log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::network_loss);
    EXPECT_EQ(found[0].count, 2U);
    EXPECT_THAT(found[0].sentence(), HasSubstr("of the first 1 perhaps"));
}

TEST(FindingLog, AHeapThatIsLostLongAfterTheJoinWasNotCutByIt) {
    Watched run;
    FindingLog log;
    run.stream().by_endpoint = {{"239.1.2.3:7148", 1000, 0}};
    run.stream().heaps_started = 1000;
    run.look(log);
    for (int i = 0; i < 60; i++) {
        run.pass();
        run.stream().heaps_started += 10;
        run.look(log);
    }
    const std::vector<Finding> found = lose_one(run, log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::network_loss);
}

TEST(FindingLog, TheFirstHeapOfASlowStreamMayEndLate) {
    Watched run;
    FindingLog log;
    run.stream().by_endpoint = {{"239.1.2.3:7148", 1000, 0}};
    run.stream().settings.max_live = 4;
    run.stream().heaps_started = 1;
    run.look(log);
    for (int i = 0; i < 60; i++) {
        run.pass();
        run.look(log);
    }
    run.stream().heaps_started = 5;
    run.stream().heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)]++;
    const std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::cut_by_join);
}

}  // namespace
}  // namespace spead::stats
