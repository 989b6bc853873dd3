// SPDX-License-Identifier: BSD-3-Clause
#include "stats/latest_snapshot.hpp"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace spead::stats {
namespace {

using namespace std::chrono_literals;
using Time = LatestSnapshot::Clock::time_point;

Snapshot at(double seconds) {
    Snapshot snapshot;
    snapshot.duration_s = seconds;
    return snapshot;
}

TEST(LatestSnapshot, HasNothingBeforeTheFirstPublication) {
    const LatestSnapshot latest;
    const LatestSnapshot::View view = latest.look();
    EXPECT_FALSE(view);
    EXPECT_FALSE(view.earlier);
    EXPECT_EQ(view.latest.sequence, 0u);
}

TEST(LatestSnapshot, TheFirstHasNoEarlierOne) {
    LatestSnapshot latest;
    latest.publish(at(0.5), Time{10s});
    const LatestSnapshot::View view = latest.look(Time{12s});
    ASSERT_TRUE(view);
    EXPECT_EQ(view.latest.snapshot->duration_s, 0.5);
    EXPECT_EQ(view.latest.sequence, 1u);
    EXPECT_EQ(view.age, 2s);
    EXPECT_FALSE(view.earlier);
}

TEST(LatestSnapshot, TheEarlierOneIsAWindowOlderOnceThereIsSuch) {
    LatestSnapshot latest;
    for (int i = 0; i <= 20; i++) {
        latest.publish(at(i * 0.2), Time{i * 200ms});
        const LatestSnapshot::View view = latest.look(Time{i * 200ms});
        EXPECT_EQ(view.latest.sequence, static_cast<std::uint64_t>(i + 1));
        if (i == 0)
            continue;
        EXPECT_EQ(view.earlier.sequence, static_cast<std::uint64_t>(i <= 5 ? 1 : i - 4));
        EXPECT_EQ(view.latest.time - view.earlier.time,
                  std::min<LatestSnapshot::Clock::duration>(i * 200ms, 1s));
    }
}

TEST(LatestSnapshot, AfterALongPauseTheEarlierOneIsTheOneBeforeIt) {
    LatestSnapshot latest;
    latest.publish(at(1), Time{1s});
    latest.publish(at(2), Time{2s});
    latest.publish(at(60), Time{60s});
    EXPECT_EQ(latest.look(Time{60s}).earlier.snapshot->duration_s, 2);
}

TEST(LatestSnapshot, WhatAReaderHoldsStaysAsItWas) {
    LatestSnapshot latest;
    latest.publish(at(1), Time{1s});
    const LatestSnapshot::View held = latest.look(Time{1s});
    for (int i = 2; i < 10; i++)
        latest.publish(at(i), Time{i * 1s});
    EXPECT_EQ(held.latest.snapshot->duration_s, 1);
    EXPECT_EQ(latest.look(Time{9s}).latest.snapshot->duration_s, 9);
}

TEST(LatestSnapshot, ReadersOfOtherThreadsSeeWholeSnapshotsInOrder) {
    LatestSnapshot latest;
    std::atomic<bool> end{false};
    std::atomic<int> wrong{0};
    std::atomic<int> looks{0};
    std::vector<std::thread> readers;
    for (int r = 0; r < 2; r++)
        readers.emplace_back([&] {
            std::uint64_t last = 0;
            while (!end) {
                const LatestSnapshot::View view = latest.look();
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
        latest.publish(at(static_cast<double>(++published)));
    end = true;
    for (std::thread& reader : readers)
        reader.join();
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace spead::stats
