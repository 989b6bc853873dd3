// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace spead::stats {

/// Says how many heaps of each place of an axis are missing in the chunks that a consumer has taken. Chunks
/// that the receiver cut are not counted. Plain data.
struct AxisPresence {
    /// Limits the entries. An axis with more places has several in an entry.
    static constexpr std::size_t kMostEntries = 4096;

    std::string name;
    std::uint64_t number = 0;      ///< unique for the chunks and the axis
    std::uint64_t places = 0;      ///< of the axis
    std::uint64_t width = 1;       ///< places in an entry; the last may have fewer
    std::uint64_t chunks = 0;      ///< that were counted
    std::uint64_t all_chunks = 0;  ///< likewise, from the first one on
    std::uint64_t each = 0;        ///< heaps of a place in a chunk
    struct Entry {
        std::uint64_t missing = 0;  ///< heaps
        std::uint64_t nothing = 0;  ///< chunks in a row, up to the last, without any heap of it
    };
    std::vector<Entry> entries;

    std::uint64_t first(std::size_t entry) const noexcept { return entry * width; }
    /// Returns the number behind the last place of the entry.
    std::uint64_t past(std::size_t entry) const noexcept { return std::min(places, (entry + 1) * width); }
    std::uint64_t expected(std::size_t entry) const noexcept {
        return chunks * each * (past(entry) - first(entry));
    }
    /// Returns the heaps of an entry that are there.
    std::uint64_t present(std::size_t entry) const noexcept {
        return expected(entry) - std::min(expected(entry), entries[entry].missing);
    }
    /// Returns the present part of an entry, 0 to 1; 1 before the first chunk.
    double share(std::size_t entry) const noexcept {
        return expected(entry) == 0
                   ? 1
                   : static_cast<double>(present(entry)) / static_cast<double>(expected(entry));
    }
    /// Subtracts earlier counts, if they are of the same chunks.
    void take(const AxisPresence& before) noexcept {
        if (before.number != number || before.entries.size() != entries.size())
            return;
        chunks -= std::min(chunks, before.chunks);
        for (std::size_t i = 0; i < entries.size(); i++)
            entries[i].missing -= std::min(entries[i].missing, before.entries[i].missing);
    }
};

}  // namespace spead::stats
