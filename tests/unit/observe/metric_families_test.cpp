// SPDX-License-Identifier: BSD-3-Clause
#include "observe/metric_families.hpp"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/observe/snapshots.hpp"

namespace spead::observe {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::map<std::string, std::string>;
using namespace std::chrono_literals;

class MetricFamiliesTest : public testing::Test {
  protected:
    std::vector<MetricFamily> after(const std::vector<stats::Snapshot>& snapshots) {
        for (const stats::Snapshot& s : snapshots)
            latest.publish(s, time += 500ms);
        return metric_families(latest.look(time + 100ms), rising);
    }
    stats::LatestSnapshot latest;
    RisingCounts rising;
    stats::LatestSnapshot::Clock::time_point time{};
};

std::optional<double> value(const std::vector<MetricFamily>& families, const std::string& name,
                            const Labels& labels) {
    for (const MetricFamily& family : families)
        for (const ClientMetric& metric : family.metric) {
            Labels found;
            for (const ClientMetric::Label& label : metric.label)
                found[label.name] = label.value;
            if (family.name == name && found == labels)
                return family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value;
        }
    return std::nullopt;
}

TEST_F(MetricFamiliesTest, BeforeTheRunThereAreNone) {
    EXPECT_TRUE(metric_families(latest.look(), rising).empty());
}

TEST_F(MetricFamiliesTest, CountsAreTheSnapshots) {
    const auto all = after({test::numbered_snapshot()});
    for (std::size_t i = 0; i < kPacketOutcomes; i++)
        EXPECT_EQ(value(all, "spead_stream_packets_total",
                        {{"stream", "s0"}, {"outcome", std::string(kPacketOutcomeNames[i])}}),
                  110.0 + static_cast<double>(i));
    EXPECT_EQ(value(all, "spead_stream_heap_bytes_total", {{"stream", "s0"}}), 100);
    EXPECT_EQ(value(all, "spead_stream_heaps_total", {{"stream", "s0"}, {"end", "timed_out"}}), 133);
    EXPECT_EQ(value(all, "spead_heap_queue_heaps", {{"stream", "s0"}}), 143);
    EXPECT_EQ(value(all, "spead_heap_queue_capacity_heaps", {{"stream", "s0"}}), 182);
    EXPECT_EQ(value(all, "spead_stream_expected_bytes_per_second", {{"stream", "s0"}}), 183);
    EXPECT_EQ(value(all, "spead_send_packets_total", {{"send", "d0"}, {"payload", "copied"}}), 205);
    EXPECT_EQ(value(all, "spead_port_rx_refused_packets_total", {{"port", "p0"}, {"reason", "arp"}}), 307);
    EXPECT_EQ(value(all, "spead_port_rx_refused_packets_total", {{"port", "p0"}, {"reason", "ndp"}}), 309);
    EXPECT_EQ(value(all, "spead_port_rx_refused_packets_total", {{"port", "p0"}, {"reason", "stream"}}),
              std::nullopt);
    EXPECT_EQ(value(all, "spead_port_rx_stream_packets_total", {{"port", "p0"}}), 300);
    EXPECT_EQ(
        value(all, "spead_lcore_stream_packets_total", {{"lcore", "1"}, {"cpu", "5"}, {"stream", "s0"}}),
        101);
    EXPECT_EQ(value(all, "spead_run_duration_seconds", {}), 2.5);
    EXPECT_NEAR(value(all, "spead_snapshot_age_seconds", {}).value_or(-1), 0.1, 1e-9);
}

TEST_F(MetricFamiliesTest, CountersDoNotFallWhenAHeapIsRetracted) {
    const Labels stream{{"stream", "s0"}};
    const Labels placed{{"stream", "s0"}, {"outcome", "placed"}};
    const auto before = after({test::numbered_snapshot()});
    stats::Snapshot retracted = test::numbered_snapshot();
    stats::StreamSnapshot& s = retracted.streams[0];
    s.packets[static_cast<std::size_t>(PacketOutcome::placed)] -= 2;
    s.packets[static_cast<std::size_t>(PacketOutcome::control)] += 2;
    s.bytes -= 16;
    s.control_bytes += 16;
    s.heaps_started--;
    const auto now = after({retracted});
    EXPECT_EQ(value(now, "spead_stream_packets_total", placed),
              value(before, "spead_stream_packets_total", placed));
    for (const char* const name : {"spead_stream_heap_bytes_total", "spead_stream_heaps_started_total"})
        EXPECT_EQ(value(now, name, stream), value(before, name, stream)) << name;
    EXPECT_EQ(value(now, "spead_stream_control_bytes_total", stream), 158 + 16);
}

TEST_F(MetricFamiliesTest, CountersEndInTotalAndAllHaveHelpAndADifferentName) {
    std::set<std::string> names;
    for (const MetricFamily& family : after({test::numbered_snapshot(), test::numbered_snapshot()})) {
        EXPECT_TRUE(names.insert(family.name).second) << family.name;
        EXPECT_EQ(family.name.ends_with("_total"), family.type == MetricType::Counter) << family.name;
        EXPECT_TRUE(family.name.starts_with("spead_"));
        EXPECT_FALSE(family.help.empty()) << family.name;
        EXPECT_FALSE(family.metric.empty()) << family.name;
    }
}

TEST_F(MetricFamiliesTest, RatesComeFromTwoSnapshots) {
    stats::Snapshot later = test::numbered_snapshot();
    later.streams[0].bytes += 1000;
    later.sends[0].counters.packets += 7;
    const auto all = after({test::numbered_snapshot(), later});
    EXPECT_EQ(value(all, "spead_stream_bytes_per_second", {{"stream", "s0"}}), 2000);
    EXPECT_EQ(value(all, "spead_send_packets_per_second", {{"send", "d0"}}), 14);
}

TEST_F(MetricFamiliesTest, WithoutARateThereIsNoNumberOfIt) {
    EXPECT_EQ(value(after({test::numbered_snapshot()}), "spead_stream_bytes_per_second", {{"stream", "s0"}}),
              std::nullopt);
    stats::Snapshot cleared = test::numbered_snapshot();
    cleared.streams[0].bytes = 0;
    cleared.streams[0].expected_rate = 0;
    const auto all = after({cleared});
    EXPECT_EQ(value(all, "spead_stream_bytes_per_second", {{"stream", "s0"}}), std::nullopt);
    EXPECT_EQ(value(all, "spead_stream_expected_bytes_per_second", {{"stream", "s0"}}), std::nullopt);
}

TEST_F(MetricFamiliesTest, LcoresTellTheirTimeInSeconds) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    snapshot.ticks_per_second = 1000;
    snapshot.lcores[0].counters.busy_cycles = 2500;
    snapshot.lcores[0].counters.longest_loop = 3;
    const Labels place{{"lcore", "1"}, {"cpu", "5"}};
    const auto all = after({snapshot});
    EXPECT_EQ(value(all, "spead_lcore_busy_seconds_total", place), 2.5);
    EXPECT_EQ(value(all, "spead_lcore_longest_loop_seconds", place), 0.003);
    snapshot.ticks_per_second = 0;
    EXPECT_EQ(value(after({snapshot}), "spead_lcore_busy_seconds_total", place), 0);
}

