// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/eal/spead/chunk_rig.hpp"

/// Tests streams of two ports that fill the same chunks: one polarisation comes from each.
namespace spead::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* kOther = "net_ring1";
constexpr const char* kOtherEndpoint = "239.1.2.4:7148";

RecvConfig first_config() {
    RecvConfig c = chunk_config();
    c.lcores = {cpu_of(0)};
    return c;
}
RecvConfig second_config() {
    RecvConfig c = chunk_config();
    c.endpoints = {kOtherEndpoint};
    c.interface = kOther;
    c.lcores = {cpu_of(1)};
    return c;
}

/// Has a group of two streams, their ring and their senders.
struct GroupRig {
    explicit GroupRig(const ChunkConfig& chunks, std::size_t buffers = 6)
        : ring(process, buffers), group(make_group(chunks, buffers)) {}

    ChunkStreamGroup make_group(const ChunkConfig& chunks, std::size_t buffers) {
        ring.add(placement(), buffers);
        return {process, placement(), ring, chunks};
    }
    /// Waits until so many chunks' heaps of one polarisation have been placed.
    static void wait_for(const ChunkStream& stream, std::uint64_t chunks) {
        while (stream.stats().bytes < chunks * kTimes * kHeap)
            std::this_thread::yield();
    }

    Process process{config()};
    ChunkRing ring;
    ChunkStreamGroup group;
    ChunkStream first = group.add(first_config());
    ChunkStream second = group.add(second_config());
    ChunkSender to_first{process};
    ChunkSender to_second{process, kOtherEndpoint, kOther};
};

/// Sends one polarisation of the chunks.
void send(ChunkSender& sender, std::uint64_t pol, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t time = from * kTimes; time < to * kTimes; time++)
        sender.send(time, pol);
}

TEST(ChunkStreamGroup, TwoPortsFillTheSameChunks) {
    GroupRig rig({.window = 2, .eviction = Eviction::lossless, .patience = 0s, .stream = 9});
    rig.group.start();
    std::thread one([&] {
        send(rig.to_first, 0, 0, 20);
        rig.to_first.send_stop();
    });
    std::thread two([&] {
        send(rig.to_second, 1, 0, 20);
        rig.to_second.send_stop();
    });
    std::int64_t next = 0;
    for (const ChunkPtr& chunk : rig.ring) {
        EXPECT_EQ(chunk->id, next++);
        EXPECT_EQ(chunk->stream, 9U);
        EXPECT_TRUE(chunk->complete()) << chunk->id << ": " << chunk->heaps_present;
        expect_right(*chunk);
    }
    one.join();
    two.join();
    EXPECT_EQ(next, 20);
    for (const ChunkStream* const stream : {&rig.first, &rig.second}) {
        const ChunkStats s = stream->stats();
        expect_sums(s);
        EXPECT_EQ(s.bytes, 20 * kTimes * kHeap);
        EXPECT_EQ(s.packets_placed + s.packets_control, s.packets);
        EXPECT_EQ(s.chunks_opened, 20U) << "the group's";
        EXPECT_EQ(s.chunks_taken, 20U);
        EXPECT_EQ(s.heaps_present, 20 * kHeaps);
    }
    // All of it again, with a new window, and the counts of both.
    rig.group.start();
    EXPECT_FALSE(rig.ring.ended());
    send(rig.to_first, 0, 3, 4);
    send(rig.to_second, 1, 3, 4);
    rig.wait_for(rig.first, 21);
    rig.wait_for(rig.second, 21);
    rig.group.stop();
    const ChunkPtr again = rig.ring.get();
    ASSERT_TRUE(again);
    EXPECT_EQ(again->id, 3);
    EXPECT_TRUE(again->complete());
    expect_right(*again);
    EXPECT_FALSE(rig.ring.get());
    EXPECT_EQ(rig.first.stats().chunks_handed_over, 21U);
}

/// Returns the stream of that number in a report; 0: those removed.
nlohmann::json reported(const Process& process, std::size_t stream) {
    const auto report = nlohmann::json::parse(process.report());
    return stream == 0 ? report["removed"] : report["streams"][stream - 1];
}

