// SPDX-License-Identifier: BSD-3-Clause
// The sender on real ports: net_null, and net_ring with the three parties on threads of their own.
#include <array>
#include <atomic>
#include <gmock/gmock.h>
#include <map>
#include <sched.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "drivers/table.hpp"
#include "port/port.hpp"
#include "tests/eal/send/rig.hpp"
#include "wire/spead.hpp"

namespace spead::send::test {
namespace {

std::unique_ptr<port::Port> open_port(const char* device, std::uint32_t packet) {
    port::PortRequest request;
    request.name = "p0";
    request.device = device;
    request.max_rx_packet = request.max_tx_packet = packet;
    request.tx_queues = 1;
    auto opened = port::Port::open(request, drivers::table());
    opened->start();
    return opened;
}

class SenderOnPort : public SenderTest {
  protected:
    void use(const port::Port& p) {
        config.queue = p.tx_queue(0);
        config.capabilities = p.capabilities();
        config.tx_descriptors = p.tx_sizes().descriptors;
        config.source_mac = p.mac();
        config.source_ip = p.source_address();
    }
};

TEST_F(SenderOnPort, NullTakesEverythingAndGivesItBack) {
    const auto p = open_port("net_null0", 8972);
    config.max_packet_size = 8972;
    use(*p);
    Sender s(config);
    std::array<Completion, 8> some;
    std::size_t done = 0;
    for (int submitted = 0; done < 200;) {
        if (submitted < 200 && s.submit({&heap(1'000'000)}))
            ++submitted;
        s.poll(rte_rdtsc());
        done += s.poll_completions(some);
    }
    EXPECT_TRUE(s.idle());
    EXPECT_EQ(s.counters().heaps, 200U);
    EXPECT_GT(s.counters().zero_copy_packets, 0U);
    EXPECT_EQ(s.mbufs_out(), 0U);
    EXPECT_LE(p->capabilities().late_free_segments, 31);
}

/// Puts heaps together again and compares them with the memory they came from.
struct Receiver {
    port::RxQueue queue;
    const Memory* memory = nullptr;
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> packets{0};
    std::uint64_t wrong = 0;
    std::map<std::uint64_t, std::uint64_t> bytes;  ///< by heap count