TEST_F(MetricFamiliesTest, TimesAreHistogramsFromTheFirstSnapshotOn) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    snapshot.streams[0].latency = {4, 0.1, 0.25, 0.4, {{0.2, 3}, {0.4, 1}}};
    snapshot.streams[0].gap = {};
    std::map<std::string, ClientMetric::Histogram> found;
    for (const MetricFamily& family : after({snapshot}))
        if (family.type == MetricType::Histogram) {
            ASSERT_EQ(family.metric.size(), 1u) << family.name;
            found[family.name] = family.metric[0].histogram;
        }
    ASSERT_EQ(found.size(), 2u);
    const ClientMetric::Histogram& latency = found["spead_stream_heap_latency_seconds"];
    EXPECT_EQ(latency.sample_count, 4u);
    EXPECT_EQ(latency.sample_sum, 1);
    ASSERT_FALSE(latency.bucket.empty());
    EXPECT_EQ(latency.bucket.front().cumulative_count, 0u);
    EXPECT_EQ(latency.bucket.back().cumulative_count, 4u);
    // Otherwise the first heap would be no increase.
    const ClientMetric::Histogram& gap = found["spead_stream_heap_gap_seconds"];
    EXPECT_EQ(gap.sample_count, 0u);
    EXPECT_EQ(gap.bucket.size(), latency.bucket.size());
}

TEST_F(MetricFamiliesTest, MarksAreThoseOfTheRunAndOfTheLastMinute) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    snapshot.streams[0].queue_most_minute = 500;
    snapshot.streams[0].pool_most_minute = 501;
    snapshot.ports[0].buffers = {502, 503, 504};
    snapshot.lcores[0].counters.longest_loop = 505;
    snapshot.lcores[0].longest_loop_minute = 506;
    const auto all = after({snapshot});
    const Labels s0{{"stream", "s0"}};
    EXPECT_EQ(value(all, "spead_heap_queue_lcore_capacity_heaps", s0), 164);
    EXPECT_EQ(value(all, "spead_heap_queue_most_heaps", s0), 165);
    EXPECT_EQ(value(all, "spead_heap_queue_most_minute_heaps", s0), 500);
    EXPECT_EQ(value(all, "spead_heap_memory_most_bytes", s0), 167);
    EXPECT_EQ(value(all, "spead_heap_memory_most_minute_bytes", s0), 501);
    EXPECT_EQ(value(all, "spead_port_rx_fewest_free_buffers", {{"port", "p0"}}), 503);
    EXPECT_EQ(value(all, "spead_port_rx_fewest_free_minute_buffers", {{"port", "p0"}}), 504);
    const Labels place{{"lcore", "1"}, {"cpu", "5"}};
    EXPECT_EQ(value(all, "spead_lcore_longest_loop_seconds", place), 0.505);
    EXPECT_EQ(value(all, "spead_lcore_longest_loop_minute_seconds", place), 0.506);
}

