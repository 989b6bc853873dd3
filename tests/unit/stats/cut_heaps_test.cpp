// SPDX-License-Identifier: BSD-3-Clause
/// Tests which heaps that stayed incomplete are said to be cut by a join or by a change.
#include <array>
#include <functional>
#include <gmock/gmock.h>
#include <vector>

#include <gtest/gtest.h>

#include "stats/finding_log.hpp"
#include "tests/unit/stats/watched_run.hpp"

namespace spead::stats {
namespace {

using test::Watched;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Passes a second in which a heap stays incomplete.
std::vector<Finding> lose_one(Watched& run, FindingLog& log) {
    for (int i = 0; i < 5; i++)
        run.pass();
    run.stream().heaps_started += 1000;
    run.stream().heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)]++;
    return run.look(log);
}

/// Goes on for twelve seconds, with a look in each fifth of one, before which `step` is called.
void go_on(
    Watched& run, FindingLog& log, const std::function<void()>& step = [] {}) {
    for (int i = 0; i < 60; i++) {
        run.pass();
        step();
        run.look(log);
    }
}

TEST(CutHeaps, AHeapThatWasCutByTheJoinEndsSoonAfterIt) {
    Watched run;
    FindingLog log;
    run.stream().by_endpoint = {{"239.1.2.3:7148", 1000, 0}};
    run.look(log);
    EXPECT_EQ(lose_one(run, log).at(0).cause, Cause::cut_by_join);
    go_on(run, log);
    const std::vector<Finding> found = lose_one(run, log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::network_loss);
    EXPECT_EQ(found[0].count, 2U);
    EXPECT_THAT(found[0].sentence(), HasSubstr("of the first 1 perhaps"));
}

TEST(CutHeaps, AHeapThatIsLostLongAfterTheJoinWasNotCutByIt) {
    Watched run;
    FindingLog log;
    run.stream().by_endpoint = {{"239.1.2.3:7148", 1000, 0}};
    run.stream().heaps_started = 1000;
    run.look(log);
    go_on(run, log, [&] { run.stream().heaps_started += 10; });
    const std::vector<Finding> found = lose_one(run, log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::network_loss);
}

TEST(CutHeaps, TheFirstHeapOfASlowStreamMayEndLate) {
    Watched run;
    FindingLog log;
    run.stream().by_endpoint = {{"239.1.2.3:7148", 1000, 0}};
    run.stream().settings.max_live = 4;
    run.stream().heaps_started = 1;
    run.look(log);
    go_on(run, log);
    run.stream().heaps_started = 5;
    run.stream().heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)]++;
    const std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::cut_by_join);
}

/// Makes a run that goes on for twelve seconds, with two heaps under way.
void settle_down(Watched& run, FindingLog& log) {
    run.stream().by_endpoint = {{"239.1.2.3:7148", 1000, 0}};
    run.stream().settings.max_live = 4;
    run.look(log);
    go_on(run, log, [&] {
        run.stream().heaps_started += 10;
        run.stream().received += 10;
        run.stream().heaps_live = 2;
    });
}

/// Loses heaps on the way to the stream, a fifth of a second later.
std::vector<Finding> lose(Watched& run, FindingLog& log, std::uint64_t heaps) {
    run.pass();
    run.stream().heaps_started += 10;
    run.stream().received += 10;
    run.stream().heaps_ended[static_cast<std::size_t>(HeapEnd::timed_out)] += heaps;
    return run.look(log);
}

TEST(CutHeaps, HeapsThatAChangeCutInTwoAreTheChangesAndNotTheNetworks) {
    Watched run;
    FindingLog log;
    settle_down(run, log);
    // The first one ends while the change is carried out.
    run.stream().heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)]++;
    run.change(log, {"s0", "p0"});
    std::vector<Finding> found = lose(run, log, 1);
    ASSERT_THAT(found, SizeIs(2));
    EXPECT_EQ(found[0].cause, Cause::cut_by_change);
    EXPECT_EQ(found[0].count, 1U);
    EXPECT_EQ(found[1].cause, Cause::cut_by_change);
    EXPECT_GT(found[1].until_s, 0);

    found = lose(run, log, 50);
    EXPECT_EQ(found[0].cause, Cause::network_loss) << "no more than were under way are the change's";
    EXPECT_EQ(found[0].count, 49U) << "two were under way, and a third one may have begun";
    EXPECT_EQ(found[1].cause, Cause::cut_by_change);
    EXPECT_EQ(found[1].count, 2U);
}

