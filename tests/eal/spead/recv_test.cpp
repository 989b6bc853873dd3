// SPDX-License-Identifier: BSD-3-Clause
#include "spead/recv.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <gmock/gmock.h>
#include <poll.h>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "spead/filter.hpp"
#include "spead/items.hpp"
#include "tests/eal/recv/rig.hpp"
#include "tests/eal/spead/recv_rig.hpp"
#include "tests/support/pcap_writer.hpp"
#include "tests/support/scratch_directory.hpp"

namespace spead::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(RecvStream, GivesEveryHeapUntilAStopItemEndsIt) {
    const Process process(config());
    RecvConfig c = ring_config();
    c.stop_on_stop_item = true;
    RecvStream stream(process, c);
    const TestSender sender({.heaps = 300});
    std::uint64_t heaps = 0;
    for (const Heap& heap : stream) {
        EXPECT_TRUE(heap.complete());
        EXPECT_GE(heap.length(), 8000U);
        heaps++;
    }
    EXPECT_EQ(heaps, 300U);
    EXPECT_TRUE(stream.ended());
    EXPECT_EQ(stream.get(), std::nullopt);
    const RecvStats s = stream.stats();
    expect_sums(s);
    EXPECT_EQ(s.heaps, 300U);
    EXPECT_EQ(s.heaps_taken, 300U);
    EXPECT_EQ(s.packets_lost, 0U);

    // Again, after the end.
    stream.start();
    EXPECT_FALSE(stream.ended());
    const TestSender again({.heaps = 20});
    heaps = 0;
    for (const Heap& heap : stream)
        heaps += heap.complete() ? 1 : 0;
    EXPECT_EQ(heaps, 20U);
}

TEST(RecvStream, LendsHeapsThatOutliveStreamAndProcess) {
    std::vector<Heap> held;
    {
        Process process(config());
        RecvStream stream(process, ring_config());
        const TestSender sender({.endpoints = "239.1.2.3+1:7148"});
        while (held.size() < 50)
            held.push_back(std::move(*stream.get()));
        RecvConfig other = ring_config();
        other.endpoints = {"239.1.2.4:7148"};
        stream = RecvStream(process, other);
        held.push_back(std::move(*stream.get()));
        process.stop();
        EXPECT_FALSE(process.running());
        // Heaps that wait are still there.
        while (std::optional<Heap> heap = stream.get())
            held.push_back(std::move(*heap));
        EXPECT_TRUE(stream.ended());
        expect_sums(stream.stats());
        stream.stop();
        EXPECT_THAT(refusal([&] { stream.start(); }), HasSubstr("the session has ended"));
    }
    expect_right(held);
    std::thread([heaps = std::move(held)]() mutable { heaps.clear(); }).join();
}

TEST(RecvStream, StopsASourceThatCanWaitWhileEverythingIsHeld) {
    Process process(config());
    RecvStream stream(process, ring_config());
    const TestSender sender({});
    std::vector<Heap> held;
    while (std::optional<Heap> heap = stream.get_for(500ms))
        held.push_back(std::move(*heap));
    EXPECT_GT(held.size(), 50U);
    EXPECT_LT(held.size(), 4 * kMiB / 8000 + 1);
    const RecvStats before = stream.stats();
    EXPECT_EQ(before.packets_no_memory, 0U);
    expect_sums(before);
    EXPECT_FALSE(stream.ended());
    held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(held.size() / 2));
    for (int i = 0; i < 1000; i++)
        ASSERT_TRUE(stream.get());
    while (std::optional<Heap> heap = stream.get_for(500ms))
        held.push_back(std::move(*heap));
    // Neither a change nor the end waits for ever for the holder.
    stream.add_endpoint("239.1.2.9:7148");
    process.stop();
    EXPECT_FALSE(process.running());
    while (std::optional<Heap> heap = stream.get())
        held.push_back(std::move(*heap));
    expect_right(held);
}

