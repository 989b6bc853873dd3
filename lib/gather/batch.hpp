// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// Moves payload into heaps by an engine, in place of copies by the RX lcore.
namespace spead::gather {

/// Describes contiguous bytes that an engine moves. Also read by code of a device, so its layout is fixed.
struct Piece {
    const std::byte* from;   ///< in a packet; the address that the CPU has for it
    std::byte* to;           ///< in a heap, whose memory the CPU may not be able to touch
    std::uint32_t length;    ///< bytes, at least 1
    std::uint32_t reserved;  ///< 0
};
static_assert(sizeof(Piece) == 24);

/// Holds the pieces of some packets, which are moved together, and keeps these packets until then.
///
/// Pieces of a batch never overlap each other in their heaps, so they may be moved in any order. The lcore
/// owns a batch while it is open, and after it is done. In between, the engine may read `pieces`, and nobody
/// writes it. Batches lie in whole pages of their own, so that an engine can register them for a device.
struct alignas(4096) Batch {
    static constexpr std::uint32_t kMaxPackets = 256;
    static constexpr std::uint32_t kMaxPieces = 512;  ///< packets may consist of several segments

    std::uint64_t number = 0;  ///< its ticket: 1 and up, one more than that of the batch before
    std::uint32_t piece_count = 0;
    std::uint32_t packet_count = 0;
    std::uint64_t bytes = 0;   ///< of all pieces
    std::uint64_t opened = 0;  ///< ticks, at its first packet
    std::array<Piece, kMaxPieces> pieces;
    // The lcore's own.
    std::array<void*, kMaxPackets> packets;  ///< mbufs, to free when the batch is done
    std::uint32_t mbufs = 0;                 ///< of these, with all their segments
    void* pool = nullptr;                    ///< of all of them; null: of others, or unknown

    bool empty() const noexcept { return packet_count == 0; }
    std::uint32_t pieces_left() const noexcept { return kMaxPieces - piece_count; }
    std::uint32_t packets_left() const noexcept { return kMaxPackets - packet_count; }

    /// Adds a piece; there is room.
    void add(const void* from, std::byte* to, std::uint32_t length) noexcept {
        pieces[piece_count++] = {static_cast<const std::byte*>(from), to, length, 0};
        bytes += length;
    }
    /// Keeps a packet, whose pieces have been added; there is room.
    void keep(void* packet) noexcept { packets[packet_count++] = packet; }
    void clear() noexcept {
        piece_count = packet_count = mbufs = 0;
        bytes = 0;
    }
};

}  // namespace spead::gather
