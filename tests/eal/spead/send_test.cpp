// SPDX-License-Identifier: BSD-3-Clause
#include "spead/send.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <gmock/gmock.h>
#include <optional>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "spead/recv.hpp"
#include "tests/eal/spead/send_rig.hpp"
#include "tests/support/readable.hpp"

namespace spead::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(SendTest, AHeapInFlightCannotBeChangedOrSentAgain) {
    SendStream stream(process, to_nowhere(kHours)), other(process, to_nowhere(0));
    const std::vector<std::byte> payload(kLong);
    SendHeap heap;
    const std::size_t count = heap.add_immediate(0x1600, 1);
    const std::size_t data = heap.add(0x1000, std::span(payload));
    EXPECT_FALSE(heap.in_flight());
    stream.wait_for(heap);
    stream.send(heap);
    EXPECT_TRUE(heap.in_flight());
    EXPECT_THAT(refusal([&] { heap.set_immediate(count, 2); }), HasSubstr("in flight"));
    EXPECT_THAT(refusal([&] { heap.set_bytes(data, payload); }), HasSubstr("in flight"));
    EXPECT_THAT(refusal([&] { heap.add_stop(); }), HasSubstr("in flight"));
    EXPECT_THAT(refusal([&] { heap.repeat_pointers(true); }), HasSubstr("in flight"));
    EXPECT_THAT(refusal([&] { stream.send(heap); }), HasSubstr("in flight"));
    EXPECT_THAT(refusal([&] { other.send(heap); }), HasSubstr("in flight"));
    EXPECT_THAT(refusal([&] { other.wait_for(heap); }), HasSubstr("another stream"));
    stream.stop();
    EXPECT_THAT(refusal([&] { stream.wait_for(heap); }), HasSubstr("stopped"));
    EXPECT_FALSE(heap.in_flight());
    EXPECT_THAT(refusal([&] { stream.send(heap); }), HasSubstr("stopped"));
    EXPECT_EQ(stream.stats().heaps_aborted, 1U);
    heap.set_immediate(count, 2);
    other.send(heap);
    other.wait_for(heap);
    EXPECT_EQ(other.stats().heaps, 1U);
}

TEST_F(SendTest, RefusesWhatCannotBeSent) {
    SendStream stream(process, to_nowhere(0));
    const std::vector<std::byte> payload(100);
    SendHeap heap;
    EXPECT_THAT(refusal([&] { stream.send(heap); }), HasSubstr("empty"));
    heap.add(0x1000, std::span(payload));
    EXPECT_THAT(refusal([&] { stream.send(heap, {.substream = 1}); }), HasSubstr("substream 1"));
    EXPECT_THAT(refusal([&] { stream.send(heap, {.cnt = std::uint64_t{1} << 48}); }),
                HasSubstr("heap count"));
    EXPECT_THAT(refusal([&] { stream.send(heap, {.rate = -1}); }), HasSubstr("rate"));
    EXPECT_EQ(stream.in_flight(), 0U);
    EXPECT_FALSE(heap.in_flight());
    stream.send(heap);
    stream.flush();
    SendConfig config = to_nowhere(0);
    config.ttl = 0;
    EXPECT_THAT(refusal([&] { SendStream(process, config); }), HasSubstr("ttl"));
    config = to_nowhere(0);
    config.endpoints = {"239.1.2.3"};
    EXPECT_NE(refusal([&] { SendStream(process, config); }), "");
    config.endpoints = {};
    EXPECT_NE(refusal([&] { SendStream(process, config); }), "");
    config = to_nowhere(0);
    config.dst_mac = "nobody";
    EXPECT_THAT(refusal([&] { SendStream(process, config); }), HasSubstr("nobody"));
    EXPECT_THAT(refusal([&] { SendStream(process, {.endpoints = {"239.1.1.1:1"}, .interface = "no-such"}); }),
                HasSubstr("no-such"));
}

TEST_F(SendTest, WaitsWhileAsManyAsAllowedAreInFlight) {
    SendStream stream(process, to_nowhere(kHours, 2));
    const std::vector<std::byte> payload(kLong);
    std::array<SendHeap, 3> heaps;
    for (SendHeap& heap : heaps)
        heap.add(0x1000, std::span(payload));
    EXPECT_TRUE(stream.try_send(heaps[0]));
    EXPECT_TRUE(stream.try_send(heaps[1]));
    EXPECT_FALSE(stream.try_send(heaps[2]));
    EXPECT_FALSE(heaps[2].in_flight());
    EXPECT_EQ(stream.in_flight(), 2U);
    std::thread faster([&] { stream.set_rate(0); });
    stream.send(heaps[2]);
    faster.join();
    stream.flush();
    stream.set_ttl(9);
    EXPECT_EQ(stream.stats().heaps, 3U);
}

