// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/byte_order.hpp"
#include "send/heap_layout.hpp"
#include "wire/flavour.hpp"
#include "wire/spead.hpp"

namespace spead::send {

/// Walks a heap's layout packet by packet. Allocates nothing, reads no payload; resumable at any packet.
///
///     while (!p.done()) {
///         const Packetiser::Packet packet = p.next();
///         p.write_header(packet, out);
///         p.for_each_piece(packet, ...);
///         p.advance(packet);
///     }
///
/// The layout must outlive the walk and stay as it is.
class Packetiser {
  public:
    /// Describes one packet. header_length + payload_length is the UDP payload, at most the layout's packet
    /// size.
    struct Packet {
        std::uint64_t offset = 0;  ///< of its payload in the heap
        std::uint32_t payload_length = 0;
        std::uint32_t header_length = 0;  ///< SPEAD header and all item pointers
        std::uint32_t first_pointer = 0;  ///< into the layout's pointers
        std::uint32_t pointers = 0;

        bool operator==(const Packet&) const = default;
    };

    /// Describes the next packets that are similar: equal lengths, equal pointers, payload in one piece, one
    /// after the other in memory. Only the heap offset differs.
    struct Run {
        const std::byte* data = nullptr;  ///< payload of the first one
        std::uint64_t packets = 0;        ///< 0: the next packet has no similar ones
        PieceKind kind = PieceKind::unregistered;
    };

    Packetiser() = default;

    /// Starts a heap; `cnt` fits the layout's flavour.
    void start(const HeapLayout& layout, std::uint64_t cnt) noexcept {
        layout_ = &layout;
        offset_ = piece_offset_ = 0;
        pointer_ = 0;
        piece_ = layout.pieces.data();
        cnt_ = cnt;
        const std::uint32_t repeated =
            layout.repeat_pointers ? static_cast<std::uint32_t>(layout.pointers.size()) : 0;
        run_pointers_ = repeated;
        run_payload_ = layout.packet_size - kPacketPrefix - 8 * repeated;
        find_run();
    }

    bool done() const noexcept { return offset_ == layout_->payload_length; }

    /// Returns the next packet; not to be called when done.
    Packet next() const noexcept {
        Packet p;
        p.offset = offset_;
        p.first_pointer = pointer_;
        p.pointers = run_pointers_;
        if (!layout_->repeat_pointers)
            p.pointers = std::min(layout_->max_pointers,
                                  static_cast<std::uint32_t>(layout_->pointers.size()) - pointer_);
        p.header_length = kPacketPrefix + 8 * p.pointers;
        p.payload_length = static_cast<std::uint32_t>(std::min<std::uint64_t>(
            layout_->packet_size - p.header_length, layout_->payload_length - offset_));
        return p;
    }

    /// Moves past `packet`, which next() returned.
    void advance(const Packet& packet) noexcept {
        offset_ += packet.payload_length;
        if (!layout_->repeat_pointers)
            pointer_ += packet.pointers;
        std::uint64_t rest = packet.payload_length;
        while (rest != 0 && rest >= piece_->length - piece_offset_) {
            rest -= piece_->length - piece_offset_;
            piece_offset_ = 0;
            ++piece_;
        }
        piece_offset_ += rest;
        find_run();
    }

    /// Writes packet.header_length bytes to `out`.
    void write_header(const Packet& packet, std::uint8_t* out) const noexcept {
        write_prefix(layout_->flavour, packet.pointers, packet.payload_length, out);
        store_be64(out + kCntAt, layout_->flavour.make_immediate(wire::item::kHeapCnt, cnt_));
        store_be64(out + kLengthAt,
                   layout_->flavour.make_immediate(wire::item::kHeapLength, layout_->payload_length));
        store_be64(out + kOffsetAt,
                   layout_->flavour.make_immediate(wire::item::kPayloadOffset, packet.offset));
        write_pointers(*layout_, packet.first_pointer, packet.pointers, out);
    }

