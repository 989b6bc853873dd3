// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/byte_order.hpp"
#include "heap/packet_view.hpp"
#include "recv/frame_layout.hpp"
#include "recv/net_template.hpp"
#include "wire/flavour.hpp"
#include "wire/net.hpp"
#include "wire/spead.hpp"

namespace spead::recv {

/// Recognises the usual packet of one endpoint by comparing network and SPEAD headers at once.
///
/// Once the parsers have accepted a packet, the next ones of its stream differ from it in few fields:
/// lengths, checksums, identification, the sender's address and port, and the values of item pointers.
/// Everything else must be equal: Ethernet type, no options, no fragment, UDP, the destination, the SPEAD
/// flavour, mode and id of every pointer. One masked comparison of some 80 bytes tests that; then the lengths
/// are checked against each other as the parsers do. Any other packet goes to the parsers, so that a template
/// never decides a refusal. `Ip`: Ipv4Frame or Ipv6Frame.
template <class Ip>
class BasicFlowTemplate {
  public:
    static constexpr std::size_t kMaxPointers = 16;

    /// Learns from a packet that parse_udp and parse_spead accepted. Returns false, and matches nothing, for
    /// unusual shapes: the other IP, a VLAN tag, IP options, many pointers, stream control, packet specials
    /// among the items. With `from_source`, only packets of the same sender match.
    bool learn(const std::uint8_t* frame, const wire::UdpView& udp, const wire::SpeadPacket& packet,
               bool from_source, std::uint16_t lane, std::uint16_t endpoint,
               std::uint32_t max_packet_size) noexcept;
    void forget() noexcept { header_end_ = kNothing; }

    /// Returns true when the frame (one segment of `length` bytes) is such a packet. Then `view` is what the
    /// parsers and the decoder would say, except for item_extent, arrival and source. `verify`: checks the
    /// IPv4 header's checksum.
    [[gnu::always_inline]] bool match(const std::uint8_t* frame, std::size_t length, bool verify,
                                      heap::PacketView& view) const noexcept {
        const std::size_t header_end = header_end_;
        if (length < header_end) [[unlikely]]
            return false;
        Words differs = difference(frame, kFirst, 0);
        for (std::size_t at = kFirst + 16, unit = 1; at + 16 < header_end; at += 16, unit++)
            differs |= difference(frame, at, unit);
        differs |= (load(frame + header_end - 16) ^ last_pattern_) & last_mask_;

        const std::uint64_t ip_length = load_be16(frame + Ip::kLength);
        const std::uint64_t udp_length = load_be16(frame + Ip::kUdp + 4);
        const std::uint64_t payload = load_be64(frame + payload_length_at_) & value_mask_;
        view.key = load_be64(frame + cnt_at_) & value_mask_;
        view.heap_length = (load_be64(frame + heap_length_at_) & value_mask_) | no_heap_length_;
        view.offset = load_be64(frame + offset_at_) & value_mask_;
        view.payload_length = static_cast<std::uint32_t>(payload);
        view.items = frame + items_at_;
        view.item_count = item_count_;
        view.flavour = flavour_;
        view.flags = flags_;
        const bool fits = (udp_length + (Ip::kUdp - Ip::kLengthFrom) == ip_length) &
                          (ip_length + Ip::kLengthFrom <= length) &
                          (payload + header_end == udp_length + Ip::kUdp) & (udp_length <= max_udp_length_) &
                          (view.offset + payload <= view.heap_length) & Ip::is_acceptable(frame);
        if (((differs[0] | differs[1]) != 0) | !fits) [[unlikely]]
            return false;
        return !verify || Ip::sum_is_right(frame, fixed_sum_);
    }

    /// Returns the highest address of the items of a matching packet (PacketView::item_extent).
    std::uint64_t item_extent(const std::uint8_t* frame) const noexcept {
        std::uint64_t extent = 0;
        for (std::uint32_t i = 0; i < item_count_; i++) {
            const std::uint64_t raw = load_be64(frame + items_at_ + std::size_t{i} * 8);
            if (!wire::Flavour(flavour_).is_immediate(raw))
                extent = std::max(extent, raw & value_mask_);
        }
        return extent;
    }

    std::uint16_t lane() const noexcept { return lane_; }
    std::uint16_t endpoint() const noexcept { return endpoint_; }
    std::uint32_t payload_at() const noexcept { return static_cast<std::uint32_t>(header_end_); }

  private:
    using Words [[gnu::vector_size(16)]] = std::uint64_t;

    static constexpr std::size_t kNothing = SIZE_MAX;
    static constexpr std::size_t kFirst = 12;  ///< the MAC addresses before it are ignored
    static constexpr std::size_t kMaxHeader =
        Ip::kHeader + wire::kSpeadHeader + kMaxPointers * wire::kItemPointer;
    static constexpr std::size_t kUnits = (kMaxHeader - kFirst + 15) / 16;

