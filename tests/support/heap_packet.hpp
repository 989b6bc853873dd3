// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "heap/packet_view.hpp"

/// Makes packets for the window, without a wire: a decoder's view, and its payload.
namespace spead::heap::test {

/// Returns byte `at` of heap `key`, unless a test says otherwise. Two heaps never agree for long.
inline std::uint8_t pattern(std::uint64_t key, std::uint64_t at, std::uint64_t salt = 0) {
    std::uint64_t x = (key + 1) * 0x9e3779b97f4a7c15U + at / 8 + salt * 0xd6e8feb86659fd93U;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93U;
    return static_cast<std::uint8_t>((x ^ (x >> 29)) >> (at % 8 * 8));
}

/// Describes one packet as a sentence: Packet(7).of(1000).at(0, 500).items({a, b}).time(3)
class Packet {
  public:
    explicit Packet(std::uint64_t key) {
        view_.key = key;
        view_.flavour = 40;
        view_.source = 0x0a000001;
    }

    /// Sets HEAP_LENGTH; by default the packet has none.
    Packet& of(std::uint64_t heap_length) {
        view_.heap_length = heap_length;
        return *this;
    }
    /// Sets a payload of `length` bytes for offset `offset`, filled with the heap's pattern.
    Packet& at(std::uint64_t offset, std::size_t length, std::uint64_t salt = 0) {
        view_.offset = offset;
        view_.payload_length = static_cast<std::uint32_t>(length);
        payload_.resize(length);
        for (std::size_t i = 0; i < length; i++)
            payload_[i] = pattern(view_.key, offset + i, salt);
        return *this;
    }
    /// Puts the whole heap into one packet.
    Packet& whole(std::size_t length) { return of(length).at(0, length); }
    Packet& items(const std::vector<std::uint64_t>& words) {
        words_ = words;
        // Off by one byte: packets do not align their item pointers for us.
        item_bytes_.resize(1 + words.size() * 8);
        if (!words.empty())
            std::memcpy(item_bytes_.data() + 1, words.data(), words.size() * 8);
        view_.item_count = static_cast<std::uint32_t>(words.size());
        if (!words.empty())
            view_.flags |= PacketView::kItems;
        return *this;
    }
    Packet& items(std::initializer_list<std::uint64_t> words) {
        return items(std::vector<std::uint64_t>(words));
    }
    /// Sets the highest address of its item pointers.
    Packet& pointing_at(std::uint64_t address) {
        view_.item_extent = address;
        return *this;
    }
    Packet& flavour(std::uint8_t address_bits) {
        view_.flavour = address_bits;
        return *this;
    }
    Packet& from(std::uint32_t source) {
        view_.source = source;
        return *this;
    }
    Packet& time(std::uint64_t ticks) {
        view_.arrival = ticks;
        return *this;
    }
    Packet& control() {
        view_.flags |= PacketView::kControl;
        return *this;
    }
    Packet& stop() {
        view_.flags |= PacketView::kControl | PacketView::kStop;
        return *this;
    }

    /// Returns the view, valid as long as this packet is.
    PacketView view() const {
        PacketView v = view_;
        v.items = item_bytes_.empty() ? nullptr : item_bytes_.data() + 1;
        return v;
    }
    const std::vector<std::uint8_t>& payload() const { return payload_; }
    std::vector<std::uint8_t>& payload() { return payload_; }
    const std::vector<std::uint64_t>& words() const { return words_; }
    std::uint64_t key() const { return view_.key; }

  private:
    PacketView view_;
    std::vector<std::uint8_t> payload_;
    std::vector<std::uint64_t> words_;
    std::vector<std::uint8_t> item_bytes_;
};

}  // namespace spead::heap::test