    /// Writes the first kPacketPrefix bytes of a packet, with 0 in HEAP_CNT, HEAP_LENGTH and PAYLOAD_OFFSET.
    static void write_prefix(wire::Flavour f, std::uint32_t pointers, std::uint32_t payload,
                             std::uint8_t* out) noexcept {
        out[0] = wire::kSpeadMagic;
        out[1] = wire::kSpeadVersion;
        out[2] = static_cast<std::uint8_t>(8 - f.address_bytes());
        out[3] = static_cast<std::uint8_t>(f.address_bytes());
        store_be16(out + 4, 0);
        store_be16(out + 6, static_cast<std::uint16_t>(kSpecials + pointers));
        store_be64(out + kCntAt, f.make_immediate(wire::item::kHeapCnt, 0));
        store_be64(out + kLengthAt, f.make_immediate(wire::item::kHeapLength, 0));
        store_be64(out + kOffsetAt, f.make_immediate(wire::item::kPayloadOffset, 0));
        store_be64(out + kPayloadAt, f.make_immediate(wire::item::kPayloadLength, payload));
    }
    /// Writes item pointers behind the prefix at `out`.
    static void write_pointers(const HeapLayout& layout, std::uint32_t first, std::uint32_t pointers,
                               std::uint8_t* out) noexcept {
        if (pointers == 1) [[likely]]  // worth a case: it saves a call
            std::memcpy(out + kPacketPrefix, layout.pointers.data() + first, wire::kItemPointer);
        else if (pointers != 0)
            std::memcpy(out + kPacketPrefix, layout.pointers.data() + first,
                        std::size_t{pointers} * wire::kItemPointer);
    }

    /// Calls f(const std::byte* data, std::uint32_t length, PieceKind kind) for the payload of `packet`, in
    /// order.
    template <typename F>
    void for_each_piece(const Packet& packet, F&& f) const {
        const Piece* piece = piece_;
        std::uint64_t at = piece_offset_;
        for (std::uint64_t rest = packet.payload_length; rest != 0; ++piece, at = 0) {
            const std::uint64_t part = std::min(rest, piece->length - at);
            f(piece->data + at, static_cast<std::uint32_t>(part), piece->kind);
            rest -= part;
        }
    }

    /// Returns the payload of `packet` if it is in one piece, else a piece without data.
    Piece only_piece(const Packet& packet) const noexcept {
        if (piece_->length - piece_offset_ < packet.payload_length)
            return {};
        return {piece_->data + piece_offset_, packet.payload_length, piece_->kind};
    }
    /// Returns whether `packet`, which next() returned, is the heap's last one.
    bool is_last(const Packet& packet) const noexcept {
        return packet.offset + packet.payload_length == layout_->payload_length;
    }

    const Run& run() const noexcept { return run_; }
    std::uint32_t run_payload() const noexcept { return run_payload_; }
    std::uint32_t run_header() const noexcept { return kPacketPrefix + 8 * run_pointers_; }
    /// Returns PAYLOAD_OFFSET of the run's first packet, in network order; each following one is
    /// run_payload() further.
    std::uint64_t offset() const noexcept { return offset_; }

    /// Moves past the first `packets` of the run.
    void advance_run(std::uint64_t packets) noexcept {
        const std::uint64_t bytes = packets * run_payload_;
        offset_ += bytes;
        piece_offset_ += bytes;
        run_.data += bytes;
        run_.packets -= packets;
        if (run_.packets == 0) {
            if (piece_offset_ == piece_->length) {
                piece_offset_ = 0;
                ++piece_;
            }
            find_run();
        }
    }

    /// Holds the places of HEAP_CNT, HEAP_LENGTH, PAYLOAD_OFFSET and PAYLOAD_LENGTH from a packet's first
    /// byte.
    static constexpr std::size_t kCntAt = 8, kLengthAt = 16, kOffsetAt = 24, kPayloadAt = 32;

    std::uint32_t run_pointers() const noexcept { return run_pointers_; }
    const HeapLayout& layout() const noexcept { return *layout_; }
    std::uint64_t cnt() const noexcept { return cnt_; }

  private:
    void find_run() noexcept {
        run_.packets = 0;
        if (done() || (!layout_->repeat_pointers && pointer_ != layout_->pointers.size()))
            return;
        const std::uint64_t rest = piece_->length - piece_offset_;
        if (rest < run_payload_)  // usual at the end of a heap; saves a division
            return;
        run_.packets = rest / run_payload_;
        run_.data = piece_->data + piece_offset_;
        run_.kind = piece_->kind;
    }

    const HeapLayout* layout_ = nullptr;
    std::uint64_t offset_ = 0;      ///< payload bytes of earlier packets
    const Piece* piece_ = nullptr;  ///< the piece at offset_
    std::uint64_t piece_offset_ = 0;
    Run run_;
    std::uint32_t pointer_ = 0;  ///< pointers of earlier packets; stays 0 when they are repeated
    std::uint32_t run_payload_ =
        0;  // between two that would else be loaded at once, soon after one was stored
    std::uint32_t run_pointers_ = 0;
    std::uint64_t cnt_ = 0;
};

}  // namespace spead::send