    static Words load(const std::uint8_t* at) noexcept {
        Words w;
        std::memcpy(&w, at, sizeof w);
        return w;
    }
    Words difference(const std::uint8_t* frame, std::size_t at, std::size_t unit) const noexcept {
        return (load(frame + at) ^ units_[unit].pattern) & units_[unit].mask;
    }
    struct Unit {
        Words pattern;
        Words mask;
    };

    std::size_t header_end_ = kNothing;  ///< bytes of all headers
    std::uint64_t value_mask_ = 0;
    std::uint64_t no_heap_length_ = 0;
    std::uint64_t fixed_sum_ = 0;
    std::uint64_t max_udp_length_ = 0;
    std::uint32_t item_count_ = 0;
    std::uint16_t cnt_at_ = 0, heap_length_at_ = 0, offset_at_ = 0,
                  payload_length_at_ = 0;  ///< from the frame
    std::uint16_t items_at_ = 0;
    std::uint16_t lane_ = 0;
    std::uint16_t endpoint_ = 0;
    std::uint8_t flavour_ = 0;
    std::uint8_t flags_ = 0;
    Words last_pattern_{}, last_mask_{};  ///< of the 16 bytes that end the headers
    std::array<Unit, kUnits> units_;      ///< from kFirst on, as many as the headers fill before those
};

/// Holds the templates of one receive queue and one IP version, found by destination. An endpoint has two,
/// since the first packet of a heap often carries item pointers that the others do not. Endpoints that share
/// a place replace each other's. Belongs to one lcore.
template <class Ip>
class BasicFlowCache {
  public:
    using Template = BasicFlowTemplate<Ip>;

    BasicFlowCache() : BasicFlowCache(1) {}
    /// Reserves places, so that each of `endpoints` endpoints most likely has its own. Control code.
    explicit BasicFlowCache(std::size_t endpoints);

    BasicFlowCache(BasicFlowCache&&) noexcept = default;
    BasicFlowCache& operator=(BasicFlowCache&&) noexcept = default;
    ~BasicFlowCache() = default;

    /// Returns the template that most likely matches: the one that matched the last packet to the same
    /// destination. The frame has its first Ip::kHeader bytes, here and below.
    Template& usual(const std::uint8_t* frame) noexcept {
        const Destination destination = Ip::destination_of(frame);
        // Packets come in trains, and then nothing has to wait for what the frame says.
        if (destination != last_destination_) {
            Pair& pair = pair_of(destination);
            last_destination_ = destination;
            last_ = &pair.templates[pair.recent];
        }
        return *last_;
    }
    /// Returns the other template of the place.
    Template& other(const std::uint8_t* frame) noexcept {
        Pair& pair = pair_of(Ip::destination_of(frame));
        return pair.templates[pair.recent ^ 1U];
    }
    /// Makes the other one the likely one from now on.
    Template& turn(const std::uint8_t* frame) noexcept {
        last_destination_ = Ip::destination_of(frame);
        Pair& pair = pair_of(last_destination_);
        pair.recent ^= 1U;
        last_ = &pair.templates[pair.recent];
        return *last_;
    }
    /// Returns the template of the place for datagrams of formats.
    BasicNetTemplate<Ip>& of_format(const std::uint8_t* frame) noexcept {
        return pair_of(Ip::destination_of(frame)).of_format;
    }
    /// Returns whether any of those has ever learnt.
    bool knows_formats() const noexcept { return knows_formats_; }
    /// Lets the template of the place for formats learn.
    void learn_format(const std::uint8_t* frame, const wire::UdpView& udp, const Target& target,
                      std::uint32_t max_packet_size) noexcept {
        of_format(frame).learn(frame, udp, target, max_packet_size);
        knows_formats_ = true;
    }
    void forget() noexcept;

  private:
    using Destination = typename Ip::Destination;
    struct Pair {
        std::array<Template, 2> templates;
        unsigned recent = 0;
        BasicNetTemplate<Ip> of_format;
    };

    Pair& pair_of(const Destination& destination) noexcept {
        return pairs_[static_cast<std::size_t>(Ip::mix(destination) >> shift_)];
    }

    std::vector<Pair> pairs_;
    unsigned shift_;
    Destination last_destination_{};
    Template* last_;
    bool knows_formats_ = false;
};

using FlowTemplate = BasicFlowTemplate<Ipv4Frame>;
using FlowCache = BasicFlowCache<Ipv4Frame>;
using FlowTemplate6 = BasicFlowTemplate<Ipv6Frame>;
using FlowCache6 = BasicFlowCache<Ipv6Frame>;

}  // namespace spead::recv
