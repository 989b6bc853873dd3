// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

/// Describes the heaps of telescopes for test senders: their items, sizes and payload. A sender and a
/// verifier share it, so that each byte of a heap, or of a chunk, can be told from every other.
///
/// Items and sizes are those of MeerKAT's public data: digitiser and F-engine packets, and visibilities.
/// All functions are pure and thread-safe; none allocates or throws.
namespace spead {

enum class HeapPattern : std::uint8_t {
    none,
    p1,   ///< digitisers: one packet a heap
    p2,   ///< channels in packets of 1 KiB, 256 a heap
    p3,   ///< channels in packets of 8 KiB, 8 a heap
    p3b,  ///< channels of many antennas: one packet of 4 KiB a heap
    p4,   ///< visibilities: 6480 packets of 8 KiB a heap
};

/// Holds the sizes of a pattern. A test sender may change those that the comments call scalable.
struct PatternShape {
    std::uint64_t heap_bytes = 0;      ///< payload of a heap; scalable
    std::uint32_t packet_payload = 0;  ///< payload of a packet; scalable
    std::uint32_t senders = 0;         ///< digitiser polarisations, or antennas, of a group; scalable
    std::uint64_t time_step = 1;       ///< of the timestamp, from one heap of a sender to its next
    std::uint32_t channel_step = 0;    ///< of the frequency, from one group to the next; 0: no such item
    std::uint64_t data_id = 0;         ///< of the item that is the payload
};

/// Returns the sizes of a pattern; not for `none`.
const PatternShape& shape_of(HeapPattern pattern) noexcept;

/// Names a heap of a pattern. P1 has one group, and sender 2 x antenna + polarisation. In the others a group
/// is a range of channels, and the sender an antenna (P4: 0).
struct PatternHeap {
    static constexpr std::uint32_t kGroups = 256;
    static constexpr std::uint32_t kSenders = 4096;

    std::uint64_t time = 0;  ///< timestamp / time_step
    std::uint32_t group = 0;
    std::uint32_t sender = 0;

    bool operator==(const PatternHeap&) const = default;
};

namespace pattern_item {
inline constexpr std::uint64_t kTimestamp = 0x1600;
inline constexpr std::uint64_t kDigitiserId = 0x3101;  ///< antenna << 2 | polarisation
/// Holds the number of clipped samples from bit 32 on, and bit 1 if there are some.
inline constexpr std::uint64_t kDigitiserStatus = 0x3102;
inline constexpr std::uint64_t kFengId = 0x4101;     ///< antenna
inline constexpr std::uint64_t kFrequency = 0x4103;  ///< first channel
}  // namespace pattern_item

/// Bounds timestamps: they are immediate items of SPEAD-64-48, and wrap.
inline constexpr unsigned kPatternAddressBits = 48;

struct PatternItem {
    std::uint64_t id = 0;
    std::uint64_t value = 0;
    bool operator==(const PatternItem&) const = default;
};

/// Holds the immediate items of a heap, in the order in which they are sent.
struct PatternItems {
    static constexpr std::size_t kMost = 3;
    std::array<PatternItem, kMost> items{};
    std::size_t count = 0;

    std::span<const PatternItem> view() const& noexcept { return {items.data(), count}; }
    std::span<const PatternItem> view() const&& = delete;  // it would outlive the items
    /// Returns the value of an item; none: the heap has no such item.
    std::optional<std::uint64_t> value(std::uint64_t id) const noexcept;
};

PatternItems pattern_items(HeapPattern pattern, const PatternHeap& heap) noexcept;

/// Returns the index in the verification sequence (base/verify_sequence.hpp) of a heap's first word. Two
/// heaps have the same one only if both their times and their senders differ, the times by 2048 steps or
/// more.
std::uint64_t pattern_first_word(const PatternHeap& heap) noexcept;

/// Holds the bytes between two names in the payload. A name begins each block, at the offsets 0,
/// kPatternBlock...
inline constexpr std::size_t kPatternBlock = 512;
/// Holds the bytes of a name: magic number and time, then pattern, group, sender and number of the block.
inline constexpr std::size_t kPatternName = 16;

/// Writes bytes [offset, offset + to.size()) of a heap's payload: the verification sequence, with the heap's
/// name over the first bytes of each block.
void pattern_generate(std::span<std::byte> to, HeapPattern pattern, const PatternHeap& heap,
                      std::uint64_t offset = 0) noexcept;

/// Compares with the payload of pattern_generate. Returns the position in `data` of the first byte that
/// differs, or data.size().
std::size_t pattern_check(std::span<const std::byte> data, HeapPattern pattern, const PatternHeap& heap,
                          std::uint64_t offset = 0) noexcept;

/// Holds what the payload says about itself.
struct PatternName {
    HeapPattern pattern = HeapPattern::none;
    PatternHeap heap;
    bool operator==(const PatternName&) const = default;
};

/// Reads the first whole name in `data`, which are the bytes from `offset` on of some heap. None: there is no
/// name where one is due. The name may belong to another heap than the caller expects, and pattern_check
/// tells whether the other bytes belong to it, too.
std::optional<PatternName> pattern_name(std::span<const std::byte> data, std::uint64_t offset = 0) noexcept;

}  // namespace spead
