// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <rte_ethdev.h>

#include "port/device_calls.hpp"
#include "tests/eal/recv/rig.hpp"
#include "tests/eal/runtime/rig.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/pcap_writer.hpp"

/// Tests whole runs that go well, and the reasons of their ends.
namespace spead::runtime::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Reason = Engine::Reason;

/// Checks that every heap that was sent came back, with the right content.
void expect_all(const Ended& e, std::uint64_t heaps, std::uint64_t endpoints) {
    EXPECT_THAT(e.problems, IsEmpty());
    std::uint64_t complete = 0;
    std::uint64_t verified = 0;
    for (std::size_t i = 0; i < e.last.streams.size(); i++) {
        const stats::StreamSnapshot& s = e.stream(i);
        complete += e.complete(i);
        verified += s.heaps_verified;
        EXPECT_EQ(s.heaps_wrong, 0U);
        EXPECT_EQ(s.heaps_live, 0U);
        EXPECT_EQ(s.heaps_queued, 0U);
        EXPECT_EQ(s.received, e.packets(PacketOutcome::placed, i) + e.packets(PacketOutcome::control, i));
    }
    EXPECT_EQ(complete, heaps);
    EXPECT_EQ(verified, heaps);
    std::uint64_t sent = 0;
    std::uint64_t control = 0;
    for (const stats::SendSnapshot& s : e.last.sends) {
        sent += s.counters.heaps;
        control += s.control_heaps;
        EXPECT_EQ(s.counters.aborted, 0U);
        EXPECT_EQ(s.counters.dropped, 0U);
    }
    EXPECT_EQ(sent, heaps);
    EXPECT_EQ(control, endpoints);
    for (const stats::PortSnapshot& p : e.last.ports) {
        EXPECT_EQ(p.rx_packets, p.tx_packets);
        EXPECT_EQ(p.rx_bytes, p.tx_bytes);
    }
}

TEST(Loopback, BringsEveryHeapBackAndEndsByItself) {
    const Ended e = run(loopback(300));
    EXPECT_EQ(e.reason, Reason::sent);
    expect_all(e, 300, 1);
    EXPECT_GT(e.last.duration_s, 0);
}

/// Misses packets while the device starts, as one that gets packets at once.
struct MissesAtStart final : port::DeviceCalls {
    int start(std::uint16_t port) override {
        missed += 7;
        return DeviceCalls::start(port);
    }
    int stats(std::uint16_t port, rte_eth_stats& stats) override {
        const int error = DeviceCalls::stats(port, stats);
        stats.imissed = missed;
        return error;
    }
    std::uint64_t missed = 5;  ///< of an earlier user of the device
};

TEST(Loopback, PacketsThatItsPortMissesBeforeTheLcoresFetchAreTheStarts) {
    MissesAtStart calls;
    const port::DeviceCallsInstead instead(calls);
    const Plan plan = loopback(300);
    const Ended e = run(plan, layout_of(plan), -1, [&](const stats::Snapshot&) { calls.missed = 14; });
    expect_all(e, 300, 1);
    EXPECT_EQ(e.last.ports[0].nic.missed, calls.missed);
    EXPECT_EQ(e.last.ports[0].missed_at_start, 7U);
}

TEST(Loopback, WorksWithReceiverAndSenderOnLcoresOfTheirOwn) {
    const Plan plan = loopback(300);
    const Ended e = run(plan, layout_on_two_lcores(plan));
    EXPECT_EQ(e.reason, Reason::sent);
    expect_all(e, 300, 1);
}

TEST(Loopback, WorksInEveryWayOfPollingAndSending) {
    for (const PollMode poll : {PollMode::busy, PollMode::adaptive, PollMode::interrupt})
        for (const ZeroCopySetting zero_copy :
             {ZeroCopySetting::automatic, ZeroCopySetting::always, ZeroCopySetting::never}) {
            Plan plan = loopback(60);
            plan.receives[0].poll = poll;
            plan.sends[0].zero_copy = zero_copy;
            const Ended e = run(plan);
            expect_all(e, 60, 1);
            const stats::SendCounters& c = e.sent().counters;
            if (zero_copy == ZeroCopySetting::never)
                EXPECT_EQ(c.zero_copy_packets, 0U);
            else
                EXPECT_GT(c.zero_copy_packets, c.packets / 2);
        }
}