TEST_F(MetricFamiliesTest, OnlyStreamsThatAreWatchedAreHealthyOrNot) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    for (const auto& [state, healthy] :
         {std::pair{"", std::optional<double>{}}, std::pair{"ok", std::optional(1.0)},
          std::pair{"losing, slow", std::optional(0.0)}}) {
        snapshot.streams[0].health = state;
        EXPECT_EQ(value(after({snapshot}), "spead_stream_healthy", {{"stream", "s0"}}), healthy) << state;
    }
}

TEST_F(MetricFamiliesTest, StreamsComeAndGo) {
    stats::Snapshot two = test::numbered_snapshot();
    two.streams.push_back(two.streams[0]);
    two.streams[1].name = "s1";
    const auto with = after({test::numbered_snapshot(), two});
    EXPECT_EQ(value(with, "spead_stream_heap_bytes_total", {{"stream", "s1"}}), 100);
    EXPECT_EQ(value(with, "spead_stream_bytes_per_second", {{"stream", "s1"}}), std::nullopt);
    EXPECT_EQ(value(with, "spead_stream_bytes_per_second", {{"stream", "s0"}}), 0);
    const auto without = after({test::numbered_snapshot()});
    EXPECT_EQ(value(without, "spead_stream_heap_bytes_total", {{"stream", "s1"}}), std::nullopt);
    stats::Snapshot none;
    for (const MetricFamily& family : after({none}))
        EXPECT_FALSE(family.name.starts_with("spead_stream")) << family.name;
}

TEST_F(MetricFamiliesTest, CapturesOfAStreamAreAddedUp) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    stats::CaptureSnapshot c;
    c.stream = "s0";
    c.taken = 100;
    c.taken_bytes = 5000;
    c.written = 90;
    c.dropped_full = 7;
    c.files = {{"a.pcap", 3, 40, 3000}, {"b.pcap", 1, 50, 4000}};
    snapshot.captures.push_back(c);
    c.finished = true;
    c.written = 80;
    c.unwritten = 20;
    snapshot.captures.push_back(c);
    const Labels s0{{"stream", "s0"}};
    const auto all = after({snapshot});
    EXPECT_EQ(value(all, "spead_capture_taken_packets_total", s0), 200);
    EXPECT_EQ(value(all, "spead_capture_taken_bytes_total", s0), 10000);
    EXPECT_EQ(value(all, "spead_capture_written_packets_total", s0), 170);
    EXPECT_EQ(value(all, "spead_capture_unwritten_packets_total", s0), 20);
    EXPECT_EQ(value(all, "spead_capture_dropped_full_packets_total", s0), 14);
    EXPECT_EQ(value(all, "spead_capture_files_total", s0), 8);
    EXPECT_EQ(value(all, "spead_capture_file_bytes_total", s0), 14000);
    EXPECT_EQ(value(all, "spead_capture_buffered_packets", s0), 10);
    EXPECT_EQ(value(all, "spead_captures_running", s0), 1);
}

TEST_F(MetricFamiliesTest, WhatDoesNotRunIsNotUp) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    EXPECT_EQ(value(after({snapshot}), "spead_stream_up", {{"stream", "s0"}}), 1);
    EXPECT_EQ(value(after({snapshot}), "spead_port_up", {{"port", "p0"}}), 1);
    snapshot.streams[0].state = "waiting";
    snapshot.ports[0].state = "stopped";
    EXPECT_EQ(value(after({snapshot}), "spead_stream_up", {{"stream", "s0"}}), 0);
    EXPECT_EQ(value(after({snapshot}), "spead_port_up", {{"port", "p0"}}), 0);
    EXPECT_EQ(value(after({snapshot}), "spead_port_detached", {{"port", "p0"}}), 0) << "somebody stopped it";
    snapshot.ports[0].state = "detached";
    EXPECT_EQ(value(after({snapshot}), "spead_port_up", {{"port", "p0"}}), 0);
    EXPECT_EQ(value(after({snapshot}), "spead_port_detached", {{"port", "p0"}}), 1);
}

}  // namespace
}  // namespace spead::observe