TEST(ChunkStreamGroup, ReportsOfEachStreamHaveTheGroupsChunks) {
    GroupRig rig({.window = 2, .eviction = Eviction::lossless, .patience = 0s});
    rig.group.start();
    send(rig.to_first, 0, 0, 4);
    send(rig.to_second, 1, 0, 4);
    rig.wait_for(rig.first, 4);
    rig.wait_for(rig.second, 4);
    rig.first.stop();
    rig.second.stop();
    std::uint64_t taken = 0;
    while (rig.ring.get())
        taken++;
    EXPECT_EQ(taken, 4U);
    for (const std::size_t stream : {1, 2}) {
        const auto found = reported(rig.process, stream);
        EXPECT_EQ(found["bytes"], 4 * kTimes * kHeap) << "its own";
        for (const char* const count : {"opened", "handed_over", "taken", "delivered", "complete"})
            EXPECT_EQ(found.at("chunks")[count], 4) << count;
        EXPECT_EQ(found.at("chunks")["heaps_present"], 4 * kHeaps);
        EXPECT_EQ(found.at("chunks")["buffers"], 6);
        EXPECT_EQ(found.at("chunks")["free"], 6);
        EXPECT_EQ(found.at("chunks").value("counted_with", ""), stream == 1 ? "" : rig.first.name());
    }
    // They go on with a new window, and with the second stream when the first one is gone.
    rig.group.start();
    send(rig.to_first, 0, 0, 1);
    rig.wait_for(rig.first, 5);
    { const ChunkStream gone = std::move(rig.first); }
    auto left = reported(rig.process, 1);
    EXPECT_EQ(left["name"], rig.second.name());
    EXPECT_EQ(left.at("chunks")["opened"], 5);
    EXPECT_FALSE(left.at("chunks").contains("counted_with"));
    rig.second.stop();
    const ChunkPtr half = rig.ring.get();
    ASSERT_TRUE(half);
    left = reported(rig.process, 1);
    EXPECT_EQ(left.at("chunks")["held"], 1);
    EXPECT_EQ(left.at("chunks")["taken"], 5);
    EXPECT_EQ(left.at("chunks")["heaps_cut"], kHeaps / 2);
    { const ChunkStream gone = std::move(rig.second); }
    EXPECT_EQ(reported(rig.process, 0).at("chunks")["taken"], 5);
}

TEST(ChunkStreamGroup, AStreamThatLagsLosesPacketsIfChunksAreLossy) {
    GroupRig rig({.window = 2});
    rig.group.start();
    send(rig.to_first, 0, 0, 5);
    rig.wait_for(rig.first, 5);
    send(rig.to_second, 1, 0, 1);
    send(rig.to_second, 1, 4, 5);
    rig.wait_for(rig.second, 1);
    rig.group.stop();
    const ChunkStats s = rig.second.stats();
    expect_sums(s);
    EXPECT_EQ(s.packets_late, s.packets_placed) << "one chunk each";
    EXPECT_EQ(rig.first.stats().packets_late, 0U);
    for (std::int64_t id = 0; id < 5; id++) {
        const ChunkPtr chunk = rig.ring.get();
        ASSERT_TRUE(chunk);
        EXPECT_EQ(chunk->id, id);
        EXPECT_EQ(chunk->heaps_present, id == 4 ? kHeaps : kHeaps / 2);
        expect_right(*chunk);
    }
    EXPECT_FALSE(rig.ring.get());
}

TEST(ChunkStreamGroup, AStreamThatLeadsWaitsIfChunksAreLossless) {
    GroupRig rig({.window = 2, .eviction = Eviction::lossless, .patience = 0s});
    rig.group.start();
    send(rig.to_first, 0, 0, 5);
    rig.wait_for(rig.first, 2);
    EXPECT_FALSE(rig.ring.try_get());
    send(rig.to_second, 1, 0, 5);
    rig.wait_for(rig.first, 5);
    rig.wait_for(rig.second, 5);
    rig.group.stop();
    for (std::int64_t id = 0; id < 5; id++) {
        const ChunkPtr chunk = rig.ring.get();
        ASSERT_TRUE(chunk);
        EXPECT_EQ(chunk->id, id);
        EXPECT_TRUE(chunk->complete());
        expect_right(*chunk);
    }
    EXPECT_FALSE(rig.ring.get());
}

