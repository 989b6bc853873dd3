// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "send/header_template.hpp"
#include "send/in_flight.hpp"
#include "send/pools.hpp"

namespace spead::send {

/// Holds free mbufs of one pool, fetched in bulk for one burst.
class MbufStash {
  public:
    explicit MbufStash(rte_mempool* pool) noexcept : pool_(pool) {}
    MbufStash(const MbufStash&) = delete;
    MbufStash& operator=(const MbufStash&) = delete;

    /// Ensures `n` <= kBurst mbufs, fetching up to `wanted` <= kBurst when any are missing. Returns false
    /// when there are too few.
    bool ensure(std::uint32_t n, std::uint32_t wanted) noexcept {
        return n_ >= n || fetch(n, std::max(n, wanted));
    }
    /// Takes the last `n` of them; valid until the next ensure.
    rte_mbuf** take(std::uint32_t n) noexcept { return &at_[n_ -= n]; }
    rte_mbuf* take() noexcept { return at_[--n_]; }
    void give_back() noexcept {
        if (n_ != 0) {
            rte_mempool_put_bulk(pool_, reinterpret_cast<void**>(at_.data()), n_);
            n_ = 0;
        }
    }

  private:
    bool fetch(std::uint32_t n, std::uint32_t wanted) noexcept;

    rte_mempool* pool_;
    std::uint32_t n_ = 0;
    std::array<rte_mbuf*, kBurst> at_{};
};

/// Turns packets into chains of mbufs. Belongs to the lcore; knows nothing of queues, order or pace.
class FrameBuilder {
  public:
    /// Holds the options of a sender's packets; fixed for its life.
    struct Options {
        bool external = false;  ///< payload may be sent without a copy
        bool always = false;    ///< even when a copy is cheaper
        UdpChecksum checksum = UdpChecksum::none;
        std::uint32_t l2_length = 14;  ///< bytes before the IP header
        bool ipv6 = false;
        std::uint64_t device_flags = 0;  ///< mbuf flags of packets with memory of a GPU
    };

    /// Limits the segments of a packet: headers and three pieces of payload. A packet of more pieces is
    /// copied.
    static constexpr std::uint32_t kMaxSegments = 4;
    static constexpr std::uint32_t kMaxPieces = kMaxSegments - 1;
    /// Limits the payload that is copied because that is cheaper than a second mbuf.
    static constexpr std::uint32_t kCheapCopy = 128;

    /// Holds the result of building a packet.
    struct Result {
        rte_mbuf* frame = nullptr;  ///< null: no mbuf or no reference, try again later
        std::uint32_t bytes = 0;    ///< of the frame
        bool external = false;
        bool unregistered = false;  ///< it was copied because its memory is unregistered
    };

    FrameBuilder(const Pools& pools, const Options& options) noexcept;

    /// Returns whether packets of the slot's run can be made by a run function.
    bool has_run(const Slot& slot) const noexcept {
        return slot.packets.run().packets != 0 && options_.checksum != UdpChecksum::software &&
               PacketStamp::fits(*slot.destination, slot.packets.run_pointers());
    }
    /// Returns whether payload of that kind and length should be sent without a copy, if enough packets
    /// follow.
    bool wants_external(PieceKind kind, std::uint32_t payload) const noexcept {
        return kind == PieceKind::device ||
               (kind == PieceKind::registered && options_.external && payload > cheap_copy_);
    }

    /// Makes the next `n` <= min(kBurst, run) packets of the slot's run: headers and one external segment
    /// each; the next function: all in one. `wanted` is how many packets the burst still has room for.
    /// Returns false when there are no mbufs or references for all. Does not advance the slot.
    bool external_run(Slot& slot, std::uint32_t n, std::uint32_t wanted, rte_mbuf** frames) noexcept;
    bool copied_run(Slot& slot, std::uint32_t n, std::uint32_t wanted, rte_mbuf** frames) noexcept;

    /// Returns whether the slot's heap is one packet that whole() makes. Of the slot, only entry and
    /// destination are read.
    bool is_whole(const Slot& slot) const noexcept {
        const HeapLayout& layout = *slot.entry.layout;
        return layout.only.data != nullptr && options_.checksum != UdpChecksum::software &&
               PacketStamp::fits(*slot.destination, static_cast<std::uint32_t>(layout.pointers.size()));
    }
    /// Makes that packet, as single() would.
    Result whole(Slot& slot, bool may_external, std::uint32_t wanted) noexcept;

    /// Makes `packet`, which is the slot's next one. `may_external`: enough packets follow it for the driver
    /// to release its memory. Does not advance the slot.
    Result single(Slot& slot, const Packetiser::Packet& packet, bool may_external,
                  std::uint32_t wanted) noexcept;

    /// Returns unused mbufs to the pools.
    void end_burst() noexcept {
        headers_.give_back();
        externals_.give_back();
        copies_.give_back();
    }

  private:
    struct Pieces {
        std::array<Piece, kMaxPieces> at;
        std::uint32_t n = 0;  ///< may exceed the number kept
        bool all_in_regions = true;
        bool device = false;
        bool unregistered = false;
    };

    static Pieces pieces_of(const Slot& slot, const Packetiser::Packet& packet) noexcept;
    Result any_pieces(Slot& slot, const Packetiser::Packet& packet, bool may_external,
                      std::uint32_t wanted) noexcept;
    Result copy(Slot& slot, const Packetiser::Packet& packet, const Piece& only,
                std::uint32_t wanted) noexcept;
    Result attach_one(Slot& slot, const Packetiser::Packet& packet, const Piece& only,
                      std::uint32_t wanted) noexcept;
    Result chain(Slot& slot, const Packetiser::Packet& packet, const Pieces& pieces,
                 std::uint32_t wanted) noexcept;
    /// Returns the mbuf flags that a packet with a piece of that kind has besides.
    std::uint64_t flags_of(PieceKind kind) const noexcept {
        return kind == PieceKind::device ? options_.device_flags : 0;
    }
    rte_mbuf* make_head(Slot& slot, const Packetiser::Packet& packet, std::uint32_t wanted) noexcept;
    static void write_headers(Slot& slot, const Packetiser::Packet& packet, std::uint8_t* out) noexcept;
    void first_segment(rte_mbuf& m, std::uint32_t length, std::uint32_t total,
                       std::uint32_t segments) const noexcept;
    static std::uint8_t* data(rte_mbuf& m) noexcept {
        return static_cast<std::uint8_t*>(m.buf_addr) + RTE_PKTMBUF_HEADROOM;
    }

    MbufStash headers_, externals_, copies_;
    Options options_;
    std::uint32_t cheap_copy_;
    std::uint64_t tx_flags_ = 0;
    std::uint64_t tx_offload_ = 0;
};

}  // namespace spead::send