TEST_F(SendTest, CountsChangeWhileItSends) {
    SendStream stream(process, to_nowhere(0));
    std::vector<std::byte> payload(5000);
    SendHeap heap;
    heap.add(0x1000, std::span(payload));
    std::uint64_t bytes = 0;
    for (const auto& packet : heap.packets(1, 1472))
        bytes += packet.size();
    std::vector<std::uint64_t> counts;
    const auto send = [&] {
        std::future<SendResult> result = stream.async_send(heap);
        stream.wait_for(heap);
        const SendResult r = result.get();
        EXPECT_EQ(r.bytes, bytes);
        EXPECT_EQ(r.error, 0);
        counts.push_back(r.cnt);
    };
    send();
    stream.set_cnt_sequence(100, 5);
    send();
    send();
    EXPECT_EQ(counts, (std::vector<std::uint64_t>{1, 100, 105}));
    EXPECT_TRUE(stream.try_send(heap, {}, [&counts](const SendResult& r) { counts.push_back(r.cnt); }));
    stream.flush();
    EXPECT_EQ(counts.back(), 110U);
}

TEST_F(SendTest, CompletionsComeAsFuturesAndToFunctions) {
    SendStream stream(process, to_nowhere(0, 8));
    const std::vector<std::byte> payload(5000);
    std::array<SendHeap, 6> heaps;
    for (SendHeap& heap : heaps)
        heap.add(0x1000, std::span(payload));
    std::future<SendResult> first = stream.async_send(heaps[0]);
    std::vector<std::uint64_t> counts;
    const std::thread::id self = std::this_thread::get_id();
    // A function may send the next one.
    std::size_t next = 2;
    std::function<void(const SendResult&)> done = [&](const SendResult& result) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        EXPECT_EQ(result.status, SendStatus::sent);
        counts.push_back(result.cnt);
        if (next < heaps.size())
            stream.async_send(heaps[next++], done);
    };
    stream.async_send(heaps[1], done);
    while (counts.size() < 5)
        stream.flush();
    EXPECT_THAT(counts, ElementsAre(2, 3, 4, 5, 6));
    EXPECT_EQ(first.get().cnt, 1U);
    // An exception of a callback reaches the caller, and the stream goes on.
    stream.async_send(heaps[0], [](const SendResult&) { throw Error("of the user"); });
    EXPECT_THAT(refusal([&] { stream.flush(); }), HasSubstr("of the user"));
    stream.send(heaps[0]);
    stream.flush();
}

