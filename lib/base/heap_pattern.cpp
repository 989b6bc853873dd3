// SPDX-License-Identifier: BSD-3-Clause
#include "base/heap_pattern.hpp"

#include <algorithm>

#include "base/byte_order.hpp"
#include "base/verify_sequence.hpp"

namespace spead {

namespace {

constexpr std::uint64_t kTimestampMask = (std::uint64_t{1} << kPatternAddressBits) - 1;

/// Holds 4096 samples of 10 bits.
constexpr PatternShape kP1{5120, 5120, 8, 4096, 0, 0x3300};
/// Holds 256 channels of 256 spectra, 2 polarisations and 2 bytes. A step is 256 spectra of 8192 samples.
constexpr PatternShape kP2{262144, 1024, 64, 2097152, 256, 0x4300};
/// Holds 512 channels of 32 spectra, 2 polarisations and 2 bytes. A step is 32 spectra of 65536 samples.
constexpr PatternShape kP3{65536, 8192, 80, 2097152, 512, 0x4300};
/// Holds 32 channels, otherwise as p3.
constexpr PatternShape kP3b{4096, 4096, 680, 2097152, 32, 0x4300};
/// Holds 512 channels of 12960 baselines of 8 bytes. A step is 408 of p3's: half a second.
constexpr PatternShape kP4{53084160, 8192, 1, 855638016, 512, 0x1800};
constexpr PatternShape kNone{};

constexpr std::uint64_t kMagic = 0x5EAD;
/// Is the golden section of the sequence's period, rounded to a number coprime to it, so that heaps which are
/// near each other in time begin far from each other in the sequence.
constexpr std::uint64_t kStride = 1327217887;

struct NameBytes {
    std::array<std::byte, kPatternName> bytes;
};

NameBytes name_of(HeapPattern pattern, const PatternHeap& heap, std::uint64_t block) noexcept {
    NameBytes name{};
    store_be64(name.bytes.data(), kMagic << 48 | (heap.time & kTimestampMask));
    store_be64(name.bytes.data() + 8, static_cast<std::uint64_t>(pattern) << 56 |
                                          std::uint64_t{heap.group & 0xFF} << 48 |
                                          std::uint64_t{heap.sender & 0xFFFF} << 32 | (block & 0xFFFFFFFF));
    return name;
}

/// Calls `piece(position in data, size, name bytes from, is a name)` for each name and the bytes between.
template <typename Piece>
void for_each_piece(std::size_t size, std::uint64_t offset, Piece&& piece) {
    for (std::size_t at = 0; at < size;) {
        const std::uint64_t in_heap = offset + at;
        const std::size_t in_block = in_heap % kPatternBlock;
        const bool named = in_block < kPatternName;
        const std::size_t length = std::min(size - at, (named ? kPatternName : kPatternBlock) - in_block);
        if (!piece(at, length, in_heap, named))
            return;
        at += length;
    }
}

std::uint64_t clipped_samples(const PatternHeap& heap) noexcept {
    return (heap.time * 7 + heap.sender * 3) % 11 == 0 ? (heap.time + heap.sender) % 4096 : 0;
}

}  // namespace

const PatternShape& shape_of(HeapPattern pattern) noexcept {
    switch (pattern) {
        case HeapPattern::p1:
            return kP1;
        case HeapPattern::p2:
            return kP2;
        case HeapPattern::p3:
            return kP3;
        case HeapPattern::p3b:
            return kP3b;
        case HeapPattern::p4:
            return kP4;
        case HeapPattern::none:
            break;
    }
    return kNone;
}

std::optional<std::uint64_t> PatternItems::value(std::uint64_t id) const noexcept {
    for (const PatternItem& item : view())
        if (item.id == id)
            return item.value;
    return std::nullopt;
}

PatternItems pattern_items(HeapPattern pattern, const PatternHeap& heap) noexcept {
    const PatternShape& shape = shape_of(pattern);
    PatternItems made;
    const auto add = [&made](std::uint64_t id, std::uint64_t value) {
        made.items[made.count++] = {id, value};
    };
    if (pattern == HeapPattern::none)
        return made;
    add(pattern_item::kTimestamp, heap.time * shape.time_step & kTimestampMask);
    if (pattern == HeapPattern::p1) {
        const std::uint64_t clipped = clipped_samples(heap);
        add(pattern_item::kDigitiserId, std::uint64_t{heap.sender / 2} << 2 | heap.sender % 2);
        add(pattern_item::kDigitiserStatus, clipped << 32 | (clipped != 0 ? 2 : 0));
        return made;
    }
    if (pattern != HeapPattern::p4)
        add(pattern_item::kFengId, heap.sender);
    add(pattern_item::kFrequency, std::uint64_t{heap.group} * shape.channel_step);
    return made;
}

std::uint64_t pattern_first_word(const PatternHeap& heap) noexcept {
    const std::uint64_t time = heap.time % kVerifyPeriod * (PatternHeap::kGroups * PatternHeap::kSenders);
    const std::uint64_t n =
        (time + std::uint64_t{heap.group} * PatternHeap::kSenders + heap.sender) % kVerifyPeriod;
    return n * kStride % kVerifyPeriod;
}

void pattern_generate(std::span<std::byte> to, HeapPattern pattern, const PatternHeap& heap,
                      std::uint64_t offset) noexcept {
    verify_generate(to, pattern_first_word(heap), offset);
    for_each_piece(
        to.size(), offset, [&](std::size_t at, std::size_t size, std::uint64_t in_heap, bool named) {
            if (named) {
                const NameBytes name = name_of(pattern, heap, in_heap / kPatternBlock);
                std::copy_n(name.bytes.begin() + static_cast<std::ptrdiff_t>(in_heap % kPatternBlock), size,
                            to.begin() + static_cast<std::ptrdiff_t>(at));
            }
            return true;
        });
}

std::size_t pattern_check(std::span<const std::byte> data, HeapPattern pattern, const PatternHeap& heap,
                          std::uint64_t offset) noexcept {
    const std::uint64_t first = pattern_first_word(heap);
    std::size_t right = 0;
    for_each_piece(data.size(), offset,
                   [&](std::size_t at, std::size_t size, std::uint64_t in_heap, bool named) {
                       const std::span<const std::byte> piece = data.subspan(at, size);
                       std::size_t same = 0;
                       if (named) {
                           const NameBytes name = name_of(pattern, heap, in_heap / kPatternBlock);
                           const auto* const expected = name.bytes.data() + in_heap % kPatternBlock;
                           while (same < size && piece[same] == expected[same])
                               same++;
                       } else {
                           same = verify_check(piece, first, in_heap);
                       }
                       right = at + same;
                       return same == size;
                   });
    return right;
}

std::optional<PatternName> pattern_name(std::span<const std::byte> data, std::uint64_t offset) noexcept {
    const std::size_t in_block = offset % kPatternBlock;
    const std::size_t at = in_block == 0 ? 0 : kPatternBlock - in_block;
    if (data.size() < kPatternName || at > data.size() - kPatternName)
        return std::nullopt;
    const std::uint64_t first = load_be64(data.data() + at);
    const std::uint64_t second = load_be64(data.data() + at + 8);
    PatternName name;
    name.pattern = static_cast<HeapPattern>(second >> 56);
    name.heap.time = first & kTimestampMask;
    name.heap.group = static_cast<std::uint32_t>(second >> 48 & 0xFF);
    name.heap.sender = static_cast<std::uint32_t>(second >> 32 & 0xFFFF);
    const std::uint64_t block = ((offset + at) / kPatternBlock) & 0xFFFFFFFF;
    if (first >> 48 != kMagic || (second & 0xFFFFFFFF) != block || name.pattern == HeapPattern::none ||
        name.pattern > HeapPattern::p4 || name.heap.sender >= PatternHeap::kSenders)
        return std::nullopt;
    return name;
}

}  // namespace spead
