// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <gmock/gmock.h>

#include "tests/eal/port/card.hpp"
#include "tests/eal/runtime/rig.hpp"

/// Tests streams on several lcores, in whole runs.
namespace spead::runtime::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Reason = Engine::Reason;

Plan on_two_lcores(std::int64_t heaps, const std::string& endpoints = "239.1.2.3:7148") {
    Plan plan = loopback(heaps, endpoints);
    plan.receives[0].lcores = {5, 6};
    plan.sends[0].lcore = 6;
    return plan;
}

void expect_all_of_one(const Ended& e, std::uint64_t heaps, std::uint64_t endpoints) {
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.complete(), heaps);
    EXPECT_EQ(e.stream().heaps_verified, heaps);
    EXPECT_EQ(e.stream().heaps_wrong, 0U);
    EXPECT_EQ(e.packets(PacketOutcome::control), endpoints);
    EXPECT_EQ(e.last.ports[0].rx_packets, e.last.ports[0].tx_packets);
    EXPECT_EQ(e.last.ports[0].rx_bytes, e.last.ports[0].tx_bytes);
}

TEST(TwoLcores, ShareTheHeapsOfAQueueAndLoseNothing) {
    const Plan plan = on_two_lcores(300);
    const Layout layout = layout_on_cpus(plan);
    ASSERT_EQ(layout.workers.size(), 2U);
    const Ended e = run(plan, layout);
    EXPECT_EQ(e.reason, Reason::sent);
    expect_all_of_one(e, 300, 1);
}

TEST(TwoLcores, EndWhenEveryEndpointHasStoppedOnWhicheverLcore) {
    Plan plan = on_two_lcores(50, "239.1.2.3+3:7148");
    plan.end.exit_on_stop = true;
    plan.end.idle_exit = 100;
    plan.sends[0].heaps = 50;
    const Ended e = run(plan, layout_on_cpus(plan));
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.stream().heaps_verified, 50U);
}

TEST(TwoLcores, StopTogetherWhenAStopItemStopsTheStream) {
    Plan plan = on_two_lcores(40);
    plan.receives[0].stop_on_stop_item = true;
    const Ended e = run(plan, layout_on_cpus(plan));
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.stream().received, e.last.ports[0].tx_packets);
}

TEST(TwoLcores, ReadAFileToItsEnd) {
    Directory directory;
    const std::string file = directory.file("spread.pcap");
    Plan write;
    write.memory.heaps = 16 * kMiB;
    write.ports = {{"p0", "net_pcap0,tx_pcap=" + file, 0}};
    write.sends = {send("d0", "239.1.2.3:7148", 400)};
    ASSERT_THAT(run(write).problems, IsEmpty());

    Plan read;
    read.memory.heaps = 16 * kMiB;
    read.ports = {{"p0", "net_pcap0,rx_pcap=" + file, 0}};
    read.receives = {receive("s0", "239.1.2.3:7148")};
    read.receives[0].lcores = {5, 6};
    const Ended e = run(read, layout_on_cpus(read));
    EXPECT_EQ(e.reason, Reason::end_of_data);
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.stream().heaps_verified, 400U) << "also what was on its way between the lcores";
}

TEST(TwoLcores, AStreamMayHaveTheSecondToItself) {
    Plan plan = on_two_lcores(100, "239.1.2.3+1:7148");
    plan.receives = {receive("s0", "239.1.2.3:7148"), receive("s1", "239.1.2.4:7148")};
    plan.receives[0].lcores = {5};
    plan.receives[1].lcores = {6};
    // Each stream has every other heap of the sequence, which is what a verifying sink wants to know.
    const Ended e = run(plan, layout_on_cpus(plan));
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.complete(0), 50U);
    EXPECT_EQ(e.complete(1), 50U);
    EXPECT_EQ(e.stream(0).heaps_verified + e.stream(1).heaps_verified, 100U);
}