TEST(CutHeaps, AHeapThatIsLostLongAfterAChangeOrInAnotherStreamIsTheNetworks) {
    Watched run;
    FindingLog log;
    settle_down(run, log);
    run.change(log, {"s1"});
    EXPECT_EQ(lose(run, log, 1).at(0).cause, Cause::network_loss);
    run.change(log, {"s0"});
    for (int i = 0; i < 60; i++)
        EXPECT_THAT(lose(run, log, 0), SizeIs(1));
    const std::vector<Finding> found = lose(run, log, 1);
    ASSERT_THAT(found, SizeIs(2));
    EXPECT_EQ(found[0].cause, Cause::network_loss);
    EXPECT_EQ(found[0].until_s, 0);
}

TEST(CutHeaps, ThoseOfChunksAreMissingWhenTheirChunkIsHandedOver) {
    Watched run;
    FindingLog log;
    StreamSnapshot& other = run.now().streams.emplace_back(run.stream());
    other.name = "s1";
    other.number = 2;
    other.chunks_counted_with = "s0";
    for (StreamSnapshot& s : run.now().streams) {
        s.chunks.buffers = 8;
        s.settings.window = 2;
    }
    run.stream().chunks.opened = 5;
    settle_down(run, log);
    run.change(log, {"s1"});
    // Chunks last for long.
    go_on(run, log, [&] {
        run.stream().received++;
        run.now().streams[1].received++;
    });
    run.pass();
    run.stream().received++;
    run.now().streams[1].received++;
    run.stream().chunks.opened = 8;
    run.stream().chunks.heaps_missing = 1;
    run.stream().chunks.heaps_expected = 100;
    std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::cut_by_change);
    EXPECT_THAT(found[0].sentence(),
                HasSubstr("1 heap is missing in chunks although nothing was lost here: it was "
                          "under way"));
    run.pass();
    run.stream().chunks.opened = 9;
    run.look(log);
    run.pass();
    run.stream().chunks.heaps_missing = 2;
    found = run.look(log);
    ASSERT_THAT(found, SizeIs(2));
    EXPECT_EQ(found[0].cause, Cause::network_loss);
    EXPECT_EQ(found[0].count, 1U);
}

TEST(CutHeaps, ThoseOfChunksThatTheChangeCutAreTheChanges) {
    Watched run;
    FindingLog log;
    run.stream().chunks.buffers = 8;
    run.stream().chunks.opened = 5;
    run.stream().chunks.heaps_cut = 40;
    settle_down(run, log);
    EXPECT_THAT(run.look(log), IsEmpty()) << "the run began with them";
    run.stream().chunks.heaps_cut += 3;
    run.change(log, {"s0"});
    run.pass();
    run.stream().received++;
    run.stream().chunks.opened = 7;
    run.stream().chunks.heaps_cut += 4;
    std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(2));
    EXPECT_EQ(found[0].cause, Cause::cut_by_change);
    EXPECT_EQ(found[0].count, 4U);
    EXPECT_THAT(found[0].sentence(),
                HasSubstr("4 heaps are missing in chunks although nothing was lost here"));
    EXPECT_EQ(found[1].count, 3U);
    EXPECT_GT(found[1].until_s, 0);
    go_on(run, log, [&] {
        run.stream().received++;
        run.stream().chunks.opened++;
    });
    run.stream().chunks.heaps_cut += 5;
    EXPECT_EQ(run.look(log)[0].count, 4U) << "the run ended with these";
}

/// Tests the tracked way of chunks, where the first packet of a heap has the items.
TEST(CutHeaps, PacketsOfHeapsThatAChangeCutAreNotMisplaced) {
    Watched run;
    FindingLog log;
    run.stream().chunks.buffers = 8;
    settle_down(run, log);
    std::array<std::uint64_t, kPacketOutcomes>& packets = run.stream().packets;
    packets[static_cast<std::size_t>(PacketOutcome::placed)] = 8 * run.stream().heaps_started;
    run.look(log);
    run.change(log, {"s0"});
    run.pass();
    run.stream().received += 20;
    packets[static_cast<std::size_t>(PacketOutcome::no_item)] = 20;
    run.stream().chunks.heaps_missing = 3;
    run.stream().chunks.heaps_expected = 100;
    std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::cut_by_change);
    EXPECT_EQ(found[0].count, 3U) << "two were live, and a third one may have begun";
    run.pass();
    run.stream().received += 50;
    packets[static_cast<std::size_t>(PacketOutcome::no_item)] += 50;
    found = run.look(log);
    ASSERT_THAT(found, SizeIs(1)) << "these explain the heaps, too";
    EXPECT_EQ(found[0].cause, Cause::misplaced);
    EXPECT_EQ(found[0].count, 70U - 3 * 9) << "nine packets of each heap at most";
}