TEST(RecvStream, GivesHeapsToSeveralThreads) {
    const Process process(config());
    RecvConfig c = ring_config();
    c.stop_on_stop_item = true;
    RecvStream stream(process, c);
    const TestSender sender({.heaps = 2000});
    std::atomic<std::uint64_t> heaps{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
        threads.emplace_back([&, t] {
            std::vector<Heap> last;
            while (!stream.ended()) {
                std::optional<Heap> heap = t == 0 ? stream.get_for(10ms) : stream.try_get();
                if (!heap) {
                    std::this_thread::yield();
                    continue;
                }
                heaps++;
                last.push_back(std::move(*heap));
                if (last.size() > 8)
                    last.erase(last.begin());
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(heaps, 2000U);
    EXPECT_EQ(stream.stats().heaps_taken, 2000U);
}

TEST(RecvStream, HasADescriptorForPoll) {
    const Process process(config());
    RecvConfig c = ring_config();
    c.stop_on_stop_item = true;
    RecvStream stream(process, c);
    EXPECT_EQ(stream.try_get(), std::nullopt);
    pollfd p{stream.fd(), POLLIN, 0};
    EXPECT_EQ(poll(&p, 1, 0), 0);
    const TestSender sender({.heaps = 200});
    std::uint64_t heaps = 0;
    while (!stream.ended()) {
        if (stream.try_get()) {
            heaps++;
            continue;
        }
        ASSERT_EQ(poll(&p, 1, 20'000), 1);
    }
    EXPECT_EQ(heaps, 200U);
    EXPECT_EQ(poll(&p, 1, 0), 1) << "the end stays readable";
}

TEST(RecvStream, MayBeDestroyedWithHeapsWaitingAndMadeAgain) {
    const Process process(config());
    const TestSender sender({});
    Heap last;
    for (int round = 0; round < 10; round++) {
        RecvConfig c = ring_config();
        c.name = "again";
        c.on_full = round % 2 == 0 ? OnFull::block : OnFull::drop_oldest;
        RecvStream stream(process, c);
        EXPECT_EQ(stream.name(), "again");
        std::optional<Heap> heap = stream.get();
        ASSERT_TRUE(heap);
        last = std::move(*heap);
        while (stream.stats().heaps_waiting < 20)
            std::this_thread::yield();
    }
    EXPECT_EQ(last.payload().size(), last.length());
    const stats::Snapshot now = door::Session::current()->on_engine([](auto& e) { return e.snapshot(); });
    EXPECT_THAT(stats::broken_identities(now), IsEmpty());
    EXPECT_TRUE(now.streams.empty());
    EXPECT_EQ(now.removed.heaps_queued, 0U);
}

TEST(RecvStream, ChangesWhileItReceives) {
    const Process process(config());
    const TestSender sender({.endpoints = "239.1.2.3+3:7148"});
    RecvStream stream(process, ring_config());
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> heaps{0};
    std::thread user([&] {
        while (!over)
            heaps += stream.get_for(10ms) ? 1U : 0U;
    });
    const auto some_more = [&] {
        for (const std::uint64_t before = heaps; heaps < before + 100;)
            std::this_thread::yield();
    };
    some_more();
    stream.add_endpoint("239.1.2.4+2:7148");
    some_more();
    EXPECT_THAT(refusal([&] { stream.add_endpoint("239.1.2.5:7148"); }), HasSubstr("already"));
    EXPECT_THAT(refusal([&] { stream.add_endpoint("239.1.2.5"); }), HasSubstr("port"));
    stream.remove_endpoint("239.1.2.5:7148");
    EXPECT_THAT(refusal([&] { stream.remove_endpoint("239.1.2.5:7148"); }), HasSubstr("not one of its"));
    some_more();
    for (std::size_t lcore = 0; lcore < 4; lcore++) {
        stream.move_to({cpu_of(lcore)});
        some_more();
    }
    EXPECT_THAT(refusal([&] { stream.move_to({9999}); }), HasSubstr("9999"));
    const auto plan = door::Session::current()->on_engine([](auto& e) { return e.plan(); });
    EXPECT_EQ(plan.receives[0].endpoint_texts,
              (std::vector<std::string>{"239.1.2.3:7148", "239.1.2.4:7148", "239.1.2.6:7148"}));
    for (int round = 0; round < 3; round++) {
        stream.stop();
        while (!stream.ended())
            std::this_thread::yield();
        stream.start();
        some_more();
    }
    over = true;
    user.join();
    const RecvStats s = stream.stats();
    expect_sums(s);
    EXPECT_EQ(s.heaps_dropped, 0U);
    EXPECT_EQ(s.packets_no_memory, 0U);
}

TEST(RecvStream, StopsAndStartsWithNobodyWhoTakes) {
    const Process process(config());
    const TestSender sender({});
    RecvStream stream(process, ring_config());
    const auto waiting = [&] {
        while (stream.stats().heaps_waiting < 10)
            std::this_thread::yield();
    };
    for (int round = 0; round < 3; round++) {
        waiting();
        stream.stop();
        stream.start();
    }
    waiting();
    stream.stop();
    std::vector<Heap> all;
    while (std::optional<Heap> heap = stream.get())
        all.push_back(std::move(*heap));
    EXPECT_GE(all.size(), 40U);
    expect_right(all);
    expect_sums(stream.stats());
}

/// Keeps every other heap, and stream control.
class EverySecond : public PacketFilter {
  public:
    explicit EverySecond(std::atomic<int>& alive) : alive_(alive) { alive_++; }
    ~EverySecond() override { alive_--; }
    bool keep(const Packet& packet) noexcept override {
        return packet.immediate(6) || (packet.heap_cnt() % 2 == 0 && packet.destination_port() == 7148 &&
                                       packet.offset() + packet.payload_length() <= 9000);
    }

  private:
    std::atomic<int>& alive_;
};

TEST(RecvStream, AsksAFilterOfTheUsers) {
    std::atomic<int> alive{0};
    Heap kept;
    {
        const Process process(config());
        RecvConfig c = ring_config();
        c.stop_on_stop_item = true;
        c.packet_filter = [&alive] { return std::make_unique<EverySecond>(alive); };
        RecvStream stream(process, c);
        EXPECT_EQ(alive, 1);
        const TestSender sender({.heaps = 100});
        std::set<std::uint64_t> counts;
        for (Heap& heap : stream) {
            counts.insert(heap.cnt());
            kept = std::move(heap);
        }
        EXPECT_EQ(counts.size(), 50U);
        EXPECT_TRUE(std::all_of(counts.begin(), counts.end(), [](auto n) { return n % 2 == 0; }));
        EXPECT_GT(stream.stats().packets_filtered, 0U);
        expect_sums(stream.stats());
    }
    EXPECT_EQ(alive, 0) << "a heap keeps the memory, not the filter";
    EXPECT_GT(kept.received(), 0U);
}

TEST(RecvStream, FeedsAnItemGroup) {
    const Process process(config());
    RecvConfig c = ring_config();
    c.stop_on_stop_item = true;
    RecvStream stream(process, c);
    const TestSender sender({.heaps = 20});
    ItemGroup group;
    std::uint64_t changed = 0;
    for (Heap& heap : stream)
        changed += group.update(std::move(heap)).size();
    EXPECT_GE(changed, 20U);
    const DescribedItem* const item = group.find("Test item 0");
    ASSERT_NE(item, nullptr);
    EXPECT_EQ(item->version(), 21U);
    EXPECT_THAT(item->shape(), testing::ElementsAre(2000));
    const auto words = item->array<std::uint32_t>();
    ASSERT_TRUE(words);
    ASSERT_EQ(item->bytes().size(), 8000U);
    for (std::size_t i = 0; i < 2000; i++) {
        std::uint32_t word = 0;
        for (const std::byte b : item->bytes().subspan(i * 4, 4))
            word = word << 8 | std::to_integer<std::uint32_t>(b);
        ASSERT_EQ((*words)[i], word);
    }
}

TEST(RecvStream, EndsWithItsFile) {
    const spead::test::ScratchDirectory directory;
    const std::string path = directory.file("in.pcap");
    {
        spead::test::PcapWriter writer(path);
        for (std::uint64_t cnt = 1; cnt <= 200; cnt++)
            for (const auto& frame : recv::test::MadeHeap{.cnt = cnt, .length = 3000}.frames())
                writer.record(frame);
        writer.record(recv::test::MadeHeap{.cnt = 201}.frames()[0]);
    }
    const Process process(config());
    RecvConfig c = ring_config();
    c.interface = "net_pcap0,rx_pcap=" + path;
    c.queue_depth = 8;
    RecvStream stream(process, c);
    std::uint64_t complete = 0;
    std::uint64_t all = 0;
    for (const Heap& heap : stream) {
        all++;
        complete += heap.complete() ? 1 : 0;
    }
    EXPECT_EQ(complete, 200U) << "nothing is lost to a user who is slower than a file";
    EXPECT_EQ(all, 201U);
    EXPECT_TRUE(process.running()) << "the session goes on";
    expect_sums(stream.stats());
}

/// Writes heaps of jumbo packets; returns the device that receives them.
std::string file_of_large_heaps(const spead::test::ScratchDirectory& directory, std::uint64_t heaps) {
    const std::string path = directory.file("large.pcap");
    spead::test::PcapWriter writer(path);
    for (std::uint64_t cnt = 1; cnt <= heaps; cnt++)
        for (const auto& frame : recv::test::MadeHeap{.cnt = cnt, .length = 40'000, .packet = 8000}.frames())
            writer.record(frame);
    return "net_pcap0,rx_pcap=" + path;
}

void expect_segments(const Heap& heap, std::size_t packets) {
    const recv::test::MadeHeap made{.cnt = heap.cnt(), .length = 40'000, .packet = 8000};
    ASSERT_TRUE(heap.complete());
    const std::vector<Heap::Segment> segments = heap.segments();
    ASSERT_EQ(segments.size(), packets);
    std::uint64_t at = 0;
    for (const Heap::Segment& s : segments) {
        ASSERT_EQ(s.offset, at);
        for (std::size_t i = 0; i < s.bytes.size(); i++)
            ASSERT_EQ(std::to_integer<std::uint8_t>(s.bytes[i]), made.byte(at + i)) << "heap " << heap.cnt();
        at += s.bytes.size();
    }
    ASSERT_EQ(at, heap.length());
}

TEST(RecvStream, LendsPacketsThatOutliveStreamPortAndProcess) {
    const spead::test::ScratchDirectory directory;
    std::vector<Heap> held;
    {
        Process process(config());
        RecvConfig c = ring_config();
        c.interface = file_of_large_heaps(directory, 60);
        c.lend = 100;
        RecvStream stream(process, c);
        while (held.size() < 30)
            held.push_back(std::move(*stream.get()));
        // The rest of the file finds no buffer to keep.
        std::uint64_t copied = 0;
        while (std::optional<Heap> heap = stream.get()) {
            copied++;
            expect_segments(*heap, 1);
        }
        EXPECT_EQ(copied, 30U);
        const RecvStats s = stream.stats();
        expect_sums(s);
        EXPECT_EQ(s.heaps, 60U);
        EXPECT_EQ(s.heaps_lend_full, 40U);
        EXPECT_EQ(s.packets_placed, 300U) << "no packet is lost for it";

        // The port is closed with its stream.
        std::optional<RecvStream> moved(std::move(stream));
        moved.reset();
        for (std::size_t i = 0; i < held.size(); i++)
            expect_segments(held[i], i < 20 ? 5 : 1);
        held.erase(held.begin() + 10, held.end());
    }
    for (const Heap& heap : held)
        expect_segments(heap, 5);
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; t++)
        threads.emplace_back([&held, t] {
            for (std::size_t i = static_cast<std::size_t>(t); i < held.size(); i += 2) {
                const recv::test::MadeHeap made{.cnt = held[i].cnt(), .length = 40'000, .packet = 8000};
                EXPECT_EQ(std::to_integer<std::uint8_t>(held[i].payload()[39'999]), made.byte(39'999));
                held[i] = Heap();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    // Another session has the memory again, with everything to lend.
    const Process process(config());
    RecvConfig c = ring_config();
    c.interface = file_of_large_heaps(directory, 60);
    c.lend = 300;
    RecvStream stream(process, c);
    for (const Heap& heap : stream)
        expect_segments(heap, 5);
    EXPECT_EQ(stream.stats().heaps, 60U);
    EXPECT_EQ(stream.stats().heaps_lend_full, 0U);
}

/// Finds a fault of shares that are made once: a change makes new lanes before the former ones give theirs
/// back.
TEST(RecvStream, LendsAgainAfterAChange) {
    const spead::test::ScratchDirectory directory;
    const Process process(config());
    const std::string socket = ",socket=" + directory.file("memif") + ",role=";
    RecvConfig c = ring_config();
    c.interface = "net_memif0" + socket + "server";
    c.lend = 600;
    std::optional<RecvStream> stream(std::in_place, process, c);
    const TestSender sender({}, "net_memif1" + socket + "client");
    // Takes heaps until one is lent; not for ever.
    const auto take_lent = [&stream] {
        const auto until = std::chrono::steady_clock::now() + 20s;
        for (;;) {
            std::optional<Heap> heap = stream->get_for(10s);
            const bool lent = heap && heap->complete() && heap->segments().size() > 1;
            if (lent || !heap || std::chrono::steady_clock::now() > until) {
                EXPECT_TRUE(lent);
                return heap ? std::move(*heap) : Heap();
            }
        }
    };
    std::vector<Heap> held;
    held.push_back(take_lent());
    for (std::size_t round = 1; round < 4; round++) {
        stream->move_to({cpu_of(round)});
        // The first ones are still in the queue of the former lane.
        for (std::uint32_t i = 0; i < 2 * c.queue_depth; i++)
            ASSERT_TRUE(stream->get_for(10s));
        held.push_back(take_lent());
    }
    // The port is closed with its stream, and opened with another pool for the next.
    stream.reset();
    stream.emplace(process, c);
    held.push_back(take_lent());
    for (const Heap& heap : held)
        EXPECT_TRUE(heap && heap.complete() && heap.segments().size() > 1);
    expect_right(held);
}

/// Starts and ends streams on several threads, as a program with many parts does.
TEST(RecvStream, ComeAndGoOnSeveralThreads) {
    const Process process(config());
    const TestSender sender({.endpoints = "239.1.2.3+3:7148"});
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
        threads.emplace_back([&, t] {
            for (int round = 0; round < 5; round++) {
                RecvConfig c = ring_config();
                c.endpoints = {"239.1.2." + std::to_string(3 + t) + ":7148"};
                RecvStream stream(process, c);
                for (int heap = 0; heap < 20; heap++)
                    ASSERT_TRUE(stream.get());
                expect_sums(stream.stats());
            }
        });
    for (std::thread& thread : threads)
        thread.join();
}

}  // namespace
}  // namespace spead::test