TEST(ChunkStreamGroup, AStreamThatHasEndedIsNotWaitedFor) {
    GroupRig rig({.window = 2, .eviction = Eviction::lossless, .patience = 0s});
    rig.group.start();
    send(rig.to_second, 1, 0, 1);
    rig.to_second.send_stop();
    send(rig.to_first, 0, 0, 5);
    rig.to_first.send_stop();
    std::int64_t next = 0;
    for (const ChunkPtr& chunk : rig.ring) {
        EXPECT_EQ(chunk->id, next);
        EXPECT_EQ(chunk->heaps_present, next == 0 ? kHeaps : kHeaps / 2);
        expect_right(*chunk);
        next++;
    }
    EXPECT_EQ(next, 5);
}

TEST(ChunkStreamGroup, AStreamWithoutPacketsIsWaitedForWithPatience) {
    GroupRig rig({.window = 2, .eviction = Eviction::lossless, .patience = 20ms});
    rig.group.start();
    send(rig.to_first, 0, 0, 5);
    rig.to_first.send_stop();
    std::int64_t next = 0;
    // The other one has not ended, and keeps the last two open.
    while (next < 3) {
        const ChunkPtr chunk = rig.ring.get();
        ASSERT_TRUE(chunk);
        EXPECT_EQ(chunk->id, next++);
        EXPECT_EQ(chunk->heaps_present, kHeaps / 2);
    }
    EXPECT_FALSE(rig.ring.ended());
    rig.group.stop();
    while (rig.ring.get())
        next++;
    EXPECT_EQ(next, 5);
}

TEST(ChunkStreamGroup, AStreamMayJoinLaterAndLeaveSooner) {
    GroupRig rig({.window = 2});
    rig.first.start();
    send(rig.to_first, 0, 0, 3);
    rig.wait_for(rig.first, 3);
    rig.second.start();
    send(rig.to_second, 1, 2, 3);
    rig.wait_for(rig.second, 1);
    rig.first.stop();
    EXPECT_FALSE(rig.ring.ended());
    send(rig.to_second, 1, 3, 4);
    rig.wait_for(rig.second, 2);
    {
        // The last stream is destroyed: its chunks come nevertheless.
        const ChunkStream gone = std::move(rig.second);
    }
    const std::vector<std::uint64_t> heaps{kHeaps / 2, kHeaps / 2, kHeaps, kHeaps / 2};
    for (std::size_t id = 0; id < heaps.size(); id++) {
        const ChunkPtr chunk = rig.ring.get();
        ASSERT_TRUE(chunk);
        EXPECT_EQ(chunk->id, static_cast<std::int64_t>(id));
        EXPECT_EQ(chunk->heaps_present, heaps[id]) << id;
        expect_right(*chunk);
    }
    EXPECT_FALSE(rig.ring.get());
    rig.group.start();
    rig.group.stop();
}

TEST(ChunkStreamGroup, StreamsHavePlacesByConstants) {
    const Process process(config());
    const auto of_feed = [](std::uint64_t feed) {
        Placement p(kHeap);
        p.axis("feed", constant(feed), 2)
            .time(item(0x1600) / kStep, kTimes)
            .extra<std::uint16_t>(item(0x3102) >> 8);
        return p;
    };
    ChunkRing ring(process, 4);
    ring.add(of_feed(0), 4);
    ChunkStreamGroup group(process, of_feed(0), ring, {.window = 2, .eviction = Eviction::lossless});
    ChunkStream first = group.add(first_config());
    ChunkStream second = group.add(second_config(), of_feed(1));
    Placement other = of_feed(1);
    other.direct();
    EXPECT_THAT(refusal([&] { group.add(second_config(), other); }), HasSubstr("in more than constants"));
    group.start();
    ChunkSender to_first(process);
    ChunkSender to_second(process, kOtherEndpoint, kOther);
    send(to_first, 0, 0, 1);
    send(to_second, 1, 0, 1);
    to_first.send_stop();
    to_second.send_stop();
    const ChunkPtr chunk = ring.get();
    ASSERT_TRUE(chunk);
    EXPECT_TRUE(chunk->complete());
    expect_right(*chunk);
    EXPECT_FALSE(ring.get());
    const ChunkStreamGroup moved = std::move(group);
    EXPECT_THAT(refusal([&] { group.start(); }), HasSubstr("was moved"));  // NOLINT(bugprone-use-after-move)
}

}  // namespace
}  // namespace spead::test