TEST(Loopback, WorksWithHeapsAndPacketsOfEverySize) {
    struct Sizes {
        std::uint64_t heap;
        std::uint32_t packet;
        std::uint32_t items;
        std::uint8_t bits;
    };
    for (const Sizes& s :
         {Sizes{4, 1472, 1, 40}, Sizes{4, 1472, 1, 24}, Sizes{8, 56, 2, 48}, Sizes{1000, 100, 3, 40},
          Sizes{100'003, 1472, 7, 40}, Sizes{500'000, 8900, 50, 32}}) {
        Plan plan = loopback(40);
        plan.sends[0].heap_size = s.heap;
        plan.sends[0].max_packet_size = s.packet;
        plan.sends[0].items = s.items;
        plan.sends[0].address_bits = s.bits;
        expect_all(run(plan), 40, 1);
    }
}

TEST(Loopback, DistributesHeapsToEveryEndpointAndStopsEach) {
    Plan plan = loopback(101, "239.1.2.3+4:7148");
    const Ended e = run(plan);
    expect_all(e, 101, 5);
    EXPECT_EQ(e.stream().stop_items, 5U);
}

TEST(Loopback, KeepsSeveralStreamsAndSendersApart) {
    Plan plan = loopback(50);
    plan.receives.push_back(receive("s1", "239.1.2.4:7148"));
    plan.receives.push_back(receive("s2", "239.1.2.5+1:7148", "p1"));
    plan.ports.push_back({"p1", "net_ring1", 0});
    plan.sends.push_back(send("d1", "239.1.2.4:7148", 70));
    plan.sends.push_back(send("d2", "239.1.2.5+1:7148", 90, "p1"));
    const Ended e = run(plan);
    EXPECT_EQ(e.reason, Reason::sent);
    expect_all(e, 210, 4);
    EXPECT_EQ(e.complete(0), 50U);
    EXPECT_EQ(e.complete(1), 70U);
    EXPECT_EQ(e.complete(2), 90U);
    EXPECT_EQ(e.sent(1).counters.heaps, 70U);
    EXPECT_EQ(e.sent(2).control_heaps, 2U);
    EXPECT_EQ(e.last.ports[1].rx_packets, e.stream(2).received);
}

