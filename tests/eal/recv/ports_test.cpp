// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/eal/recv/port_source.hpp"
#include "tests/support/pcap_writer.hpp"

/// Tests the agent on ports of DPDK's.
namespace spead::recv::test {
namespace {

TEST(RingSource, DeliversWhatIsSentIntoIt) {
    const Pool pool(1023, 9600);
    PortRig rig("net_ring0", lane_config("s0", one_group()), 1);
    const port::TxQueue tx = rig.port().tx_queue(0);
    std::vector<Taken> heaps;
    std::uint64_t sent = 0;
    for (std::uint64_t cnt = 1; cnt <= 200; cnt++) {
        for (const Bytes& f :
             MadeHeap{.cnt = cnt, .length = 5000, .packet = cnt % 2 == 0 ? 1400U : 300U}.frames()) {
            ASSERT_TRUE(port::test::send(tx, pool.make(f)));
            sent++;
        }
        if (cnt % 20 != 0)
            continue;
        rig.poll_until(sent);
        for (Taken& t : rig.take())
            heaps.push_back(std::move(t));
    }
    ASSERT_EQ(heaps.size(), 200U);
    for (std::size_t i = 0; i < heaps.size(); i++)
        ASSERT_TRUE(is_whole(heaps[i], {.cnt = i + 1, .length = 5000}));
    EXPECT_TRUE(pool.full());
}

TEST(RingSource, DeliversPayloadFromExternalBuffersAndReleasesIt) {
    const Pool pool(255, 2176);
    PortRig rig("net_ring0", lane_config("s0", one_group()), 1);
    const MadeHeap h{.cnt = 1, .length = 1000, .packet = 1000};
    const Bytes f = h.frames()[0];
    port::test::ExternalBuffer payload({f.end() - 1000, f.end()});
    rte_mbuf* const m = pool.make({f.begin(), f.end() - 1000});
    ASSERT_EQ(rte_pktmbuf_chain(m, payload.attach(pool)), 0);
    ASSERT_TRUE(port::test::send(rig.port().tx_queue(0), m));
    rig.poll_until(1);
    EXPECT_EQ(payload.released(), 1);
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), 1U);
    EXPECT_TRUE(is_whole(heaps[0], h));
}

TEST(NullSource, IsAllRefused) {
    PortRig rig("net_null0,size=64");
    rig.expect_remarks();
    for (int i = 0; i < 100; i++)
        EXPECT_TRUE(rig.poll());
    const stats::Snapshot s = rig.picture();
    EXPECT_GT(s.ports[0].rx_packets, 1000U);
    EXPECT_EQ(s.streams[0].received, 0U);
    EXPECT_EQ(s.ports[0].rx_bytes, s.ports[0].rx_packets * 64);
}

class PcapSource : public testing::Test {
  protected:
    std::string write(const std::vector<Bytes>& frames) {
        const std::string path = directory_.file("in.pcap");
        spead::test::PcapWriter writer(path);
        for (const Bytes& f : frames)
            writer.record(f);
        return "net_pcap0,rx_pcap=" + path;
    }

    port::test::Directory directory_;
};

/// Checks that 9 KB packets are whole, in several segments of the PMD's buffers or in one.
TEST_F(PcapSource, DeliversEveryHeapOfAFile) {
    std::vector<Bytes> frames;
    std::size_t heaps = 0;
    for (std::uint64_t cnt = 1; cnt <= 60; cnt++, heaps++)
        for (const Bytes& f :
             MadeHeap{.cnt = cnt, .length = 20'000, .packet = cnt % 2 == 0 ? 8900U : 1000U}.frames())
            frames.push_back(f);
    const std::string device = write(frames);
    PortRig rig(device);
    rig.expect_remarks();
    rig.poll_until(frames.size());
    EXPECT_TRUE(rig.port().exhausted());
    EXPECT_FALSE(rig.poll());
    const std::vector<Taken> got = rig.take();
    ASSERT_EQ(got.size(), heaps);
    for (std::size_t i = 0; i < heaps; i++)
        ASSERT_TRUE(is_whole(got[i], {.cnt = i + 1, .length = 20'000}));
    EXPECT_EQ(rig.lane().counters[PacketOutcome::placed], frames.size());
}

TEST_F(PcapSource, DeliversBrokenPacketsToTheirCounters) {
    std::vector<Bytes> frames = MadeHeap{.cnt = 1}.frames();
    frames.push_back(Bytes(14));
    frames.push_back(frame(Bytes(30)));
    frames.push_back(frame(MadeHeap{.cnt = 2}.datagrams()[0], {.to = 0xE0000001}));
    Bytes cut = MadeHeap{.cnt = 1}.frames()[0];
    cut.resize(100);
    frames.push_back(cut);
    PortRig rig(write(frames));
    rig.expect_remarks();
    rig.poll_until(frames.size());
    EXPECT_EQ(rig.source().counters[PortOutcome::stream], 4U);
    EXPECT_EQ(rig.source().counters[PortOutcome::unmatched], 1U);
    EXPECT_EQ(rig.source().counters[PortOutcome::not_udp], 1U);
    EXPECT_EQ(rig.source().counters[PortOutcome::malformed], 1U);
    EXPECT_EQ(rig.lane().counters[PacketOutcome::malformed], 1U);
    EXPECT_EQ(rig.take().size(), 1U);
}

TEST_F(PcapSource, LosesNothingWhileItsConsumerBlocks) {
    std::vector<Bytes> frames;
    for (std::uint64_t cnt = 1; cnt <= 500; cnt++)
        frames.push_back(MadeHeap{.cnt = cnt, .length = 300, .packet = 300}.frames()[0]);
    LaneConfig config = lane_config("s0", one_group());
    config.window.on_full = heap::FullPolicy::block;
    config.queue_heaps = 4;
    PortRig rig(write(frames), config);
    rig.expect_remarks();
    std::uint64_t got = 0;
    for (int i = 0; i < 5000 && got < 500; i++) {
        rig.poll();
        if (i % 3 != 0)
            continue;
        for (const Taken& t : rig.take())
            ASSERT_TRUE(is_whole(t, {.cnt = ++got, .length = 300}));
    }
    EXPECT_EQ(got, 500U);
    EXPECT_EQ(rig.lane().counters.heaps_dropped_full, 0U);
}

}  // namespace
}  // namespace spead::recv::test