TEST_F(SendTest, TheDescriptorBecomesReadableWithACompletion) {
    SendStream stream(process, to_nowhere(kHours));
    const int fd = stream.fd();
    EXPECT_EQ(stream.poll(), 0U);
    EXPECT_FALSE(is_readable(fd));
    const std::vector<std::byte> payload(kLong);
    SendHeap heap;
    heap.add(0x1000, std::span(payload));
    stream.set_rate(kHours);
    stream.send(heap);
    EXPECT_EQ(stream.poll(), 0U);
    EXPECT_FALSE(is_readable(fd));
    // From here on it may be readable early, for a completion that was taken before the lcore announced it.
    const auto wait = [&] {
        std::size_t taken = 0;
        while ((taken = stream.poll()) == 0)
            ASSERT_TRUE(is_readable(fd, 10'000));
        EXPECT_EQ(taken, 1U);
    };
    stream.set_rate(0);
    wait();
    for (int round = 0; round < 100; round++) {
        stream.send(heap);
        wait();
        // A wait in between takes nothing of it away.
        stream.send(heap);
        stream.flush();
    }
    stream.set_rate(kHours);
    stream.send(heap);
    stream.stop();
    wait();
}

TEST_F(SendTest, TheDescriptorStaysArmedAfterAFunctionThatThrows) {
    SendStream stream(process, to_nowhere(0));
    pollfd p{stream.fd(), POLLIN, 0};
    const std::vector<std::byte> payload(100);
    SendHeap heap;
    heap.add(0x1000, std::span(payload));
    const auto poll_once = [&] {
        while (stream.poll() == 0)
            ASSERT_EQ(::poll(&p, 1, 10'000), 1);
    };
    for (const std::function<void()>& take :
         std::vector<std::function<void()>>{poll_once, [&] { stream.flush(); }}) {
        stream.async_send(heap, [](const SendResult&) { throw Error("of the user"); });
        EXPECT_THAT(refusal(take), HasSubstr("of the user"));
        stream.send(heap);
        EXPECT_EQ(::poll(&p, 1, 10'000), 1);
        poll_once();
    }
}

/// Fails at the copy after the last one that is allowed.
struct CopiedSeldom {
    explicit CopiedSeldom(int& copies) : left(copies) {}
    CopiedSeldom(const CopiedSeldom& other) : left(other.left) {
        if (left-- == 0)
            throw std::bad_alloc();
    }
    CopiedSeldom(CopiedSeldom&&) = default;
    void operator()(std::span<const SendResult>) const {}
    int& left;  ///< NOLINT(cppcoreguidelines-avoid-const-or-ref-data-members)
};

TEST_F(SendTest, AGroupWhoseFunctionsCannotBeCopiedIsNotSent) {
    SendStream stream(process, to_nowhere(0));
    const std::vector<std::byte> payload(100);
    std::array<SendHeap, 2> heaps;
    std::vector<GroupHeap> group;
    for (SendHeap& heap : heaps) {
        heap.add(0x1000, std::span(payload));
        group.push_back({heap, {}});
    }
    bool sent = false;
    for (int copies = 0; copies < 20 && !sent; copies++) {
        int left = 1000;
        std::function<void(std::span<const SendResult>)> done{CopiedSeldom(left)};
        left = copies;
        try {
            stream.async_send_heaps(group, GroupMode::serial, std::move(done));
            sent = true;
        } catch (const std::bad_alloc&) {
            EXPECT_EQ(stream.in_flight(), 0U);
        }
        left = 1000;
    }
    stream.flush();
    EXPECT_TRUE(sent);
    EXPECT_EQ(stream.stats().heaps, 2U);
}

TEST_F(SendTest, HeapsTimeOut) {
    SendConfig config = to_nowhere(kHours);
    config.timeout = std::chrono::milliseconds(20);
    SendStream stream(process, config);
    const std::vector<std::byte> payload(kLong);
    SendHeap heap;
    heap.add(0x1000, std::span(payload));
    stream.send(heap);
    EXPECT_THAT(refusal([&] { stream.wait_for(heap); }), HasSubstr("time"));
}

TEST_F(SendTest, MemoryStaysRegisteredForHeapsInFlight) {
    std::vector<std::byte> buffer(kLong + 8192);
    auto* const base = buffer.data();
    SendStream stream(process, to_nowhere(kHours));
    SendHeap heap;
    heap.add(0x1000, std::span<const std::byte>(buffer).first(kLong));
    {
        const Memory memory(process, base, kLong);
        EXPECT_THAT(refusal([&] { Memory(process, base + 100, 100); }), HasSubstr("overlaps"));
        EXPECT_THAT(refusal([&] { Memory(process, base + kLong - 1, 100); }), HasSubstr("overlaps"));
        const Memory beside(process, base + kLong, 100);
        stream.send(heap);
    }
    EXPECT_THAT(refusal([&] { Memory(process, base, kLong); }), HasSubstr("registered already"))
        << "the heap in flight has it";
    stream.stop();
    EXPECT_TRUE(refusal([&] { stream.wait_for(heap); }).find("stopped") != std::string::npos);
    const Memory again(process, base, kLong);
    EXPECT_THAT(refusal([&] { Memory(process, nullptr, 10); }), HasSubstr("not a range"));
    EXPECT_THAT(refusal([&] { Memory(process, base, 0); }), HasSubstr("not a range"));
    EXPECT_THAT(refusal([&] { Memory::huge(process, 0); }), HasSubstr("0 bytes"));
    EXPECT_THAT(refusal([&] { Memory::huge(process, std::size_t{1} << 45); }), HasSubstr("ask for less"));
}

TEST_F(SendTest, TwoStreamsShareAPort) {
    SendStream first(process, to_nowhere(0)), second(process, to_nowhere(0));
    EXPECT_NE(first.name(), second.name());
    const std::vector<std::byte> payload(kHeapBytes);
    std::array<SendHeap, 2> heaps;
    for (SendHeap& heap : heaps)
        heap.add(0x1000, std::span(payload));
    for (int i = 0; i < 50; i++) {
        first.wait_for(heaps[0]);
        first.send(heaps[0]);
        second.wait_for(heaps[1]);
        second.send(heaps[1]);
    }
    second.flush();
    EXPECT_EQ(second.stats().heaps, 50U);
    { const SendStream gone = std::move(second); }
    first.send(heaps[1]);
    first.flush();
    EXPECT_EQ(first.stats().heaps, 51U);
    EXPECT_EQ(snapshot().ports.size(), 1U);
}

TEST_F(SendTest, ASessionThatEndsReleasesAThreadThatWaits) {
    SendStream stream(process, to_nowhere(kHours, 1));
    const Memory memory = Memory::huge(process, kLong);
    std::array<SendHeap, 2> heaps;
    for (SendHeap& heap : heaps)
        heap.add(0x1000, memory.as<const std::byte>());
    std::future<SendResult> result = stream.async_send(heaps[0]);
    std::thread ends([&] { process.stop(); });
    EXPECT_NE(refusal([&] { stream.send(heaps[1]); }), "");
    ends.join();
    stream.flush();
    EXPECT_EQ(result.get().status, SendStatus::aborted);
    EXPECT_THAT(refusal([&] { stream.send(heaps[1]); }), HasSubstr("ended"));
    EXPECT_THAT(refusal([&] { stream.end(); }), HasSubstr("ended"));
    EXPECT_NE(refusal([&] { stream.set_rate(1); }), "");
    EXPECT_NE(refusal([&] { stream.set_ttl(1); }), "");
    EXPECT_EQ(stream.stats().heaps_aborted, 1U);
    EXPECT_EQ(stream.poll(), 0U);
    EXPECT_NE(refusal([&] { SendStream(process, to_nowhere(0)); }), "");
    EXPECT_NE(refusal([&] { Memory::huge(process, 1); }), "");
    EXPECT_EQ(memory.bytes().size(), kLong);
    std::fill(memory.bytes().begin(), memory.bytes().end(), std::byte{1});
}

TEST_F(SendTest, HeapsAndMemoryOutliveTheirStreamAndSession) {
    std::optional<Memory> memory(Memory::huge(process, kLong));
    SendHeap heap;
    heap.add(0x1000, memory->as<const std::byte>());
    {
        SendStream stream(process, to_nowhere(0));
        stream.send(heap);
    }
    EXPECT_FALSE(heap.in_flight());
    process.stop();
    {
        const Process next;
        SendStream stream(next, to_nowhere(0));
        stream.send(heap);
        stream.wait_for(heap);
        EXPECT_GT(snapshot().sends[0].counters.unregistered_packets, 0U) << "of the former session's memory";
    }
    memory.reset();
}

TEST_F(SendTest, AReceiverMayHaveTheSameName) {
    RecvConfig config;
    config.name = "beam";
    config.endpoints = {"239.1.2.3:7148"};
    config.interface = "net_ring0";
    config.memory = 4 << 20;
    config.max_heap_bytes = 64 << 10;
    RecvStream receiver(process, config);
    const std::vector<std::byte> payload(kHeapBytes);
    SendHeap heap;
    heap.add(0x1000, std::span(payload));
    const auto send = [&] {
        SendConfig to = to_nowhere(0);
        to.interface = "net_ring0";
        to.name = "beam";
        SendStream sender(process, to);
        receiver.stop();
        receiver.start();
        sender.send(heap);
        sender.wait_for(heap);
        EXPECT_TRUE(receiver.get_for(std::chrono::seconds(10)));
    };
    send();
    // The sender that goes takes nothing of the receiver with it.
    receiver.stop();
    receiver.start();
    send();
}

TEST_F(SendTest, SaysThatItWasMovedFrom) {
    SendStream first(process, to_nowhere(0));
    SendStream second(std::move(first));
    const std::vector<std::byte> payload(100);
    SendHeap heap;
    heap.add(0x1000, std::span(payload));
    const std::vector<GroupHeap> group{{heap, {}}};
    // NOLINTBEGIN(bugprone-use-after-move)
    EXPECT_EQ(first.name(), "");
    EXPECT_EQ(first.substreams(), 0U);
    EXPECT_EQ(first.in_flight(), 0U);
    EXPECT_EQ(first.fd(), -1);
    first.stop();
    for (const std::function<void()>& call : std::vector<std::function<void()>>{
             [&] { first.send(heap); }, [&] { first.wait_for(heap); }, [&] { first.flush(); },
             [&] { first.poll(); }, [&] { first.end(); }, [&] { first.set_rate(1); }, [&] { first.stats(); },
             [&] { first.send_heaps(group, GroupMode::serial); },
             [&] { first.try_send_heaps(group, GroupMode::serial); },
             [&] { first.async_send_heaps(group, GroupMode::serial); },
             [&] { first.async_send_heaps(group, GroupMode::serial, [](auto) {}); }})
        EXPECT_THAT(refusal(call), HasSubstr("moved to another variable"));
    // NOLINTEND(bugprone-use-after-move)
    second.send(heap);
    second.flush();
}

TEST_F(SendTest, BelongsToTheProcessThatMadeIt) {
    SendStream stream(process, to_nowhere(kHours));
    const std::vector<std::byte> payload(kLong);
    SendHeap heap;
    heap.add(0x1000, std::span(payload));
    stream.send(heap);
    std::optional<Memory> memory(Memory::huge(process, kLong));
    const pid_t child = fork();
    if (child == 0) {
        bool refused = stream.in_flight() == 0;
        SendHeap other;
        other.add(0x1000, std::span(payload));
        const std::vector<GroupHeap> group{{other, {}}};
        for (const std::function<void()>& call : std::vector<std::function<void()>>{
                 [&] { stream.poll(); }, [&] { stream.flush(); }, [&] { stream.wait_for(heap); },
                 [&] { stream.send(heap); }, [&] { stream.end(); }, [&] { stream.stats(); },
                 [&] { stream.try_send_heaps(group, GroupMode::serial); }})
            refused &= refusal(call).find("fork") != std::string::npos;
        stream.stop();
        { const SendStream gone(std::move(stream)); }
        memory.reset();
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(stream.in_flight(), 1U);
    stream.set_rate(0);
    stream.wait_for(heap);
}

TEST_F(SendTest, ErrorsNameTheStream) {
    SendConfig config = to_nowhere(0);
    config.name = "beam";
    const auto refused = [&](auto&& edit) {
        SendConfig c = config;
        edit(c);
        return refusal([&] { SendStream(process, c); });
    };
    using testing::StartsWith;
    EXPECT_THAT(refused([](SendConfig& c) { c.endpoints = {"239.1.2.3"}; }), StartsWith("send beam: "));
    EXPECT_THAT(refused([](SendConfig& c) { c.endpoints.clear(); }),
                StartsWith("send beam: it has no endpoint"));
    EXPECT_THAT(refused([](SendConfig& c) { c.rate = -1; }), StartsWith("send beam: `rate`"));
    EXPECT_THAT(refused([](SendConfig& c) { c.cnt_step = 0; }), HasSubstr("cnt_step"));
    SendStream stream(process, config);
    const std::vector<std::byte> payload(100);
    SendHeap heap;
    heap.add(0x1000, std::span(payload));
    EXPECT_THAT(refusal([&] { stream.send(heap, {.rate = -1}); }), StartsWith("send beam: "));
    EXPECT_THAT(refusal([&] { Memory::huge(process, SIZE_MAX); }), HasSubstr("`bytes` is"));
}

/// Makes streams, uses them from threads of their own, and destroys them, while memory comes and goes.
TEST_F(SendTest, ManyThreadsSendAtOnce) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
        threads.emplace_back([&, t] {
            for (int round = 0; round < 5; round++) {
                const Memory memory = Memory::huge(process, kHeapBytes);
                SendStream stream(process, to_nowhere(0, 2));
                std::array<SendHeap, 3> heaps;
                for (SendHeap& heap : heaps)
                    heap.add(0x1000, memory.as<const std::byte>());
                for (int i = 0; i < 60; i++) {
                    SendHeap& heap = heaps[static_cast<std::size_t>(i) % heaps.size()];
                    stream.wait_for(heap);
                    stream.send(heap);
                }
                if (t == 0)
                    stream.stop();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_THAT(snapshot().sends, IsEmpty());
}

}  // namespace
}  // namespace spead::test
