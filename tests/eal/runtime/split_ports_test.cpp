// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/eal/runtime/live_rig.hpp"

/// Tests whole runs over ports that cut packets into headers and data, which lie in memory that ends who
/// reads it.
namespace spead::runtime::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

/// Returns the plan for packets that are cut, and for an engine that has a device's memory.
Plan split(Plan plan, std::uint32_t at = 138) {
    for (PortPlan& port : plan.ports)
        port.split = at;
    for (ReceivePlan& r : plan.receives) {
        r.engine = HeapEngine::fake;
        r.engine_memory = 16 * kMiB;
    }
    return plan;
}

void expect_all_split_verified(const Ended& e, std::uint64_t heaps) {
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.complete(), heaps);
    EXPECT_EQ(e.stream().heaps_verified, heaps);
    EXPECT_EQ(e.stream().heaps_wrong, 0U);
    EXPECT_EQ(e.packets(PacketOutcome::header_in_device), 0U);
    EXPECT_GT(e.last.ports[0].rx_multi_segment, 0U);
}

TEST(SplitPorts, BringEveryHeapOfARun) {
    for (const std::uint32_t at : {134U, 138U, 139U, 1000U}) {
        const Ended e = run(split(loopback(300), at));
        expect_all_split_verified(e, 300);
        EXPECT_THAT(e.remarks, testing::Not(Contains(HasSubstr("not returned"))));
    }
}

TEST(SplitPorts, BringHeapsOfIpv6AndOfATag) {
    Plan plan = split(loopback(100, "[ff15::1]:7148"));
    plan.ports[0].vlan = 7;
    expect_all_split_verified(run(plan), 100);
}

TEST(SplitPorts, BringHeapsToSeveralLcoresOfOneQueue) {
    Plan plan = split(live_plan(1));
    plan.receives[0].lcores = {5, 6};
    Script script;
    script.wait([](const stats::Snapshot& s) { return s.streams[0].heaps_verified > 100; });
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
    expect_nothing_lost(e.last.streams[0]);
    EXPECT_GT(e.last.ports[0].rx_multi_segment, 0U);
}

TEST(SplitPorts, FillChunksWhoseSinkGetsThemFetched) {
    Plan plan = split(loopback(300));
    plan.receives[0].chunk.emplace().placement = "heap 20000; time: heap [8]";
    const Ended e = run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.stream().heaps_verified, 299U) << "the first has descriptors, and another length";
    EXPECT_EQ(e.stream().heaps_wrong, 0U);
    EXPECT_GT(e.last.ports[0].rx_multi_segment, 0U);
}

TEST(SplitPorts, CountHeadersThatGoOnInDeviceMemory) {
    Plan plan = split(loopback(50));
    plan.sends[0].items = 40;
    const Ended e = run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_GE(e.packets(PacketOutcome::header_in_device), 50U) << "the first packet of each heap, at least";
    EXPECT_GE(e.stream().longest_header, 42U + 8 + 8 * 44);
    EXPECT_EQ(e.stream().heaps_wrong, 0U);
    plan.ports[0].split = e.stream().longest_header;
    expect_all_split_verified(run(plan), 50);
}

TEST(SplitPorts, TakeFiltersOfTheConfiguration) {
    Plan plan = split(loopback(100));
    plan.receives[0].filter = "heap % 2 == 0";
    const Ended e = run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_GT(e.packets(PacketOutcome::filtered), 0U);
    EXPECT_EQ(e.stream().heaps_wrong, 0U);
}

/// Is a program's own: it may read payload.
class Reader final : public recv::PacketFilter {
    recv::FilterAnswer look(const recv::FilterPacket&) noexcept override { return recv::FilterAnswer::keep; }
};

TEST(SplitPorts, RefuseFiltersOfPrograms) {
    const Plan plan = split(loopback(10));
    EngineHooks hooks;
    hooks.make_filter = [](const ReceivePlan&) { return std::make_unique<Reader>(); };
    EXPECT_THAT(error_of([&] { Engine engine(plan, layout_of(plan), hooks); }),
                AllOf(HasSubstr("receive s0"), HasSubstr("its filter may read payload")));
}

TEST(SplitPorts, RefuseStreamsWithoutTheirEngine) {
    Plan plan = split(loopback(10));
    plan.receives[0].engine = HeapEngine::none;
    EXPECT_THAT(error_of([&] { layout_of(plan); }),
                AllOf(HasSubstr("port p0: `split` is 138"), HasSubstr("no stream of the port has `gather`")));
    plan = split(loopback(10));
    plan.ports[0].device = "net_memif0,role=client";
    EXPECT_THAT(error_of([&] { layout_of(plan); }), AllOf(HasSubstr("net_memif cannot cut packets"),
                                                          HasSubstr("RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT")));
}

TEST(SplitPorts, RefuseChangesThatWouldReadTheirData) {
    const Plan plan = split(live_plan(1));
    Script script;
    const auto delivers = [](const stats::Snapshot& s) { return s.streams[0].heaps_verified > 3; };
    script.wait(delivers);
    script.add([](Engine& engine, const stats::Snapshot&) {
        for (const HeapEngine other : {HeapEngine::none, HeapEngine::cpu}) {
            Plan wanted = engine.plan();
            wanted.receives[0].engine = other;
            EXPECT_THAT(error_of([&] { engine.reconfigure(wanted); }),
                        AllOf(HasSubstr("port p0"), HasSubstr("the memory of the engine `fake`")));
        }
        capture::Options options;
        options.files = {"never.pcap"};
        EXPECT_THAT(error_of([&] { engine.start_capture("s0", options); }),
                    AllOf(HasSubstr("s0"), HasSubstr("a capture reads all of them")));
    });
    script.change([](Plan& p) {
        p.receives.push_back(p.receives[0]);
        p.receives.back().name = "s1";
        set_endpoints(p.receives.back(), {"239.1.0.9:7148"});
    });
    script.wait(delivers);
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
    expect_nothing_lost(e.last.streams[0]);
}

TEST(SplitPorts, ComeDuringARun) {
    Plan plan = live_plan(1);
    Script script;
    script.wait([](const stats::Snapshot& s) { return s.streams[0].heaps_verified > 3; });
    script.change([](Plan& p) {
        p.ports.push_back({"p1", "net_ring1", 0});
        p.ports.back().split = 138;
        p.receives.push_back(receive("s1", "239.1.1.0:7148", "p1"));
        p.receives.back().engine = HeapEngine::fake;
        p.receives.back().engine_memory = 16 * kMiB;
        p.sends.push_back(send("d1", "239.1.1.0:7148", -1, "p1"));
    });
    script.wait(
        [](const stats::Snapshot& s) { return s.streams.size() == 2 && s.streams[1].heaps_verified > 3; });
    EngineHooks hooks;
    hooks.drivers = drivers::table();
    const Ended e = script.run(plan, hooks);
    EXPECT_THAT(e.problems, IsEmpty());
    expect_nothing_lost(snapshot_of(e.last, "s1"));
}

}  // namespace
}  // namespace spead::runtime::test