/// Tests looks of a busy machine, which find heaps live now and then only.
TEST(CutHeaps, AFewHeapsAreNotForgottenAlthoughManyLooksFindNone) {
    Watched run;
    FindingLog log;
    settle_down(run, log);
    run.stream().heaps_live = 4;
    run.look(log);
    run.stream().heaps_live = 0;
    go_on(run, log);
    run.change(log, {"s0"});
    run.pass();
    run.stream().heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)] += 4;
    const std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::cut_by_change);
    EXPECT_EQ(found[0].count, 4U);
}

TEST(CutHeaps, PacketsOfHeapsThatAJoinCutAreNotMisplaced) {
    Watched run;
    FindingLog log;
    run.stream().chunks.buffers = 8;
    run.stream().settings.window = 2;
    run.look(log);
    std::uint64_t& no_item = run.stream().packets[static_cast<std::size_t>(PacketOutcome::no_item)];
    const auto come = [&](std::uint64_t without_item) {
        run.pass();
        run.stream().heaps_started += 10;
        run.stream().chunks.opened++;
        run.stream().packets[static_cast<std::size_t>(PacketOutcome::placed)] += 80;
        no_item += without_item;
        run.stream().received += 80 + without_item;
        return run.look(log);
    };
    run.stream().by_endpoint = {{"239.1.2.3:7148", 80, 0}};
    run.port().talkers = {{"10.0.0.1", "s0", 100, 0, 1}, {"10.0.0.2", "s0", 100, 0, 2}};
    EXPECT_THAT(come(2 * 9), IsEmpty()) << "of a heap of each sender";
    std::vector<Finding> found = come(30);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::misplaced);
    EXPECT_EQ(found[0].count, 30U) << "these are more";
    for (int i = 0; i < 60; i++)
        come(0);
    found = come(5);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].count, 35U) << "that was long ago";
}

TEST(CutHeaps, PacketsThatAJoinCutExplainNoHeapThatIsLostLater) {
    Watched run;
    FindingLog log;
    run.stream().chunks.buffers = 8;
    run.stream().settings.window = 2;
    run.look(log);
    run.pass();
    run.stream().by_endpoint = {{"239.1.2.3:7148", 80, 0}};
    run.stream().heaps_started = 10;
    run.stream().packets[static_cast<std::size_t>(PacketOutcome::placed)] = 80;
    run.stream().packets[static_cast<std::size_t>(PacketOutcome::no_item)] = 7;
    run.stream().received = 87;
    EXPECT_THAT(run.look(log), IsEmpty());
    go_on(run, log, [&] {
        run.stream().chunks.opened++;
        run.stream().received++;
    });
    run.stream().chunks.heaps_missing = 3;
    run.stream().chunks.heaps_expected = 100;
    const std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::network_loss);
    EXPECT_EQ(found[0].count, 3U) << "the heaps of those packets were in a chunk that counts as cut";
}

/// Tests the direct way of chunks, whose heaps nobody counts while they are under way.
TEST(CutHeaps, PacketsBetweenLcoresAreTheChanges) {
    Watched run;
    FindingLog log;
    run.stream().chunks.buffers = 8;
    settle_down(run, log);
    run.stream().heaps_live = 0;
    run.look(log);
    std::uint64_t& unmatched = run.port().rx[static_cast<std::size_t>(PortOutcome::unmatched)];
    go_on(run, log);
    unmatched += 32;
    run.change(log, {"s0"});
    run.pass();
    run.stream().received += 20;
    run.stream().chunks.heaps_missing = 4;
    run.stream().chunks.heaps_expected = 100;
    std::vector<Finding> found = run.look(log);
    std::erase_if(found, [](const Finding& f) { return f.where != "s0" || f.until_s > 0; });
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::cut_by_change);
    EXPECT_EQ(found[0].count, 4U);
}

