// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/host_look.hpp"

#include <gmock/gmock.h>
#include <string>

#include <gtest/gtest.h>

namespace spead::app {
namespace {

using ::testing::ElementsAre;

constexpr const char* kMetrics = R"(spead_shard_info{plan="ta",shard="1",shards="3"} 1
spead_plan_endpoints{scope="all"} 16
spead_plan_endpoints{scope="mine"} 5
spead_stream_bytes_per_second{stream="a"} 1000
spead_stream_bytes_per_second{stream="b"} 500
spead_stream_packets_per_second{stream="a"} 10
spead_stream_heaps_total{stream="a",end="complete"} 100
spead_stream_heaps_total{stream="a",end="evicted"} 4
spead_stream_heaps_total{stream="a",end="timed_out"} 3
spead_stream_heaps_dropped_full_total{stream="a"} 2
spead_stream_heaps_unwritten_total{stream="a"} 1
spead_stream_heaps_device_error_total{stream="a"} 6
spead_stream_expected_bytes_per_second{stream="a"} 2000
spead_stream_missing_packets_total{stream="a"} 9
spead_run_duration_seconds 12.5
spead_port_up{port="p0"} 1
spead_port_up{port="p1"} 0
spead_lcore_up{lcore="2",cpu="2"} 0
spead_engine_up{engine="cuda"} 0
spead_stream_up{stream="b"} 0
spead_stream_sink_failed{stream="a"} 1
)";

TEST(HostLook, TakesWhatIsShown) {
    const HostLook look = look_at({"h:1", ""}, read_exposition(kMetrics, kShownMetrics));
    EXPECT_EQ(look.failure, "");
    EXPECT_EQ(look.plan, "ta");
    EXPECT_EQ(look.shard, "1/3");
    EXPECT_EQ(look.endpoints, 5U);
    EXPECT_EQ(look.endpoints_all, 16U);
    EXPECT_EQ(look.bytes_per_second, 1500);
    EXPECT_EQ(look.packets_per_second, 10);
    EXPECT_EQ(look.heaps_complete, 100U);
    EXPECT_EQ(look.heaps_lost, 16U);
    EXPECT_EQ(look.expected_bytes_per_second, 2000);
    EXPECT_EQ(look.missing_packets, 9U);
    EXPECT_THAT(look.faults, ElementsAre("port p1 is down", "lcore 2 is silent", "engine cuda stands still",
                                         "stream b is not received", "stream a has a sink that failed"));
}

TEST(HostLook, HeapsThatChunksLackAreLost) {
    const HostLook look =
        look_at({"h:1", ""}, read_exposition(R"(spead_shard_info{plan="p",shard="0",shards="1"} 1
spead_stream_chunk_heaps_missing_total{stream="a"} 5
spead_stream_chunk_heaps_skipped_total{stream="a"} 30
spead_stream_chunk_heaps_device_error_total{stream="a"} 200
spead_stream_chunk_heaps_cut_total{stream="a"} 1000
)",
                                             kShownMetrics));
    EXPECT_EQ(look.heaps_lost, 235U) << "cut ones were never to come";
}

TEST(HostLook, KeepsAFewFaultsAndCountsTheRest) {
    std::string text = "spead_shard_info{plan=\"p\",shard=\"0\",shards=\"1\"} 1\n";
    for (int i = 0; i < 200000; i++)
        text += "spead_port_up 0\n";
    const HostLook look = look_at({"h:1", ""}, read_exposition(text, kShownMetrics));
    ASSERT_EQ(look.faults.size(), kMostFaults + 1);
    EXPECT_EQ(look.faults.back(), "and 99991 more") << "of the samples that are read at all";
}

TEST(HostLook, IsNoneOfOtherPrograms) {
    const HostLook look = look_at({"h:1", "0/2"}, read_exposition("spead_other 1\n", kShownMetrics));
    EXPECT_EQ(look.failure, "it serves no metrics of dpdk-spead");
    EXPECT_EQ(look.shard, "0/2");
    EXPECT_EQ(look_at({"h:1", "0/2"}, read_exposition("spead_build_info{version=\"1\"} 1\n", kShownMetrics))
                  .failure,
              "its run has not begun");
}

TEST(HostLook, TakesNumbersThatNoProcessHas) {
    const HostLook look = look_at({"h:1", ""}, read_exposition(R"(spead_shard_info{plan="p"} 1
spead_plan_endpoints{scope="mine"} 1e300
spead_plan_endpoints{scope="all"} NaN
spead_stream_missing_packets_total -1
spead_stream_bytes_per_second +Inf
)",
                                                               kShownMetrics));
    EXPECT_EQ(look.endpoints, 9007199254740992U);
    EXPECT_EQ(look.endpoints_all, 0U);
    EXPECT_EQ(look.missing_packets, 0U);
    EXPECT_EQ(look.bytes_per_second, 0);
}

TEST(HostLook, LosesBetweenTwoLooksOfOneRun) {
    HostLook before;
    before.heaps_lost = 5;
    before.run_seconds = 10;
    HostLook now = before;
    now.heaps_lost = 7;
    now.run_seconds = 11;
    EXPECT_EQ(lost_between(&before, now), 2U);
    now.run_seconds = 1;
    EXPECT_EQ(lost_between(&before, now), std::nullopt);
    EXPECT_EQ(lost_between(&before, no_look_at({}, "gone")), std::nullopt);
}

}  // namespace
}  // namespace spead::app
