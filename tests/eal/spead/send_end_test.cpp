// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <gmock/gmock.h>
#include <thread>
#include <vector>

#include "spead/send.hpp"
#include "tests/eal/spead/send_rig.hpp"

/// Ends of sending streams: stopped, destroyed, or left by an exception.
namespace spead::test {
namespace {

using testing::HasSubstr;

TEST_F(SendTest, StoppedHeapsAreAborted) {
    SendStream stream(process, to_nowhere(kHours, 3));
    const std::vector<std::byte> payload(kLong);
    std::array<SendHeap, 3> heaps;
    std::vector<std::future<SendResult>> results;
    for (SendHeap& heap : heaps) {
        heap.add(0x1000, std::span(payload));
        results.push_back(stream.async_send(heap));
    }
    stream.stop();
    stream.flush();
    for (auto& result : results)
        EXPECT_EQ(result.get().status, SendStatus::aborted);
    EXPECT_THAT(refusal([&] { stream.end(); }), HasSubstr("stopped"));
}

TEST_F(SendTest, AFunctionMayThrowAnythingWhileItsStreamIsDestroyed) {
    SendStream stream(process, to_nowhere(0));
    const std::vector<std::byte> payload(100);
    SendHeap heap;
    heap.add(0x1000, std::span(payload));
    stream.async_send(heap, [](const SendResult&) { throw 3; });
    { const SendStream gone = std::move(stream); }
    EXPECT_FALSE(heap.in_flight());
}

/// Ends the stream, from a frame that is gone afterwards.
[[gnu::noinline]] std::string end_of(SendStream& stream) {
    return refusal([&] { stream.end(); });
}

/// Takes completions over the place of that frame, and returns how many words of it they changed.
[[gnu::noinline]] std::size_t changed_by_completions(SendStream& stream) {
    constexpr std::uint64_t kWord = 0x5555'5555'5555'5555;
    std::array<volatile std::uint64_t, 1024> words;
    for (std::size_t i = 0; i < words.size(); i++)
        words[i] = kWord;
    stream.flush();
    std::size_t changed = 0;
    for (std::size_t i = 0; i < words.size(); i++)
        changed += words[i] == kWord ? 0 : 1;
    return changed;
}

TEST_F(SendTest, StopItemsCompleteAfterAnEndThatHasThrown) {
    SendConfig config = to_nowhere(0);
    config.endpoints = {"239.1.2.3+1:7148"};
    SendStream stream(process, config);
    const std::vector<std::byte> payload(100);
    SendHeap heap;
    heap.add(0x1000, std::span(payload));
    stream.async_send(heap, [](const SendResult&) { throw Error("of the user"); });
    EXPECT_THAT(end_of(stream), HasSubstr("of the user"));
    EXPECT_EQ(changed_by_completions(stream), 0U);
    stream.end();
}

TEST_F(SendTest, StopItemsInFlightOutliveAnEndThatAStopCutsShort) {
    SendConfig config = to_nowhere(kHours, 2);
    config.endpoints = {"239.1.2.3+9:7148"};
    SendStream stream(process, config);
    const std::vector<std::byte> payload(kLong);
    SendHeap heap;
    heap.add(0x1000, std::span(payload));
    stream.send(heap);
    // It waits for room behind the heap.
    std::thread stops([&] {
        while (stream.in_flight() < 2)
            std::this_thread::yield();
        stream.stop();
    });
    EXPECT_THAT(end_of(stream), HasSubstr("stopped"));
    stops.join();
    EXPECT_EQ(changed_by_completions(stream), 0U);
}

}  // namespace
}  // namespace spead::test
