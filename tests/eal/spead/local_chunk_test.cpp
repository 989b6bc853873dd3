// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "spead/chunk.hpp"
#include "spead/readers.hpp"
#include "tests/eal/spead/recv_rig.hpp"
#include "tests/support/pcap_writer.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/recv/datagram.hpp"

/// Compares streams of chunks with and without EAL.
namespace spead::test {
namespace {

using recv::test::Bytes;
using recv::test::MadeHeap;
using recv::test::Random;

constexpr std::uint64_t kSenders = 4;
constexpr std::uint64_t kLocalTimes = 8;
constexpr std::uint64_t kLocalStep = 4096;

/// Makes a capture in which much is wrong.
class BadCapture {
  public:
    BadCapture(unsigned seed, bool tracked) : random_(seed), tracked_(tracked) {
        for (std::uint64_t time = 0; time < 30 * kLocalTimes; time++)
            for (std::uint64_t sender = 0; sender < kSenders; sender++)
                add_heap(time, sender);
        // Reordering, with some packets far behind.
        for (std::size_t i = 0; i + 1 < frames_.size(); i++)
            if (below(8) == 0)
                std::swap(frames_[i],
                          frames_[std::min(frames_.size() - 1, i + below(below(20) == 0 ? 400 : 12))]);
    }

    void write(const std::string& path) const {
        PcapWriter writer(path);
        for (const Bytes& frame : frames_)
            writer.record(frame);
    }

  private:
    std::uint64_t below(std::uint64_t n) { return random_() % n; }

    void add_heap(std::uint64_t time, std::uint64_t sender) {
        MadeHeap heap{.cnt = time * kSenders + sender, .length = 4000, .packet = 1000};
        if (below(50) == 0)
            heap.length -= 1 + below(heap.length - 1);
        std::uint64_t stamp = time * kLocalStep;
        if (below(40) == 0)
            stamp += below(3) == 0 ? 1 : std::uint64_t{random_()} << below(16);
        heap.items = {heap.flavour.make_immediate(0x1600, stamp & 0xFFFFFFFFFFFF),
                      heap.flavour.make_immediate(0x4101, below(60) == 0 ? 4 + below(99) : sender),
                      heap.flavour.make_immediate(0x3102, heap.cnt)};
        if (below(60) == 0)
            heap.items.pop_back();
        for (std::size_t at = 0; at < heap.length; at += heap.packet) {
            if (below(25) == 0)
                continue;
            const std::size_t n = std::min(heap.packet, heap.length - at);
            Bytes datagram = heap.datagram(at, n, at == 0 || !tracked_);
            if (below(200) == 0)
                datagram[below(datagram.size())] ^= static_cast<std::uint8_t>(1 + below(255));
            for (std::uint64_t times = below(30) == 0 ? 2 : 1; times > 0; times--)
                frames_.push_back(recv::test::frame(datagram));
        }
    }

    Random random_;
    bool tracked_;
    std::vector<Bytes> frames_;
};

/// Holds all that a user sees of a chunk, apart from times.
struct Seen {
    std::int64_t id = 0;
    std::vector<std::byte> data, extra;
    std::vector<std::uint8_t> present;
    std::array<std::uint64_t, 4> counts{};

