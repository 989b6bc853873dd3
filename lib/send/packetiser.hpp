// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
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
        const wire::Flavour f = layout.flavour;
        std::uint8_t* const p = prefix_.data();
        p[0] = wire::kSpeadMagic;
        p[1] = wire::kSpeadVersion;
        p[2] = static_cast<std::uint8_t>(8 - f.address_bytes());
        p[3] = static_cast<std::uint8_t>(f.address_bytes());
        store_be32(p + 4, 0);
        store_be64(p + 8, f.make_immediate(wire::item::kHeapCnt, cnt));
        store_be64(p + 16, f.make_immediate(wire::item::kHeapLength, layout.payload_length));
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
        write_prefix(packet, out);
        if (packet.pointers == 1) [[likely]]  // worth a case: it saves a call
            std::memcpy(out + kPacketPrefix, layout_->pointers.data() + packet.first_pointer,
                        wire::kItemPointer);
        else if (packet.pointers != 0)
            std::memcpy(out + kPacketPrefix, layout_->pointers.data() + packet.first_pointer,
                        std::size_t{packet.pointers} * wire::kItemPointer);
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

    /// Writes the common header of all runs of this heap, with PAYLOAD_OFFSET 0: run_header() bytes.
    void write_run_header(std::uint8_t* out) const noexcept {
        write_header({0, run_payload_, run_header(), 0, run_pointers_}, out);
    }

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

    /// Holds the place of PAYLOAD_OFFSET from a packet's first byte.
    static constexpr std::size_t kOffsetAt = 24;

  private:
    void write_prefix(const Packet& packet, std::uint8_t* out) const noexcept {
        const wire::Flavour f = layout_->flavour;
        std::memcpy(out, prefix_.data(), prefix_.size());
        store_be16(out + 6, static_cast<std::uint16_t>(kSpecials + packet.pointers));
        store_be64(out + kOffsetAt, f.make_immediate(wire::item::kPayloadOffset, packet.offset));
        store_be64(out + 32, f.make_immediate(wire::item::kPayloadLength, packet.payload_length));
    }

    void find_run() noexcept {
        run_.packets = 0;
        if (done() || (!layout_->repeat_pointers && pointer_ != layout_->pointers.size()))
            return;
        run_.packets = (piece_->length - piece_offset_) / run_payload_;
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
    std::array<std::uint8_t, 24> prefix_{};  ///< header, HEAP_CNT, HEAP_LENGTH
};

}  // namespace spead::send
