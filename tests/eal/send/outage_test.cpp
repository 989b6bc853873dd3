// SPDX-License-Identifier: BSD-3-Clause
// Ports that take nothing for a time, ports that stop, and rates that change while a sender waits.
#include <gmock/gmock.h>

#include <rte_cycles.h>

#include "port/impaired_queue.hpp"
#include "tests/eal/send/rig.hpp"

namespace spead::send::test {
namespace {

class OutageTest : public SenderTest {
  protected:
    OutageTest() {
        config.pacing = {1e6, 14'400, 1.05};
        queue.accept = [this](std::uint16_t n) { return takes ? n : std::uint16_t{0}; };
        // Heaps without an end, which nobody looks at.
        queue.look = [](const rte_mbuf&) {};
    }
    /// Polls every millisecond for so many; returns the bytes that went. There is always a heap to send.
    std::uint64_t go_on(int milliseconds) {
        const std::uint64_t before = sender().counters().bytes;
        for (int i = 0; i < milliseconds; ++i) {
            while (sender().free_heaps() > config.max_heaps / 2)
                EXPECT_TRUE(sender().submit({&heap_again}));
            sender().poll(now += hz / 1000);
            take_completions();
            completions.clear();
        }
        return sender().counters().bytes - before;
    }
    void SetUp() override { heap_again.add_item(0x1600, memory.part(0, 10'000)); }
    void TearDown() override {
        takes = true;
        sender().set_pacing({});
        EXPECT_TRUE(run());
    }

    const std::uint64_t hz = rte_get_tsc_hz();
    OutgoingHeap heap_again{wire::Flavour(48)};
    bool takes = true;
};

TEST_F(OutageTest, APortThatWasStoppedEarnsNoCredit) {
    EXPECT_NEAR(static_cast<double>(go_on(1000)), 1e6, 3e4);
    sender().set_queue({});
    EXPECT_EQ(go_on(12'000), 0U);
    sender().set_queue(queue.queue());
    EXPECT_NEAR(static_cast<double>(go_on(10'000)), 10e6, 3e4);
    EXPECT_EQ(sender().counters().outages, 0U) << "nobody was asked";
}

TEST_F(OutageTest, APortThatWasOpenedAgainEarnsNoCredit) {
    go_on(1000);
    sender().set_queue({});
    EXPECT_EQ(go_on(12'000), 0U);
    sender().set_port(queue.queue(), {}, config.source_mac, config.source_ip);
    EXPECT_NEAR(static_cast<double>(go_on(10'000)), 10e6, 3e4);
}

TEST_F(OutageTest, APortThatTookNothingForALongTimeEarnsNoCreditAndIsCounted) {
    go_on(1000);
    takes = false;
    EXPECT_EQ(go_on(990), 0U);
    EXPECT_FALSE(sender().stuck());
    EXPECT_EQ(go_on(11'000), 0U);
    EXPECT_TRUE(sender().stuck());
    EXPECT_EQ(sender().counters().outages, 1U);
    EXPECT_NEAR(static_cast<double>(sender().counters().outage_ticks) / static_cast<double>(hz), 11.99, 0.03);
    takes = true;
    EXPECT_NEAR(static_cast<double>(go_on(10'000)), 10e6, 5e4);
    EXPECT_FALSE(sender().stuck());
    EXPECT_EQ(sender().counters().outages, 1U);
}

/// Refuses for less than an outage: the stream catches up, as its burst_rate_ratio says.
TEST_F(OutageTest, AShortRefusalIsMadeUpFor) {
    go_on(1000);
    takes = false;
    go_on(200);
    takes = true;
    EXPECT_NEAR(static_cast<double>(go_on(10'000)), 10.2e6, 5e4);
    EXPECT_EQ(sender().counters().outages, 0U);
}

/// Leaves the driver with room, and the sender without an mbuf to give it.
TEST_F(OutageTest, ADriverThatKeepsEveryMbufTakesNothing) {
    config.pacing = {};
    config.max_heaps = 1024;
    queue.keep = ~std::size_t{0};
    go_on(2000);
    EXPECT_GT(sender().counters().stalls, 0U);
    EXPECT_EQ(sender().counters().tx_full, 0U);
    EXPECT_TRUE(sender().stuck());
    EXPECT_EQ(sender().counters().outages, 1U);
    queue.keep = 0;
    queue.release();
    go_on(1);
    EXPECT_FALSE(sender().stuck());
}

/// Takes everything and gives nothing back, as a ring does that nobody reads.
TEST_F(OutageTest, HeapsThatDoNotComeBackAreAnOutage) {
    config.pacing = {};
    config.max_heaps = 4;
    queue.keep = ~std::size_t{0};
    go_on(1500);
    EXPECT_EQ(sender().counters().tx_full + sender().counters().stalls, 0U);
    EXPECT_TRUE(sender().stuck());
    queue.keep = 0;
    queue.release();
    EXPECT_TRUE(run());
    EXPECT_FALSE(sender().stuck());
    EXPECT_EQ(sender().counters().outages, 1U);
}

/// Lets the driver free late: it waits for more packets, and the sender does not wait for it.
TEST_F(OutageTest, ADriverThatFreesLateIsNoOutage) {
    config.pacing = {};
    config.max_heaps = 1;
    config.capabilities.late_free_segments = 31;
    queue.keep = ~std::size_t{0};
    ASSERT_TRUE(sender().submit({&heap_again}));
    for (int i = 0; i < 3000; ++i)
        sender().poll(now += hz / 1000);
    EXPECT_FALSE(sender().stuck());
    queue.release();
}

/// Checks senders with nothing to send, or that wait for their time: they need nothing of their port.
TEST_F(OutageTest, WhoeverHasNothingToSendIsNotStuck) {
    config.pacing = {1, 14'400, 1.05};  // four hours for a burst
    go_on(5000);
    EXPECT_FALSE(sender().stuck());
    sender().set_pacing({});
    takes = true;
    EXPECT_TRUE(run());
    for (int i = 0; i < 3000; ++i)
        sender().poll(now += hz / 1000);
    EXPECT_FALSE(sender().stuck());
    EXPECT_EQ(sender().counters().outages, 0U);
}

TEST_F(OutageTest, AnOutageEndsWithItsPort) {
    takes = false;
    go_on(1500);
    ASSERT_TRUE(sender().stuck());
    sender().set_queue({});
    EXPECT_FALSE(sender().stuck());
    sender().set_queue(queue.queue());
    go_on(500);
    EXPECT_FALSE(sender().stuck()) << "a second begins anew";
    go_on(1000);
    EXPECT_TRUE(sender().stuck());
    EXPECT_EQ(sender().counters().outages, 2U);
}

/// Fills a queue that delays on purpose, whose port takes everything; then the port takes nothing.
TEST_F(OutageTest, PacketsThatAreDelayedOnPurposeAreNoOutage) {
    config.pacing = {};
    const port::ImpairedQueue::Ticks ticks = [](const void* clock) -> std::uint64_t {
        return *static_cast<const std::uint64_t*>(clock);
    };
    port::ImpairedQueue impaired({port::Impairments::parse("delay=5s", "test"), static_cast<double>(hz), 2000,
                                  64, SOCKET_ID_ANY, ticks, &now},
                                 "test");
    impaired.set_inner(queue.queue());
    sender().set_queue(impaired.queue());
    go_on(4500);
    EXPECT_GT(sender().counters().tx_full, 1000U) << "it was full";
    EXPECT_EQ(queue.taken, 0U);
    EXPECT_FALSE(sender().stuck());
    go_on(1000);
    EXPECT_GT(queue.taken, 4000U) << "the first ones were due";
    EXPECT_EQ(sender().counters().outages, 0U);
    takes = false;
    go_on(7000);
    EXPECT_TRUE(sender().stuck()) << "this is the port";
    EXPECT_EQ(sender().counters().outages, 1U);
    impaired.give_up();
    takes = true;
    sender().set_queue(queue.queue());
    EXPECT_TRUE(run());
    // Packets that it dropped did not get here.
    queue.taken = sender().counters().packets;
}

/// Raises a rate of 8 kb/s, at which a burst takes 65 s, to 1 Gb/s.
TEST_F(OutageTest, ARateThatIsRaisedIsMetAtOnce) {
    config.pacing = {1e3, 65'536, 1.05};
    go_on(1000);
    sender().set_pacing({125e6, 65'536, 1.05});
    EXPECT_NEAR(static_cast<double>(go_on(1000)), 125e6, 125e6 / 2) << "one burst a poll";
}

}  // namespace
}  // namespace spead::send::test
