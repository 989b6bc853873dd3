// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <functional>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "spead/filter.hpp"
#include "spead/memory.hpp"
#include "spead/recv.hpp"
#include "tests/eal/spead/recv_rig.hpp"

/// Tests the refusals of a stream, its waits, and the reports of both.
namespace spead::test {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

/// Keeps the last heap, as an ItemGroup does. Four of the heaps fill the memory.
TEST(RecvRefusals, GivesTheNextHeapToAUserWhoKeepsTheLastOne) {
    const Process process(config());
    RecvConfig c = ring_config();
    c.max_heap_bytes = RecvConfig().max_heap_bytes;
    RecvStream stream(process, c);
    const TestSender sender({.heap_size = 700'000});
    std::optional<Heap> last;
    for (int i = 0; i < 40; i++) {
        std::optional<Heap> next = stream.get_for(20s);
        ASSERT_TRUE(next) << "heap " << i;
        EXPECT_TRUE(next->complete());
        last = std::move(next);
    }
    EXPECT_EQ(stream.stats().heaps_held, 1U);
    EXPECT_EQ(stream.stats().packets_no_memory, 0U);
    last.reset();
    EXPECT_EQ(stream.stats().heaps_held, 0U);
}

TEST(RecvRefusals, SaysThatItWaitsForHeapsThatAreHeld) {
    testing::internal::CaptureStderr();
    {
        const Process process(config());
        RecvConfig c = ring_config();
        c.name = "kept";
        RecvStream stream(process, c);
        const TestSender sender({});
        std::vector<Heap> held;
        while (std::optional<Heap> heap = stream.get_for(4s))
            held.push_back(std::move(*heap));
        EXPECT_EQ(stream.stats().heaps_held, held.size());
    }
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("receive kept: its source waits: "));
}

TEST(RecvRefusals, TakesWhateverTheMakerOfAFilterThrows) {
    const Process process(config());
    RecvStream other(process, ring_config());
    RecvConfig c = ring_config();
    c.endpoints = {"239.1.2.4:7148"};
    c.packet_filter = []() -> std::unique_ptr<PacketFilter> { throw 3; };
    EXPECT_THROW(RecvStream(process, c), int);
    EXPECT_EQ(door::Session::current()->on_engine([](auto& e) { return e.plan().receives.size(); }), 1U);
    // The lcore knows no more of it: changes go on.
    c.packet_filter = nullptr;
    RecvStream stream(process, c);
    const TestSender sender({.endpoints = "239.1.2.3+1:7148"});
    EXPECT_TRUE(stream.get());
    EXPECT_TRUE(other.get());
    EXPECT_TRUE(process.running());
}

TEST(RecvRefusals, RefusesWhatCannotBeAndLeavesNothingBehind) {
    const Process process(config());
    const auto refused = [&](auto&& edit) {
        RecvConfig c = ring_config();
        edit(c);
        return refusal([&] { RecvStream(process, c); });
    };
    EXPECT_THAT(refused([](RecvConfig& c) { c.endpoints.clear(); }), HasSubstr("no endpoint"));
    EXPECT_THAT(refused([](RecvConfig& c) { c.endpoints = {"239.1.2.3"}; }), HasSubstr("port"));
    EXPECT_THAT(refused([](RecvConfig& c) { c.memory = 0; }), HasSubstr("memory"));
    EXPECT_THAT(refused([](RecvConfig& c) { c.memory = std::size_t{1} << 60; }), HasSubstr("`memory` is"));
    EXPECT_THAT(refused([](RecvConfig& c) { c.memory = SIZE_MAX; }), HasSubstr("`memory` is"));
    EXPECT_THAT(refused([](RecvConfig& c) { c.buffer_size = SIZE_MAX; }), HasSubstr("`buffer_size` is"));
    EXPECT_THAT(refused([](RecvConfig& c) { c.on_full = static_cast<OnFull>(77); }),
                HasSubstr("`on_full` is 77"));
    EXPECT_THAT(refused([](RecvConfig& c) { c.poll = static_cast<Poll>(77); }), HasSubstr("`poll` is 77"));
    // With the stream's name, and in the words of RecvConfig.
    EXPECT_EQ(refused([](RecvConfig& c) {
                  c.name = "beam";
                  c.queue_depth = 0;
              }).rfind("receive beam: `queue_depth` is 0", 0),
              0U);
    EXPECT_THAT(refused([](RecvConfig& c) {
                    c.name = "beam";
                    c.endpoints = {"239.1.2.3"};
                }),
                HasSubstr("receive beam: "));
    EXPECT_THAT(refused([](RecvConfig& c) { c.max_heap_bytes = 2 * kMiB; }),
                HasSubstr("raise its `memory` to 10240 KiB"));
    EXPECT_THAT(refused([](RecvConfig& c) { c.max_heaps = 0; }), HasSubstr("`max_heaps`"));
    EXPECT_THAT(refused([](RecvConfig& c) { c.lcores = {1022}; }),
                EndsWith("list all CPUs for streams in `lcores` of ProcessConfig"));
    EXPECT_THAT(refused([](RecvConfig& c) { c.memory = std::size_t{1} << 44; }),
                HasSubstr("lower `queue_depth`, `max_heaps` or `substreams`"));
    EXPECT_THAT(refused([](RecvConfig& c) { c.interface = "no-such-thing"; }), HasSubstr("no-such-thing"));
    EXPECT_THAT(refused([](RecvConfig& c) { c.filter = "nonsense ("; }), Not(IsEmpty()));
    EXPECT_THAT(refused([](RecvConfig& c) { c.heap_timeout = -1ns; }), HasSubstr("heap_timeout"));
    EXPECT_THAT(refused([](RecvConfig& c) { c.packet_filter = [] { return nullptr; }; }),
                HasSubstr("made no filter"));
    EXPECT_THAT(refused([](RecvConfig& c) {
                    c.filter = "0x1600 == 1";
                    c.packet_filter = [] { return nullptr; };
                }),
                HasSubstr("exclude"));
    EXPECT_EQ(door::Session::current()->on_engine([](auto& e) { return e.plan().receives.size(); }), 0U);
    RecvStream first(process, ring_config());
    EXPECT_THAT(refused([&](RecvConfig& c) { c.name = first.name(); }), HasSubstr(first.name()));
}

TEST(RecvRefusals, SaysThatItWasMovedFrom) {
    const Process process(config());
    RecvStream first(process, ring_config());
    RecvStream second(std::move(first));
    // NOLINTBEGIN(bugprone-use-after-move)
    EXPECT_EQ(first.name(), "");
    EXPECT_TRUE(first.ended());
    EXPECT_EQ(first.fd(), -1);
    first.stop();
    for (const std::function<void()>& call : std::vector<std::function<void()>>{
             [&] { first.get(); }, [&] { first.try_get(); }, [&] { first.start(); }, [&] { first.stats(); },
             [&] { first.add_endpoint("239.1.2.9:7148"); }, [&] { first.move_to({0}); }})
        EXPECT_THAT(refusal(call), HasSubstr("moved to another variable"));
    Process copy(process);
    const Process moved(std::move(copy));
    EXPECT_TRUE(copy.running());
    // NOLINTEND(bugprone-use-after-move)
    const TestSender sender({});
    EXPECT_TRUE(second.get());
}

/// Looks at a parent's streams from a child: it gets an Error, and takes nothing from the parent.
TEST(RecvRefusals, BelongsToTheProcessThatMadeIt) {
    const Process process(config());
    RecvStream stream(process, ring_config());
    const TestSender sender({.heaps = 5});
    while (stream.stats().heaps_waiting < 5)
        std::this_thread::yield();
    std::vector<Heap> held;
    held.push_back(*stream.get());
    const pid_t child = fork();
    if (child == 0) {
        bool refused = stream.ended();
        for (const std::function<void()>& call : std::vector<std::function<void()>>{
                 [&] { stream.get(); }, [&] { stream.try_get(); }, [&] { stream.get_for(1h); },
                 [&] { stream.stats(); }, [&] { stream.start(); }, [&] { stream.remove_endpoint("x"); }})
            refused &= refusal(call).find("fork") != std::string::npos;
        stream.stop();
        { const RecvStream gone(std::move(stream)); }
        held.clear();
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    for (int i = 0; i < 4; i++)
        EXPECT_TRUE(stream.get());
    EXPECT_EQ(stream.try_get(), std::nullopt);
    // The first five counts are known.
    const TestSender again({.heaps = 6});
    EXPECT_TRUE(stream.get());
}

/// Records whether it lives.
class Watched : public PacketFilter {
  public:
    explicit Watched(std::atomic<bool>& alive) : alive_(alive) { alive_ = true; }
    ~Watched() override { alive_ = false; }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    bool keep(const Packet&) noexcept override { return true; }

  private:
    std::atomic<bool>& alive_;
};

/// Takes no heap of a source that can wait: the end takes a while, and lcores work meanwhile.
TEST(RecvRefusals, WaitsForASessionThatEndsMeanwhile) {
    enum class First : std::uint8_t { stream, counts, memory };
    for (const First first : {First::stream, First::counts, First::memory}) {
        Process process(config());
        std::optional<Memory> memory(Memory::huge(process, 4096));
        std::atomic<bool> alive{false};
        RecvConfig c = ring_config();
        c.packet_filter = [&alive] { return std::make_unique<Watched>(alive); };
        std::optional<RecvStream> stream(std::in_place, process, c);
        std::optional<TestSender> sender(std::in_place, SenderPlan{});
        while (stream->stats().heaps_waiting == 0)
            std::this_thread::yield();
        std::thread stops([&process] { process.stop(); });
        while (refusal([] {
                   if (const auto session = door::Session::current())
                       session->on_engine([](auto&) {});
                   else
                       throw Error("ended");
               }).empty())
            std::this_thread::yield();
        if (first == First::counts) {
            EXPECT_EQ(refusal([&] { expect_sums(stream->stats()); }), "");
        } else if (first == First::memory) {
            memory.reset();
            EXPECT_FALSE(process.running()) << "ports may still read the memory";
        }
        stream.reset();
        EXPECT_FALSE(alive.load());
        stops.join();
    }
}

TEST(RecvRefusals, SpeaksOfItsSessionAfterTheEnd) {
    Process process(config());
    RecvStream stream(process, ring_config());
    process.stop();
    EXPECT_THAT(refusal([&] { stream.start(); }), testing::StartsWith("process: the session has ended"));
    EXPECT_THAT(refusal([&] { static_cast<void>(process.report()); }), HasSubstr("the session has ended"));
}

/// Makes the next stream after a stop item, without stop() between: it gets the endpoints in one change.
TEST(RecvRefusals, LeaveEndpointsOfEndedStreamsToOthers) {
    const Process process(config());
    RecvConfig c = ring_config();
    c.stop_on_stop_item = true;
    c.name = "first";
    RecvStream first(process, c);
    c.name = "second";
    EXPECT_THAT(refusal([&] { RecvStream(process, c); }), HasSubstr("already received by stream `first`"));
    const auto heaps_of = [](RecvStream& stream) {
        const TestSender sender({.heaps = 20});
        std::uint64_t heaps = 0;
        while (stream.get_for(20s))
            heaps++;
        EXPECT_TRUE(stream.ended());
        return heaps;
    };
    EXPECT_EQ(heaps_of(first), 20U);
    RecvStream second(process, c);
    EXPECT_THAT(refusal([&] { first.start(); }), HasSubstr("already received by stream `second`"))
        << "not by itself";
    EXPECT_EQ(heaps_of(second), 20U);
    EXPECT_EQ(first.stats().heaps, 20U);
    EXPECT_TRUE(first.ended());
    first.start();
    EXPECT_EQ(heaps_of(first), 20U);
    EXPECT_EQ(first.stats().heaps, 40U);
}

}  // namespace
}  // namespace spead::test
