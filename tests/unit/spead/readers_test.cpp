// SPDX-License-Identifier: BSD-3-Clause
#include "spead/readers.hpp"

#include <algorithm>
#include <chrono>
#include <poll.h>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rte_cycles.h>

#include "spead/chunk_queue.hpp"
#include "spead/filter.hpp"
#include "spead/memory.hpp"
#include "spead/writers.hpp"
#include "tests/support/pcap_writer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/udp_sender.hpp"
#include "tests/unit/recv/local_lane.hpp"

/// Tests streams without EAL, in a process that never starts EAL.
namespace spead::test {
namespace {

using namespace std::chrono_literals;
using recv::test::Bytes;
using recv::test::frame;
using recv::test::MadeHeap;
using recv::test::many_datagrams;

constexpr std::size_t kSmall = std::size_t{4} << 20;

RecvConfig local_stream() {
    RecvConfig c;
    c.memory = kSmall;
    c.max_heap_bytes = 64 << 10;
    c.buffer_size = 1 << 20;
    return c;
}

std::span<const std::byte> as_bytes(const Bytes& b) {
    return {reinterpret_cast<const std::byte*>(b.data()), b.size()};
}

Bytes packets_of(const std::vector<Bytes>& datagrams) {
    Bytes all;
    for (const Bytes& d : datagrams)
        all.insert(all.end(), d.begin(), d.end());
    return all;
}

void expect_whole(const Heap& heap) {
    ASSERT_TRUE(heap.complete());
    for (std::size_t i = 0; i < heap.payload().size(); i++)
        ASSERT_EQ(std::to_integer<std::uint8_t>(heap.payload()[i]), heap::test::pattern(heap.cnt(), i))
            << "byte " << i << " of heap " << heap.cnt();
}

void expect_all_counted(const RecvStats& s) {
    EXPECT_EQ(s.packets, s.packets_placed + s.packets_duplicate + s.packets_late + s.packets_no_memory +
                             s.packets_filtered + s.packets_held + s.packets_control + s.packets_stopped +
                             s.packets_captured + s.packets_rejected);
    EXPECT_EQ(s.heaps + s.heaps_incomplete,
              s.heaps_taken + s.heaps_waiting + s.heaps_dropped + s.heaps_abandoned);
}

/// Takes all heaps until the end, and returns how many there were.
std::uint64_t take_all(RecvStream& stream) {
    std::uint64_t n = 0;
    for (const Heap& heap : stream) {
        EXPECT_EQ(heap.cnt(), ++n);
        expect_whole(heap);
    }
    return n;
}

/// Makes another from one that could be moved from.
template <class Handle>
Handle moved(Handle& from) {
    return static_cast<Handle&&>(from);
}

TEST(Handles, StayWhatTheyAreWhenOthersAreMadeFromThem) {
    InprocQueue queue;
    const InprocQueue other = moved(queue);
    EXPECT_TRUE(queue.push(as_bytes(Bytes(1))));
    EXPECT_EQ(other.size(), 1U);
    Reader reader = Reader::none();
    const Reader same = moved(reader);
    RecvStream stream(local_stream(), reader);
    PacketBytes bytes;
    const PacketBytes same_bytes = moved(bytes);
    EXPECT_EQ(bytes.size(), 0U);
    ChunkQueue chunks(2);
    const ChunkQueue same_chunks = moved(chunks);
    EXPECT_EQ(chunks.size(), 0U);
    Writer writer = Writer::memory(bytes);
    const Writer same_writer = moved(writer);
    const SendStream sender({}, writer);
    Memory memory = Memory::huge(4096);
    const Memory same_memory = moved(memory);
    EXPECT_EQ(memory.bytes().size(), 4096U);
}

TEST(LocalStream, ReceivesFromMemoryAndEnds) {
    const Bytes packets = packets_of(many_datagrams(2000));
    RecvConfig c = local_stream();
    c.queue_depth = 4;
    RecvStream stream(c, Reader::buffer(as_bytes(packets)));
    EXPECT_EQ(take_all(stream), 2000U);
    EXPECT_TRUE(stream.ended());
    const RecvStats s = stream.stats();
    EXPECT_EQ(s.packets, 6000U);
    EXPECT_EQ(s.heaps_taken, 2000U);
    EXPECT_EQ(s.packets_lost, 0U);
    expect_all_counted(s);
    EXPECT_EQ(rte_get_tsc_hz(), 0U) << "EAL was started";
}

TEST(LocalStream, ReceivesFromAQueue) {
    InprocQueue queue(16);
    RecvStream stream(local_stream(), Reader::queue(queue));
    EXPECT_EQ(stream.try_get(), std::nullopt);
    pollfd p{stream.fd(), POLLIN, 0};
    std::thread sender([queue]() mutable {
        for (const Bytes& d : many_datagrams(1000))
            EXPECT_TRUE(queue.push(as_bytes(d)));
        queue.stop();
    });
    EXPECT_EQ(poll(&p, 1, 20'000), 1);
    EXPECT_EQ(take_all(stream), 1000U);
    sender.join();
    EXPECT_EQ(stream.stats().packets, 3000U);
    EXPECT_FALSE(queue.push(as_bytes(Bytes(1))));
}

TEST(LocalStream, ReceivesFromAFile) {
    const ScratchDirectory directory;
    const std::string path = directory.file("in.pcap");
    {
        PcapWriter writer(path);
        for (const Bytes& d : many_datagrams(500))
            writer.record(frame(d));
        recv::test::Way elsewhere;
        elsewhere.port = 1;
        writer.record(frame(many_datagrams(1)[0], elsewhere));
    }
    RecvConfig c = local_stream();
    c.endpoints = {"239.1.2.3:7148"};
    RecvStream stream(c, Reader::pcap(path));
    EXPECT_EQ(take_all(stream), 500U);
    EXPECT_EQ(stream.stats().packets, 1500U);
    // Each start reads it anew.
    stream.start();
    EXPECT_EQ(take_all(stream), 500U);
    EXPECT_EQ(stream.stats().packets, 3000U);
    expect_all_counted(stream.stats());
}

TEST(LocalStream, ReceivesThroughSocketsOfTheKernel) {
    const std::uint16_t port = recv::test::free_port();
    RecvConfig c = local_stream();
    c.backend = Backend::kernel;
    c.interface = "lo";
    c.endpoints = {"239.255.77.9:" + std::to_string(port)};
    c.max_heaps = 64;
    RecvStream stream(c);
    const recv::test::UdpSender sender({{0xEFFF4D09}, port, {}});
    for (std::uint64_t cnt = 1; cnt <= 100; cnt++) {
        for (const Bytes& d : MadeHeap{.cnt = cnt}.datagrams())
            sender.send(d);
        const std::optional<Heap> heap = stream.get_for(60s);
        ASSERT_TRUE(heap);
        EXPECT_EQ(heap->cnt(), cnt);
        expect_whole(*heap);
    }
    sender.send(MadeHeap{.cnt = 200}.datagrams()[0]);
    while (stream.stats().packets != 301)
        std::this_thread::yield();
    stream.stop();
    const std::optional<Heap> rest = stream.get();
    ASSERT_TRUE(rest);
    EXPECT_FALSE(rest->complete());
    EXPECT_EQ(stream.get(), std::nullopt);
    EXPECT_TRUE(stream.ended());
    expect_all_counted(stream.stats());
    stream.start();
    EXPECT_FALSE(stream.ended());
    sender.send(MadeHeap{.cnt = 1, .length = 100}.datagrams()[0]);
    EXPECT_TRUE(stream.get_for(60s));
    EXPECT_EQ(stream.stats().packets, 302U);
}

TEST(LocalStream, AddsAndRemovesEndpointsWhileItReceives) {
    const std::string port = std::to_string(recv::test::free_port());
    const auto number = static_cast<std::uint16_t>(std::stoul(port));
    const std::string first = "239.255.77.11:" + port;
    const std::string second = "239.255.77.12:" + port;
    RecvConfig c = local_stream();
    c.backend = Backend::kernel;
    c.interface = "lo";
    c.endpoints = {first};
    RecvStream stream(c);
    const recv::test::UdpSender one({{0xEFFF4D0B}, number, {}});
    const recv::test::UdpSender two({{0xEFFF4D0C}, number, {}});
    std::uint64_t cnt = 0;
    const auto comes = [&](const recv::test::UdpSender& sender) {
        sender.send(MadeHeap{.cnt = ++cnt, .length = 300}.datagrams()[0]);
        const std::optional<Heap> heap = stream.get_for(60s);
        ASSERT_TRUE(heap);
        EXPECT_EQ(heap->cnt(), cnt);
        expect_whole(*heap);
    };
    comes(one);
    const std::vector<Bytes> live = MadeHeap{.cnt = 100}.datagrams();
    one.send(live[0]);
    stream.add_endpoint(second);
    comes(two);
    comes(one);
    expect_usage_error([&] { stream.add_endpoint(second); }, {"already"});
    // An address of nobody: nothing changes.
    expect_passing_error([&] { stream.add_endpoint("1.1.1.1:" + port); }, {"1.1.1.1"});
    expect_usage_error([&] { stream.remove_endpoint("239.255.77.13:" + port); },
                       {"not one of its endpoints"});
    stream.remove_endpoint(first);
    comes(two);
    expect_usage_error([&] { stream.remove_endpoint(second); }, {"last endpoint"});
    const std::uint64_t before = stream.stats().packets;
    one.send(live[1]);
    comes(two);
    EXPECT_EQ(stream.stats().packets, before + 1) << "the first group has been left";
    // A heap that was live when the endpoints changed goes on.
    stream.add_endpoint(first);
    one.send(live[1]);
    one.send(live[2]);
    const std::optional<Heap> heap = stream.get_for(60s);
    ASSERT_TRUE(heap);
    EXPECT_EQ(heap->cnt(), 100U);
    expect_whole(*heap);
    // The added endpoints stay after a new start.
    stream.stop();
    EXPECT_FALSE(stream.get());
    stream.start();
    comes(one);
    comes(two);
    stream.stop();
    EXPECT_FALSE(stream.get());
    // A stopped stream can be changed, too.
    stream.remove_endpoint(first);
    stream.start();
    comes(two);
    expect_all_counted(stream.stats());
}

TEST(LocalStream, JoinsAndLeavesSourcesOfAGroup) {
    const std::string port = std::to_string(recv::test::free_port());
    const auto number = static_cast<std::uint16_t>(std::stoul(port));
    const std::string group = "239.255.77.14:" + port;
    RecvConfig c = local_stream();
    c.backend = Backend::kernel;
    c.interface = "lo";
    c.endpoints = {group + "@127.0.0.2"};
    RecvStream stream(c);
    const recv::test::UdpSender two({{0xEFFF4D0E}, number, {}}, 0x7F000002);
    const recv::test::UdpSender three({{0xEFFF4D0E}, number, {}}, 0x7F000003);
    std::uint64_t cnt = 0;
    const auto comes = [&](const recv::test::UdpSender& sender, bool wanted) {
        sender.send(MadeHeap{.cnt = ++cnt, .length = 300}.datagrams()[0]);
        if (!wanted)
            return;
        const std::optional<Heap> heap = stream.get_for(60s);
        ASSERT_TRUE(heap);
        EXPECT_EQ(heap->cnt(), cnt);
    };
    comes(three, false);
    comes(two, true);
    stream.add_endpoint(group + "@127.0.0.3");
    comes(three, true);
    comes(two, true);
    stream.remove_endpoint(group + "@127.0.0.2");
    comes(two, false);
    comes(three, true);
    EXPECT_EQ(stream.stats().packets, 4U);
}

TEST(LocalStream, DeliversControlHeapsAndEndsWithAStopItem) {
    std::vector<Bytes> datagrams = many_datagrams(2);
    datagrams.push_back(recv::test::stop_datagram(7));
    datagrams.push_back(many_datagrams(9).back());
    const Bytes packets = packets_of(datagrams);
    RecvConfig c = local_stream();
    c.stop_on_stop_item = true;
    c.control_heaps = true;
    RecvStream stream(c, Reader::buffer(as_bytes(packets)));
    std::vector<bool> ends;
    for (const Heap& heap : stream) {
        ends.push_back(heap.is_end_of_stream());
        EXPECT_FALSE(heap.is_start_of_stream());
    }
    EXPECT_EQ(ends, (std::vector<bool>{false, false, true}));
    EXPECT_EQ(stream.stats().packets_stopped, 1U);
}

TEST(LocalStream, KeepsHeapsOfAStreamThatIsGone) {
    const Bytes packets = packets_of(many_datagrams(20));
    std::vector<Heap> held;
    {
        RecvStream stream(local_stream(), Reader::buffer(as_bytes(packets)));
        for (int i = 0; i < 5; i++)
            held.push_back(std::move(*stream.get()));
        EXPECT_EQ(stream.stats().heaps_held, 5U);
    }
    for (const Heap& heap : held)
        expect_whole(heap);
}

TEST(LocalStream, IsDestroyedWhileItsUserTakesNothing) {
    const Bytes packets = packets_of(many_datagrams(2000));
    for (int i = 0; i < 20; i++) {
        RecvConfig c = local_stream();
        c.queue_depth = 2;
        RecvStream stream(c, Reader::buffer(as_bytes(packets)));
        if (i % 2 == 0)
            stream.get();
        if (i % 4 == 0)
            stream.stop();
    }
}

TEST(LocalStream, LosesNoDatagramOfAQueueWhenItStops) {
    InprocQueue queue(2000);
    for (const Bytes& d : many_datagrams(400, 400))
        ASSERT_TRUE(queue.push(as_bytes(d)));
    RecvConfig c = local_stream();
    c.queue_depth = 2;
    std::uint64_t heaps = 0;
    RecvStream stream(c, Reader::queue(queue));
    while (heaps < 400) {
        const std::optional<Heap> heap = stream.get_for(60s);
        if (!heap) {
            ASSERT_TRUE(stream.ended());
            stream.start();
            continue;
        }
        EXPECT_EQ(heap->cnt(), ++heaps);
        if (heaps % 50 == 0)
            stream.stop();
    }
    EXPECT_EQ(stream.stats().packets, 400U);
    expect_all_counted(stream.stats());
}

class OddOnly : public PacketFilter {
  public:
    bool keep(const Packet& packet) noexcept override { return packet.heap_cnt() % 2 == 1; }
};

TEST(LocalStream, AsksItsFilter) {
    const Bytes packets = packets_of(many_datagrams(100));
    for (const bool own : {false, true}) {
        RecvConfig c = local_stream();
        if (own)
            c.packet_filter = [] { return std::make_unique<OddOnly>(); };
        else
            c.filter = "heap % 2 == 1";
        RecvStream stream(c, Reader::buffer(as_bytes(packets)));
        std::uint64_t n = 0;
        for (const Heap& heap : stream) {
            EXPECT_EQ(heap.cnt() % 2, 1U);
            n++;
        }
        EXPECT_EQ(n, 50U);
        EXPECT_EQ(stream.stats().packets_filtered, 150U);
    }
}

TEST(LocalStream, PacketsOfADeclaredFormatAreHeaps) {
    RecvConfig c = local_stream();
    c.format =
        "header 16; field n: u64 at 0 & 0xFFFF; field kind: u64 at 8 & 0xFF; item 0x1600: n; item 0x1601: "
        "kind; "
        "count n";
    InprocQueue queue;
    RecvStream stream(c, Reader::queue(queue));
    constexpr std::uint8_t kHeaps = 100;
    for (std::uint8_t n = 1; n <= kHeaps; n++) {
        Bytes datagram(16 + 500, n);
        std::fill_n(datagram.begin(), 7, 0);
        EXPECT_TRUE(queue.push(as_bytes(datagram)));
    }
    EXPECT_TRUE(queue.push(as_bytes(Bytes(15))));
    queue.stop();
    std::uint64_t taken = 0;
    for (const Heap& heap : stream) {
        EXPECT_EQ(heap.cnt(), ++taken);
        EXPECT_TRUE(heap.complete());
        EXPECT_EQ(heap.immediate(0x1600), taken);
        EXPECT_EQ(heap.immediate(0x1601), taken);
        EXPECT_EQ(heap.items().size(), 2U);
        ASSERT_EQ(heap.payload().size(), 500U);
        EXPECT_EQ(heap.payload().back(), static_cast<std::byte>(taken));
    }
    EXPECT_EQ(taken, kHeaps);
    EXPECT_EQ(stream.stats().packets_rejected, 1U);
    expect_all_counted(stream.stats());
}

TEST(LocalStream, RefusesWhatItCannotBe) {
    expect_usage_error([] { RecvStream stream(local_stream()); }, {"Process", "Backend::kernel"});
    RecvConfig c = local_stream();
    c.backend = Backend::kernel;
    expect_usage_error([&] { RecvStream stream(c); }, {"endpoint"});
    c.endpoints = {"1.1.1.1:7148"};
    expect_passing_error([&] { RecvStream stream(c); }, {"1.1.1.1:7148"});
    c.max_heaps = 0;
    expect_usage_error([&] { RecvStream stream(c); }, {"max_heaps"});
    c = local_stream();
    expect_usage_error([&] { RecvStream stream(c, Reader::pcap("/nowhere")); }, {"endpoint"});
    c.endpoints = {"239.1.2.3:7148"};
    expect_passing_error([&] { RecvStream stream(c, Reader::pcap("/nowhere")); }, {"/nowhere"});
    c.format = "vdiff";
    expect_usage_error([&] { RecvStream stream(c, Reader::none()); }, {"vdiff", "vdif"});
    // Their end would be guessed.
    c.format = "snap2";
    expect_usage_error([&] { RecvStream stream(c, Reader::buffer({})); }, {"`format`", "queue or a file"});
    c.format.clear();
    expect_usage_error([] { InprocQueue(0); }, {"0 datagrams"});
    InprocQueue queue;
    expect_usage_error([&] { queue.push(as_bytes(Bytes(InprocQueue::kLongest + 1))); }, {"65508"});
    RecvStream stream(c, Reader::queue(queue));
    expect_usage_error([&] { stream.add_endpoint("239.1.2.4:7148"); }, {"its source has no endpoints"});
    expect_usage_error([&] { stream.move_to({}); }, {"without a session"});
}

}  // namespace
}  // namespace spead::test
