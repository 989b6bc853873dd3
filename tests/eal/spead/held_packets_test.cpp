// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <gmock/gmock.h>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include "spead/filter.hpp"
#include "spead/filter_adapter.hpp"
#include "spead/readers.hpp"
#include "tests/eal/recv/rig.hpp"
#include "tests/eal/spead/chunk_rig.hpp"
#include "tests/eal/spead/recv_rig.hpp"
#include "tests/support/pcap_writer.hpp"
#include "tests/support/scratch_directory.hpp"

/// Tests filters of a user's that hold packets: their bound, the counts, and the lives of what they hold.
namespace spead::test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kLength = 1000;

/// Holds what the test and its filters share.
struct Shared {
    FilterAnswer answer = FilterAnswer::hold_or_keep;
    bool gives_back = false;  ///< when no more packets come
    std::function<bool(const Packet&)> wants = [](const Packet& p) { return p.heap_cnt() % 10 == 3; };
    std::mutex mutex;
    std::vector<HeldPacket> held;  ///< guarded
    std::atomic<int> alive{0};
    std::atomic<int> ended{0};

    std::vector<HeldPacket> take() {
        const std::lock_guard lock(mutex);
        return std::exchange(held, {});
    }
    void give_back_on_another_thread() {
        std::thread([this] { take().clear(); }).join();
    }
};

/// Asks for the packets that the test wants; stream control is kept.
class Holding : public PacketFilter {
  public:
    explicit Holding(Shared& shared) : shared_(shared) { shared_.alive++; }
    ~Holding() override { shared_.alive--; }
    Holding(const Holding&) = delete;
    Holding& operator=(const Holding&) = delete;
    FilterAnswer look(const Packet& packet) noexcept override {
        return packet.immediate(6) || !shared_.wants(packet) ? FilterAnswer::keep : shared_.answer;
    }
    void hold(HeldPacket packet) noexcept override {
        const std::lock_guard lock(shared_.mutex);
        shared_.held.push_back(std::move(packet));
    }
    void ending() noexcept override {
        shared_.ended++;
        if (shared_.gives_back)
            shared_.take().clear();
    }

  private:
    Shared& shared_;
};

/// Makes a file of heaps of one packet each, with the counts from 1.
class HeapFile {
  public:
    explicit HeapFile(std::uint64_t heaps) : path(directory_.file("in.pcap")) {
        PcapWriter writer(path);
        for (std::uint64_t cnt = 1; cnt <= heaps; cnt++)
            for (const auto& frame :
                 recv::test::MadeHeap{.cnt = cnt, .length = kLength, .packet = kLength}.frames()) {
                writer.record(frame);
                packets++;
            }
    }

  private:
    const ScratchDirectory directory_;

  public:
    const std::string path;
    std::uint64_t packets = 0;
};

RecvConfig holding_config(Shared& shared, const std::string& interface, std::uint32_t held_buffers = 20) {
    RecvConfig c = ring_config();
    c.interface = interface;
    c.packet_filter = [&shared] { return std::make_unique<Holding>(shared); };
    c.held_buffers = held_buffers;
    return c;
}

std::string device(const HeapFile& file, int number) {
    return "net_pcap" + std::to_string(number) + ",rx_pcap=" + file.path;
}

std::uint64_t count_all(RecvStream& stream) {
    std::uint64_t heaps = 0;
    for (const Heap& heap : stream) {
        EXPECT_TRUE(heap.complete());
        heaps++;
    }
    return heaps;
}

/// Expects the packets as they were sent.
void expect_whole(const std::vector<HeldPacket>& held) {
    for (const HeldPacket& one : held) {
        ASSERT_TRUE(one);
        const Packet packet = one.packet();
        EXPECT_EQ(packet.heap_cnt() % 10, 3U);
        EXPECT_EQ(packet.destination_port(), 7148U);
        EXPECT_EQ(packet.offset(), 0U);
        EXPECT_EQ(packet.payload_length(), kLength);
        std::array<std::span<const std::byte>, 1> piece;
        ASSERT_EQ(packet.payload(piece), 1U);
        ASSERT_EQ(piece[0].size(), kLength);
        for (std::uint64_t i = 0; i < kLength; i++)
            ASSERT_EQ(std::to_integer<std::uint8_t>(piece[0][i]), heap::test::pattern(packet.heap_cnt(), i));
    }
}

