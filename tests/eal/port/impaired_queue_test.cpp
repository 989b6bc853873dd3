// SPDX-License-Identifier: BSD-3-Clause
#include "port/impaired_queue.hpp"

#include <rte_ip.h>

#include "base/byte_order.hpp"
#include "tests/eal/port/port_rig.hpp"
#include "tests/support/fake_io.hpp"
#include "wire/net.hpp"

namespace spead::port::test {
namespace {

using spead::test::FakeFaults;
using spead::test::FakeIo;

using Bytes = std::vector<std::uint8_t>;
using Packets = std::vector<Bytes>;

constexpr double kHz = 1e9;

/// Returns a datagram whose bytes are made from its number.
Bytes datagram(std::uint32_t number, std::size_t payload) {
    wire::NetHeaderSpec spec;
    spec.src_ip = 0x0A000001;
    spec.dst_ip = 0xEF010101;
    spec.src_port = 5000;
    spec.dst_port = 7148;
    Bytes bytes(wire::kNetHeader + payload);
    wire::NetHeaderTemplate(spec).write(bytes.data(), payload);
    for (std::size_t i = 0; i < payload; i++)
        bytes[wire::kNetHeader + i] = static_cast<std::uint8_t>(number * 37 + i);
    return bytes;
}

/// Works out the plain way which packets should arrive: they are given in order, and nothing is delayed.
struct Expected {
    Packets arrived;
    ImpairCounters counters;

    Expected(const Impairments& impairments, const Packets& given) {
        Packets group;
        for (const Bytes& packet : given) {
            const Fate fate = fate_of(impairments, counters.given++);
            counters.lost += fate.lost;
            if (fate.lost)
                continue;
            Bytes bytes = packet;
            if (fate.corrupted && bytes.size() > wire::kNetHeader) {
                const std::uint64_t bit = fate.bit % ((bytes.size() - wire::kNetHeader) * 8);
                bytes[wire::kNetHeader + bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
                counters.corrupted++;
            }
            counters.duplicated += fate.duplicated;
            group.insert(group.end(), fate.duplicated ? 2 : 1, bytes);
            if (group.size() >= std::max(impairments.reorder, 1U))
                end(impairments, group);
        }
        end(impairments, group);
        counters.sent = arrived.size();
    }

  private:
    void end(const Impairments& impairments, Packets& group) {
        if (group.empty())
            return;
        std::vector<std::uint32_t> order(group.size());
        for (std::uint32_t i = 0; i < order.size(); i++)
            order[i] = i;
        for (auto place = static_cast<std::uint32_t>(order.size() - 1); impairments.reorder > 1 && place > 0;
             place--)
            std::swap(order[place], order[exchange_of(impairments, groups_, place)]);
        groups_++;
        std::uint32_t most = 0;
        for (const std::uint32_t place : order) {
            counters.reordered += place < most ? 1 : 0;
            most = std::max(most, place);
            arrived.push_back(group[place]);
        }
        group.clear();
    }

    std::uint64_t groups_ = 0;
};

void expect_equal(const ImpairCounters& found, const ImpairCounters& expected) {
    EXPECT_EQ(found.given, expected.given);
    EXPECT_EQ(found.lost, expected.lost);
    EXPECT_EQ(found.duplicated, expected.duplicated);
    EXPECT_EQ(found.corrupted, expected.corrupted);
    EXPECT_EQ(found.reordered, expected.reordered);
    EXPECT_EQ(found.delayed, expected.delayed);
    EXPECT_EQ(found.sent, expected.sent);
    EXPECT_EQ(found.dropped, expected.dropped);
}

/// Holds a queue between a sender's pool and a fake port, with a clock of the test's.
class Rig {
  public:
    explicit Rig(const std::string& impairments, const FakeFaults& faults = {},
                 std::uint16_t descriptors = 64)
        : io_(rx_pool_.get(), faults),
          setup_{Impairments::parse(impairments, "test"), kHz, 1600, descriptors, SOCKET_ID_ANY, ticks, this},
          queue_(setup_, "test") {
        queue_.set_inner(io_.tx_queue());
    }
    ~Rig() { io_.release(); }

