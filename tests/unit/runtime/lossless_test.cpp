// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/lossless.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

namespace spead::runtime {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kLosslessKiB = 1024;
constexpr std::size_t kLosslessMiB = 1024 * kLosslessKiB;

ReceivePlan stream(const std::string& name, std::size_t max_bytes) {
    ReceivePlan r;
    r.name = name;
    r.max_live = 4;
    r.substreams = 1;
    r.max_bytes = max_bytes;
    return r;
}

/// Returns why `bytes` of memory, cut for heaps of 64 KiB, do not suffice. `streams` streams share it, of
/// which `waiting` may lose nothing.
std::string why_not(std::size_t bytes, std::size_t streams, std::vector<const ReceivePlan*> waiting) {
    return why_not_lossless({bytes, 64 * kLosslessKiB, streams, waiting});
}

TEST(Lossless, OnlyWhoWaitsLosesNothing) {
    ReceivePlan r;
    for (const bool source : {false, true}) {
        r.on_full = OnFullSetting::automatic;
        EXPECT_EQ(waits_for_consumer(r, source), source);
        r.on_full = OnFullSetting::block;
        EXPECT_TRUE(waits_for_consumer(r, source));
        r.on_full = OnFullSetting::drop_newest;
        EXPECT_FALSE(waits_for_consumer(r, source));
        r.on_full = OnFullSetting::drop_oldest;
        EXPECT_FALSE(waits_for_consumer(r, source));
    }
    EXPECT_THAT(why_not(64 * kLosslessKiB, 7, {}), IsEmpty()) << "no stream waits";
}

TEST(Lossless, NeedsOneHeapMoreThanMayBeLive) {
    const ReceivePlan r = stream("s0", 64 * kLosslessKiB);
    EXPECT_THAT(why_not(320 * kLosslessKiB, 1, {&r}), IsEmpty());
    const std::string why = why_not(256 * kLosslessKiB, 1, {&r});
    for (const char* said : {"receive s0", "4 heaps", "up to 64 KiB", "5 x 64 KiB = 320 KiB",
                             "there are 256 KiB", "--memory) to 320 KiB", "max_bytes", "drop_newest"})
        EXPECT_THAT(why, HasSubstr(said));
}

TEST(Lossless, BlocksArePowersOfTwo) {
    const ReceivePlan r = stream("s0", 33 * kLosslessKiB);
    EXPECT_THAT(why_not(256 * kLosslessKiB, 1, {&r}), HasSubstr("5 x 64 KiB"));
}

TEST(Lossless, EverySubstreamHasItsHeaps) {
    ReceivePlan r = stream("s0", 64 * kLosslessKiB);
    r.substreams = 3;
    EXPECT_THAT(why_not(832 * kLosslessKiB, 1, {&r}), IsEmpty());
    EXPECT_THAT(why_not(768 * kLosslessKiB, 1, {&r}), HasSubstr("13 x 64 KiB = 832 KiB"));
}

TEST(Lossless, HeapsOfDifferentStreamsAreAdded) {
    const ReceivePlan a = stream("a", 64 * kLosslessKiB);
    const ReceivePlan b = stream("b", 16 * kLosslessKiB);
    // 4 x 64 + 4 x 16 + one of 64.
    EXPECT_THAT(why_not(384 * kLosslessKiB, 2, {&a, &b}), IsEmpty());
    EXPECT_THAT(why_not(320 * kLosslessKiB, 2, {&a, &b}), HasSubstr("receive a, b"));
    EXPECT_THAT(why_not(320 * kLosslessKiB, 2, {&a, &b}), HasSubstr("320 KiB + 64 KiB = 384 KiB"));
}

TEST(Lossless, StreamsThatLosePacketsHaveTheirShare) {
    const ReceivePlan r = stream("s0", 64 * kLosslessKiB);
    EXPECT_THAT(why_not(1280 * kLosslessKiB, 4, {&r}), IsEmpty());
    EXPECT_THAT(why_not(1024 * kLosslessKiB, 4, {&r}), HasSubstr("there are 256 KiB"));
    EXPECT_THAT(why_not(1024 * kLosslessKiB, 4, {&r}), HasSubstr("to 1280 KiB"));
}

TEST(Lossless, ALimitThatNobodySetIsRemarkedForOneStreamAtATime) {
    const ReceivePlan r = stream("s0", ReceivePlan{}.max_bytes);
    const std::vector<const ReceivePlan*> many(2000, &r);
    for (const std::size_t bytes : {256 * kLosslessMiB, 512 * kLosslessMiB}) {
        const HeapMemory memory{bytes, ReceivePlan{}.max_bytes, many.size(), many};
        EXPECT_THAT(why_not_lossless(memory), IsEmpty());
        EXPECT_EQ(what_may_be_lost(memory).empty(), bytes == 512 * kLosslessMiB);
    }
    EXPECT_THAT(what_may_be_lost({256 * kLosslessMiB, ReceivePlan{}.max_bytes, many.size(), many}),
                HasSubstr("5 x 65536 KiB"));
}

TEST(Lossless, MemoryOfAnEngineIsNamedByItsKey) {
    ReceivePlan r = stream("s0", 64 * kLosslessKiB);
    r.engine = HeapEngine::fake;
    r.engine_memory = 256 * kLosslessKiB;
    const ReceivePlan* const one = &r;
    const std::string why = why_not_lossless(own_memory(r, true, one));
    for (const char* said :
         {"`gather_memory` to 320 KiB for each lcore", "max_live x substreams", "`max_bytes`"})
        EXPECT_THAT(why, HasSubstr(said));
    EXPECT_THAT(why, testing::Not(HasSubstr("max_heap_bytes`"))) << "that is the name in C++";
    r.engine = HeapEngine::none;
    r.memory = r.engine_memory;
    EXPECT_THAT(why_not_lossless(own_memory(r, true, one)), HasSubstr("raise its `memory` to 320 KiB"));
}

}  // namespace
}  // namespace spead::runtime
