// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stats/counters.hpp"

namespace spead::recv {

/// Counts packets that one of two paths brought so late that the window had forgotten their heaps: they are
/// delivered again. It remembers a sample of the packets for much longer than the window remembers heaps.
///
/// While few packets come, each is in the sample, and the count is exact. Otherwise one in a power of two is,
/// and stands for as many. Memory is fixed. Belongs to one lcore.
class LateCopies {
  public:
    static constexpr std::size_t kSets = 1024;
    static constexpr std::size_t kWays = 4;

    /// Remembers packets for `kept` ticks; with 0 it counts none.
    explicit LateCopies(std::uint64_t kept);

    /// Notes a packet that its path brought, and that was placed. `mark`: a hash of what names the packet.
    void placed(std::size_t path, std::uint64_t mark, std::uint64_t ticks) noexcept {
        if (is_sampled(mark)) [[unlikely]]
            note_placed(path, mark, ticks);
    }
    /// Notes a packet that brought nothing new.
    void again(std::size_t path, std::uint64_t mark, std::uint64_t ticks) noexcept {
        if (is_sampled(mark)) [[unlikely]]
            note_again(path, mark, ticks);
    }
    /// Samples more packets again when few come. Call it every few milliseconds.
    void look(std::uint64_t ticks) noexcept;

    /// Returns how many packets of the path were copies that came too late.
    std::uint64_t count(std::size_t path) const noexcept { return counts_[path]; }
    /// Returns the most ticks between such a packet and its copy by the other path.
    std::uint64_t longest(std::size_t path) const noexcept { return longest_[path]; }
    /// Restarts longest().
    void forget_longest() noexcept { longest_ = {}; }

  private:
    static_assert(stats::kMaxPaths == 2);
    /// Holds the bits of a mark by which packets are chosen.
    static constexpr unsigned kShift = 44;
    static constexpr unsigned kMostLevel = 20;
    static constexpr std::uint8_t kNotCounted = 0xFF;

    struct Entry {
        std::uint64_t mark = 0;
        std::uint64_t ticks = 0;  ///< when a path brought it first
        std::uint8_t paths = 0;   ///< a bit for each path that has brought it; 0: the entry is empty
        std::uint8_t level = 0;   ///< of that time
        /// Holds the path whose packet was counted, and the logarithm of the packets that it stood for.
        std::uint8_t counted_path = kNotCounted;
        std::uint8_t counted_level = 0;
    };
    using Set = std::array<Entry, kWays>;

    bool is_sampled(std::uint64_t mark) const noexcept { return (mark & mask_) == 0; }
    bool is_free(const Entry& e, std::uint64_t ticks) const noexcept;
    Entry* find(std::uint64_t mark, std::uint64_t ticks) noexcept;
    void note_placed(std::size_t path, std::uint64_t mark, std::uint64_t ticks) noexcept;
    void note_again(std::size_t path, std::uint64_t mark, std::uint64_t ticks) noexcept;
    void enter(std::size_t path, std::uint64_t mark, std::uint64_t ticks) noexcept;
    void set_level(unsigned level, std::uint64_t ticks) noexcept;

    std::vector<Set> sets_;
    const std::uint64_t kept_;
    std::uint64_t mask_ = 0;      ///< of the bits that are 0 in the marks of sampled packets
    unsigned level_ = 0;          ///< how many bits they are
    std::uint64_t level_at_ = 0;  ///< ticks, when it was set
    std::array<std::uint64_t, stats::kMaxPaths> counts_{};
    std::array<std::uint64_t, stats::kMaxPaths> longest_{};
};

}  // namespace spead::recv
