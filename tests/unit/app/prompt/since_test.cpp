// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/since.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/report.hpp"
#include "tests/unit/app/snapshots.hpp"

namespace spead::app {
namespace {

TEST(Since, CountsAreDifferencesAndStatesStay) {
    const stats::Snapshot before = test::numbered_snapshot();
    stats::Snapshot now = before;
    now.duration_s += 4;
    now.streams[0].received += 7;
    now.streams[0].packets[0] += 7;
    now.streams[0].heaps_live = 9;
    now.ports[0].rx_packets += 11;
    now.ports[0].nic.missed += 3;
    now.sends[0].counters.bytes += 5;
    const stats::Snapshot d = since(now, before);
    EXPECT_DOUBLE_EQ(d.duration_s, 4);
    EXPECT_EQ(d.streams[0].received, 7u);
    EXPECT_EQ(d.streams[0].packets[0], 7u);
    EXPECT_EQ(d.streams[0].packets[1], 0u);
    EXPECT_EQ(d.streams[0].heaps_live, 9u);
    EXPECT_EQ(d.ports[0].rx_packets, 11u);
    EXPECT_EQ(d.ports[0].nic.missed, 3u);
    EXPECT_EQ(d.sends[0].counters.bytes, 5u);
}

TEST(Since, NothingIsCountedBetweenASnapshotAndItself) {
    const stats::Snapshot snapshot = test::numbered_snapshot();
    const auto document = report_document(since(snapshot, snapshot));
    for (const auto& [outcome, count] : document["streams"][0]["packets"].items())
        EXPECT_EQ(count, 0) << outcome;
    for (const auto& [name, count] : document["ports"][0]["rx"].items())
        EXPECT_EQ(count, 0) << name;
    for (const auto& [name, count] : document["ports"][0]["nic"].items())
        EXPECT_EQ(count, 0) << name;
}

TEST(Since, WhatWasRemovedCountsFromThereToo) {
    const stats::Snapshot before = test::numbered_snapshot();
    stats::Snapshot now = before;
    now.removed = now.streams[0];
    now.removed.received += 3;
    now.streams.clear();
    EXPECT_EQ(since(now, before).removed.received, 3u);
}

TEST(Since, WhatCameOrBeganAnewCountsWhole) {
    const stats::Snapshot before = test::numbered_snapshot();
    stats::Snapshot now = before;
    now.streams[0].received = 5;  // deleted and added again
    now.streams.push_back(before.streams[0]);
    now.streams[1].name = "new";
    const stats::Snapshot d = since(now, before);
    EXPECT_EQ(d.streams[0].received, 5u);
    EXPECT_EQ(d.streams[1].received, before.streams[0].received);
}

}  // namespace
}  // namespace spead::app
