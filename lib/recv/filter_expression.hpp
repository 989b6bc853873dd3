// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "recv/packet_filter.hpp"

namespace spead::recv {

/// Evaluates a condition on packets, written as text:
///
///     item 0x1600 == 5 and source in 10.0.0.0/8 and heap % 4 == 1
///
///     expression:  tests joined by `and`, `or`, `not` and parentheses; `and` binds closer than `or`
///     test:        NUMBER [& N | % N] (== | != | < | <= | > | >=) N
///                  item ID                          an item pointer with this id is there
///                  (source | destination) (== | !=) ADDRESS
///                  (source | destination) in ADDRESS/BITS    an address of the other IP version never is
///                  control                          the packet carries a start or a stop of the stream
///     NUMBER:      item ID (the immediate value), heap (the heap count), payload (bytes of payload)
///     N, ID:       decimal or 0x hexadecimal, up to 64 bits
///     ADDRESS:     10.0.0.7 or fd00::7
///
/// A comparison with an item that the packet does not have, or that has an address rather than a value, is
/// false. Immutable once parsed; any thread may call matches().
class FilterExpression {
  public:
    static constexpr std::size_t kMaxTests = 64;
    static constexpr std::size_t kMaxDepth = 32;
    static constexpr std::size_t kMaxText = 4096;
    /// Stands for any IPv6 address where addresses of IPv4 are compared, beside their 32 bits.
    static constexpr std::uint64_t kIpv6 = std::uint64_t{1} << 32;

    /// Parses the text. Control code. Throws UsageError with the place in the text, the word there and the
    /// possible ones; `where` is the error's where().
    static FilterExpression parse(std::string_view text, std::string_view where = {});

    /// Returns whether the packet matches. Takes at most kMaxTests steps, each of which reads the packet's
    /// item pointers once at most.
    bool matches(const FilterPacket& packet) const noexcept;
    std::size_t tests() const noexcept { return tests_.size(); }
    /// Returns the ids of the items that it looks at. Control code.
    std::vector<std::uint64_t> items() const;

  private:
    friend class FilterParser;

    enum class Field : std::uint8_t {
        item,
        heap,
        payload,
        source,
        destination,
        source6,
        destination6,
        control
    };
    enum class Compare : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal, present };
    enum class Adjust : std::uint8_t { none, mask, modulo };
    static constexpr std::uint16_t kKeep = 0xFFFF;
    static constexpr std::uint16_t kDrop = 0xFFFE;

    /// Holds one test, and the next step for each result: another test, which always comes before it in the
    /// list, or the end.
    struct Test {
        Field field = Field::control;
        Compare compare = Compare::present;
        Adjust adjust = Adjust::none;
        std::uint64_t id = 0;     ///< of the item; the high half of an IPv6 address
        std::uint64_t by = 0;     ///< of the adjustment; the bits of an IPv6 address that are compared
        std::uint64_t value = 0;  ///< compared with; the low half of an IPv6 address
        std::uint16_t then = kKeep;
        std::uint16_t otherwise = kDrop;

        bool holds(const FilterPacket& packet) const noexcept;
        bool is_like(const IpAddress& address) const noexcept;
    };

    std::vector<Test> tests_;
    std::uint16_t start_ = kDrop;
};

/// Keeps matching packets, drops the rest.
class ExpressionFilter final : public PacketFilter {
  public:
    explicit ExpressionFilter(FilterExpression expression) : expression_(std::move(expression)) {}
    FilterAnswer look(const FilterPacket& packet) noexcept override {
        return expression_.matches(packet) ? FilterAnswer::keep : FilterAnswer::drop;
    }

  private:
    FilterExpression expression_;
};

}  // namespace spead::recv
