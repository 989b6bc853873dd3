// SPDX-License-Identifier: BSD-3-Clause
#include "gather/channel.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace spead::gather::channel_test {
namespace {

TEST(Channel, GivesEachBatchToTheEngineOnceAndInOrder) {
    Channel channel(4);
    EXPECT_EQ(channel.take(), nullptr);
    for (std::uint64_t number = 1; number <= 20; number++) {
        Batch& b = channel.open();
        EXPECT_EQ(b.number, number);
        EXPECT_TRUE(b.empty());
        b.keep(&b);
        EXPECT_EQ(channel.take(), nullptr) << "it is open";
        channel.submit(b);
        EXPECT_EQ(channel.in_flight(), 1U);
        EXPECT_EQ(channel.take(), &b);
        EXPECT_EQ(channel.take(), nullptr);
        EXPECT_EQ(channel.oldest_done(), nullptr);
        channel.finish(number);
        EXPECT_EQ(channel.done(), number);
        EXPECT_EQ(channel.oldest_done(), &b);
        channel.free_oldest();
        EXPECT_EQ(channel.oldest_done(), nullptr);
    }
}

TEST(Channel, HasAsManyBatchesAsItWasMadeWith) {
    Channel channel(3);
    EXPECT_EQ(channel.batches().size(), 3U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(channel.batches().data()) % 4096, 0U);
    EXPECT_EQ(sizeof(Batch) % 4096, 0U);
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(channel.free_batches(), static_cast<std::size_t>(3 - i));
        channel.submit(channel.open());
    }
    EXPECT_EQ(channel.free_batches(), 0U);
    // Done is not yet free: the lcore takes its packets first.
    channel.finish(2);
    EXPECT_EQ(channel.free_batches(), 0U);
    channel.free_oldest();
    EXPECT_EQ(channel.free_batches(), 1U);
    EXPECT_EQ(channel.oldest()->number, 2U);
    EXPECT_EQ(Channel(0).batches().size(), 2U);
}

TEST(Channel, FailsOnceAndThenEnds) {
    Channel channel(2);
    EXPECT_EQ(channel.state(), Channel::State::running);
    EXPECT_EQ(channel.failure(), "");
    channel.fail("first");
    channel.fail("second");
    EXPECT_EQ(channel.state(), Channel::State::failed);
    EXPECT_EQ(channel.failure(), "first");
    channel.end();
    channel.fail("third");
    EXPECT_EQ(channel.state(), Channel::State::ended);
    EXPECT_EQ(channel.failure(), "first");
}

TEST(Channel, CarriesPiecesBetweenTwoThreads) {
    constexpr std::uint64_t kBatches = 2000;
    Channel channel(4);
    std::vector<std::byte> to(1000);
    std::atomic<std::uint64_t> wrong{0};
    std::thread engine([&] {
        for (std::uint64_t number = 1; number <= kBatches;) {
            const Batch* const b = channel.take();
            if (b == nullptr) {
                std::this_thread::yield();
                continue;
            }
            wrong += b->number != number || b->piece_count != number % 7 || b->bytes != 3 * (number % 7);
            for (std::uint32_t i = 0; i < b->piece_count; i++)
                wrong += b->pieces[i].to != &to[number % 900 + i];
            channel.finish(number++);
        }
    });
    std::uint64_t freed = 0;
    const auto free_done = [&] {
        for (; channel.oldest_done() != nullptr; channel.free_oldest())
            freed++;
    };
    for (std::uint64_t number = 1; number <= kBatches; number++) {
        while (channel.free_batches() == 0) {
            std::this_thread::yield();
            free_done();
        }
        Batch& b = channel.open();
        for (std::uint32_t i = 0; i < number % 7; i++)
            b.add(&channel, &to[number % 900 + i], 3);
        channel.submit(b);
        free_done();
    }
    engine.join();
    free_done();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(freed, kBatches);
}

}  // namespace
}  // namespace spead::gather::channel_test