    /// Gives the packet; false if it was not taken (and is freed).
    bool give(const Bytes& bytes) { return give(pool_.make(bytes)); }
    bool give(rte_mbuf* packet) {
        const bool taken = queue_.queue().tx_burst(&packet, 1) == 1;
        if (!taken)
            rte_pktmbuf_free(packet);
        return taken;
    }
    /// Gives all, in bursts of several sizes, again and again what is not taken; takes what arrives.
    void carry(const Packets& packets) {
        std::size_t at = 0;
        for (std::uint16_t burst = 1; at < packets.size();
             burst = static_cast<std::uint16_t>(burst % 7 + 1)) {
            std::array<rte_mbuf*, 8> mbufs{};
            const auto n = static_cast<std::uint16_t>(std::min<std::size_t>(burst, packets.size() - at));
            for (std::uint16_t i = 0; i < n; i++)
                mbufs[i] = pool_.make_chain(packets[at + i], 700);
            const std::uint16_t taken = queue_.queue().tx_burst(mbufs.data(), n);
            rte_pktmbuf_free_bulk(mbufs.data() + taken, n - taken);
            at += taken;
            receive_all();
        }
    }
    void receive_all() {
        for (Bytes& bytes : receive(io_.rx_queue(), 10'000, 1))
            arrived_.push_back(std::move(bytes));
    }
    /// Polls until the queue holds nothing.
    void flush() {
        queue_.flush();
        for (int i = 0; i < 10'000 && !queue_.empty(); i++) {
            queue_.poll();
            receive_all();
        }
        EXPECT_TRUE(queue_.empty());
        receive_all();
    }
    Packets take() {
        receive_all();
        return std::exchange(arrived_, {});
    }

    Pool pool_;
    Pool rx_pool_{4095};
    FakeIo io_;
    std::uint64_t now_ = 5;
    const ImpairedQueue::Setup setup_;
    ImpairedQueue queue_;
    Packets arrived_;

  private:
    static std::uint64_t ticks(const void* self) { return static_cast<const Rig*>(self)->now_; }
};

Packets datagrams(std::uint32_t count) {
    Packets packets;
    for (std::uint32_t i = 0; i < count; i++)
        packets.push_back(datagram(i, i % 400 + (i % 5 == 0 ? 1000 : 0)));
    return packets;
}

TEST(ImpairedQueue, WithoutImpairmentsPacketsAreTheSendersOwn) {
    Rig rig("");
    rte_mbuf* const packet = rig.pool_.make(datagram(1, 100));
    const rte_mbuf* given = nullptr;
    TxQueue inner{[](void* context, std::uint16_t, rte_mbuf** mbufs, std::uint16_t count) {
                      *static_cast<const rte_mbuf**>(context) = mbufs[0];
                      rte_pktmbuf_free_bulk(mbufs, count);
                      return count;
                  },
                  nullptr, &given, 0};
    rig.queue_.set_inner(inner);
    EXPECT_TRUE(rig.give(packet));
    EXPECT_EQ(given, packet);
    EXPECT_TRUE(rig.queue_.empty());
    EXPECT_EQ(rig.queue_.out(), 0U);
}

TEST(ImpairedQueue, DoesWhatTheSeedSaysPacketByPacket) {
    const Packets packets = datagrams(3000);
    FakeFaults whole;
    FakeFaults reluctant;
    reluctant.most_per_tx_burst = 3;
    reluctant.hold_segments = 31;
    for (const FakeFaults& faults : {whole, reluctant})
        for (const char* const text :
             {"", "loss=10%", "duplicate=10%", "corrupt=10%", "reorder=2", "reorder=10",
              "reorder=1024,seed=3", "loss=100%", "duplicate=100%,reorder=5", "corrupt=100%",
              "loss=1%,duplicate=0.5%,corrupt=0.1%,reorder=10,seed=7",
              "loss=20%,duplicate=30%,corrupt=40%,reorder=32"}) {
            SCOPED_TRACE(text);
            Rig rig(text, faults);
            const Expected expected(rig.setup_.impairments, packets);
            rig.carry(packets);
            rig.flush();
            const Packets arrived = rig.take();
            ASSERT_EQ(arrived.size(), expected.arrived.size());
            for (std::size_t i = 0; i < arrived.size(); i++)
                ASSERT_EQ(arrived[i], expected.arrived[i]) << i;
            expect_equal(rig.queue_.counters(), expected.counters);
            rig.io_.release();
            EXPECT_EQ(rig.queue_.out(), 0U);
            EXPECT_TRUE(rig.pool_.full());
        }
}

TEST(ImpairedQueue, TakesNoMoreThanItCanHoldAndLosesNothing) {
    for (const char* const text :
         {"", "reorder=16", "duplicate=100%", "corrupt=100%,reorder=1000", "delay=1ms"}) {
        SCOPED_TRACE(text);
        Rig rig(text);
        const TxQueue port = rig.io_.tx_queue();
        rig.queue_.set_inner(
            {[](void*, std::uint16_t, rte_mbuf**, std::uint16_t) -> std::uint16_t { return 0; }, nullptr,
             nullptr, 0});
        Packets given;
        Pool senders(8191);
        // It takes what it has room for, and then none.
        for (std::uint32_t i = 0; i < 8000; i++) {
            rte_mbuf* packet = senders.make(datagram(i, 20));
            if (rig.queue_.queue().tx_burst(&packet, 1) == 0) {
                rte_pktmbuf_free(packet);
                break;
            }
            given.push_back(datagram(i, 20));
        }
        EXPECT_GT(given.size(), 100U);
        EXPECT_LT(given.size(), 8000U);
        rig.queue_.set_inner(port);
        rig.now_ += 1'000'000;
        rig.flush();
        Packets expected = Expected(rig.setup_.impairments, given).arrived;
        EXPECT_EQ(rig.take(), expected);
        EXPECT_TRUE(rig.give(datagram(1, 20)));
        rig.flush();
    }
}

TEST(ImpairedQueue, ASenderHasItsMemoryBackWhileItsPacketsWait) {
    Rig rig("reorder=100,delay=50%:1s");
    rig.carry(datagrams(50));
    EXPECT_TRUE(rig.pool_.full());
    EXPECT_FALSE(rig.queue_.empty());
    EXPECT_EQ(rig.queue_.out(), 50U);
    EXPECT_TRUE(rig.take().empty());
    rig.flush();
    EXPECT_EQ(rig.take().size(), 50U);
}

TEST(ImpairedQueue, AGroupThatIsNotFullWaitsASecond) {
    Rig rig("reorder=10");
    const Packets packets = datagrams(7);
    rig.carry(packets);
    EXPECT_EQ(rig.queue_.next_time(), 5 + std::uint64_t{1'000'000'000});
    rig.now_ += 999'999'999;
    rig.queue_.poll();
    EXPECT_TRUE(rig.take().empty());
    rig.now_ += 1;
    EXPECT_TRUE(rig.queue_.poll());
    EXPECT_EQ(rig.take(), Expected(rig.setup_.impairments, packets).arrived);
    EXPECT_EQ(rig.queue_.next_time(), 0U);
    EXPECT_FALSE(rig.queue_.poll());
}

TEST(ImpairedQueue, AFlushIsForWhatIsHeldNow) {
    Rig rig("reorder=10");
    rig.carry(datagrams(3));
    rig.flush();
    EXPECT_EQ(rig.take().size(), 3U);
    rig.carry(datagrams(3));
    rig.queue_.poll();
    EXPECT_TRUE(rig.take().empty()) << "who sends again has not ended";
    rig.flush();
    EXPECT_EQ(rig.take().size(), 3U);
}

TEST(ImpairedQueue, DelayedPacketsAreOvertaken) {
    Rig rig("delay=30%:5ms,seed=4");
    const Packets packets = datagrams(100);
    Packets at_once;
    Packets later;
    for (std::uint32_t i = 0; i < packets.size(); i++)
        (fate_of(rig.setup_.impairments, i).delayed ? later : at_once).push_back(packets[i]);
    ASSERT_GT(later.size(), 10U);
    rig.carry(packets);
    EXPECT_EQ(rig.take(), at_once);
    EXPECT_EQ(rig.queue_.next_time(), 5 + std::uint64_t{5'000'000});
    rig.now_ += 4'999'999;
    rig.queue_.poll();
    EXPECT_TRUE(rig.take().empty());
    rig.now_++;
    rig.queue_.poll();
    EXPECT_EQ(rig.take(), later);
    EXPECT_EQ(rig.queue_.counters().delayed, later.size());
    EXPECT_EQ(rig.queue_.counters().sent, packets.size());
    EXPECT_TRUE(rig.queue_.empty());
}

TEST(ImpairedQueue, AFixedDelayKeepsTheOrder) {
    Rig rig("delay=5ms");
    Packets expected;
    for (std::uint32_t i = 0; i < 20; i++) {
        rig.now_ += 1'000'000;
        expected.push_back(datagram(i, 20));
        EXPECT_TRUE(rig.give(expected.back()));
        EXPECT_EQ(rig.arrived_.size() + rig.io_.sent(), i < 5 ? 0 : i - 4);
    }
    rig.now_ += 5'000'000;
    rig.queue_.poll();
    EXPECT_EQ(rig.take(), expected);
}

/// Tells a queue that is full of packets that it delays from one whose port takes nothing.
TEST(ImpairedQueue, SaysWhetherItTakesNothingOnlyForItsDelay) {
    Rig rig("delay=5ms");
    EXPECT_FALSE(ImpairedQueue::only_delays(rig.queue_.queue()));
    EXPECT_FALSE(ImpairedQueue::only_delays(rig.io_.tx_queue())) << "it is another kind of queue";
    std::uint64_t given = 0;
    while (rig.give(datagram(1, 20)))
        given++;
    EXPECT_GE(given, 4000U);
    EXPECT_TRUE(ImpairedQueue::only_delays(rig.queue_.queue()));
    rig.queue_.set_inner({[](void*, std::uint16_t, rte_mbuf**, std::uint16_t) -> std::uint16_t { return 0; },
                          nullptr, nullptr, 0});
    rig.now_ += 5'000'000;
    while (rig.give(datagram(1, 20)))
        given++;
    EXPECT_FALSE(ImpairedQueue::only_delays(rig.queue_.queue())) << "due packets wait for the port";
    rig.queue_.give_up();
    EXPECT_EQ(rig.queue_.counters().dropped, given);
}

TEST(ImpairedQueue, WhatIsGivenUpIsDroppedAndCounted) {
    Rig rig("reorder=10,delay=30%:1s,loss=10%");
    rig.carry(datagrams(200));
    const ImpairCounters before = rig.queue_.counters();
    const std::uint64_t held = before.given - before.lost - before.sent;
    ASSERT_GT(held, 10U);
    rig.queue_.give_up();
    EXPECT_TRUE(rig.queue_.empty());
    EXPECT_EQ(rig.queue_.counters().dropped, held);
    EXPECT_EQ(rig.queue_.out(), 0U);
}

TEST(ImpairedQueue, APortThatIsAwayIsWaitedFor) {
    Rig rig("loss=50%");
    rig.queue_.set_inner({});
    rig.carry(datagrams(20));
    EXPECT_TRUE(rig.take().empty());
    EXPECT_EQ(rig.queue_.counters().sent, 0U);
    rig.queue_.set_inner(rig.io_.tx_queue());
    rig.queue_.poll();
    EXPECT_EQ(rig.take(), Expected(rig.setup_.impairments, datagrams(20)).arrived);
}

TEST(ImpairedQueue, OnlyPayloadIsCorrupted) {
    Rig rig("corrupt=100%");
    const Bytes other = frame(1, 200);   // no datagram
    const Bytes empty = datagram(2, 0);  // no payload
    EXPECT_TRUE(rig.give(other));
    EXPECT_TRUE(rig.give(empty));
    EXPECT_EQ(rig.take(), (Packets{other, empty}));
    EXPECT_EQ(rig.queue_.counters().corrupted, 0U);
}

TEST(ImpairedQueue, PacketsOfIpv6AreCorruptedAsWell) {
    wire::NetHeaderSpec spec;
    spec.src_ip = parse_ip("fd00::1");
    spec.dst_ip = parse_ip("ff15::a");
    spec.src_port = 5000;
    spec.dst_port = 7148;
    const wire::NetHeaderTemplate headers(spec);
    const std::size_t begin = headers.length();
    Bytes bytes(begin + 333, 7);
    const std::uint16_t good = wire::udp_checksum(spec.src_ip, spec.dst_ip, spec.src_port, spec.dst_port,
                                                  std::span<const std::uint8_t>(bytes).subspan(begin));
    for (const bool by_port : {false, true}) {
        SCOPED_TRACE(by_port);
        Rig rig("corrupt=100%");
        headers.write(bytes.data(), 333, by_port ? 0x1234 : good);
        rte_mbuf* const packet = rig.pool_.make(bytes);
        if (by_port)
            packet->ol_flags |= RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM;
        EXPECT_TRUE(rig.give(packet));
        EXPECT_EQ(rig.queue_.counters().corrupted, 1U);
        const Packets arrived = rig.take();
        ASSERT_EQ(arrived.size(), 1U);
        EXPECT_EQ(load_be16(arrived[0].data() + begin - 2), good);
        const std::uint64_t bit = fate_of(rig.setup_.impairments, 0).bit % (333 * 8);
        Bytes expected = bytes;
        store_be16(expected.data() + begin - 2, good);
        expected[begin + bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
        EXPECT_EQ(arrived[0], expected);
    }
}

TEST(ImpairedQueue, AChecksumIsThatOfThePacketBeforeItWasCorrupted) {
    Rig rig("corrupt=100%");
    const Bytes bytes = datagram(1, 333);
    rte_mbuf* const packet = rig.pool_.make(bytes);
    packet->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
    std::uint64_t flags = 0;
    struct Seen {
        std::uint64_t flags;
        Bytes bytes;
    } seen;
    rig.queue_.set_inner({[](void* context, std::uint16_t, rte_mbuf** mbufs, std::uint16_t count) {
                              *static_cast<Seen*>(context) = {mbufs[0]->ol_flags, bytes_of(mbufs[0])};
                              rte_pktmbuf_free_bulk(mbufs, count);
                              return count;
                          },
                          nullptr, &seen, 0});
    EXPECT_TRUE(rig.give(packet));
    flags = seen.flags & RTE_MBUF_F_TX_L4_MASK;
    EXPECT_EQ(flags, 0U) << "the port would make a good checksum of bad bytes";
    const std::span<const std::uint8_t> payload(bytes.data() + wire::kNetHeader, 333);
    EXPECT_EQ(load_be16(seen.bytes.data() + wire::kNetHeader - 2),
              wire::udp_checksum(0x0A000001, 0xEF010101, 5000, 7148, payload));
    EXPECT_NE(seen.bytes, bytes);
}

}  // namespace
}  // namespace spead::port::test
