// SPDX-License-Identifier: BSD-3-Clause
#include "send/datagram_sender.hpp"

#include <cerrno>
#include <chrono>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead::send {
namespace {

using namespace std::chrono_literals;
using Step = DatagramSender::Step;

constexpr std::uint32_t kPacket = 1000;

/// Takes packets as long as it has room, and refuses one when told.
class FakeWriter final : public PacketWriter {
  public:
    Written write(std::span<const Datagram> burst) noexcept override {
        Written written;
        for (const Datagram& d : burst) {
            if (d.substream == refused_substream) {
                written.error = EMSGSIZE;
                break;
            }
            if (room == 0) {
                written.no_room = true;
                break;
            }
            room--;
            std::string bytes;
            for (const iovec& part : std::span(d.parts, d.part_count))
                bytes.append(static_cast<const char*>(part.iov_base), part.iov_len);
            EXPECT_EQ(bytes.size(), d.bytes);
            substreams.push_back(d.substream);
            packets.push_back(std::move(bytes));
            written.packets++;
        }
        return written;
    }
    void wait(int, std::chrono::nanoseconds) noexcept override {}
    std::chrono::nanoseconds patience() const noexcept override { return 1s; }

    std::size_t room = std::numeric_limits<std::size_t>::max();
    std::uint32_t refused_substream = 99;
    std::vector<std::string> packets;
    std::vector<std::uint32_t> substreams;
};

struct Rig {
    explicit Rig(DatagramSender::Config config = {}) : sender(with_sizes(std::move(config))) {}

    static DatagramSender::Config with_sizes(DatagramSender::Config config) {
        config.where = "send x";
        config.substreams = 4;
        config.max_packet_size = kPacket;
        config.max_heaps = 4;
        return config;
    }
    /// Submits heaps of these numbers of packets, each to the substream of its index.
    void submit(const std::vector<std::size_t>& counts, Interleave mode) {
        std::vector<Submission> group;
        for (const std::size_t n : counts) {
            bytes.emplace_back(n * 900);
            OutgoingHeap& heap = heaps.emplace_back();
            heap.add_item(0x1000, bytes.back());
            group.push_back({&heap, static_cast<std::uint32_t>(group.size()), {}, {}, &heap, false});
        }
        ASSERT_TRUE(sender.submit(group, mode));
    }
    std::vector<DatagramSender::Done> done() {
        std::vector<DatagramSender::Done> all(8);
        all.resize(sender.poll_completions(all));
        return all;
    }