TEST(HeldPackets, AreReceivedAsUsualBeyondTheBound) {
    const HeapFile file(300);
    const Process process(config());
    Shared shared;
    RecvStream stream(process, holding_config(shared, device(file, 40)));
    EXPECT_EQ(count_all(stream), 280U);
    RecvStats s = stream.stats();
    expect_sums(s);
    EXPECT_EQ(s.packets, file.packets);
    EXPECT_EQ(s.packets_held, 20U);
    EXPECT_EQ(s.held_now, 20U);
    EXPECT_EQ(s.hold_refused, 10U);
    EXPECT_EQ(s.packets_filtered, 0U);
    EXPECT_EQ(s.packets_placed, file.packets - 20);
    EXPECT_EQ(shared.held.size(), 20U);
    // Another thread looks at them, and gives them back.
    std::thread([&shared] {
        const std::vector<HeldPacket> held = shared.take();
        expect_whole(held);
    }).join();
    while (stream.stats().held_now != 0)
        std::this_thread::yield();
    s = stream.stats();
    expect_sums(s);
    EXPECT_EQ(s.packets_held, 20U);
}

TEST(HeldPackets, AreDroppedBeyondTheBoundOfAFilterThatSaysSo) {
    const HeapFile file(300);
    const Process process(config());
    Shared shared;
    shared.answer = FilterAnswer::hold_or_drop;
    shared.gives_back = true;
    {
        RecvStream stream(process, holding_config(shared, device(file, 41)));
        EXPECT_EQ(count_all(stream), 270U);
        const RecvStats s = stream.stats();
        expect_sums(s);
        EXPECT_EQ(s.packets, file.packets);
        EXPECT_EQ(s.packets_held, 20U);
        EXPECT_EQ(s.hold_refused, 10U);
        EXPECT_EQ(s.packets_filtered, 10U);
        EXPECT_EQ(s.packets_placed, file.packets - 30);
        EXPECT_EQ(shared.ended, 0);
    }
    EXPECT_EQ(shared.ended, 1);
    EXPECT_TRUE(shared.take().empty());
    EXPECT_EQ(shared.alive, 0);
}

/// Holds all packets of a sender that goes on, ten times as many as the bound.
TEST(HeldPackets, MakeRoomForOthersWhenTheyAreBack) {
    const Process process(config());
    Shared shared;
    shared.wants = [](const Packet&) { return true; };
    shared.answer = FilterAnswer::hold_or_drop;
    shared.gives_back = true;
    RecvStream stream(process, holding_config(shared, kRing, 8));
    const TestSender sender({.heap_size = kLength, .copies = true});
    while (stream.stats().packets_held < 80) {
        shared.give_back_on_another_thread();
        std::this_thread::yield();
    }
    EXPECT_LE(stream.stats().held_now, 8U);
    stream.stop();
    EXPECT_FALSE(stream.get());
    EXPECT_EQ(shared.ended, 1);
    EXPECT_TRUE(shared.take().empty());
    const RecvStats s = stream.stats();
    expect_sums(s);
    EXPECT_EQ(s.held_now, 0U);
    EXPECT_EQ(s.packets_placed, 0U);
}

TEST(HeldPackets, OutliveTheirStream) {
    const HeapFile file(300);
    const Process process(config());
    RecvConfig c = ring_config();
    c.on_full = OnFull::drop_newest;
    RecvStream other(process, c);
    Shared shared;
    std::optional<RecvStream> stream(std::in_place, process, holding_config(shared, device(file, 42)));
    EXPECT_EQ(count_all(*stream), 280U);
    const TestSender sender({});
    stream.reset();
    EXPECT_EQ(shared.ended, 1);
    EXPECT_TRUE(other.get()) << "others go on";
    ASSERT_EQ(shared.held.size(), 20U);
    expect_whole(shared.held);
    shared.give_back_on_another_thread();
    while (shared.alive != 0)
        std::this_thread::yield();
    EXPECT_TRUE(process.running());
}

