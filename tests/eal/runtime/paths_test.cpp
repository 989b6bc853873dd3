// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/paths.hpp"

#include <gmock/gmock.h>
#include <set>

#include "port/impairments.hpp"
#include "stats/diagnosis.hpp"
#include "stats/paths.hpp"
#include "tests/eal/runtime/live_rig.hpp"

/// Tests streams with two paths, in whole runs: two senders of the same heaps, a ring for each, and loss.
namespace spead::runtime::test {
namespace {

using port::fate_of;
using port::Impairments;
using testing::Contains;
using testing::IsEmpty;

constexpr std::size_t kPackets = 20;  ///< of a heap of several

/// Makes a plan of `heaps` heaps that come by two rings, impaired as the two texts say.
Plan two_paths(std::int64_t heaps, const std::string& first, const std::string& second, bool whole = false) {
    Plan plan;
    plan.memory.heaps = 256 * kMiB;
    plan.ports = {{"p0", "net_ring0", 0}, {"p1", "net_ring1", 0}};
    ReceivePlan r = receive("s0", "239.1.2.3:7148");
    r.paths = {"p0", "p1"};
    // One sender may be any number of heaps ahead.
    r.max_live = heaps < 0 ? 512 : static_cast<std::uint32_t>(heaps) + 16;
    r.max_bytes = 32 * 1024;
    r.history = kPathHistory;
    r.history_time = 100;
    plan.receives = {r};
    for (const auto& [port, how] : {std::pair("p0", first), std::pair("p1", second)}) {
        SendPlan s = send(std::string("d") + port[1], "239.1.2.3:7148", heaps, port);
        s.heap_size = whole ? 1000 : 1400 * kPackets;
        s.impair = how;
        plan.sends.push_back(s);
    }
    return plan;
}

/// Returns the numbers of a sender's packets that its impairments let through.
std::set<std::uint64_t> arrivals(const std::string& how, std::uint64_t sent) {
    const Impairments impairments = how.empty() ? Impairments{} : Impairments::parse(how, "test");
    std::set<std::uint64_t> all;
    for (std::uint64_t n = 0; n < sent; n++)
        if (!fate_of(impairments, n).lost)
            all.insert(n);
    return all;
}

/// Checks every count of a run without packets that came too late.
void expect_merged(const Ended& e, const std::string& first, const std::string& second) {
    const stats::StreamSnapshot& s = e.stream();
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(s.heaps_wrong, 0U);
    EXPECT_EQ(e.packets(PacketOutcome::duplicate), 0U);
    EXPECT_EQ(e.packets(PacketOutcome::late), 0U);
    ASSERT_EQ(e.sent(0).counters.packets, e.sent(1).counters.packets);
    const std::uint64_t sent = e.sent(0).counters.packets;
    const std::set<std::uint64_t> a = arrivals(first, sent), b = arrivals(second, sent);
    std::set<std::uint64_t> any = a;
    any.insert(b.begin(), b.end());
    EXPECT_EQ(s.paths[0].packets, a.size());
    EXPECT_EQ(s.paths[1].packets, b.size());
    // A stop item is placed nowhere, and its twin is redundant.
    const std::uint64_t control = e.packets(PacketOutcome::control);
    EXPECT_LE(control, 1U);
    EXPECT_EQ(stats::unique_packets(s), any.size());
    EXPECT_EQ(s.paths[0].control + s.paths[1].control, control);
    for (std::size_t path = 0; path < 2; path++)
        EXPECT_EQ(stats::missing_packets(s, path), any.size() - (path == 0 ? a : b).size());
    EXPECT_EQ(e.packets(PacketOutcome::placed), any.size() - control);
    EXPECT_EQ(e.packets(PacketOutcome::redundant), a.size() + b.size() - any.size());
    for (const stats::PathCounters& path : s.paths)
        EXPECT_LE(path.packets - path.placed - path.redundant, control);
    EXPECT_EQ(s.paths[0].placed + s.paths[1].placed, e.packets(PacketOutcome::placed));
    EXPECT_EQ(s.paths[0].redundant + s.paths[1].redundant, e.packets(PacketOutcome::redundant));
    EXPECT_EQ(s.received, a.size() + b.size());
}

TEST(Paths, WithoutLossEverythingComesOnceAndHalfOfItIsRedundant) {
    const Ended e = run(two_paths(500, "", ""));
    expect_merged(e, "", "");
    EXPECT_EQ(e.complete(), 500U);
    EXPECT_EQ(e.stream().heaps_verified, 500U);
    EXPECT_EQ(stats::recovered_packets(e.stream()), 0U);
    EXPECT_THAT(stats::diagnose(e.last), IsEmpty());
}

TEST(Paths, WhatEitherBringsArrivesWithIndependentLossOnBoth) {
    const std::string first = "loss=5%,seed=1", second = "loss=5%,seed=2,reorder=8";
    const Ended e = run(two_paths(2000, first, second));
    expect_merged(e, first, second);
    // One packet in 400 is lost on both.
    EXPECT_GT(e.complete(), 1800U);
    EXPECT_LT(e.complete(), 2000U);
    EXPECT_EQ(e.stream().heaps_verified, e.complete());
    EXPECT_GT(stats::missing_packets(e.stream(), 0), 0U);
    EXPECT_GT(stats::missing_packets(e.stream(), 1), 0U);
}

TEST(Paths, HeapsOfOnePacketAreDeliveredOnce) {
    const std::string first = "loss=10%,seed=3", second = "loss=10%,seed=4";
    const Ended e = run(two_paths(5000, first, second, true));
    expect_merged(e, first, second);
    const std::uint64_t control = e.packets(PacketOutcome::control);
    EXPECT_EQ(e.stream().heaps_delivered + e.stream().heaps_dropped_full,
              stats::unique_packets(e.stream()) - control - (e.stream().packets[0] - e.complete()));
    EXPECT_GE(e.complete() + 2 * control, stats::unique_packets(e.stream()) - 2) << "descriptors have two";
}

TEST(Paths, OfTwoGroupsOnOnePortAreMergedToo) {
    Plan plan = two_paths(300, "loss=5%,seed=5", "loss=5%,seed=6");
    plan.ports.pop_back();
    plan.receives[0].paths = {"p0", "p0"};
    plan.receives[0].path_endpoints = parse_endpoints("239.7.7.7:7149");
    plan.receives[0].path_endpoint_texts = {"239.7.7.7:7149"};
    plan.sends[1].port = "p0";
    plan.sends[1].endpoints = plan.receives[0].path_endpoints;
    const Ended e = run(plan);
    expect_merged(e, "loss=5%,seed=5", "loss=5%,seed=6");
}

TEST(Paths, ShareTheirHeapsOverTwoLcores) {
    for (const char* const endpoints : {"239.1.2.3:7148", "239.1.2.3+3:7148"}) {
        Plan plan = two_paths(400, "loss=5%,seed=7", "loss=5%,seed=8");
        plan.receives[0].endpoints = parse_endpoints(endpoints);
        plan.receives[0].lcores = {5, 6};
        for (SendPlan& s : plan.sends) {
            s.endpoints = plan.receives[0].endpoints;
            s.lcore = 6;
        }
        plan.end.exit_on_stop = true;
        plan.end.idle_exit = 100;
        const Ended e = run(plan, layout_on_cpus(plan));
        const stats::StreamSnapshot& s = e.stream();
        EXPECT_THAT(e.problems, IsEmpty());
        EXPECT_EQ(s.heaps_wrong, 0U);
        EXPECT_EQ(e.packets(PacketOutcome::duplicate) + e.packets(PacketOutcome::late), 0U);
        EXPECT_GT(e.complete(), 350U);
        EXPECT_EQ(s.paths[0].placed + s.paths[1].placed, e.packets(PacketOutcome::placed));
        EXPECT_EQ(s.heaps_started, s.heaps_verified + s.heaps_ended[1] + s.heaps_ended[2] + s.heaps_ended[3])
            << "no heap began on both lcores";
        EXPECT_LE(s.heaps_started, 401U);
    }
}

TEST(Paths, OneMayDieInTheMiddle) {
    Plan plan = two_paths(-1, "loss=1%,seed=1", "");
    plan.runtime.live = true;
    plan.receives[0].lcores = {5};
    plan.receives[0].silent_after = 0.05;
    for (SendPlan& s : plan.sends) {
        s.lcore = 6;
        s.rate = 20e6;
    }
    std::vector<std::string> events;
    EngineHooks hooks;
    Script script;
    std::uint64_t heaps = 0;
    script.wait([](const stats::Snapshot& s) { return s.streams[0].paths[1].redundant > 100; });
    script.add([](Engine& engine, const stats::Snapshot&) { engine.stop_port("p0"); });
    script.wait([&heaps](const stats::Snapshot& s) {
        if (s.streams[0].health != "path_silent")
            return false;
        heaps = s.streams[0].heaps_verified;
        return true;
    });
    script.wait([&heaps](const stats::Snapshot& s) { return s.streams[0].heaps_verified > heaps + 100; });
    script.add([](Engine& engine, const stats::Snapshot&) { engine.start_port("p0"); });
    script.wait([](const stats::Snapshot& s) { return s.streams[0].health == "ok"; });
    const Ended e = script.run(plan, hooks);
    const stats::StreamSnapshot& s = e.stream();
    EXPECT_EQ(s.heaps_wrong, 0U);
    EXPECT_EQ(s.heaps_verified, s.heaps_delivered) << "the second path lost nothing";
    EXPECT_GE(s.events[static_cast<std::size_t>(stats::StreamEvent::path_silent)], 1U);
    EXPECT_GE(s.events[static_cast<std::size_t>(stats::StreamEvent::path_back)], 1U);
}

TEST(Paths, EndpointsComeAndGoOnBoth) {
    Plan plan = two_paths(-1, "loss=2%,seed=1", "loss=2%,seed=2");
    plan.runtime.live = true;
    plan.receives[0].lcores = {5};
    for (SendPlan& s : plan.sends) {
        s.lcore = 6;
        s.rate = 20e6;
        s.endpoints = parse_endpoints("239.1.2.3+1:7148");
    }
    Script script;
    const auto come = [](const stats::Snapshot& s, std::uint64_t at_least) {
        return s.streams[0].paths[0].placed > at_least && s.streams[0].paths[1].placed > at_least / 50;
    };
    script.wait([&](const stats::Snapshot& s) { return come(s, 500); });
    script.change([](Plan& p) { set_endpoints(p.receives[0], {"239.1.2.3+1:7148"}); });
    script.wait([&](const stats::Snapshot& s) { return come(s, 2000); });
    script.change([](Plan& p) { set_endpoints(p.receives[0], {"239.1.2.4:7148"}); });
    script.wait([&](const stats::Snapshot& s) { return come(s, 3000); });
    // New windows: the counts of the former ones stay.
    script.change([](Plan& p) { p.receives[0].max_live = 500; });
    script.wait([&](const stats::Snapshot& s) { return come(s, 4000); });
    const Ended e = script.run(plan);
    const stats::StreamSnapshot& s = e.stream();
    EXPECT_EQ(s.heaps_wrong, 0U);
    EXPECT_EQ(e.packets(PacketOutcome::duplicate), 0U);
    EXPECT_EQ(s.paths[0].placed + s.paths[1].placed, e.packets(PacketOutcome::placed));
    EXPECT_EQ(s.paths[0].packets + s.paths[1].packets, s.received) << "those of former endpoints, too";
}

}  // namespace
}  // namespace spead::runtime::test
