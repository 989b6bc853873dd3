// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/eal/spead/chunk_rig.hpp"
#include "tests/support/scratch_directory.hpp"

/// Tests the ends of streams of files on one lcore, where packets of another one wait.
namespace spead::test {
namespace {

using namespace std::chrono_literals;

/// Has files of packets. Chunks of each are sent into its port, which writes them.
class FileRig {
  public:
    /// Writes one polarisation of the first chunks, or both.
    std::string file(const std::string& name, std::uint64_t chunks, int pol = -1) {
        const std::string path = directory_.file(name);
        const std::string port = "net_pcap" + std::to_string(next_++);
        ChunkSender sender(process, "239.1.2.3:7148", port + ",tx_pcap=" + path);
        for (std::uint64_t time = 0; time < chunks * kTimes; time++)
            for (const int p : {0, 1})
                if (pol == -1 || p == pol)
                    sender.send(time, static_cast<std::uint64_t>(p));
        return path;
    }
    /// Returns the receiver of a file. All are on one lcore.
    RecvConfig receiver(const std::string& path) {
        RecvConfig c = ring_config();
        c.interface = "net_pcap" + std::to_string(next_++) + ",rx_pcap=" + path;
        c.lcores = {cpu_of(1)};
        return c;
    }

    Process process{config()};

  private:
    const ScratchDirectory directory_;
    int next_ = 0;
};

/// Takes all chunks of the ring; returns their number.
std::uint64_t whole_chunks_of(ChunkRing& ring) {
    std::uint64_t taken = 0;
    for (const ChunkPtr& chunk : ring) {
        EXPECT_TRUE(chunk->complete());
        expect_right(*chunk);
        taken++;
    }
    return taken;
}

TEST(ChunkEnd, AStreamEndsWhilePacketsOfAnotherWaitOnItsLcore) {
    FileRig rig;
    const std::string longer = rig.file("longer.pcap", 8);
    const std::string shorter = rig.file("shorter.pcap", 2);
    ChunkRing first_ring(rig.process, 3);
    first_ring.add(placement(), 3);
    ChunkRing second_ring(rig.process, 3);
    second_ring.add(placement(), 3);
    const ChunkStream first(rig.process, rig.receiver(longer), placement(), first_ring, {.window = 2});
    while (first.stats().bytes < 3 * kHeaps * kHeap)
        std::this_thread::yield();
    const ChunkStream second(rig.process, rig.receiver(shorter), placement(), second_ring, {.window = 2});
    // The user looks at the second ring first: the source of the first one waits for free chunks meanwhile.
    EXPECT_EQ(whole_chunks_of(second_ring), 2U);
    EXPECT_EQ(whole_chunks_of(first_ring), 8U);
    for (const ChunkStream* const stream : {&first, &second}) {
        const ChunkStats s = stream->stats();
        expect_sums(s);
        EXPECT_EQ(s.packets_placed, s.packets) << "nothing is lost to a user who is slower than a file";
    }
}

/// Has a lossless group of two files, of which one ends long before the other.
struct GroupOfFiles : FileRig {
    ChunkRing ring{process, 6};
    ChunkStreamGroup group = make_group();
    ChunkStream first = group.add(receiver(file("longer.pcap", 8, 0)));
    ChunkStream second = group.add(receiver(file("shorter.pcap", 2, 1)));

    ChunkStreamGroup make_group() {
        ring.add(placement(), 6);
        return {process, placement(), ring, {.window = 2, .eviction = Eviction::lossless, .patience = 0s}};
    }
};

TEST(ChunkEnd, PacketsOfAGroupDoNotWaitForAStreamWhoseFileHasEnded) {
    GroupOfFiles rig;
    rig.group.start();
    std::int64_t next = 0;
    for (const ChunkPtr& chunk : rig.ring) {
        EXPECT_EQ(chunk->id, next);
        EXPECT_EQ(chunk->heaps_present, next < 2 ? kHeaps : kHeaps / 2);
        expect_right(*chunk);
        next++;
    }
    EXPECT_EQ(next, 8);
    const ChunkStats s = rig.first.stats();
    expect_sums(s);
    EXPECT_EQ(s.packets_placed, s.packets);
}

TEST(ChunkEnd, LeavesEndpointsToTheNextStream) {
    const Process process(config());
    std::vector<std::unique_ptr<ChunkRing>> rings;
    std::vector<std::unique_ptr<ChunkStream>> ended;
    for (int round = 0; round < 3; round++) {
        ChunkRing& ring = *rings.emplace_back(std::make_unique<ChunkRing>(process, 4));
        ring.add(placement(), 4);
        ended.push_back(std::make_unique<ChunkStream>(process, chunk_config(), placement(), ring));
        ChunkSender sender(process);
        sender.send_chunks(0, 2);
        sender.send_stop();
        EXPECT_EQ(whole_chunks_of(ring), 2U) << round;
    }
}

}  // namespace
}  // namespace spead::test