    DatagramSender sender;
    FakeWriter writer;
    std::deque<std::vector<std::byte>> bytes;
    std::deque<OutgoingHeap> heaps;
};

TEST(DatagramSender, SendsAndCompletesInOrder) {
    Rig rig;
    EXPECT_EQ(rig.sender.step(rig.writer, 1), Step::nothing);
    rig.submit({1, 3, 2}, Interleave::round_robin);
    EXPECT_TRUE(rig.sender.any_submitted());
    EXPECT_TRUE(rig.heaps[0].in_flight());
    EXPECT_EQ(rig.sender.step(rig.writer, 2), Step::packets);
    EXPECT_EQ(rig.writer.substreams, (std::vector<std::uint32_t>{0, 1, 2, 1, 2, 1}));
    EXPECT_TRUE(rig.sender.any_completed());
    const auto done = rig.done();
    ASSERT_EQ(done.size(), 3U);
    for (std::size_t i = 0; i < done.size(); i++) {
        EXPECT_EQ(done[i].user, &rig.heaps[i]);
        EXPECT_EQ(done[i].cnt, i + 1);
        EXPECT_EQ(done[i].status, SendStatus::sent);
    }
    EXPECT_FALSE(rig.heaps[0].in_flight());
    EXPECT_EQ(rig.sender.in_flight(), 0U);
    EXPECT_EQ(rig.sender.counters().send.packets, 6U);
    EXPECT_EQ(rig.sender.counters().send.heaps, 3U);
    EXPECT_EQ(rig.sender.step(rig.writer, 3), Step::nothing);
}

TEST(DatagramSender, KeepsWhatTheWriterHasNoRoomFor) {
    Rig rig;
    rig.writer.room = 2;
    rig.submit({3, 2}, Interleave::serial);
    EXPECT_EQ(rig.sender.step(rig.writer, 1), Step::room);
    EXPECT_EQ(rig.sender.step(rig.writer, 2), Step::room);
    rig.writer.room = 2;
    EXPECT_EQ(rig.sender.step(rig.writer, 3), Step::room);
    EXPECT_EQ(rig.done().size(), 1U);
    rig.writer.room = 1;
    EXPECT_EQ(rig.sender.step(rig.writer, 4), Step::packets);
    EXPECT_EQ(rig.done().size(), 1U);
    EXPECT_EQ(rig.writer.substreams, (std::vector<std::uint32_t>{0, 0, 0, 1, 1}));
    EXPECT_EQ(rig.sender.counters().send.packets, 5U);
    EXPECT_EQ(rig.sender.counters().send.tx_full, 3U);
}

TEST(DatagramSender, RefusesWhatFoundNoRoomForTooLong) {
    Rig rig;
    rig.writer.room = 1;
    rig.submit({2, 1}, Interleave::serial);
    EXPECT_EQ(rig.sender.step(rig.writer, 1), Step::room);
    EXPECT_EQ(rig.sender.step(rig.writer, 1'000'000'001), Step::room);
    EXPECT_EQ(rig.sender.step(rig.writer, 1'000'000'002), Step::packets);
    const auto done = rig.done();
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].error, ENOBUFS);
    EXPECT_EQ(rig.sender.counters().refused, 1U);
    EXPECT_EQ(rig.sender.counters().send.dropped, 1U);
    rig.writer.room = 1;
    EXPECT_EQ(rig.sender.step(rig.writer, 1'000'000'003), Step::packets);
    EXPECT_EQ(rig.done().size(), 1U);
}

TEST(DatagramSender, GivesUpTheHeapOfARefusedPacketAlone) {
    Rig rig;
    rig.writer.refused_substream = 1;
    // More packets than a burst.
    rig.submit({100, 100, 50}, Interleave::round_robin);
    while (rig.sender.step(rig.writer, 1) == Step::packets) {
    }
    const auto done = rig.done();
    ASSERT_EQ(done.size(), 3U);
    EXPECT_EQ(done[0].status, SendStatus::sent);
    EXPECT_EQ(done[1].error, EMSGSIZE);
    EXPECT_EQ(done[2].status, SendStatus::sent);
    const std::uint64_t wanted =
        rig.heaps[0].layout(kPacket, nullptr).packets + rig.heaps[2].layout(kPacket, nullptr).packets;
    EXPECT_EQ(rig.writer.packets.size(), wanted);
    const DatagramSender::Counters& c = rig.sender.counters();
    EXPECT_EQ(c.send.packets, wanted);
    EXPECT_EQ(c.send.dropped, 21U) << "those of the first burst of 64";
    EXPECT_EQ(c.send.heaps, 2U);
    EXPECT_EQ(c.refused, 1U);
}

TEST(DatagramSender, WaitsForItsRate) {
    DatagramSender::Config config;
    config.pacing = {1e9, 2000, 1};
    Rig rig(config);
    rig.submit({10}, Interleave::serial);
    std::uint64_t now = 1'000'000;
    std::size_t steps = 0;
    for (; rig.sender.in_flight() != 0; steps++) {
        const Step step = rig.sender.step(rig.writer, now);
        if (step == Step::time) {
            EXPECT_GT(rig.sender.next_time(), now);
            now = rig.sender.next_time();
        }
        rig.done();
        ASSERT_LT(steps, 100U);
    }
    // At a byte a nanosecond; the last burst is not waited for.
    EXPECT_GE(now, 1'000'000U + rig.sender.counters().send.bytes - 4000);
    EXPECT_LE(now, 1'000'000U + rig.sender.counters().send.bytes);
}

TEST(DatagramSender, TimesOutAndStops) {
    DatagramSender::Config config;
    config.pacing.rate = 1;
    config.pacing.burst_size = 1000;
    config.timeout = 1;
    Rig rig(config);
    rig.submit({10, 1}, Interleave::serial);
    // The clock of submissions is the machine's.
    const std::uint64_t end = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(rig.sender.step(rig.writer, end), Step::packets);
    const auto done = rig.done();
    ASSERT_EQ(done.size(), 2U);
    EXPECT_EQ(done[0].status, SendStatus::timed_out);
    EXPECT_EQ(rig.sender.counters().send.timed_out, 2U);
    rig.submit({10, 1}, Interleave::serial);
    rig.sender.request_stop();
    EXPECT_EQ(rig.sender.step(rig.writer, 1), Step::packets);
    EXPECT_EQ(rig.done().size(), 2U);
    EXPECT_EQ(rig.sender.counters().send.aborted, 2U);
    EXPECT_FALSE(rig.sender.submit(std::vector<Submission>{{&rig.heaps[0]}}, Interleave::serial));
    EXPECT_EQ(rig.sender.step(rig.writer, 2), Step::nothing);
}

TEST(DatagramSender, IsPatientWithEachBurst) {
    DatagramSender::Config config;
    config.timeout = 1'000'000'000'000'000;
    Rig rig(config);
    rig.writer.room = 0;
    rig.submit({1}, Interleave::serial);
    EXPECT_EQ(rig.sender.step(rig.writer, 1), Step::room);
    // The clock of submissions is the machine's: this is past the deadline.
    rig.sender.step(rig.writer, std::numeric_limits<std::int64_t>::max());
    ASSERT_EQ(rig.done().size(), 1U);
    rig.submit({1}, Interleave::serial);
    EXPECT_EQ(rig.sender.step(rig.writer, 2'000'000'000), Step::room) << "nothing has waited for room since";
    EXPECT_EQ(rig.sender.step(rig.writer, 2'900'000'000), Step::room);
    EXPECT_EQ(rig.done().size(), 0U);
    EXPECT_EQ(rig.sender.step(rig.writer, 3'100'000'000), Step::packets);
    EXPECT_EQ(rig.done().size(), 1U);
}

TEST(DatagramSender, RefusesWhatIsNoSubmission) {
    Rig rig;
    OutgoingHeap heap;
    heap.add_immediate(0x1000, 1);
    const auto refuses = [&](const Submission& one) {
        EXPECT_THROW(rig.sender.submit(std::span(&one, 1), Interleave::serial), Error);
        EXPECT_FALSE(heap.in_flight());
    };
    refuses({});
    refuses({&heap, 4});
    refuses({&heap, 0, std::uint64_t{1} << 48});
    refuses({&heap, 0, {}, -1});
    EXPECT_THROW(rig.sender.submit(std::vector<Submission>(5), Interleave::serial), Error);
    const Submission good{&heap};
    EXPECT_TRUE(rig.sender.submit(std::span(&good, 1), Interleave::serial));
    rig.sender.step(rig.writer, 1);
    EXPECT_EQ(rig.done()[0].cnt, 1U) << "no count was used";
}

}  // namespace
}  // namespace spead::send
