// SPDX-License-Identifier: BSD-3-Clause
#include "spead/local_receiver.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "spead/chunk.hpp"
#include "spead/filter.hpp"
#include "spead/readers.hpp"
#include "spead/recv_plan.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/recv/local_lane.hpp"

/// Tests starts, ends and control calls of streams without EAL.
namespace spead::test {
namespace {

using namespace std::chrono_literals;
using recv::test::Bytes;
using recv::test::MadeHeap;
using recv::test::many_datagrams;

RecvConfig small_stream() {
    RecvConfig c;
    c.name = "s0";
    c.endpoints = {"127.0.0.1:7148"};
    c.memory = std::size_t{4} << 20;
    c.max_heap_bytes = 64 << 10;
    return c;
}

std::span<const std::byte> bytes_of(const Bytes& b) {
    return {reinterpret_cast<const std::byte*>(b.data()), b.size()};
}

void push_all(InprocQueue& queue, const std::vector<Bytes>& datagrams) {
    for (const Bytes& d : datagrams)
        ASSERT_TRUE(queue.push(bytes_of(d)));
}

/// Is a part of a lane: it lives as long as the lane's memory does.
class LaneMark : public PacketFilter {
  public:
    explicit LaneMark(std::shared_ptr<int> mark) : mark_(std::move(mark)) {}
    bool keep(const Packet& /*packet*/) noexcept override { return true; }

  private:
    std::shared_ptr<int> mark_;
};

TEST(LocalReceiver, KeepsNoMemoryOfFormerStarts) {
    const auto mark = std::make_shared<int>();
    RecvConfig c = small_stream();
    c.packet_filter = [mark] { return std::make_unique<LaneMark>(mark); };
    InprocQueue queue;
    RecvStream stream(c, Reader::queue(queue));
    for (int i = 0; i < 10; i++) {
        push_all(queue, many_datagrams(4, 100));
        for (int heaps = 0; heaps < 4; heaps++)
            ASSERT_TRUE(stream.get());
        stream.stop();
        ASSERT_FALSE(stream.get());
        stream.start();
        // One of this function, one of the configuration, one of the lane that receives.
        EXPECT_EQ(stream.stats().heaps_taken, 4U * static_cast<unsigned>(i + 1));
        EXPECT_LE(mark.use_count(), 4) << "after " << i << " starts";
    }
    EXPECT_EQ(stream.stats().packets, 40U);
}

TEST(LocalReceiver, StartsBeforeItsUserHasTakenTheHeapsOfTheRunBefore) {
    RecvConfig c = small_stream();
    c.queue_depth = 2;
    c.on_full = OnFull::block;
    InprocQueue queue;
    RecvStream stream(c, Reader::queue(queue));
    std::uint64_t sent = 0;
    const auto send = [&](std::uint64_t heaps) {
        for (const std::uint64_t end = sent + heaps; sent < end;)
            push_all(queue, MadeHeap{.cnt = ++sent, .length = 100}.datagrams());
    };
    send(12);
    // Two wait in the queue, and at least one has no room there.
    while (stream.stats().packets < 3)
        std::this_thread::sleep_for(1ms);
    for (int round = 1; round <= 3; round++) {
        stream.stop();
        EXPECT_FALSE(stream.ended());
        stream.start();
        send(2);
    }
    // All heaps are received, whichever run has them.
    std::vector<bool> seen(sent + 1);
    for (std::uint64_t heaps = 0; heaps < sent; heaps++) {
        const std::optional<Heap> heap = stream.get_for(60s);
        ASSERT_TRUE(heap) << "after " << heaps << " heaps";
        EXPECT_FALSE(seen.at(heap->cnt())) << heap->cnt();
        seen.at(heap->cnt()) = true;
    }
    EXPECT_FALSE(stream.ended()) << "it has been started";
    send(1);
    ASSERT_TRUE(stream.get_for(60s));
    queue.stop();
    EXPECT_FALSE(stream.get());
    EXPECT_TRUE(stream.ended());
    const RecvStats s = stream.stats();
    EXPECT_EQ(s.heaps_taken, sent);
    EXPECT_EQ(s.heaps_waiting, 0U);
    EXPECT_EQ(s.packets, s.packets_placed);
}

TEST(LocalReceiver, LimitsTheRunsThatNobodyTakesHeapsFrom) {
    const std::vector<Bytes> datagrams = many_datagrams(1, 100);
    InprocQueue queue;
    RecvStream stream(small_stream(), Reader::queue(queue));
    int starts = 0;
    try {
        for (; starts < 100; starts++) {
            push_all(queue, datagrams);
            while (stream.stats().packets != static_cast<unsigned>(starts) + 1)
                std::this_thread::sleep_for(1ms);
            stream.stop();
            stream.start();
        }
        ADD_FAILURE() << "it has no limit";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("take them"), std::string::npos) << error.what();
    }
    EXPECT_GE(starts, 8);
    for (int heaps = 0; heaps <= starts; heaps++)
        ASSERT_TRUE(stream.get_for(60s));
    EXPECT_FALSE(stream.get_for(60s));
    EXPECT_TRUE(stream.ended());
    stream.start();
    EXPECT_FALSE(stream.ended());
}

/// Is a source that always has something. It holds one feed() until a thread sleeps.
class BusySource final : public recv::PacketReader {
  public:
    struct Shared {
        std::atomic<long> held_for{0};  ///< a thread's id
        std::atomic<bool> holds{false};
        std::atomic<std::uint64_t> feeds{0};
    };
    explicit BusySource(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

    Fed feed(recv::DatagramLane& /*lane*/, std::uint64_t /*now*/) override {
        shared_->feeds++;
        if (const long thread = shared_->held_for.exchange(0); thread != 0) {
            shared_->holds = true;
            const auto end = std::chrono::steady_clock::now() + 10s;
            while (!sleeps(thread) && std::chrono::steady_clock::now() < end)
                std::this_thread::sleep_for(100us);
        }
        return Fed::packets;
    }
    void wait(std::chrono::milliseconds /*patience*/) override {}
    void wake() noexcept override {}
    bool lossless() const noexcept override { return true; }

  private:
    static bool sleeps(long thread) {
        std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
        std::string text;
        std::getline(file, text);
        const std::size_t end = text.rfind(')');
        return end != std::string::npos && text.size() > end + 2 && text[end + 2] == 'S';
    }
    std::shared_ptr<Shared> shared_;
};

TEST(LocalReceiver, LetsControlCallsInBetweenTwoBursts) {
    constexpr std::size_t kCalls = 21;
    const auto shared = std::make_shared<BusySource::Shared>();
    door::LocalReceiver::Parts parts;
    parts.make_reader = [shared](const runtime::ReceivePlan&) {
        return std::make_unique<BusySource>(shared);
    };
    parts.queues = std::make_shared<runtime::UserQueues>();
    const door::LocalReceiver receiver(door::plan_of(small_stream()), parts);
    std::vector<std::uint64_t> feeds;
    for (std::size_t i = 0; i < kCalls; i++) {
        shared->holds = false;
        shared->held_for = syscall(SYS_gettid);
        while (!shared->holds)
            std::this_thread::yield();
        const std::uint64_t before = shared->feeds;
        receiver.counts();
        feeds.push_back(shared->feeds - before);
    }
    // A thread that takes its mutex again at once makes thousands of bursts before. Some calls may see many,
    // because they have no CPU.
    std::nth_element(feeds.begin(), feeds.begin() + kCalls / 2, feeds.end());
    EXPECT_LT(feeds[kCalls / 2], 100U);
}

/// Is user code that does not return before it is let go.
struct Held {
    std::atomic<bool> entered{false};
    std::atomic<bool> released{false};

