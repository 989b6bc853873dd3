// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace spead::stats {

/// Keeps the sources of most events of one kind, in little memory (Misra and Gries). A source that caused
/// more than a fifth of them is among these. Counts are never too high. Plain data; an lcore may note events.
struct FewSources {
    static constexpr std::size_t kMost = 4;

    struct Source {
        std::uint32_t address = 0;  ///< IPv4
        std::uint32_t count = 0;    ///< at least so many events; 0: free
        bool operator==(const Source&) const = default;
    };
    std::array<Source, kMost> all{};

    void note(std::uint32_t address) noexcept { note(address, 1); }
    void add(const FewSources& other) noexcept {
        for (const Source& s : other.all)
            if (s.count != 0)
                note(s.address, s.count);
    }
    /// Subtracts what was noted before.
    void take(const FewSources& before) noexcept {
        for (const Source& b : before.all)
            for (Source& s : all)
                if (s.address == b.address)
                    s.count -= std::min(s.count, b.count);
    }
    /// Returns the sources, the one with the most events first; the rest are free.
    std::array<Source, kMost> sorted() const noexcept {
        std::array<Source, kMost> copy = all;
        std::sort(copy.begin(), copy.end(),
                  [](const Source& a, const Source& b) { return a.count > b.count; });
        return copy;
    }
    bool operator==(const FewSources&) const = default;

  private:
    void note(std::uint32_t address, std::uint32_t count) noexcept {
        Source* least = &all[0];
        for (Source& s : all) {
            if (s.count != 0 && s.address == address) {
                s.count += std::min(count, ~std::uint32_t{0} - s.count);
                return;
            }
            if (s.count < least->count)
                least = &s;
        }
        const std::uint32_t both = std::min(least->count, count);
        if (least->count != 0)
            for (Source& s : all)
                s.count -= both;
        else if (count != 0)
            *least = {address, count};
        // A sum leaves more than the least had.
        if (least->count == 0 && count > both && both != 0)
            *least = {address, count - both};
    }
};

}  // namespace spead::stats