TEST(OneSink, HasTheHeapsOfAllLcores) {
    Directory directory;
    Plan plan = on_two_lcores(60);
    plan.receives[0].sink.kind = SinkKind::file;
    plan.receives[0].sink.directory = directory.file("out");
    const Ended e = run(plan, layout_on_cpus(plan));
    EXPECT_THAT(e.problems, IsEmpty());
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory.file("out")))
        files += entry.path().extension() == ".bin";
    EXPECT_EQ(files, 60U);
}

/// Checks the calls of a whole run, on a port that declares the capabilities of a card.
TEST(Card, IsTreatedInTheOrderThatItInsistsOn) {
    port::test::Card card;
    const port::DeviceCallsInstead instead(card);
    Plan plan = loopback(40, "239.1.2.3+1:7148");
    const Ended e = run(plan, layout_on_cpus(plan, port::test::card_table()));
    expect_all_of_one(e, 40, 2);
    EXPECT_THAT(card.calls,
                ElementsAre("isolate", "configure 1 1", "register", "map", "start", "create 1", "create 2",
                            "destroy 2", "destroy 1", "stop", "unmap", "unregister", "close"));
}

TEST(Card, GetsARuleForEveryEndpointOnTheQueueOfItsLcore) {
    port::test::Card card;
    const port::DeviceCallsInstead instead(card);
    Plan plan = on_two_lcores(40, "239.1.2.3+1:7148");
    // The ring brings everything back on the queue of its sender, rules or not; only the rules are looked at.
    plan.sends[0].heaps = 2;
    plan.end.duration = 0.2;
    std::vector<std::string> rules;
    const Layout layout = layout_on_cpus(plan, port::test::card_table());
    Engine engine(plan, layout);
    engine.start();
    for (const auto& [number, rule] : card.rules)
        rules.push_back(rule.text);
    engine.stop();
    ASSERT_EQ(rules.size(), 2U);
    EXPECT_THAT(rules[0], AllOf(HasSubstr("dst 239.1.2.3/"), HasSubstr("count queue 0")));
    EXPECT_THAT(rules[1], AllOf(HasSubstr("dst 239.1.2.4/"), HasSubstr("count queue 1")));
    EXPECT_TRUE(card.rules.empty());
}

TEST(Card, KeepsTheRuleOfAnEndpointThatGoesToAnotherStream) {
    port::test::Card card;
    const port::DeviceCallsInstead instead(card);
    Plan plan = loopback(2, "239.1.2.3+1:7148");
    plan.runtime.live = true;
    plan.receives = {receive("s0", "239.1.2.3:7148"), receive("s1", "239.1.2.4:7148")};
    Engine engine(plan, layout_on_cpus(plan, port::test::card_table()));
    engine.start();
    Plan wanted = plan;
    wanted.receives = {receive("s0", "239.1.2.4:7148"), receive("s1", "239.1.2.3:7148")};
    card.calls.clear();
    engine.reconfigure(wanted);
    EXPECT_THAT(card.calls, IsEmpty());
    EXPECT_EQ(card.rules.size(), 2U);
    engine.stop();
}

TEST(Card, IsNotAskedToMapWhatIsCopied) {
    port::test::Card card;
    const port::DeviceCallsInstead instead(card);
    card.maps = false;
    Plan plan = loopback(20);
    plan.sends[0].zero_copy = ZeroCopySetting::never;
    const Ended e = run(plan, layout_on_cpus(plan, port::test::card_table()));
    expect_all_of_one(e, 20, 1);
    EXPECT_THAT(card.calls, Not(Contains("map")));
}

TEST(Card, ARuleThatItRefusesEndsTheStartWithTheRuleAndEverythingIsUndone) {
    port::test::Card card;
    const port::DeviceCallsInstead instead(card);
    card.refuse = ENOSPC;
    const Plan plan = loopback(40);
    const Layout layout = layout_on_cpus(plan, port::test::card_table());
    const std::string text = error_of([&] {
        Engine engine(plan, layout);
        engine.start();
    });
    EXPECT_THAT(text, HasSubstr("flow create"));
    EXPECT_THAT(card.calls, Contains("close"));
}

}  // namespace
}  // namespace spead::runtime::test
