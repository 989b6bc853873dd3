// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/packet_format.hpp"

namespace spead::wire {

/// Returns whether the first eight bytes are those of a SPEAD packet, of any flavour, with items.
bool begins_as_spead(const std::uint8_t* head) noexcept;

/// Reads packets by a declaration, which it compiles into a fixed list of loads, shifts and checks. Made in
/// control code; then read() belongs to any one thread, and neither allocates nor throws.
class FormatReader {
  public:
    /// Requires a format that has passed check().
    explicit FormatReader(const PacketFormat& format);

    enum class Verdict : std::uint8_t {
        good,
        malformed,  ///< too short, or a value breaks a rule of the declaration
        invalid,    ///< the sender marks the data as invalid
    };
    struct Packet {
        std::uint64_t count;           ///< of the heap
        std::uint32_t payload_at;      ///< bytes from the datagram's first
        std::uint32_t payload_length;  ///< bytes; the payload ends within the datagram
    };

    /// Reads a datagram of `length` bytes, of which the first header() are at `head` if it has as many.
    /// Writes items() item words to `words`, big-endian, of the flavour SPEAD-64-48. Nothing is written
    /// unless the verdict is `good`.
    Verdict read(const std::uint8_t* head, std::size_t length, std::uint8_t* words,
                 Packet& packet) const noexcept;

    /// Returns the bytes before the payload.
    std::size_t header() const noexcept { return header_; }
    std::uint32_t items() const noexcept { return static_cast<std::uint32_t>(items_.size()); }

  private:
    /// Extracts a field from the 8 bytes at `from`.
    struct Load {
        std::uint16_t from;
        bool little;
        std::uint8_t shift;
        std::uint8_t field;
        std::uint64_t mask;

        std::uint64_t value(const std::uint8_t* head) const noexcept;
    };
    /// Compares the 8 bytes at `from` with fields that must have one value each, in the order of the packet.
    struct Check {
        std::uint16_t from;
        std::uint64_t mask;
        std::uint64_t value;
    };
    struct Term {
        std::uint32_t field;
        bool plain;  ///< the field times `times`
        bool truncate;
        std::uint64_t first;
        std::uint64_t step;
        std::uint64_t times;
    };
    struct Sum {
        std::uint32_t begin;  ///< in terms_
        std::uint32_t end;
        std::uint64_t word;  ///< added to the sum: an item's mode and id
    };
    /// Makes an item. Most are a field, which is loaded and stored at once: it needs no place among values.
    struct Item {
        Load load;
        std::uint64_t word;  ///< mode and id
        bool is_field;       ///< else it is the next one of sums_
    };
    struct Condition {
        std::uint32_t field;
        std::uint32_t begin;  ///< in values_, of all but the first value
        std::uint32_t end;
        std::uint64_t first;
    };
    using Values = std::array<std::uint64_t, PacketFormat::kMaxFields>;

    Load load_of(const PacketFormat& format, std::size_t field) const;
    void add_check(const Load& load, std::uint64_t value);
    Sum compile(const PacketFormat::Sum& sum, std::uint64_t word);
    Condition compile(const PacketFormat::Condition& condition);
    void add_item(const PacketFormat& format, const PacketFormat::Item& item);
    /// Returns false when a value is below its first one, or between two steps.
    bool add_terms(const Sum& sum, const Values& values, std::uint64_t& result) const noexcept;
    bool holds(const Condition& condition, const Values& values) const noexcept {
        return values[condition.field] == condition.first ||
               (condition.begin != condition.end && is_other(condition, values[condition.field]));
    }
    bool is_other(const Condition& condition, std::uint64_t value) const noexcept;

    std::size_t header_;
    bool refuses_spead_;
    std::vector<Load> loads_;    ///< of the fields that sums, conditions and the length read
    std::vector<Check> checks_;  ///< the required fields of one value, those of the same bytes together
    std::vector<Term> terms_;
    std::vector<Item> items_;
    std::vector<Sum> sums_;  ///< of the items that are more than a field, in their order
    Sum count_;
    std::vector<std::uint64_t> values_;
    std::vector<Condition> required_;
    std::vector<Condition> invalid_;
    bool has_length_;
    PacketFormat::Length length_;
};

}  // namespace spead::wire