    void take(rte_mbuf* m) {
        const Frame frame = frame_of(*m);
        rte_pktmbuf_free(m);
        const Bytes payload = frame.payload();
        wire::SpeadPacket packet;
        if (wire::parse_spead(payload.data(), payload.size(), payload.size(), packet) !=
            wire::SpeadError::none) {
            ++wrong;
            return;
        }
        const auto from = memory->part(packet.heap_cnt * 100 + packet.payload_offset, packet.payload_length);
        const auto* const data = reinterpret_cast<const std::uint8_t*>(from.data());
        wrong += std::equal(data, data + from.size(), payload.begin() + packet.header_length) ? 0 : 1;
        bytes[packet.heap_cnt] += packet.payload_length;
    }
    bool poll() {
        std::array<rte_mbuf*, 32> mbufs{};
        const std::uint16_t n = queue.rx_burst(mbufs.data(), mbufs.size());
        for (std::uint16_t i = 0; i < n; ++i)
            take(mbufs[i]);
        packets.fetch_add(n, std::memory_order_release);
        return n != 0;
    }
    static int run(void* self) {
        auto& me = *static_cast<Receiver*>(self);
        while (!me.stop.load(std::memory_order_acquire)) {
            if (!me.poll())
                sched_yield();
        }
        while (me.poll()) {
        }
        return 0;
    }
};

struct SendingLcore {
    Sender* sender = nullptr;
    std::atomic<bool> stop{false};
    static int run(void* self) {
        auto& me = *static_cast<SendingLcore*>(self);
        while (!me.stop.load(std::memory_order_acquire)) {
            if (!me.sender->poll(rte_rdtsc()))
                sched_yield();
        }
        return 0;
    }
};

TEST_F(SenderOnPort, ProducerSenderAndReceiverOnThreeThreadsOverARing) {
    constexpr std::size_t kHeap = 50'000;
    constexpr std::uint64_t kHeaps = 400;
    const auto p = open_port("net_ring0", 1472);
    use(*p);
    config.max_heaps = 16;
    Sender s(config);
    Receiver receiver;
    receiver.queue = p->rx_queue(0);
    receiver.memory = &memory;
    SendingLcore sending;
    sending.sender = &s;
    ASSERT_GE(rte_lcore_count(), 3U);
    const unsigned first = rte_get_next_lcore(rte_lcore_id(), 1, 1), second = rte_get_next_lcore(first, 1, 1);
    ASSERT_EQ(rte_eal_remote_launch(&Receiver::run, &receiver, first), 0);
    ASSERT_EQ(rte_eal_remote_launch(&SendingLcore::run, &sending, second), 0);

    std::vector<Completion> all;
    std::array<Completion, 7> some;
    std::uint64_t submitted = 0;
    while (all.size() < kHeaps) {
        if (submitted + 4 <= kHeaps) {
            std::array<Submission, 4> group;
            for (std::uint64_t i = 0; i < group.size(); ++i)
                group[i] = {.heap = &heap(kHeap, (submitted + i + 1) * 100)};
            if (s.submit(group, submitted % 8 == 0 ? Interleave::serial : Interleave::round_robin)) {
                submitted += group.size();
            } else {
                for (std::size_t i = 0; i < group.size(); ++i)
                    heaps.pop_back();
                sched_yield();
            }
        } else {
            sched_yield();
        }
        const std::size_t n = s.poll_completions(some);
        all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
    }
    sending.stop = true;
    rte_eal_wait_lcore(second);
    receiver.stop = true;
    rte_eal_wait_lcore(first);

    for (std::uint64_t i = 0; i < kHeaps; ++i) {
        EXPECT_EQ(all[i].cnt, i + 1);
        EXPECT_EQ(all[i].status, SendStatus::sent);
        EXPECT_EQ(receiver.bytes[i + 1], kHeap);
    }
    EXPECT_EQ(receiver.wrong, 0U);
    EXPECT_EQ(receiver.packets.load(), s.counters().packets);
    EXPECT_GT(s.counters().zero_copy_packets, 0U);
    EXPECT_EQ(s.mbufs_out(), 0U);
}

TEST_F(SenderOnPort, AStopWithPacketsInTheRingCompletesWhenThePortIsStopped) {
    const auto p = open_port("net_ring0", 1472);
    use(*p);
    Sender s(config);
    OutgoingHeap& h = heap(3'000'000);
    ASSERT_TRUE(s.submit({&h}));
    for (int i = 0; i < 100; ++i)
        s.poll(rte_rdtsc());
    EXPECT_GT(s.counters().tx_full, 0U);
    s.request_stop();
    for (int i = 0; i < 10; ++i)
        s.poll(rte_rdtsc());
    EXPECT_FALSE(s.idle()) << "the ring still refers to the heap";
    p->stop();
    EXPECT_TRUE(s.collect(rte_rdtsc()));
    EXPECT_TRUE(s.idle());
    std::array<Completion, 4> some;
    ASSERT_EQ(s.poll_completions(some), 1U);
    EXPECT_EQ(some[0].status, SendStatus::aborted);
    EXPECT_EQ(s.mbufs_out(), 0U);
}

/// Checks the estimate that EAL is asked for before it starts. If it is too low, the sender cannot be made.
TEST_F(SenderOnPort, NeedsNoMoreMemoryThanItSays) {
    config.queue = queue.queue();
    for (const std::uint32_t packet : {1472U, 8972U}) {
        for (const std::uint32_t max_heaps : {4U, 1000U}) {
            config.max_packet_size = packet;
            config.max_heaps = max_heaps;
            rte_malloc_socket_stats before{}, during{};
            rte_malloc_get_socket_stats(0, &before);
            const Sender s(config);
            rte_malloc_get_socket_stats(0, &during);
            const std::size_t used = during.heap_allocsz_bytes - before.heap_allocsz_bytes;
            const std::size_t said = Sender::memory_need(config).bytes;
            EXPECT_LE(used, said);
            EXPECT_GT(used, said / 2) << "an estimate so far off wastes memory";
        }
    }
}

}  // namespace
}  // namespace spead::send::test
