// SPDX-License-Identifier: BSD-3-Clause
#include "recv/packet_reader.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "recv/buffer_reader.hpp"
#include "recv/datagram_queue.hpp"
#include "recv/pcap_file_reader.hpp"
#include "tests/support/pcap_writer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/recv/local_lane.hpp"

/// Tests the sources of a lane without EAL: memory, queues and files.
namespace spead::recv::test {
namespace {

using Fed = PacketReader::Fed;
using namespace std::chrono_literals;

Bytes joined(const std::vector<Bytes>& all) {
    Bytes out;
    for (const Bytes& b : all)
        out.insert(out.end(), b.begin(), b.end());
    return out;
}

std::vector<std::uint64_t> up_to(std::uint64_t n) {
    std::vector<std::uint64_t> all(n);
    std::iota(all.begin(), all.end(), 1);
    return all;
}

LaneConfig lossless() {
    LaneConfig config = local_config();
    config.window.on_full = heap::FullPolicy::block;
    config.queue_heaps = 2;
    return config;
}

TEST(BufferReader, FeedsThePacketsThatStandInMemory) {
    const Bytes bytes = joined(many_datagrams(100));
    BufferReader reader(bytes, kLocalWay);
    FedLane rig(lossless());
    EXPECT_TRUE(reader.lossless());
    EXPECT_EQ(rig.feed(reader), Fed::end);
    rig.finish();
    EXPECT_EQ(rig.heaps, up_to(100));
    EXPECT_EQ(rig.whole, 100U);
    EXPECT_EQ(rig.received(), 300U);
    EXPECT_GT(rig.blocked, 0);
    EXPECT_EQ(rig.feed(reader), Fed::end);
}

TEST(BufferReader, CountsWhatIsNoPacketAsOne) {
    for (const std::size_t garbage : {1U, 100U, 9201U, 200'000U}) {
        Bytes bytes = joined(many_datagrams(3));
        bytes.resize(bytes.size() + garbage, 0x53);
        BufferReader reader(bytes, kLocalWay);
        FedLane rig;
        EXPECT_EQ(rig.feed(reader), Fed::end);
        EXPECT_EQ(rig.whole, 3U);
        EXPECT_EQ(rig.packets(PacketOutcome::malformed) + rig.packets(PacketOutcome::oversize), 1U);
    }
}

TEST(BufferReader, EndsAtEveryCut) {
    const Bytes bytes = joined(many_datagrams(2));
    for (std::size_t length = 0; length < bytes.size(); length += 17) {
        const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
        BufferReader reader(cut, kLocalWay);
        FedLane rig;
        ASSERT_EQ(rig.feed(reader), Fed::end) << length;
        ASSERT_LE(rig.received(), 6U);
    }
}

TEST(QueueReader, FeedsWhatAnotherThreadPushes) {
    const auto queue = std::make_shared<DatagramQueue>(8);
    QueueReader reader(queue, kLocalWay);
    FedLane rig(lossless());
    EXPECT_EQ(rig.feed(reader), Fed::nothing);
    std::thread sender([&queue] {
        for (const Bytes& d : many_datagrams(500))
            EXPECT_EQ(queue->push(d, 60s), DatagramQueue::Pushed::yes);
        queue->stop();
    });
    while (rig.feed(reader) != Fed::end)
        reader.wait(10ms);
    sender.join();
    rig.finish();
    EXPECT_EQ(rig.heaps, up_to(500));
    EXPECT_EQ(rig.whole, 500U);
}

TEST(DatagramQueue, IsBounded) {
    DatagramQueue queue(2);
    const Bytes one(1);
    EXPECT_EQ(queue.push(one, 0s), DatagramQueue::Pushed::yes);
    EXPECT_EQ(queue.push(one, 0s), DatagramQueue::Pushed::yes);
    EXPECT_EQ(queue.push(one, 0s), DatagramQueue::Pushed::full);
    EXPECT_EQ(queue.push(one, 1ms), DatagramQueue::Pushed::full);
    EXPECT_EQ(queue.size(), 2U);
    queue.stop();
    EXPECT_TRUE(queue.stopped());
    EXPECT_EQ(queue.push(one, 60s), DatagramQueue::Pushed::stopped);
    DatagramQueue::Batch batch;
    EXPECT_TRUE(queue.take(batch, 1));
    EXPECT_FALSE(queue.take(batch, 64));
    EXPECT_EQ(batch.size(), 2U);
}

TEST(DatagramQueue, WakesThoseWhoWait) {
    DatagramQueue queue(1);
    EXPECT_EQ(queue.push(Bytes(1), 0s), DatagramQueue::Pushed::yes);
    std::thread pusher([&queue] {
        EXPECT_EQ(queue.push(Bytes(2), std::chrono::nanoseconds::max()), DatagramQueue::Pushed::stopped);
    });
    queue.stop();
    pusher.join();
    DatagramQueue other(1);
    other.wake_taker();
    other.wait(std::chrono::hours(1));
}

class PcapFileReading : public testing::Test {
  protected:
    std::string write(const std::vector<Bytes>& frames) {
        const std::string path = directory_.file("in.pcap");
        spead::test::PcapWriter writer(path);
        for (const Bytes& f : frames)
            writer.record(f);
        return path;
    }

    spead::test::ScratchDirectory directory_;
};

TEST_F(PcapFileReading, FeedsTheFramesOfAFile) {
    std::vector<Bytes> frames;
    for (const Bytes& d : many_datagrams(100))
        frames.push_back(frame(d));
    Way elsewhere;
    elsewhere.to++;
    frames.push_back(frame(many_datagrams(1)[0], elsewhere));
    PcapFileReader reader(write(frames), "receive s0");
    FedLane rig(lossless());
    EXPECT_EQ(rig.feed(reader), Fed::end);
    rig.finish();
    EXPECT_EQ(rig.heaps, up_to(100));
    EXPECT_EQ(rig.packets(PortOutcome::stream), 300U);
    EXPECT_EQ(rig.packets(PortOutcome::unmatched), 1U);
    EXPECT_EQ(rig.feed(reader), Fed::end);
}

TEST_F(PcapFileReading, EndsWhereTheFileIsCutOrDamaged) {
    std::vector<Bytes> frames;
    for (const Bytes& d : many_datagrams(3))
        frames.push_back(frame(d));
    const std::string path = write(frames);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
    PcapFileReader cut(path, "receive s0");
    FedLane rig;
    EXPECT_EQ(rig.feed(cut), Fed::end);
    EXPECT_EQ(rig.received(), 8U);
    {
        spead::test::PcapWriter writer(path);
        writer.record(frames[0]);
        writer.header(0xFFFFFFFF, 0xFFFFFFFF);
        writer.record(frames[1]);
    }
    PcapFileReader damaged(path, "receive s0");
    FedLane other;
    EXPECT_EQ(other.feed(damaged), Fed::end);
    EXPECT_EQ(other.received(), 1U);
}

TEST_F(PcapFileReading, RefusesFilesThatAreNone) {
    const std::string nowhere = directory_.file("nothing");
    spead::test::expect_passing_error([&] { PcapFileReader(nowhere, "receive s0"); },
                                      {"cannot open", nowhere});
}

}  // namespace
}  // namespace spead::recv::test
