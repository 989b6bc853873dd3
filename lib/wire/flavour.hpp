// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

/// Defines SPEAD-64-XX item pointers and the protocol's item ids (SPEAD specification, "Item pointers").
namespace spead::wire {

/// Lists the item identifiers with a meaning of their own.
namespace item {
inline constexpr std::uint64_t kNull = 0;        ///< padding; an addressed one ends the item before it
inline constexpr std::uint64_t kHeapCnt = 1;     ///< which heap; required in every packet
inline constexpr std::uint64_t kHeapLength = 2;  ///< bytes of the whole heap's payload; optional
inline constexpr std::uint64_t kPayloadOffset =
    3;  ///< where in the heap this packet's payload goes; required
inline constexpr std::uint64_t kPayloadLength = 4;  ///< bytes of this packet's payload; required
inline constexpr std::uint64_t kDescriptor = 5;  ///< addressed; its value is a packet that describes an item
inline constexpr std::uint64_t kStreamCtrl = 6;  ///< immediate; one of the stream control values
// Inside a descriptor only.
inline constexpr std::uint64_t kDescriptorName = 0x10;
inline constexpr std::uint64_t kDescriptorDescription = 0x11;
inline constexpr std::uint64_t kDescriptorShape = 0x12;
inline constexpr std::uint64_t kDescriptorFormat = 0x13;
inline constexpr std::uint64_t kDescriptorId = 0x14;
inline constexpr std::uint64_t kDescriptorDtype = 0x15;
/// Holds the first id that senders give to items of their own without choosing one.
inline constexpr std::uint64_t kFirstUser = 0x1000;
}  // namespace item

/// Lists the values of a STREAM_CTRL item.
namespace stream_ctrl {
inline constexpr std::uint64_t kStart = 0;
inline constexpr std::uint64_t kDescriptorReissue = 1;
inline constexpr std::uint64_t kStop = 2;
inline constexpr std::uint64_t kDescriptorUpdate = 3;
}  // namespace stream_ctrl

/// Divides the 64 bits of an item pointer: bit 63 is the mode (1: immediate, 0: address), then the item id,
/// then `address_bits` bits that hold the immediate value or a byte offset into the heap's payload.
///
/// A "raw" pointer is the 64-bit word in host order.
class Flavour {
  public:
    static constexpr unsigned kDefaultAddressBits = 40;

    /// Returns whether SPEAD-64-`address_bits` exists: 8, 16, ... 56.
    static constexpr bool is_valid(unsigned address_bits) noexcept {
        return address_bits >= 8 && address_bits <= 56 && address_bits % 8 == 0;
    }

    /// Makes SPEAD-64-40.
    constexpr Flavour() noexcept = default;
    /// Requires is_valid(address_bits).
    constexpr explicit Flavour(unsigned address_bits) noexcept
        : address_bits_(static_cast<std::uint8_t>(address_bits)) {}

    constexpr unsigned address_bits() const noexcept { return address_bits_; }
    constexpr unsigned item_id_bits() const noexcept { return 63 - address_bits_; }
    /// Returns the width in bytes of an address, which is byte 3 of a packet; 8 minus that is byte 2.
    constexpr unsigned address_bytes() const noexcept { return address_bits_ / 8U; }

    /// Returns the largest immediate value and heap offset, which is also the mask of their bits.
    constexpr std::uint64_t value_mask() const noexcept { return (std::uint64_t{1} << address_bits_) - 1; }
    constexpr std::uint64_t max_id() const noexcept { return (std::uint64_t{1} << item_id_bits()) - 1; }

    constexpr bool is_immediate(std::uint64_t raw) const noexcept { return (raw & kImmediate) != 0; }
    constexpr std::uint64_t id(std::uint64_t raw) const noexcept {
        return (raw & ~kImmediate) >> address_bits_;
    }
    /// Returns the immediate value or the heap offset.
    constexpr std::uint64_t value(std::uint64_t raw) const noexcept { return raw & value_mask(); }

    /// Makes a raw pointer. Bits of `id` and of the value that do not fit are cut off.
    constexpr std::uint64_t make_immediate(std::uint64_t id, std::uint64_t value) const noexcept {
        return kImmediate | make_address(id, value);
    }
    constexpr std::uint64_t make_address(std::uint64_t id, std::uint64_t offset) const noexcept {
        return ((id & max_id()) << address_bits_) | (offset & value_mask());
    }

    constexpr bool operator==(const Flavour&) const noexcept = default;

  private:
    static constexpr std::uint64_t kImmediate = std::uint64_t{1} << 63;

    std::uint8_t address_bits_ = kDefaultAddressBits;
};

/// Returns whether the pointer is one of the four that belong to the packet rather than to the heap:
/// HEAP_CNT, HEAP_LENGTH, PAYLOAD_OFFSET or PAYLOAD_LENGTH as an immediate. With an address they are ordinary
/// items.
constexpr bool is_packet_special(std::uint64_t raw, Flavour flavour) noexcept {
    const std::uint64_t id = flavour.id(raw);
    return flavour.is_immediate(raw) && id >= item::kHeapCnt && id <= item::kPayloadLength;
}

}  // namespace spead::wire