TEST(CutHeaps, AJoinCutsNoMoreThanAHeapOfEachEndpoint) {
    Watched run;
    FindingLog log;
    run.stream().received = 0;
    run.stream().endpoints = {"239.1.2.3:7148"};
    run.look(log);
    const auto cut = [&](std::uint64_t evicted) {
        run.pass();
        run.stream().received += 100;
        run.stream().heaps_started += 10;
        run.stream().heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)] = evicted;
        Snapshot between = run.now();
        between.streams[0].by_endpoint.clear();
        log.follow(between);
        return between.streams[0].cut_at_start.by_join;
    };
    EXPECT_EQ(cut(0), 0U);
    EXPECT_EQ(cut(1), 1U) << "before any look at endpoints";
    EXPECT_EQ(cut(3), 1U);
    run.stream().by_endpoint = {{"239.1.2.3:7148", 300, 0}, {"239.1.2.4:7148", 10, 0}};
    run.look(log);
    EXPECT_EQ(cut(5), 2U);
    for (int i = 0; i < 60; i++)
        run.pass();
    run.look(log);
    run.stream().by_endpoint.push_back({"239.1.2.5:7148", 10, 0});
    run.look(log);
    EXPECT_EQ(cut(6), 3U) << "a third one was added";
}

TEST(CutHeaps, AHeapThatAJoinAndAChangeMayHaveCutIsLeftOutOnce) {
    for (const bool between : {false, true}) {
        Watched run;
        FindingLog log;
        settle_down(run, log);
        run.change(log, {"s0"});
        run.stream().by_endpoint.push_back({"239.1.2.4:7148", 10, 0});
        run.pass();
        run.look(log);
        const auto left_out = [&](std::uint64_t evicted) {
            run.pass();
            run.stream().received += 10;
            run.stream().heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)] += evicted;
            Snapshot s = run.now();
            between ? log.follow(s) : log.observe(s);
            return s.streams[0].cut_at_start.by_change + s.streams[0].cut_at_start.by_join;
        };
        EXPECT_EQ(left_out(1), 1U) << between;
        EXPECT_EQ(left_out(9), 5U) << between
                                   << ": three that the change may have cut, and two that a join may";
    }
}

TEST(CutHeaps, AChangesHeapDoesNotCountForAJoinLater) {
    Watched run;
    FindingLog log;
    settle_down(run, log);
    run.change(log, {"s0"});
    run.stream().by_endpoint.push_back({"239.1.2.4:7148", 10, 0});
    run.pass();
    run.look(log);
    lose(run, log, 1);
    for (int i = 0; i < 60; i++)
        lose(run, log, 0);
    const std::vector<Finding> found = lose(run, log, 1);
    ASSERT_THAT(found, SizeIs(2));
    EXPECT_EQ(found[0].cause, Cause::network_loss) << "the join was long ago, and its heap was the change's";
    EXPECT_EQ(found[1].cause, Cause::cut_by_change);
}

TEST(CutHeaps, LooksBetweenKnowThemToo) {
    Watched run;
    FindingLog log;
    settle_down(run, log);
    run.stream().heaps_live = 5;
    Snapshot between = run.now();
    between.streams[0].by_endpoint.clear();
    log.follow(between);
    EXPECT_EQ(between.streams[0].cut_at_start.by_change, 0U);
    run.change(log, {"s0"});
    run.stream().heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)] += 4;
    between = run.now();
    between.streams[0].by_endpoint.clear();
    log.follow(between);
    EXPECT_EQ(between.streams[0].cut_at_start.by_change, 4U) << "five were live at the look before";
    const std::vector<Finding> found = run.look(log);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].cause, Cause::cut_by_change);
    EXPECT_EQ(found[0].count, 4U);
}

TEST(CutHeaps, AChangesHeapsOfASlowStreamMayEndLate) {
    Watched run;
    FindingLog log;
    settle_down(run, log);
    run.change(log, {"s0"});
    go_on(run, log, [&] { run.stream().received++; });
    EXPECT_EQ(lose(run, log, 1).at(0).cause, Cause::cut_by_change);
    log.clear(run.now());
    EXPECT_THAT(run.look(log), IsEmpty());
}

}  // namespace
}  // namespace spead::stats
