// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "base/byte_order.hpp"
#include "heap/packet_view.hpp"
#include "wire/flavour.hpp"

namespace spead::chunk {

/// Builds the view of a packet with items of its own, for tests.
class MadePacket {
  public:
    explicit MadePacket(std::uint64_t heap_length, unsigned bits = 48) : flavour_(bits) {
        view_.flavour = static_cast<std::uint8_t>(bits);
        view_.heap_length = heap_length;
        view_.payload_length = static_cast<std::uint32_t>(heap_length);
    }
    // The view refers to the bytes: a copy would refer to those of the original.
    MadePacket(MadePacket&&) = default;

    MadePacket& immediate(std::uint64_t id, std::uint64_t value) {
        return word(flavour_.make_immediate(id, value));
    }
    MadePacket& address(std::uint64_t id, std::uint64_t value) {
        return word(flavour_.make_address(id, value));
    }
    MadePacket& word(std::uint64_t raw) {
        bytes_.resize(bytes_.size() + 8);
        store_be(&bytes_[bytes_.size() - 8], raw);
        view_.items = bytes_.data();
        view_.item_count++;
        return *this;
    }
    /// Forgets the items.
    void clear() {
        bytes_.clear();
        view_.item_count = 0;
    }

    heap::PacketView& view() { return view_; }
    const wire::Flavour& flavour() const { return flavour_; }

  private:
    wire::Flavour flavour_;
    std::vector<std::uint8_t> bytes_;
    heap::PacketView view_;
};

}  // namespace spead::chunk
