// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/endpoint.hpp"

namespace spead::stats {

/// Keeps the destinations of most packets that no stream names, in little memory (Misra and Gries). One of
/// more than a ninth of them is among these, and keeps its place. Counts are never too high. Plain data; an
/// lcore notes packets.
struct Strays {
    static constexpr std::size_t kMost = 8;

    struct Stray {
        IpAddress address;
        IpAddress source;         ///< of the packet that took the place
        std::uint64_t count = 0;  ///< at least so many packets; 0: free
        std::uint16_t port = 0;
    };
    std::array<Stray, kMost> all{};

    void note(const IpAddress& address, std::uint16_t port, const IpAddress& source) noexcept {
        add(Stray{address, source, 1, port});
    }
    void add(const Strays& other) noexcept {
        for (const Stray& s : other.all)
            if (s.count != 0)
                add(s);
    }

  private:
    void add(const Stray& one) noexcept {
        Stray* least = &all[0];
        for (Stray& s : all) {
            if (s.count != 0 && s.port == one.port && s.address == one.address) {
                s.count += one.count;
                return;
            }
            if (s.count < least->count)
                least = &s;
        }
        const std::uint64_t both = std::min(least->count, one.count);
        if (least->count == 0) {
            *least = one;
            return;
        }
        for (Stray& s : all)
            s.count -= both;
        // A sum leaves more than the least had.
        if (one.count > both) {
            *least = one;
            least->count -= both;
        }
    }
};

}  // namespace spead::stats