TEST(HeldPackets, OutliveTheirSession) {
    const HeapFile file(300);
    Shared shared;
    {
        Process process(config());
        RecvStream stream(process, holding_config(shared, device(file, 43)));
        EXPECT_EQ(count_all(stream), 280U);
        process.stop();
        EXPECT_THAT(process.problems(), testing::Contains(HasSubstr("20 held packets were not given back")));
        EXPECT_EQ(stream.stats().held_now, 20U);
    }
    EXPECT_EQ(shared.alive, 0);
    std::vector<HeldPacket> held = shared.take();
    ASSERT_EQ(held.size(), 20U);
    expect_whole(held);
    std::vector<rte_mbuf*> mbufs;
    for (const HeldPacket& one : held)
        mbufs.push_back(const_cast<rte_mbuf*>(door::FilterAccess::held(one)->mbuf()));
    std::thread([&held] { held.clear(); }).join();
    // Nobody is left to free them.
    rte_mempool* const pool = mbufs.front()->pool;
    rte_pktmbuf_free_bulk(mbufs.data(), static_cast<unsigned>(mbufs.size()));
    EXPECT_EQ(rte_mempool_in_use_count(pool), 0U);
    rte_mempool_free(pool);
}

TEST(HeldPackets, AreCountedByStreamsOfChunks) {
    const Process process(config());
    Shared shared;
    shared.wants = [](const Packet& p) { return p.immediate(0x1600).value_or(0) / kStep % kTimes == 3; };
    shared.gives_back = true;
    ChunkRing ring(process, 4);
    ring.add(placement(), 4);
    RecvConfig c = holding_config(shared, kRing, 6);
    c.stop_on_stop_item = true;
    ChunkSender sender(process);
    const ChunkStream stream(process, c, placement(), ring);
    std::thread sending([&sender] {
        sender.send_chunks(0, 4);
        sender.send_stop();
    });
    std::uint64_t chunks = 0;
    std::uint64_t heaps = 0;
    for (const ChunkPtr& chunk : ring) {
        expect_right(*chunk);
        heaps += chunk->heaps_present;
        chunks++;
    }
    sending.join();
    EXPECT_EQ(chunks, 4U);
    // Six of the 24 packets of eight heaps: those of two heaps.
    EXPECT_EQ(heaps, 4 * kHeaps - 2);
    const ChunkStats s = stream.stats();
    expect_sums(s);
    EXPECT_EQ(s.packets_held, 6U);
    EXPECT_EQ(s.held_now, 6U);
    EXPECT_EQ(s.hold_refused, 18U);
    // On a ring these are the sender's own buffers.
    shared.give_back_on_another_thread();
}

TEST(HeldPackets, NeedAPort) {
    const HeapFile file(300);
    Shared shared;
    RecvConfig c = holding_config(shared, {});
    EXPECT_THAT(refusal([&] { RecvStream(c, Reader::pcap(file.path)); }),
                AllOf(HasSubstr("`held_buffers` is 20"), HasSubstr("no port")));
    c.backend = Backend::kernel;
    EXPECT_THAT(refusal([&] { const RecvStream stream(c); }), HasSubstr("`held_buffers` is 20"));
    const Process process(config());
    EXPECT_THAT(refusal([&] { RecvStream(process, c); }), HasSubstr("`held_buffers` is 20"));
    c.backend = Backend::port;
    c.held_buffers = 70'000;
    c.interface = kRing;
    EXPECT_THAT(refusal([&] { RecvStream(process, c); }), HasSubstr("`held_buffers` is 70000"));
    EXPECT_EQ(shared.alive, 0);
    // Their filters may answer so, and never get one.
    c.held_buffers = 0;
    c.interface.clear();
    RecvStream stream(c, Reader::pcap(file.path));
    EXPECT_EQ(count_all(stream), 300U);
    const RecvStats s = stream.stats();
    expect_sums(s);
    EXPECT_EQ(s.packets_held, 0U);
    EXPECT_EQ(s.hold_refused, 30U);
}

TEST(HeldPackets, AreNobodysAfterAMove) {
    HeldPacket empty;
    EXPECT_FALSE(empty);
    HeldPacket other(std::move(empty));
    EXPECT_FALSE(other);
    other = HeldPacket();
    other.reset();
    EXPECT_FALSE(other);
}

}  // namespace
}  // namespace spead::test
