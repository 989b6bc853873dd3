// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/outcome.hpp"
#include "heap/packet_view.hpp"
#include "wire/format_reader.hpp"

namespace spead::recv {

/// Decodes datagrams of a declared format into PacketViews: each is a heap of its own, and its values are
/// items. Made in control code; then it belongs to one lcore.
class FormatDecoder {
  public:
    /// Requires a format that has passed check().
    explicit FormatDecoder(const wire::PacketFormat& format);

    /// Decodes a datagram, of which the first header() bytes are at `head` if it has as many. Returns
    /// `placed` when `view` describes the packet, except for arrival and source; else the refusal.
    /// view.items stay until the next call, or as keep_items() says. `payload_offset` is from `head`.
    PacketOutcome decode(const std::uint8_t* head, std::size_t length, heap::PacketView& view,
                         std::uint32_t& payload_offset) noexcept;

    /// Keeps the items of the last packet for the next kKept - 1 calls of this function. Packets that need no
    /// more than decode() all write the same words, which stay in the cache.
    void keep_items() noexcept { turn_ = (turn_ + 1) % kKept; }

    /// Returns the contiguous bytes that decode() needs.
    std::size_t header() const noexcept { return reader_.header(); }

    /// Holds the packets whose items are kept: more than a batch has, because chunks may look at each packet
    /// again at its end.
    static constexpr std::size_t kKept = 128;

  private:
    const wire::FormatReader reader_;
    const std::size_t stride_;  ///< bytes of a packet's item words
    std::vector<std::uint8_t> words_;
    std::size_t turn_ = 0;
};

}  // namespace spead::recv
