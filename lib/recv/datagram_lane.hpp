// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "memory/arena.hpp"
#include "memory/untouched.hpp"
#include "recv/lane.hpp"
#include "recv/packet_filter.hpp"
#include "recv/rx_agent.hpp"
#include "recv/source.hpp"

namespace spead::recv {

/// Holds a UDP datagram that came without its headers.
struct Datagram {
    PacketWay way{};
    std::span<const std::uint8_t> payload{};  ///< at most wire::kMaxUdpPayload bytes
    /// Says that the wire::kNetHeader bytes before the payload may be overwritten. That is faster.
    bool has_headroom = false;
};

/// Receives one stream without EAL, on any thread, from bytes in memory.
///
/// It is the agent of an RX lcore with one source. It sees each packet through a descriptor (rte_mbuf) that
/// belongs to no pool. So outcomes and counters are the same as an lcore's.
///
/// One thread at a time may use it, but for the consumer side of queue(). Nothing here locks, waits or
/// throws, except for the constructor and receive().
class DatagramLane {
  public:
    /// Means all of the memory for heaps.
    static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
    /// Makes the lane with an arena of `memory` bytes for its heaps. The first `resident` of them are
    /// resident at once, and the others as heaps first use them. Throws Error.
    DatagramLane(const LaneConfig& config, std::size_t memory, std::size_t resident = kAll);
    ~DatagramLane();
    DatagramLane(const DatagramLane&) = delete;
    DatagramLane& operator=(const DatagramLane&) = delete;

    /// Puts the stream's packets into chunks from now on, before the first packet. `chunks` counts in lane().
    void fill(std::unique_ptr<chunk::ChunkLane> chunks) noexcept;

    /// Names an endpoint, and its index in the tables of the lane.
    struct Place {
        Endpoint endpoint;
        std::uint16_t number = 0;
    };
    /// Receives these endpoints from now on, instead of those before, in the order of their numbers. Live
    /// heaps go on. Between two takes; throws when there is no memory, and has changed nothing.
    void receive(std::span<const Place> places);

    /// Takes packets until one has to wait for the consumer (on_full = block). Returns the number of packets
    /// taken. The others are counted nowhere: offer them again. A filter sees the first of them again, too.
    /// `now`: ticks, which never decrease. The bytes may change after the return.
    ///
    /// Their headers count as right ones. A datagram takes the same way as a frame without tags and options.
    std::size_t take(std::span<const Datagram> datagrams, std::uint64_t now) noexcept;
    /// Does the same for whole Ethernet frames, without FCS. Their headers are checked, and the outcomes
    /// counted in counters(). Frames longer than kLongestFrame are cut to it, and count as malformed.
    std::size_t take_frames(std::span<const std::span<const std::uint8_t>> frames,
                            std::uint64_t now) noexcept;
    static constexpr std::size_t kLongestFrame = std::size_t{256} << 10;

    /// Hands ended heaps over when no packet came, and so continues after a blocked take().
    void idle(std::uint64_t now) noexcept { agent_.poll(now); }
    /// Says that no packets come for a while: other lanes need not wait for it. The next call of another
    /// function ends that.
    void rest() noexcept { agent_.rest(); }
    /// Handles timeouts, history and returned memory. Call it every few milliseconds.
    void housekeep(std::uint64_t now) noexcept { agent_.housekeep(now); }
    /// Ends all live heaps, and hands over as many as the queue takes. Returns whether all were handed over;
    /// else call it again, or give up with drop_rest().
    bool flush() noexcept { return agent_.flush(); }
    void drop_rest() noexcept { agent_.drop_rest(); }
    /// Returns whether a stop item has ended the stream.
    bool stopped() const noexcept {
        return lane_.window.stopped() || (lane_.chunks && lane_.chunks->stopped());
    }
    /// Returns whether the stream waits for its consumer.
    bool blocked() const noexcept { return agent_.blocked() || lane_.window.has_ended(); }

    heap::HeapQueue& queue() noexcept { return lane_.queue; }
    SpeadLane& lane() noexcept { return lane_; }
    const SpeadLane& lane() const noexcept { return lane_; }
    /// Returns the counts of a port's receive queue.
    const stats::RxCounters& counters() const noexcept { return source_.counters; }
    const Source& source() const noexcept { return source_; }

  private:
    struct Packets;

    std::size_t give(std::uint64_t now) noexcept;
    template <class Packet>
    std::size_t take_all(std::span<const Packet> packets, std::uint64_t now) noexcept;

    memory::Untouched untouched_;
    memory::Arena arena_;
    SpeadLane lane_;
    Source source_;
    RxAgent agent_;
    std::unique_ptr<Packets> packets_;
};

/// Writes the headers of a datagram with `length` bytes of payload that went this way, and returns their
/// length: kNetHeader or kNetHeader6, by the destination. For a source of the other family sender_key() or a
/// translated address (64:ff9b::/96) stands.
std::size_t write_way(std::uint8_t* out, const PacketWay& way, std::size_t length) noexcept;

}  // namespace spead::recv