    void wait() {
        entered = true;
        entered.notify_all();
        released.wait(false);
    }
    void release() {
        released = true;
        released.notify_all();
    }
    static void place(void* user, std::span<const HeapStart> heaps, std::span<HeapPlace> places) noexcept {
        static_cast<Held*>(user)->wait();
        for (std::size_t i = 0; i < heaps.size(); i++)
            places[i].chunk = 0;
    }
};

PlaceCallback held_callback(Held& held) {
    return {.place = Held::place, .user = &held, .chunk = {.heaps = 1, .bytes = 100}};
}

TEST(LocalReceiver, AnswersWhileACallbackDoesNotReturn) {
    Held held;
    InprocQueue queue;
    ChunkRing ring(3);
    ring.add(ChunkSizes{.heaps = 1, .bytes = 100}, 3);
    ChunkStream stream({}, Reader::queue(queue), held_callback(held), ring);
    push_all(queue, many_datagrams(1, 100));
    held.entered.wait(false);
    EXPECT_EQ(stream.stats().packets_placed, 0U);
    stream.stop();
    expect_passing_error([&] { stream.start(); }, {"callback", "has not returned"});
    EXPECT_FALSE(ring.ended());
    held.release();
    const ChunkPtr chunk = ring.get_for(60s);
    ASSERT_TRUE(chunk);
    EXPECT_TRUE(chunk->complete());
    EXPECT_FALSE(ring.get_for(60s));
    EXPECT_TRUE(ring.ended());
    EXPECT_EQ(stream.stats().packets_placed, 1U);
    stream.start();
    EXPECT_FALSE(ring.ended());
}

TEST(LocalReceiver, EndsWithAStopBeforeItsFirstStart) {
    InprocQueue queue;
    RecvConfig c = small_stream();
    c.start = false;
    RecvStream stream(c, Reader::queue(queue));
    EXPECT_FALSE(stream.ended());
    std::thread stopper([&stream] { stream.stop(); });
    EXPECT_FALSE(stream.get());
    stopper.join();
    EXPECT_TRUE(stream.ended());
    stream.start();
    EXPECT_FALSE(stream.ended());
    push_all(queue, many_datagrams(1, 100));
    EXPECT_TRUE(stream.get());
}

TEST(LocalReceiver, AStopBeforeTheFirstStartEndsTheRing) {
    const Placement placement = Placement::parse("heap 100; time: heap [4]");
    RecvConfig c = small_stream();
    c.start = false;
    for (const bool in_group : {false, true}) {
        InprocQueue queue;
        ChunkRing ring(4);
        ring.add(placement, 3);
        ChunkStreamGroup group(placement, ring);
        ChunkStream stream = in_group ? group.add(c, Reader::queue(queue))
                                      : ChunkStream(c, Reader::queue(queue), placement, ring);
        EXPECT_FALSE(ring.ended());
        std::thread stopper([&] { in_group ? group.stop() : stream.stop(); });
        EXPECT_FALSE(ring.get());
        stopper.join();
        EXPECT_TRUE(ring.ended());
        ring.add(placement, 1);
        stream.start();
        EXPECT_FALSE(ring.ended());
        push_all(queue, many_datagrams(1, 100));
        queue.stop();
        EXPECT_TRUE(ring.get());
        EXPECT_FALSE(ring.get());
    }
}

TEST(LocalReceiver, AStopBeforeTheFirstStartEndsAQueueOfChunks) {
    InprocQueue queue;
    ChunkQueue free(2);
    ChunkQueue full(2);
    ChunkRing ring(free, full);
    RecvConfig c = small_stream();
    c.start = false;
    const PlaceCallback callback{.place_one = [](void*, std::size_t) {}, .chunk = {.by_chunk = true}};
    ChunkStream stream(c, Reader::queue(queue), callback, ring);
    EXPECT_FALSE(full.stopped());
    stream.stop();
    EXPECT_TRUE(full.stopped());
}

TEST(LocalReceiver, AStopKeepsTheRingOfAStreamThatReceives) {
    const Placement placement = Placement::parse("heap 100; time: heap [4]");
    InprocQueue queue;
    ChunkRing ring(4);
    ring.add(placement, 4);
    RecvConfig c = small_stream();
    const ChunkStream receives(c, Reader::queue(queue), placement, ring);
    c.name = "s1";
    c.start = false;
    ChunkStream other(c, Reader::queue(queue), placement, ring);
    other.stop();
    EXPECT_FALSE(ring.ended());
}

TEST(LocalReceiver, BelongsToTheProcessThatMadeIt) {
    InprocQueue queue;
    auto stream = std::make_unique<RecvStream>(small_stream(), Reader::queue(queue));
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        bool refused = false;
        try {
            static_cast<void>(stream->stats());
        } catch (const Error&) {
            refused = true;
        }
        stream.reset();
        ::_exit(refused ? 0 : 1);
    }
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    push_all(queue, many_datagrams(1, 100));
    EXPECT_TRUE(stream->get_for(60s));
}

class HeldFilter : public PacketFilter {
  public:
    explicit HeldFilter(Held& held) : held_(held) {}
    bool keep(const Packet& /*packet*/) noexcept override {
        held_.wait();
        return true;
    }

  private:
    Held& held_;
};

TEST(LocalReceiver, IsDestroyedWhenItsFilterHasReturned) {
    Held held;
    RecvConfig c = small_stream();
    c.packet_filter = [&held] { return std::make_unique<HeldFilter>(held); };
    InprocQueue queue;
    auto stream = std::make_unique<RecvStream>(c, Reader::queue(queue));
    push_all(queue, many_datagrams(1, 100));
    held.entered.wait(false);
    testing::internal::CaptureStderr();
    std::atomic<bool> destroyed{false};
    std::thread end([&] {
        stream.reset();
        destroyed = true;
    });
    // It says so, and waits: the filter uses its memory.
    std::string said;
    for (int i = 0; i < 600 && said.find("destroyed as soon as") == std::string::npos; i++) {
        std::this_thread::sleep_for(100ms);
        said += testing::internal::GetCapturedStderr();
        testing::internal::CaptureStderr();
    }
    testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("receive s0"), std::string::npos) << said;
    EXPECT_FALSE(destroyed);
    held.release();
    end.join();
}

}  // namespace
}  // namespace spead::test
