// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// Counts distributions of times and sizes in fixed memory.
namespace spead::stats {

/// Counts values of 0 to 2^ValueBits - 1 in buckets that are linear within each power of two: 2^PrecisionBits
/// of them per power, so that a bucket is at most 1/2^PrecisionBits of its lowest value wide. Values below
/// 2^(PrecisionBits + 1) have buckets of their own. Larger values than the last bucket's go into the last
/// one; minimum, maximum and sum stay exact for them too.
///
/// Memory is (ValueBits - PrecisionBits + 1) * 2^PrecisionBits counts of 8 bytes, within the object. add() is
/// a few instructions and one store's cache line besides the object's first; it never allocates or throws.
/// One thread writes; others read copies made between two writes.
template <unsigned PrecisionBits, unsigned ValueBits>
class LogHistogram {
    static_assert(PrecisionBits >= 1 && PrecisionBits < ValueBits && ValueBits <= 64);

  public:
    static constexpr std::size_t kBuckets = std::size_t{ValueBits - PrecisionBits + 1} << PrecisionBits;
    /// Holds the largest value with kRelativeError.
    static constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max() >> (64 - ValueBits);
    /// Limits how far percentile() is above the truth, relative to it; it is never below.
    static constexpr double kRelativeError = 1.0 / static_cast<double>(std::uint64_t{1} << PrecisionBits);

    struct Bucket {
        std::uint64_t lowest;   ///< value that it counts
        std::uint64_t highest;  ///< value that it counts; of the last bucket, all above as well
        std::uint64_t count;
        bool operator==(const Bucket&) const = default;
    };

    void add(std::uint64_t value, std::uint64_t times = 1) noexcept {
        if (times == 0)
            return;
        counts_[index_of(std::min(value, kLargest))] += times;
        count_ += times;
        sum_ += value * times;
        min_ = std::min(min_, value);
        max_ = std::max(max_, value);
    }

    /// Adds everything that was added to `other`.
    void merge(const LogHistogram& other) noexcept {
        for (std::size_t i = 0; i < kBuckets; i++)
            counts_[i] += other.counts_[i];
        count_ += other.count_;
        sum_ += other.sum_;
        min_ = std::min(min_, other.min_);
        max_ = std::max(max_, other.max_);
    }

    void clear() noexcept { *this = LogHistogram(); }

    std::uint64_t count() const noexcept { return count_; }
    /// Returns the sum of all values, modulo 2^64.
    std::uint64_t sum() const noexcept { return sum_; }
    /// Returns 0 when nothing was added, as max(), mean() and percentile().
    std::uint64_t min() const noexcept { return count_ == 0 ? 0 : min_; }
    std::uint64_t max() const noexcept { return max_; }
    double mean() const noexcept {
        return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
    }

    /// Returns the smallest value such that `percent` (0 to 100) of all values are at most as large, rounded
    /// up to its bucket's highest, but never above max().
    std::uint64_t percentile(double percent) const noexcept {
        // 99.99 % of 10000 is 9999, and a little more in binary fractions.
        const double rank =
            static_cast<double>(count_) * (std::clamp(percent, 0.0, 100.0) / 100) * (1 - 1e-12);
        const auto wanted = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(rank)));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i + 1 < kBuckets; i++) {
            seen += counts_[i];
            if (seen >= wanted)
                return std::min(highest_of(i), max_);
        }
        return max_;
    }

    /// Returns the buckets with counts, by value.
    std::vector<Bucket> buckets() const {
        std::vector<Bucket> all;
        for (std::size_t i = 0; i < kBuckets; i++)
            if (counts_[i] != 0)
                all.push_back({lowest_of(i), highest_of(i), counts_[i]});
        return all;
    }

    bool operator==(const LogHistogram&) const = default;

  private:
    static constexpr std::uint64_t kPerPower = std::uint64_t{1} << PrecisionBits;

    static constexpr std::size_t index_of(std::uint64_t value) noexcept {
        if (value < kPerPower)
            return static_cast<std::size_t>(value);
        const auto shift = static_cast<unsigned>(std::bit_width(value)) - 1 - PrecisionBits;
        return static_cast<std::size_t>((std::uint64_t{shift} << PrecisionBits) + (value >> shift));
    }
    static constexpr std::uint64_t lowest_of(std::size_t index) noexcept {
        if (index < 2 * kPerPower)
            return index;
        const std::uint64_t shift = (index >> PrecisionBits) - 1;
        return (index - (shift << PrecisionBits)) << shift;
    }
    static constexpr std::uint64_t highest_of(std::size_t index) noexcept {
        return index + 1 == kBuckets ? kLargest : lowest_of(index + 1) - 1;
    }

    std::uint64_t count_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t min_ = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t max_ = 0;
    std::array<std::uint64_t, kBuckets> counts_{};
};

/// Counts nanoseconds up to 18 minutes to 0.8 %, in 35 KiB: for measurements of latency.
using FineHistogram = LogHistogram<7, 40>;
/// Counts up to 18 minutes of nanoseconds, or 1 TiB, to 6.3 %, in 4.6 KiB: one per stream and lcore.
using CoarseHistogram = LogHistogram<4, 40>;

}  // namespace spead::stats
