// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <spead/error.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace spead {

namespace door {
struct PlacementAccess;
}

/// Computes a number from a packet: (((value >> shift) & mask) - first) / step, or the place of
/// (value >> shift) & mask in a list. A heap whose number has a remainder is rejected, unless floor() drops
/// it. Write the operators in this order, each once, with parentheses around what C++ binds more tightly:
///
///     item(0x1600) / 4096      item(0x3102) >> 32 & 0xff      ((item(0x4103) & 0xfff) - 1024) / 256
class SPEAD_API Term {
  public:
    enum class Kind : std::uint8_t { item, heap, endpoint, constant };

    Term operator>>(unsigned bits) const;
    Term operator&(std::uint64_t mask) const;
    Term operator-(std::uint64_t first) const;
    Term operator/(std::uint64_t step) const;
    /// Returns the place of the value in the list, from 0, instead of the last two.
    Term in(std::vector<std::uint64_t> list) const;
    /// Does what floor() does.
    Term without_remainder() const;

    /// Makes a term of item(), heap_count(), endpoint() or constant(), which are easier to read.
    Term(Kind kind, std::uint64_t number) noexcept;

  private:
    friend struct door::PlacementAccess;
    void need_before(unsigned step) const;

    Kind kind_;
    std::uint64_t number_;  ///< id of the item, or the constant
    unsigned shift_ = 0;
    std::uint64_t mask_ = ~std::uint64_t{0};
    std::uint64_t first_ = 0;
    std::uint64_t step_ = 1;
    bool floor_ = false;
    std::vector<std::uint64_t> list_{};
    unsigned done_ = 0;  ///< operators so far, by their order
};

/// Returns the immediate value of an item. Every packet, or the first of each heap, must have it.
inline Term item(std::uint64_t id) noexcept {
    return {Term::Kind::item, id};
}
/// Returns the heap count.
inline Term heap_count() noexcept {
    return {Term::Kind::heap, 0};
}
/// Returns the number of the stream's endpoint that a packet was sent to: 0 for the first.
inline Term endpoint() noexcept {
    return {Term::Kind::endpoint, 0};
}
/// Returns the same number for each heap, for an axis of which each stream has one place.
inline Term constant(std::uint64_t number) noexcept {
    return {Term::Kind::constant, number};
}
/// Returns the term without the remainder of its division.
inline Term floor(const Term& term) {
    return term.without_remainder();
}

/// Declares where the heaps of a stream go in its chunks (docs/chunks.md). A value; one thread at a time.
///
///     spead::Placement placement(5120);                            // bytes of a heap; others are rejected
///     placement.axis("polarisation", spead::item(0x3101) & 1, 2)   // outermost first
///         .time(spead::item(0x1600) / 4096, 8192)                  // and the chunk's id
///         .extra<std::uint16_t>(spead::item(0x3102) >> 32);
///
/// The functions that ask for sizes throw UsageError, with the sums, for a placement that is not possible, as
/// ChunkRing and ChunkStream do.
class SPEAD_API Placement {
  public:
    explicit Placement(std::uint64_t heap_bytes);
    /// Parses the text form. Throws UsageError with the place in the text.
    static Placement parse(std::string_view text);
    Placement(const Placement& other);
    Placement(Placement&& other) noexcept;
    Placement& operator=(const Placement& other);
    Placement& operator=(Placement&& other) noexcept;
    ~Placement();

    /// Adds the axis of time: the term divided by `count` is the chunk's id, the rest is the place. `stride`
    /// is the bytes from one place to the next; 0: all that lies within has room.
    Placement& time(const Term& term, std::uint32_t count, std::uint64_t stride = 0);
    /// Adds an axis. Its name is a letter, then letters, digits and `_`.
    Placement& axis(const std::string& name, const Term& term, std::uint32_t count, std::uint64_t stride = 0);
    /// Stores a value beside each heap, in Chunk::extra: all of a heap together, without gaps. Numbers that
    /// the term cannot compute are all ones.
    template <class T>
    Placement& extra(const Term& term) {
        static_assert(std::is_unsigned_v<T> && !std::is_same_v<T, bool>, "an extra value is unsigned");
        return add_extra(sizeof(T), term);
    }
    /// Lays a heap's rows of `row_bytes` so far apart: a transposition.
    Placement& rows(std::uint64_t row_bytes, std::uint64_t stride);
    /// Notes presence by packet: packets of so many payload bytes, but a heap's last.
    Placement& packet_presence(std::uint32_t packet_bytes);
    /// Says that every packet has the items, or only the first of each heap; otherwise the first packets
    /// tell.
    Placement& direct();
    Placement& tracked();
    /// Says after how many bits the time's value wraps: 48 otherwise.
    Placement& wrap(unsigned bits);

    std::uint64_t heaps() const;          ///< of a chunk
    std::uint64_t bytes() const;          ///< of Chunk::data
    std::uint64_t present_bytes() const;  ///< of Chunk::present
    std::uint64_t extra_bytes() const;    ///< of Chunk::extra
    /// Returns the text form, as in configuration files.
    std::string text() const;
    /// Explains the sums in lines for people.
    std::string explain() const;

  private:
    friend struct door::PlacementAccess;
    struct State;
    explicit Placement(std::unique_ptr<State> state) noexcept;
    Placement& add_extra(unsigned bytes, const Term& term);
    State& state();

    std::unique_ptr<State> state_;
};

}  // namespace spead
