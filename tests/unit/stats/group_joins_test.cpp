// SPDX-License-Identifier: BSD-3-Clause
/// Tests which heaps of a group's chunks are said to be missing because a stream of it began later.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "stats/finding_log.hpp"
#include "tests/unit/stats/watched_run.hpp"

namespace spead::stats {
namespace {

using test::Watched;

/// Lets a second stream fill the chunks of the first one, from now on; each has half of the places.
void add_to_chunks(Watched& run) {
    StreamSnapshot& more = run.now().streams.emplace_back();
    more.name = "s1";
    more.number = 2;
    more.port = "p0";
    more.state = "received";
    more.chunks_counted_with = "s0";
    more.chunks = run.stream().chunks;
    more.endpoints = {"239.1.2.4:7148"};
}

/// Passes a fifth of a second in which two chunks of 100 heaps are taken; so many heaps of them are missing.
std::vector<Finding> take_chunks(Watched& run, FindingLog& log, std::uint64_t missing) {
    run.pass();
    ChunkCounts& c = run.stream().chunks;
    c.opened += 2;
    c.handed_over += 2;
    c.taken += 2;
    c.heaps_expected += 200;
    c.heaps_missing += missing;
    c.heaps_present += 200 - missing;
    return run.look(log);
}

const Finding* of(Cause cause, const std::vector<Finding>& all) {
    const auto found = std::ranges::find(all, cause, &Finding::cause);
    return found == all.end() ? nullptr : &*found;
}

void begin_chunks(Watched& run, FindingLog& log) {
    run.stream().chunks.buffers = 8;
    run.stream().settings.window = 2;
    run.stream().endpoints = {"239.1.2.3:7148"};
    run.stream().by_endpoint = {{"239.1.2.3:7148", 1000, 0}};
    run.look(log);
}

TEST(GroupJoins, ChunksLackHeapsOfAStreamThatBeganLater) {
    Watched run;
    FindingLog log;
    begin_chunks(run, log);
    for (int i = 0; i < 5; i++)
        take_chunks(run, log, 100);
    add_to_chunks(run);
    take_chunks(run, log, 100);
    run.now().streams[1].by_endpoint = {{"239.1.2.4:7148", 10, 0}};
    std::vector<Finding> found = take_chunks(run, log, 30);
    ASSERT_NE(of(Cause::cut_by_join, found), nullptr);
    EXPECT_EQ(of(Cause::cut_by_join, found)->count, 630U);
    EXPECT_EQ(of(Cause::network_loss, found), nullptr);
    for (int i = 0; i < 30; i++)
        take_chunks(run, log, 0);
    // Later losses are the network's.
    found = take_chunks(run, log, 7);
    EXPECT_EQ(of(Cause::cut_by_join, found)->count, 630U);
    ASSERT_NE(of(Cause::network_loss, found), nullptr);
    EXPECT_EQ(of(Cause::network_loss, found)->count, 7U);
}

TEST(GroupJoins, WhatAStreamThatNeverComesLacksIsLost) {
    Watched run;
    FindingLog log;
    begin_chunks(run, log);
    for (int i = 0; i < 5; i++)
        take_chunks(run, log, 0);
    add_to_chunks(run);
    std::vector<Finding> found;
    for (int i = 0; i < 60; i++)
        found = take_chunks(run, log, 100);
    ASSERT_NE(of(Cause::network_loss, found), nullptr);
    EXPECT_GT(of(Cause::network_loss, found)->count, 4000U);
}

TEST(GroupJoins, LossesOfTheFirstStreamAreItsOwn) {
    Watched run;
    FindingLog log;
    begin_chunks(run, log);
    for (int i = 0; i < 5; i++)
        take_chunks(run, log, 150);
    add_to_chunks(run);
    run.now().streams[1].by_endpoint = {{"239.1.2.4:7148", 10, 0}};
    const std::vector<Finding> found = take_chunks(run, log, 0);
    ASSERT_NE(of(Cause::network_loss, found), nullptr);
    EXPECT_EQ(of(Cause::network_loss, found)->count, 150U);
    EXPECT_EQ(of(Cause::cut_by_join, found)->count, 600U);
}

TEST(GroupJoins, AStreamThatIsMadeAnewExplainsNoEarlierLosses) {
    Watched run;
    FindingLog log;
    begin_chunks(run, log);
    add_to_chunks(run);
    run.now().streams[1].by_endpoint = {{"239.1.2.4:7148", 10, 0}};
    for (int i = 0; i < 30; i++)
        take_chunks(run, log, 0);
    for (int i = 0; i < 30; i++)
        take_chunks(run, log, 10);
    run.now().streams.pop_back();
    std::vector<Finding> found = take_chunks(run, log, 100);
    EXPECT_EQ(of(Cause::cut_by_join, found), nullptr);
    add_to_chunks(run);
    run.now().streams[1].number = 3;
    run.now().streams[1].by_endpoint = {{"239.1.2.4:7148", 10, 0}};
    found = take_chunks(run, log, 0);
    ASSERT_NE(of(Cause::cut_by_join, found), nullptr);
    EXPECT_EQ(of(Cause::cut_by_join, found)->count, 100U);
    ASSERT_NE(of(Cause::network_loss, found), nullptr);
    EXPECT_EQ(of(Cause::network_loss, found)->count, 300U);
}

}  // namespace
}  // namespace spead::stats
