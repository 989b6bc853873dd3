// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recv/packet_reader.hpp"
#include "stats/snapshot.hpp"
#include "tests/unit/recv/datagram.hpp"

/// Makes lanes without EAL for tests, in a process that never starts EAL.
namespace spead::recv::test {

inline LaneConfig local_config() {
    LaneConfig c;
    c.name = "s0";
    c.endpoints = {{{Way{}.to}, Way{}.port, {}}};
    c.window.max_heap_bytes = 64 * 1024;
    c.window.history_ticks = 1'000'000'000;
    return c;
}

inline const PacketWay kLocalWay{{Way{}.from}, {Way{}.to}, Way{}.from_port, Way{}.port};

/// Returns the datagrams of heaps 1 to `heaps`.
inline std::vector<Bytes> many_datagrams(std::uint64_t heaps, std::size_t length = 1000) {
    std::vector<Bytes> all;
    for (std::uint64_t cnt = 1; cnt <= heaps; cnt++)
        for (const Bytes& d : MadeHeap{.cnt = cnt, .length = length}.datagrams())
            all.push_back(d);
    return all;
}

/// Receives what a reader has, until its end or until it has nothing at present. Checks at every step that
/// each packet is in one counter.
class FedLane {
  public:
    explicit FedLane(const LaneConfig& config = local_config(), std::size_t memory = std::size_t{2} << 20)
        : lane(config, memory) {}
    ~FedLane() {
        finish();
        lane.drop_rest();
        take_heaps();
        lane.housekeep(++now);
        EXPECT_EQ(lane.lane().window.records_out(), 0U);
    }
    FedLane(const FedLane&) = delete;
    FedLane& operator=(const FedLane&) = delete;

    /// Feeds until there is nothing or the end, whichever is returned. Takes heaps meanwhile.
    PacketReader::Fed feed(PacketReader& reader) {
        for (int i = 0; i < 100'000; i++) {
            const PacketReader::Fed fed = reader.feed(lane, ++now);
            blocked += fed == PacketReader::Fed::blocked;
            take_heaps();
            if (fed == PacketReader::Fed::nothing || fed == PacketReader::Fed::end)
                return fed;
        }
        ADD_FAILURE() << "the reader has no end";
        return PacketReader::Fed::end;
    }
    /// Feeds until so many packets have come, with a limit.
    void feed_until(PacketReader& reader, std::uint64_t packets) {
        for (int i = 0; i < 2000 && received() < packets; i++) {
            if (feed(reader) == PacketReader::Fed::end)
                break;
            reader.wait(std::chrono::milliseconds(10));
        }
        EXPECT_EQ(received(), packets);
    }
    /// Ends the live heaps, and takes all.
    void finish() {
        for (int i = 0; i < 1000 && !lane.flush(); i++)
            take_heaps();
        take_heaps();
    }
    std::uint64_t received() const { return picture().ports[0].rx_packets; }
    std::uint64_t packets(PacketOutcome o) const { return lane.lane().counters[o]; }
    std::uint64_t packets(PortOutcome o) const { return lane.counters()[o]; }

    stats::Snapshot picture() const {
        stats::Snapshot s;
        s.streams.emplace_back().name = "s0";
        s.streams.back().add(lane.lane().counters, lane.lane().queue.taken());
        s.ports.emplace_back().name = "p0";
        s.ports.back().add(lane.counters());
        return s;
    }

    void take_heaps() {
        lane.idle(++now);
        while (const heap::HeapHandle h = lane.queue().try_pop()) {
            heaps.push_back(h.cnt());
            bool right = h.complete();
            for (std::size_t i = 0; right && i < h.payload().size(); i++)
                right = std::to_integer<std::uint8_t>(h.payload()[i]) == heap::test::pattern(h.cnt(), i);
            whole += right;
        }
        for (const std::string& broken : stats::broken_identities(picture()))
            ADD_FAILURE() << broken;
    }

    DatagramLane lane;
    std::uint64_t now = 1;
    std::vector<std::uint64_t> heaps;  ///< counts, in order of arrival
    std::uint64_t whole = 0;           ///< of them, complete with the content of MadeHeap
    int blocked = 0;                   ///< times that the lane waited for its consumer
};

}  // namespace spead::recv::test
