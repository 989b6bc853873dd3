// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stats/snapshot.hpp"

/// Computes rates per second from two snapshots of one run. Pure.
namespace spead::stats {

/// Returns the part of that name (stream, sender, port); null: none. Parts may be added or removed between
/// two snapshots.
template <typename Part>
const Part* find(const std::vector<Part>& parts, std::string_view name) {
    for (const Part& part : parts)
        if (part.name == name)
            return &part;
    return nullptr;
}

/// Returns the same part in another snapshot of the run; null: it is missing, or another has its name.
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

/// Returns `later` - `earlier` per second. None when no time lies between, or the count decreased: a stream
/// was removed and another has its name, or counters were cleared.
inline std::optional<double> rate(std::uint64_t earlier, std::uint64_t later, double seconds) {
    if (!(seconds > 0) || later < earlier)
        return std::nullopt;
    return static_cast<double>(later - earlier) / seconds;
}

}  // namespace spead::stats