    explicit Seen(const Chunk& c)
        : id(c.id),
          data(c.data.begin(), c.data.end()),
          extra(c.extra.begin(), c.extra.end()),
          present(c.present.begin(), c.present.end()),
          counts{c.heaps_present, c.heaps_expected, c.packets, c.doubled} {}
    bool operator==(const Seen&) const = default;
};

struct Result {
    std::vector<Seen> chunks;
    ChunkStats stats;
};

/// Takes all chunks. What no packet wrote is zero in each.
std::vector<Seen> take_all(ChunkRing& ring) {
    std::vector<Seen> all;
    for (const ChunkPtr& chunk : ring) {
        all.emplace_back(*chunk);
        std::fill(chunk->data.begin(), chunk->data.end(), std::byte{0});
        std::fill(chunk->extra.begin(), chunk->extra.end(), std::byte{0});
    }
    return all;
}

constexpr std::size_t kStats = sizeof(ChunkStats) / sizeof(std::uint64_t);
/// Returns the counts that both ways have.
std::array<std::uint64_t, kStats> numbers(ChunkStats s) {
    static_assert(kStats * sizeof(std::uint64_t) == sizeof s, "all are counts");
    s.bursts = s.largest_burst = s.blocked = 0;
    std::array<std::uint64_t, kStats> n{};
    std::memcpy(n.data(), &s, sizeof s);
    return n;
}

Placement placement_of(bool tracked) {
    Placement p(4000);
    p.axis("sender", item(0x4101), kSenders)
        .time(item(0x1600) / kLocalStep, kLocalTimes)
        .extra<std::uint16_t>(item(0x3102));
    tracked ? p.tracked() : p.direct();
    return p;
}

class WithAndWithoutEal : public testing::TestWithParam<std::tuple<unsigned, bool>> {};

TEST_P(WithAndWithoutEal, MakesTheSameChunksAndCounts) {
    const auto [seed, tracked] = GetParam();
    const spead::test::ScratchDirectory directory;
    const std::string path = directory.file("bad.pcap");
    BadCapture(seed, tracked).write(path);
    const Placement placement = placement_of(tracked);
    RecvConfig c = ring_config();
    c.interface = "net_pcap0,rx_pcap=" + path;
    c.max_heaps = 64;
    const ChunkConfig chunks{.window = 1 + seed % 3};

    const auto with = [&] {
        const Process process(config());
        ChunkRing ring(process, 6);
        ring.add(placement, 6);
        const ChunkStream stream(process, c, placement, ring, chunks);
        std::vector<Seen> all = take_all(ring);
        return Result{std::move(all), stream.stats()};
    };
    const auto without = [&] {
        ChunkRing ring(6);
        ring.add(placement, 6);
        const ChunkStream stream(c, Reader::pcap(path), placement, ring, chunks);
        std::vector<Seen> all = take_all(ring);
        return Result{std::move(all), stream.stats()};
    };
    const Result one = with();
    const Result other = without();
    ASSERT_EQ(one.chunks.size(), other.chunks.size());
    for (std::size_t i = 0; i < one.chunks.size(); i++) {
        EXPECT_EQ(one.chunks[i].id, other.chunks[i].id);
        EXPECT_EQ(one.chunks[i].counts, other.chunks[i].counts) << "chunk " << one.chunks[i].id;
        EXPECT_EQ(one.chunks[i].present, other.chunks[i].present) << "chunk " << one.chunks[i].id;
        EXPECT_TRUE(one.chunks[i] == other.chunks[i]) << "bytes of chunk " << one.chunks[i].id;
    }
    EXPECT_EQ(numbers(one.stats), numbers(other.stats));
    // The capture has all that it should have.
    const ChunkStats& s = other.stats;
    EXPECT_GT(s.packets_placed, 1000U);
    EXPECT_GT(s.packets_duplicate, 0U);
    EXPECT_GT(s.packets_late, 0U);
    EXPECT_GT(s.packets_future, 0U);
    EXPECT_GT(s.packets_rejected, 0U);
    EXPECT_EQ(s.packets_no_chunk, 0U);
    EXPECT_GE(s.chunks_taken, 15U);
    EXPECT_LT(s.heaps_present, s.heaps_expected);
    EXPECT_EQ(s.packets, s.packets_placed + s.packets_duplicate + s.packets_late + s.packets_future +
                             s.packets_no_chunk + s.packets_no_memory + s.packets_rejected);
}

INSTANTIATE_TEST_SUITE_P(Captures, WithAndWithoutEal,
                         testing::Combine(testing::Values(1U, 2U, 3U, 4U), testing::Bool()));

}  // namespace
}  // namespace spead::test
