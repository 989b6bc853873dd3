// SPDX-License-Identifier: BSD-3-Clause
#include "recv/filter_expression.hpp"

#include <algorithm>

namespace spead::recv {

namespace {

/// Returns what tests of IPv4 addresses compare. One of IPv6 equals none of them.
std::uint64_t number_of(const IpAddress& address) noexcept {
    return address.is_v4() ? address.v4().value : FilterExpression::kIpv6;
}

/// Returns the mask of the first bits of 64.
std::uint64_t first_bits(std::uint64_t bits) noexcept {
    return bits == 0 ? 0 : ~std::uint64_t{0} << (64 - bits);
}

}  // namespace

/// Compares the first `by` bits with an IPv6 address.
bool FilterExpression::Test::is_like(const IpAddress& address) const noexcept {
    const std::uint64_t differs_high = (address.v6().high ^ id) & first_bits(std::min<std::uint64_t>(by, 64));
    const std::uint64_t differs_low = by <= 64 ? 0 : (address.v6().low ^ value) & first_bits(by - 64);
    return address.is_v6() && (differs_high | differs_low) == 0;
}

bool FilterExpression::Test::holds(const FilterPacket& packet) const noexcept {
    std::uint64_t number = 0;
    switch (field) {
        case Field::control:
            return packet.control();
        case Field::item: {
            const auto pointer = packet.item(id);
            if (!pointer || compare == Compare::present)
                return pointer.has_value();
            if (!pointer->immediate)
                return false;
            number = pointer->value;
            break;
        }
        case Field::heap:
            number = packet.heap_count();
            break;
        case Field::payload:
            number = packet.payload_length();
            break;
        case Field::source:
            number = number_of(packet.way().source);
            break;
        case Field::destination:
            number = number_of(packet.way().destination);
            break;
        case Field::source6:
            return is_like(packet.way().source) == (compare == Compare::equal);
        case Field::destination6:
            return is_like(packet.way().destination) == (compare == Compare::equal);
    }
    if (adjust == Adjust::mask)
        number &= by;
    else if (adjust == Adjust::modulo)
        number %= by;
    switch (compare) {
        case Compare::equal:
            return number == value;
        case Compare::not_equal:
            return number != value;
        case Compare::less:
            return number < value;
        case Compare::less_equal:
            return number <= value;
        case Compare::greater:
            return number > value;
        case Compare::greater_equal:
            return number >= value;
        case Compare::present:
            break;
    }
    return true;
}

bool FilterExpression::matches(const FilterPacket& packet) const noexcept {
    std::uint16_t at = start_;
    while (at < kDrop) {
        const Test& test = tests_[at];
        at = test.holds(packet) ? test.then : test.otherwise;
    }
    return at == kKeep;
}

std::vector<std::uint64_t> FilterExpression::items() const {
    std::vector<std::uint64_t> ids;
    for (const Test& test : tests_)
        if (test.field == Field::item)
            ids.push_back(test.id);
    return ids;
}

}  // namespace spead::recv
