// SPDX-License-Identifier: BSD-3-Clause
#include "recv/filter_expression.hpp"

namespace spead::recv {

namespace {

/// Returns what tests of addresses compare. One of IPv6 equals none of IPv4.
std::uint64_t number_of(const IpAddress& address) noexcept {
    return address.is_v4() ? address.v4().value : FilterExpression::kIpv6;
}

}  // namespace

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
