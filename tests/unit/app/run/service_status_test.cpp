// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/service_status.hpp"

#include <gtest/gtest.h>

namespace spead::app {
namespace {

stats::Snapshot at(double time, std::uint64_t bytes) {
    stats::Snapshot snapshot;
    snapshot.duration_s = time;
    snapshot.streams.resize(1);
    snapshot.streams[0].bytes = bytes;
    snapshot.lcores.resize(2);
    snapshot.lcores[1].lcore = 3;
    return snapshot;
}

TEST(ServiceStatus, HasNewRatesOnlyAfterAWhile) {
    ServiceStatus status;
    EXPECT_EQ(status.line(at(1, 1000)), "running") << "a rate over a second jumps";
    const std::string first = status.line(at(ServiceStatus::kEvery, 10'000));
    EXPECT_NE(first, "running");
    EXPECT_EQ(status.line(at(ServiceStatus::kEvery * 2 - 0.1, 500'000'000)), first);
    EXPECT_NE(status.line(at(ServiceStatus::kEvery * 2, 500'000'000)), first);
}

TEST(ServiceStatus, ASilentLcoreIsMoreUrgent) {
    ServiceStatus status;
    stats::Snapshot stuck = at(ServiceStatus::kEvery, 1000);
    stuck.lcores[1].silent_s = 4;
    EXPECT_EQ(status.line(stuck), stuck.lcores[1].silence());
    stuck.lcores.clear();
    stuck.engines.push_back({"cuda", {"s0"}, 4, 4, 1, 4});
    EXPECT_EQ(status.line(stuck), stuck.engines[0].stall());
    EXPECT_EQ(status.line(at(1, 1000)), "running") << "and it is over when the lcore answers";
}

}  // namespace
}  // namespace spead::app
