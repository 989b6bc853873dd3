// SPDX-License-Identifier: BSD-3-Clause
#include "gather/threaded_engine.hpp"

#include <algorithm>
#include <chrono>
#include <gmock/gmock.h>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "gather/cpu_engine.hpp"
#include "gather/fake_engine.hpp"
#include "tests/support/comes.hpp"

namespace spead::gather::threaded_engine_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Submits a batch that moves `text` to `to`.
void submit(Channel& channel, std::string_view text, std::byte* to) {
    Batch& b = channel.open();
    const auto half = static_cast<std::uint32_t>(text.size() / 2);
    b.add(text.data() + half, to + half, static_cast<std::uint32_t>(text.size()) - half);
    b.add(text.data(), to, half);
    channel.submit(b);
}

std::string fetched(Engine& engine, const std::byte* from, std::size_t n) {
    std::string text(n, '?');
    engine.fetch(from, std::as_writable_bytes(std::span(text)));
    return text;
}

template <typename E>
class Engines : public testing::Test {};
using Both = testing::Types<CpuEngine, FakeEngine>;
TYPED_TEST_SUITE(Engines, Both);

TYPED_TEST(Engines, MoveBatchesOfSeveralChannelsIntoTheirMemory) {
    TypeParam engine;
    const auto memory = engine.allocate(1000);
    const auto more = engine.allocate(1000);
    ASSERT_GE(memory->length, 1000U);
    EXPECT_EQ(memory->kind, engine.kind());
    const auto one = engine.connect(4);
    const auto other = engine.connect(2);
    submit(*one, "first bytes", memory->base + 10);
    submit(*other, "other bytes", more->base + 500);
    submit(*one, "11", memory->base + 15);
    ASSERT_TRUE(comes([&] { return one->done() == 2 && other->done() == 1; }));
    EXPECT_EQ(fetched(engine, memory->base + 10, 11), "first11ytes");
    EXPECT_EQ(fetched(engine, more->base + 500, 11), "other bytes");
    EXPECT_TRUE(engine.stop(20s));
    EXPECT_EQ(one->state(), Channel::State::ended);
    EXPECT_EQ(one->failure(), "");
    EXPECT_TRUE(engine.stop(0ms)) << "again";
}

TYPED_TEST(Engines, FinishWhatTheyHaveWhenTheyAreStopped) {
    TypeParam engine;
    const auto memory = engine.allocate(100);
    const auto channel = engine.connect(64);
    for (int i = 0; i < 64; i++)
        submit(*channel, "abcd", memory->base + i);
    EXPECT_TRUE(engine.stop(20s));
    EXPECT_EQ(channel->done(), 64U);
    EXPECT_EQ(fetched(engine, memory->base, 67), std::string(64, 'a') + "bcd");
    const auto late = engine.connect(2);
    EXPECT_EQ(late->state(), Channel::State::ended);
    EXPECT_THAT(late->failure(), HasSubstr("stopped"));
}

TEST(FakeEngine, NamesItsFailureAndMovesNothingAfterIt) {
    FakeEngine engine;
    engine.faults().fails_after = 1;
    engine.faults().lingers = true;
    const auto memory = engine.allocate(100);
    const auto channel = engine.connect(4);
    for (const char* const text : {"abcd", "efgh", "ijkl"})
        submit(*channel, text, memory->base);
    ASSERT_TRUE(comes([&] { return channel->has_failed(); }));
    EXPECT_EQ(channel->state(), Channel::State::failed) << "it may still write";
    EXPECT_EQ(channel->done(), 1U);
    EXPECT_THAT(channel->failure(), HasSubstr("batch 2 failed"));
    EXPECT_EQ(engine.connect(2)->failure(), channel->failure());
    EXPECT_FALSE(engine.stop(10ms));
    engine.faults().lingers = false;
    EXPECT_TRUE(engine.stop(20s));
    EXPECT_EQ(channel->state(), Channel::State::ended);
    EXPECT_EQ(fetched(engine, memory->base, 4), "abcd");
}

TEST(FakeEngine, FailsForPiecesOutsideOfItsMemory) {
    FakeEngine engine;
    const auto memory = engine.allocate(100);
    const auto channel = engine.connect(4);
    submit(*channel, "abcd", memory->base + memory->length - 3);
    ASSERT_TRUE(comes([&] { return channel->state() == Channel::State::ended; }));
    EXPECT_THAT(channel->failure(), HasSubstr("not in its memory"));
    std::byte there{};
    EXPECT_THROW(engine.fetch(&there, {&there, 1}), Error);
}

TEST(FakeEngine, ThatStandsStillIsLeftAloneWithItsMemory) {
    std::weak_ptr<const memory::Region> memory;
    std::weak_ptr<Channel> batches;
    const std::string_view text = "abcd";
    FakeEngineFaults* faults = nullptr;
    {
        FakeEngine engine;
        faults = &engine.faults();
        faults->stalls = true;
        const auto mine = engine.allocate(100);
        const auto channel = engine.connect(2);
        memory = mine;
        batches = channel;
        submit(*channel, text, mine->base);
        EXPECT_FALSE(engine.stop(10ms));
        EXPECT_EQ(channel->state(), Channel::State::running);
    }
    EXPECT_FALSE(memory.expired());
    EXPECT_FALSE(batches.expired());
    faults->stalls = false;
    EXPECT_TRUE(comes([&] { return memory.expired() && batches.expired(); })) << "it ended after all";
}

TEST(ThreadedEngine, LetsGoOfChannelsAndMemoryThatNobodyHas) {
    FakeEngine engine;
    std::weak_ptr<const memory::Region> memory = engine.allocate(100);
    EXPECT_TRUE(memory.expired());
    std::weak_ptr<Channel> gone = engine.connect(2);
    const auto next = engine.connect(2);
    EXPECT_TRUE(comes([&] { return gone.expired(); }));
}

}  // namespace
}  // namespace spead::gather::threaded_engine_test
