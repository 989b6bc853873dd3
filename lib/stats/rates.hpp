// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stats/snapshot.hpp"

/// What happens per second, from two snapshots of one run. Pure.
namespace spead::stats {

/// The part of that name (stream, sender, port), which may have come or gone between two snapshots; null:
/// none.
template <typename Part>
const Part* find(const std::vector<Part>& parts, std::string_view name) {
    for (const Part& part : parts)
        if (part.name == name)
            return &part;
    return nullptr;
}

/// The same part in another snapshot of the run; null: it is not there, or another has its name.
template <typename Part>
const Part* find_same(const std::vector<Part>& parts, const Part& part) {
    for (const Part& other : parts) {
        if constexpr (requires { part.number; })
            if (other.number != part.number)
                continue;
        if (other.name == part.name)
            return &other;
    }
    return nullptr;
}

/// `later` - `earlier` per second. None when no time lies between, or the count ran backwards: a stream was
/// removed and another came under its name, or counters were cleared.
inline std::optional<double> rate(std::uint64_t earlier, std::uint64_t later, double seconds) {
    if (!(seconds > 0) || later < earlier)
        return std::nullopt;
    return static_cast<double>(later - earlier) / seconds;
}

}  // namespace spead::stats