/// Numbers heaps by counts of a flavour's width: the sequence is that of the count on the wire.
TEST(Loopback, VerifiesHeapsWhoseCountsHaveWrapped) {
    Plan plan = loopback(66'000);
    plan.sends[0].address_bits = 16;
    plan.sends[0].heap_size = 8;
    plan.sends[0].max_heaps = 64;
    plan.receives[0].on_full = OnFullSetting::block;
    const Ended e = run(plan);
    EXPECT_EQ(e.stream().heaps_wrong, 0U);
    EXPECT_EQ(e.stream().heaps_verified, 66'000U);
}

TEST(Loopback, LosesNothingToASlowConsumerThatBlocks) {
    const Directory directory;
    Plan plan = loopback(800);
    plan.sends[0].heap_size = 64;
    plan.sends[0].zero_copy = ZeroCopySetting::never;  // completed long before it is received
    plan.sends[0].max_heaps = 256;
    plan.receives[0].on_full = OnFullSetting::block;
    plan.receives[0].queue_depth = 4;
    plan.receives[0].sink = {SinkKind::file, directory.file("out")};
    const Ended e = run(plan);
    EXPECT_EQ(e.reason, Reason::sent);
    EXPECT_EQ(e.complete(), 800U);
    EXPECT_EQ(e.stream().heaps_delivered, 800U);
    EXPECT_EQ(e.stream().heaps_dropped_full, 0U);
    EXPECT_THAT(e.problems, IsEmpty());
}

// The ends of a run.

TEST(Run, EndsAfterItsDuration) {
    Plan plan = loopback(-1);
    plan.end.duration = 0.5;
    const Ended e = run(plan);
    EXPECT_EQ(e.reason, Reason::duration);
    EXPECT_GE(e.last.duration_s, 0.5);
    EXPECT_GT(e.ticks, 0);
    const std::uint64_t heaps = e.sent().counters.heaps;
    EXPECT_GT(heaps, 0U);
    expect_all(e, heaps, 1);
}

TEST(Run, EndsWhenItIsInterrupted) {
    const Interrupt interrupt;
    const Ended e = run(loopback(-1), layout_of(loopback(-1)), interrupt.fd(), [&](const stats::Snapshot& s) {
        if (s.streams[0].heaps_delivered > 20)
            interrupt.now();
    });
    EXPECT_EQ(e.reason, Reason::interrupted);
    EXPECT_GT(e.stream().heaps_delivered, 20U);
    expect_all(e, e.sent().counters.heaps, 1);
}

TEST(Run, EndsAtOnceWhenItWasInterruptedBefore) {
    const Interrupt interrupt;
    interrupt.now();
    const Ended e = run(loopback(-1), layout_of(loopback(-1)), interrupt.fd());
    EXPECT_EQ(e.reason, Reason::interrupted);
    EXPECT_EQ(e.ticks, 0);
}

TEST(Run, EndsAfterSoManyHeapsExactly) {
    for (const std::uint64_t budget : {1U, 37U, 200U}) {
        Plan plan = loopback(-1);
        plan.receives.push_back(receive("s1", "239.1.2.4:7148"));
        plan.sends.push_back(send("d1", "239.1.2.4:7148", -1));
        plan.end.heaps = budget;
        const Ended e = run(plan);
        EXPECT_EQ(e.reason, Reason::heaps);
        EXPECT_EQ(e.stream(0).heaps_delivered + e.stream(1).heaps_delivered, budget);
        EXPECT_THAT(e.problems, IsEmpty());
    }
}

TEST(Run, EndsAfterSoManyHeapsAlsoWhereStreamsBlock) {
    Plan plan = loopback(-1);
    plan.receives[0].on_full = OnFullSetting::block;
    plan.receives[0].queue_depth = 2;
    plan.end.heaps = 50;
    const Ended e = run(plan);
    EXPECT_EQ(e.reason, Reason::heaps);
    EXPECT_EQ(e.stream().heaps_delivered, 50U);
    EXPECT_THAT(e.problems, IsEmpty()) << "nobody waits for consumers that have what they wanted";
    EXPECT_EQ(e.sent().counters.aborted, 0U);
}

TEST(Run, EndsWhenEveryEndpointHasSeenAStopItem) {
    // The second sender goes on for ever; its endpoint belongs to no stream.
    Plan plan = loopback(30, "239.1.2.3+2:7148");
    plan.sends.push_back(send("d1", "239.9.9.9:7148", -1));
    plan.end.exit_on_stop = true;
    const Ended e = run(plan);
    EXPECT_EQ(e.reason, Reason::stop_items);
    EXPECT_EQ(e.stream().stop_items, 3U);
    EXPECT_EQ(e.complete(), 30U);
    EXPECT_GT(e.last.ports[0].rx[static_cast<std::size_t>(PortOutcome::unmatched)], 0U);
}

TEST(Run, GoesOnWhileOneEndpointHasSeenNoStopItem) {
    Plan plan = loopback(30, "239.1.2.3+2:7148");
    plan.receives[0] = receive("s0", "239.1.2.3+3:7148");
    plan.end.exit_on_stop = true;
    const Ended e = run(plan);
    EXPECT_EQ(e.reason, Reason::sent);
    EXPECT_EQ(e.stream().stop_items, 3U);
}

/// Makes packets of no stream by net_null, as fast as it can: they keep no run alive.
TEST(Run, EndsWhenNoStreamHasHadAPacketForAWhile) {
    Plan plan = loopback(20);
    plan.ports.push_back({"p1", "net_null0", 0});
    plan.receives.push_back(receive("noise", "239.1.2.4:7148", "p1"));
    plan.end.idle_exit = 0.3;
    const Ended e = run(plan);
    EXPECT_EQ(e.reason, Reason::idle);
    EXPECT_EQ(e.complete(0), 20U);
    EXPECT_EQ(e.stream(1).received, 0U);
    EXPECT_GT(e.last.ports[1].rx_packets, 0U);
}

TEST(Run, WaitsForTheFirstPacketHoweverLongItTakes) {
    Plan plan = loopback(0);
    plan.sends.clear();
    plan.end.idle_exit = 0.05;
    plan.end.duration = 0.4;
    EXPECT_EQ(run(plan).reason, Reason::duration);
}

class Files : public testing::Test {
  protected:
    Plan plan_of(const std::vector<recv::test::Bytes>& frames) {
        spead::test::PcapWriter writer(directory_.file("in.pcap"));
        for (const auto& f : frames)
            writer.record(f);
        Plan plan;
        plan.memory.heaps = 16 * kMiB;
        plan.ports = {{"p0", "net_pcap0,rx_pcap=" + directory_.file("in.pcap"), 0}};
        plan.receives = {receive("s0", "239.1.2.3:7148")};
        plan.receives[0].sink = {SinkKind::file, directory_.file("out")};
        return plan;
    }

    Directory directory_;
};

TEST_F(Files, EndARunWithTheirLastPacket) {
    std::vector<recv::test::Bytes> frames;
    for (std::uint64_t cnt = 1; cnt <= 50; cnt++)
        for (const auto& f : recv::test::MadeHeap{.cnt = cnt, .length = 3000}.frames())
            frames.push_back(f);
    frames.push_back(recv::test::MadeHeap{.cnt = 51}.frames()[0]);
    const Ended e = run(plan_of(frames));
    EXPECT_EQ(e.reason, Reason::end_of_data);
    EXPECT_EQ(e.complete(), 50U);
    EXPECT_EQ(e.stream().heaps_ended[static_cast<std::size_t>(HeapEnd::flushed)], 1U);
    EXPECT_EQ(e.stream().heaps_delivered, 51U);
    EXPECT_EQ(e.last.ports[0].rx_packets, frames.size());
    EXPECT_THAT(e.problems, IsEmpty());
    for (std::uint64_t cnt = 1; cnt <= 50; cnt++)
        EXPECT_EQ(std::filesystem::file_size(fmt::format("{}/s0-{}.bin", directory_.file("out"), cnt)),
                  3000U);
    EXPECT_FALSE(std::filesystem::exists(directory_.file("out/s0-51.bin")));
}

/// Reads a source without end that no sink wants any more.
TEST_F(Files, WhoseOnlySinkFailedAreReadNoFurther) {
    Plan plan = plan_of(recv::test::MadeHeap{.cnt = 1, .length = 3000}.frames());
    plan.ports[0].device += ",infinite_rx=1";
    const spead::test::FileSizeLimit limit(1000);
    const Ended e = run(plan);
    EXPECT_EQ(e.reason, Reason::failure);
    EXPECT_THAT(e.problems, ElementsAre(HasSubstr("stream s0: its sink takes no more heaps")));
    EXPECT_GT(e.stream().heaps_unwritten, 0U);
}

TEST_F(Files, ThatAreTruncatedAreAProblem) {
    Plan plan = plan_of(recv::test::MadeHeap{.cnt = 1}.frames());
    std::filesystem::resize_file(directory_.file("in.pcap"),
                                 std::filesystem::file_size(directory_.file("in.pcap")) - 1);
    const Ended e = run(plan);
    EXPECT_EQ(e.reason, Reason::end_of_data);
    EXPECT_THAT(e.problems, ElementsAre(HasSubstr("port p0: its source " + directory_.file("in.pcap") +
                                                  " is truncated")));
}

TEST(Reasons, HaveNames) {
    std::set<std::string> names;
    for (const Reason r : {Reason::interrupted, Reason::heaps, Reason::duration, Reason::idle,
                           Reason::stop_items, Reason::end_of_data, Reason::sent, Reason::failure})
        names.insert(name_of(r));
    EXPECT_EQ(names.size(), 8U);
}

}  // namespace
}  // namespace spead::runtime::test
