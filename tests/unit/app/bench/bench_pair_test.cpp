// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_pair.hpp"

#include <gmock/gmock.h>

#include "app/bench/bench_latency.hpp"
#include "app/bench/bench_link.hpp"
#include "tests/unit/app/parsed.hpp"

namespace spead::app {
namespace {

using spead::test::expect_refused;
using spead::test::parsed;
using spead::test::parsed_options;
using testing::HasSubstr;
using testing::Not;

TEST(BenchPair, Defaults) {
    const PairOptions link = parsed_options<PairOptions>("bench link");
    EXPECT_EQ(link.kind, PairKind::link);
    EXPECT_EQ(link.payload_sizes, (std::vector<std::uint32_t>{1024, 1408, 8192}));
    EXPECT_EQ(link.heap_sizes, (std::vector<std::uint64_t>{0, 65536}));
    EXPECT_EQ(link.search, (RateSearch::Options{12.5e6, 12.5e9, 0.02, 2, 3}));
    EXPECT_EQ(link.trial, 1.0);
    const PairOptions latency = parsed_options<PairOptions>("bench latency");
    EXPECT_EQ(latency.kind, PairKind::latency);
    EXPECT_EQ(latency.loads, std::vector<double>{12.5e6});
    EXPECT_EQ(latency.time, 5.0);
}

TEST(BenchPair, EverythingThatCanBeTyped) {
    const CommandLine line = parsed(
        "bench link --payload 64,8192 --heap-size packet,1MiB --tx-port net_ring0 --rx-port net_ring1 --to "
        "239.1.1.1:9000 --poll busy --tx-lcore 1 --rx-lcore 2 --from 1Mbps --up-to 2Gbps --resolution 0.1 "
        "--trial "
        "250ms --confidence 3/5 --burst-rate-ratio 2 --json - --quiet");
    EXPECT_EQ(line.name, "bench link");
    const PairOptions& o = spead::test::options_of<PairOptions>(line);
    EXPECT_EQ(o.tx_port, "net_ring0");
    EXPECT_EQ(o.rx_port, "net_ring1");
    EXPECT_EQ(o.poll, runtime::PollMode::busy);
    EXPECT_EQ(o.tx_lcore, 1U);
    EXPECT_EQ(o.rx_lcore, 2U);
    EXPECT_EQ(o.search, (RateSearch::Options{125000, 250e6, 0.1, 3, 5}));
    EXPECT_EQ(o.trial, 0.25);
    EXPECT_EQ(pair_plan(o, {1024, 65536}, {true, false}).sends[0].burst_rate_ratio, 2.0);
    EXPECT_TRUE(line.invocation.common.quiet);

    const PairOptions l = parsed_options<PairOptions>(
        "bench latency --load off --time 2s --warm-up 1s --histogram h.csv --client "
        "10.0.0.1:9 --tx-port p");
    EXPECT_TRUE(l.loads.empty());
    EXPECT_EQ(l.warm_up, 1.0);
    EXPECT_EQ(l.histogram_path, "h.csv");
    EXPECT_EQ(l.client, "10.0.0.1:9");
    EXPECT_EQ(parsed_options<PairOptions>("bench latency --load 1Gbps,2Gbps").loads,
              (std::vector<double>{125e6, 250e6}));
}

TEST(BenchPair, WhatCannotBe) {
    expect_refused("bench link --tx-port net_ring0", {"--rx-port", "missing"});
    expect_refused("bench link --rx-port net_ring0", {"--tx-port", "missing"});
    expect_refused("bench link --server 9 --client a:9 --tx-port p", {"--server", "--client"});
    expect_refused("bench link --server 9", {"--rx-port", "missing"});
    expect_refused("bench link --server 9 --rx-port p --tx-port q", {"--tx-port", "--client"});
    expect_refused("bench link --client a:9", {"--tx-port", "missing"});
    expect_refused("bench link --client a:9 --tx-port p --rx-port q", {"--rx-port", "--server"});
    expect_refused("bench link --payload 8192 --heap-size 4KiB", {"--heap-size", "8192"});
    expect_refused("bench latency --payload 4", {"--payload", "timestamp"});
    expect_refused("bench link --tx-port net_memif0 --rx-port net_memif1,role=server",
                   {"memif", "one process"});
    expect_refused("bench link --to 10.0.0.1:7148", {"--to", "multicast"});
    expect_refused("bench link --to 239.1.1.1+3:7148", {"--to"});
    expect_refused("bench link --to 239.1.1.1:65535", {"--to"});
    expect_refused("bench link --from 2Gbps --up-to 1Gbps", {"--from", "--up-to"});
    expect_refused("bench link --from 0", {"--from", "above 0"});
    expect_refused("bench link --confidence 4/3", {"--confidence"});
    expect_refused("bench link --confidence 0/3", {"--confidence"});
    expect_refused("bench link --confidence 3", {"--confidence", "2/3"});
    expect_refused("bench link --load 1Gbps", {"`--load` is not an option of bench link"});
    expect_refused("bench latency --load 0", {"--load", "off"});
}

PairOptions options_of(PairKind kind) {
    PairOptions o = parsed_options<PairOptions>(kind == PairKind::link ? "bench link" : "bench latency");
    o.tx_port = "net_memif0,role=client";
    o.rx_port = "net_ring1";
    return o;
}

TEST(BenchPair, EachEndHasItsHalfOfThePlan) {
    const PairCase c{1024, 65536};
    const runtime::Plan near = pair_plan(options_of(PairKind::link), c, {true, false});
    ASSERT_EQ(near.ports.size(), 1U);
    EXPECT_EQ(near.ports[0].device, "net_memif0,role=client");
    EXPECT_TRUE(near.receives.empty());
    ASSERT_EQ(near.sends.size(), 1U);
    EXPECT_EQ(near.sends[0].heap_size, 65536U);
    EXPECT_EQ(near.sends[0].max_packet_size, 1064U);

    const runtime::Plan far = pair_plan(options_of(PairKind::link), c, {false, true});
    ASSERT_EQ(far.receives.size(), 1U);
    EXPECT_TRUE(far.sends.empty());
    EXPECT_EQ(far.ports[0].device, "net_ring1");
    EXPECT_EQ(far.receives[0].endpoints, near.sends[0].endpoints);
    EXPECT_GE(far.receives[0].max_packet_size, near.sends[0].max_packet_size);
    EXPECT_GE(far.receives[0].max_bytes, 65536U);
}

TEST(BenchPair, GroupsMayBeOfIpv6) {
    PairOptions options = options_of(PairKind::latency);
    options.to = "[ff15::71]:7148";
    EXPECT_NO_THROW(check_pair(options));
    const runtime::Plan both = pair_plan(options, {1024, 1024}, {true, true});
    EXPECT_EQ(both.sends[0].endpoint_texts, std::vector<std::string>{"[ff15::71]:7148"});
    EXPECT_EQ(both.receives[1].endpoint_texts, std::vector<std::string>{"[ff15::71]:7149"});
    expect_refused("bench link --to [fd00::1]:7148", {"--to", "multicast"});
}

TEST(BenchPair, LatencyGoesThereAndBackOnTwoEndpoints) {
    const PairCase c{1024, 1024};
    const runtime::Plan both = pair_plan(options_of(PairKind::latency), c, {true, true});
    ASSERT_EQ(both.ports.size(), 2U);
    ASSERT_EQ(both.receives.size(), 2U);
    ASSERT_EQ(both.sends.size(), 2U);
    EXPECT_EQ(both.sends[0].port, "tx");
    EXPECT_EQ(both.sends[1].port, "rx");
    EXPECT_EQ(both.receives[0].endpoints, both.sends[0].endpoints);
    EXPECT_EQ(both.receives[1].endpoints, both.sends[1].endpoints);
    EXPECT_NE(both.sends[0].endpoints, both.sends[1].endpoints);
    EXPECT_EQ(both.sends[0].max_packet_size, 1080U) << "two item pointers beside the payload";
}

TEST(BenchPair, APortThatReceivesItsOwnIsOne) {
    PairOptions o = options_of(PairKind::latency);
    o.tx_port = o.rx_port = "net_ring0";
    const runtime::Plan plan = pair_plan(o, {1024, 1024}, {true, true});
    EXPECT_EQ(plan.ports.size(), 1U);
    EXPECT_EQ(plan.sends[1].port, plan.sends[0].port);
}

TEST(BenchPair, CasesAreEveryCombination) {
    PairOptions o;
    o.payload_sizes = {64, 1024};
    o.heap_sizes = {0, 4096};
    const auto cases = cases_of(o);
    ASSERT_EQ(cases.size(), 4U);
    EXPECT_EQ(cases[0].heap, 64U) << "one packet each";
    EXPECT_EQ(cases[3].payload, 1024U);
    EXPECT_EQ(cases[3].heap, 4096U);
}

TEST(BenchLink, ATrialPassesOnlyWithEveryHeapAndTheRate) {
    EXPECT_TRUE(link_trial_passes({1e9, 0.995e9, 1000, 1000, false}));
    EXPECT_FALSE(link_trial_passes({1e9, 1e9, 1000, 999, false})) << "one missing heap";
    EXPECT_FALSE(link_trial_passes({1e9, 0.985e9, 1000, 1000, false})) << "the wire pushed back";
    EXPECT_FALSE(link_trial_passes({1e9, 0, 0, 0, false})) << "nothing was sent";
}

TEST(BenchLink, TableAndDocument) {
    LinkResult r;
    r.c = {1024, 65536};
    r.bytes_per_heap = 68104;
    r.packets_per_heap = 64;
    r.sustained = 1.25e9;
    r.refused = 1.28e9;
    LinkResult none;
    none.c = {64, 64};
    none.bytes_per_heap = 112;
    none.packets_per_heap = 1;
    none.refused = 1e6;
    const std::string table = link_table({r, none});
    EXPECT_THAT(table, HasSubstr("10.0 Gb/s"));
    EXPECT_THAT(table, HasSubstr("none"));
    PairOutcome outcome;
    outcome.packet_pages = "4 KiB pages";
    outcome.placement = place_pair({{0, 0}, {1, 1}, {2, 2}}, {}, {});
    const auto document = nlohmann::json::parse(link_json(options_of(PairKind::link), {r, none}, outcome));
    EXPECT_EQ(document["packet_pages"], "4 KiB pages");
    EXPECT_EQ(document["placement"]["near"]["lcore_cpu"], 2);
    EXPECT_EQ(document["placement"]["far"]["other_cpus"], nlohmann::json::array({0}));
    EXPECT_THAT(document["placement"]["reason"].get<std::string>(), HasSubstr("3 CPUs"));
    EXPECT_EQ(document["results"][0]["sustained_bps"], 1e10);
    EXPECT_NEAR(document["results"][0]["heap_data_bps"].get<double>(), 1e10 * 65536 / 68104, 1);
    EXPECT_TRUE(document["results"][1]["sustained_bps"].is_null());
}

TEST(BenchLatency, PercentilesThatTooFewHeapsCannotTellAreLeftOut) {
    EXPECT_TRUE(percentile_means_something(99.99, 10'000));
    EXPECT_FALSE(percentile_means_something(99.99, 9'999));
    EXPECT_TRUE(percentile_means_something(50, 2));
    EXPECT_FALSE(percentile_means_something(50, 0));

    LatencyRow row;
    row.c = {1024, 1024};
    row.result.sent = 201;
    row.preemptions = 12;
    for (std::uint64_t i = 0; i < 200; i++)
        row.result.nanoseconds.add(1000 * (i + 1));
    const auto document =
        nlohmann::json::parse(latency_json(options_of(PairKind::latency), {row}, PairOutcome{}));
    const auto& result = document["results"][0];
    EXPECT_EQ(result["heaps_lost"], 1);
    EXPECT_EQ(result["preemptions"], 12);
    EXPECT_TRUE(document["placement"].is_null());
    EXPECT_NEAR(result["percentiles_ns"]["50"].get<double>(), 100'000, 1000);
    EXPECT_TRUE(result["percentiles_ns"]["99.9"].is_null());
    EXPECT_EQ(result["max_ns"], 200'000);
    std::uint64_t in_buckets = 0;
    for (const auto& bucket : result["buckets_ns"])
        in_buckets += bucket[2].get<std::uint64_t>();
    EXPECT_EQ(in_buckets, 200U);
    const std::string csv = latency_csv({row});
    EXPECT_THAT(csv, testing::StartsWith(
                         "payload_bytes,heap_bytes,load_bps,lowest_ns,highest_ns,heaps\n1024,1024,0,"));
    EXPECT_THAT(latency_table({row}), HasSubstr("lost"));
    EXPECT_THAT(latency_table({row}), HasSubstr("preempted"));
    row.preemptions = 0;
    EXPECT_THAT(latency_table({row}), Not(HasSubstr("preempted")));
}

}  // namespace
}  // namespace spead::app
