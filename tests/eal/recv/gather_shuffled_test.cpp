// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "base/verify_sequence.hpp"
#include "tests/eal/recv/gather_sending.hpp"
#include "tests/eal/recv/splitter.hpp"
#include "tests/support/sanitized.hpp"
#include "wire/net.hpp"

/// Tests that shuffled and lost packets end in the right bytes of their heaps, whichever memory an engine
/// takes them from.
namespace spead::recv::test {
namespace {

/// Makes the packets of heaps whose payload is the verification sequence of their counts.
struct SequenceHeap {
    std::uint64_t cnt = 0;
    std::size_t length = 0;

    Bytes frame_of(std::size_t at, std::size_t n) const {
        wire::test::Packet p;
        p.payload.resize(n);
        verify_generate(std::as_writable_bytes(std::span(p.payload)), first(), at);
        p.specials(cnt, length, at);
        return frame(p.build());
    }
    std::uint64_t first() const { return cnt * 7919; }
};

std::uint64_t packets_to_send() {
    const char* const asked = std::getenv("DPDK_SPEAD_GATHER_PACKETS");
    return asked != nullptr ? std::strtoull(asked, nullptr, 10) : spead::test::cases(100'000);
}

/// Compares every byte that arrived. Returns the number of wrong ones.
std::uint64_t wrong_bytes(const Taken& t, std::uint64_t& compared) {
    const SequenceHeap made{t.cnt, 0};
    std::vector<heap::Range> holes = t.missing;
    holes.push_back({static_cast<std::uint32_t>(t.payload.size()), 0});
    std::uint64_t wrong = 0;
    std::size_t at = 0;
    for (const heap::Range& hole : holes) {
        const auto bytes = std::as_bytes(std::span(t.payload)).subspan(at, hole.begin - at);
        wrong += verify_check(bytes, made.first(), at) != bytes.size();
        compared += bytes.size();
        at = hole.end;
    }
    return wrong;
}

/// Sends shuffled packets of heaps and loses some, each with send(frame, random) of `sending`, and compares
/// every byte that arrives.
template <typename AnySending, typename Send>
void shuffle(GatherRig& rig, AnySending& sending, const Send& send) {
    rig.engine->faults().delay_us = 200;
    std::mt19937_64 random(1);
    std::vector<Taken> heaps;
    rig.keep = &heaps;
    std::uint64_t wrong = 0;
    std::uint64_t compared = 0;
    std::uint64_t complete = 0;
    std::uint64_t incomplete = 0;
    const auto look = [&] {
        for (Taken& t : rig.take())
            heaps.push_back(std::move(t));
        for (const Taken& t : heaps) {
            wrong += wrong_bytes(t, compared);
            (t.complete ? complete : incomplete)++;
        }
        heaps.clear();
    };
    struct Piece {
        SequenceHeap heap;
        std::size_t at;
        std::size_t length;
    };
    std::vector<Piece> mixing;
    std::uint64_t cnt = 0;
    const std::uint64_t packets = packets_to_send();
    std::uint64_t lost = 0;
    while (sending.sent < packets) {
        const SequenceHeap h{++cnt, 1 + random() % 60'000};
        const std::size_t packet = 100 + random() % 1400;
        for (std::size_t at = 0; at < h.length; at += packet)
            mixing.push_back({h, at, std::min(packet, h.length - at)});
        while (mixing.size() > 80) {
            const std::size_t i = random() % 60;
            const Piece p = mixing[i];
            mixing[i] = mixing.front();
            mixing.erase(mixing.begin());
            if (random() % 400 == 0) {
                lost++;
                continue;
            }
            const Bytes f = p.heap.frame_of(p.at, p.length);
            while (!sending.has(16)) {
                rig.poll();
                std::this_thread::yield();
            }
            ASSERT_NO_FATAL_FAILURE(send(f, random));
            if (sending.sent % 64 == 0) {
                rig.ticks = random() % 8 == 0 ? 1'000'000 : 1000;
                rig.poll();
                look();
            }
        }
    }
    rig.poll_until(sending.sent);
    rig.end();
    look();
    const stats::StreamSnapshot s = rig.picture().streams[0];
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(compared, s.bytes) << "every byte that was placed is in a heap";
    EXPECT_EQ(s.received, sending.sent);
    EXPECT_EQ(rig.count(PacketOutcome::placed) + rig.count(PacketOutcome::late), sending.sent);
    EXPECT_EQ(s.heaps_delivered, complete + incomplete);
    EXPECT_EQ(s.heaps_started, s.heaps_delivered);
    EXPECT_GT(complete, packets / 400);
    EXPECT_GT(incomplete, lost / 10);
    EXPECT_GT(rig.engine->moved(), packets / 256);
}

TEST(Gather, ShuffledAndLostPacketsOfAnyShapeEndInTheRightBytes) {
    GatherRig rig(8);
    Sending sending(rig);
    shuffle(rig, sending, [&](const Bytes& frame, std::mt19937_64& random) {
        std::vector<std::size_t> segments;
        if (random() % 4 == 0)
            for (std::size_t n = random() % 6; n != 0; n--)
                segments.push_back(random() % (frame.size() / 2));
        sending.send(frame, segments);
    });
    EXPECT_TRUE(sending.pool().full());
}

/// Tests payload that the CPU may touch neither in packets nor in heaps.
TEST(GatherSplit, ShuffledAndLostPacketsEndInTheRightBytes) {
    GatherRig rig(8);
    Splitter sending(rig);
    shuffle(rig, sending, [&](const Bytes& frame, std::mt19937_64& random) {
        sending.send(frame, wire::kMaxNetHeader + random() % 200);
    });
    EXPECT_GT(rig.source.counters.multi_segment, 0U);
    EXPECT_TRUE(sending.full());
}

/// Tests the same behind a port that cuts all of its packets at one place.
TEST(GatherSplit, ShuffledAndLostPacketsOfASplitPortEndInTheRightBytes) {
    GatherRig rig(8, GatherRig::with_records(lane_config("s0", one_group())), 138);
    Sending sending(rig);
    shuffle(rig, sending, [&](const Bytes& frame, std::mt19937_64& random) {
        std::vector<std::size_t> segments;
        if (random() % 4 == 0)
            segments.push_back(random() % frame.size());
        sending.send(frame, segments);
    });
    EXPECT_GT(rig.source.counters.multi_segment, 0U);
    EXPECT_EQ(rig.count(PacketOutcome::header_in_device), 0U);
    EXPECT_TRUE(sending.pool().full());
}

}  // namespace
}  // namespace spead::recv::test
