// SPDX-License-Identifier: BSD-3-Clause
#include "stats/snapshot_board.hpp"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace spead::stats {
namespace {

using namespace std::chrono_literals;
using Time = SnapshotBoard::Clock::time_point;

Snapshot at(double seconds) {
    Snapshot snapshot;
    snapshot.duration_s = seconds;
    return snapshot;
}

TEST(SnapshotBoard, HasNothingBeforeTheFirstPublication) {
    const SnapshotBoard board;
    const SnapshotBoard::View view = board.look();
    EXPECT_FALSE(view);
    EXPECT_FALSE(view.earlier);
    EXPECT_EQ(view.latest.sequence, 0u);
}

TEST(SnapshotBoard, TheFirstHasNoEarlierOne) {
    SnapshotBoard board;
    board.publish(at(0.5), Time{10s});
    const SnapshotBoard::View view = board.look(Time{12s});
    ASSERT_TRUE(view);
    EXPECT_EQ(view.latest.snapshot->duration_s, 0.5);
    EXPECT_EQ(view.latest.sequence, 1u);
    EXPECT_EQ(view.age, 2s);
    EXPECT_FALSE(view.earlier);
}

TEST(SnapshotBoard, TheEarlierOneIsAWindowOlderOnceThereIsSuch) {
    SnapshotBoard board;
    for (int i = 0; i <= 20; i++) {
        board.publish(at(i * 0.2), Time{i * 200ms});
        const SnapshotBoard::View view = board.look(Time{i * 200ms});
        EXPECT_EQ(view.latest.sequence, static_cast<std::uint64_t>(i + 1));
        if (i == 0)
            continue;
        EXPECT_EQ(view.earlier.sequence, static_cast<std::uint64_t>(i <= 5 ? 1 : i - 4));
        EXPECT_EQ(view.latest.time - view.earlier.time,
                  std::min<SnapshotBoard::Clock::duration>(i * 200ms, 1s));
    }
}

TEST(SnapshotBoard, AfterALongPauseTheEarlierOneIsTheOneBeforeIt) {
    SnapshotBoard board;
    board.publish(at(1), Time{1s});
    board.publish(at(2), Time{2s});
    board.publish(at(60), Time{60s});
    EXPECT_EQ(board.look(Time{60s}).earlier.snapshot->duration_s, 2);
}

TEST(SnapshotBoard, WhatAReaderHoldsStaysAsItWas) {
    SnapshotBoard board;
    board.publish(at(1), Time{1s});
    const SnapshotBoard::View held = board.look(Time{1s});
    for (int i = 2; i < 10; i++)
        board.publish(at(i), Time{i * 1s});
    EXPECT_EQ(held.latest.snapshot->duration_s, 1);
    EXPECT_EQ(board.look(Time{9s}).latest.snapshot->duration_s, 9);
}

TEST(SnapshotBoard, ReadersOfOtherThreadsSeeWholeSnapshotsInOrder) {
    SnapshotBoard board;
    std::atomic<bool> end{false};
    std::atomic<int> wrong{0};
    std::atomic<int> looks{0};
    std::vector<std::thread> readers;
    for (int r = 0; r < 2; r++)
        readers.emplace_back([&] {
            std::uint64_t last = 0;
            while (!end) {
                const SnapshotBoard::View view = board.look();
                if (!view)
                    continue;
                wrong += view.latest.sequence < last ||
                         view.latest.snapshot->duration_s != static_cast<double>(view.latest.sequence) ||
                         (view.earlier && view.earlier.sequence >= view.latest.sequence);
                last = view.latest.sequence;
                looks++;
            }
        });
    std::uint64_t published = 0;
    while (published < 2000 || looks < 100)
        board.publish(at(static_cast<double>(++published)));
    end = true;
    for (std::thread& reader : readers)
        reader.join();
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace spead::stats
