// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "chunk/placement.hpp"

namespace spead::chunk {

/// Holds what the packets of a heap said, as far as its place in a chunk tells.
struct HeapOrigin {
    struct Item {
        std::uint64_t id = 0;
        std::uint64_t value = 0;
        bool operator==(const Item&) const = default;
    };
    std::optional<std::uint64_t> cnt{};       ///< heap count; none: no term tells it
    std::optional<std::uint64_t> endpoint{};  ///< likewise
    std::vector<Item> items{};                ///< immediates, in the order of the placement, each once
};

/// Computes a placement backwards: from a heap's place in a chunk to values that lead to this place. Bits
/// that no term reads are 0, and so is what `//` drops, unless an extra value has kept them. Control code
/// only.
class HeapOrigins {
  public:
    /// Takes a placement that has passed Placement::check().
    explicit HeapOrigins(const Placement& placement);

    /// Returns the origin of the heap at these places, one for each axis, of a chunk. `extra`: its extra
    /// values, all of them, or nothing. None: no packet leads to this place, or the terms of several axes
    /// read the same value, and it was not found.
    std::optional<HeapOrigin> of(std::uint64_t chunk, std::span<const std::uint64_t> places,
                                 std::span<const std::byte> extra) const;

  private:
    /// Tells one number that a term had for the heap.
    struct Known {
        const Term* term = nullptr;
        std::uint64_t number = 0;
        std::uint64_t value = 0;  ///< after shift and mask; the least one with `//`
        std::uint64_t range = 0;  ///< bits of the value that count
        std::uint64_t kept = 0;   ///< bits of the number that are known
        bool is_axis = false;
    };
    /// Holds the terms that read the same value.
    struct Read {
        Term::Kind kind = Term::Kind::item;
        std::uint64_t id = 0;
        std::vector<std::size_t> terms{};  ///< axes; then extra values, behind all axes
    };

    void read(const Term& term, std::size_t number);
    std::optional<Known> known_of_axis(std::size_t axis, std::uint64_t chunk, std::uint64_t place) const;
    std::optional<Known> known_of_extra(std::size_t extra, std::span<const std::byte> all) const;
    static bool tells_all(const Known& known);
    static bool fits(const Known& known, std::uint64_t value);
    static std::optional<std::uint64_t> value_for(std::span<const Known> known);

    Placement placement_;
    std::vector<Read> reads_;
};

}  // namespace spead::chunk
