// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace spead::stats {

/// Holds the highest values reached.
struct Peak {
    std::uint64_t ever = 0;    ///< since the start, or since it was forgotten
    std::uint64_t minute = 0;  ///< within the last 50 to 60 seconds
    std::uint64_t now = 0;     ///< since the last look

    bool operator==(const Peak&) const = default;
};

/// Keeps peaks over several times, from the values of consecutive intervals. Pure: the caller passes the
/// time, in seconds, never decreasing. Control code.
class PeakRecord {
  public:
    static constexpr double kBucketSeconds = 10;
    static constexpr std::uint64_t kBuckets = 6;

    /// Adds `value`, the highest of the interval that ends at `at_s`.
    void add(double at_s, std::uint64_t value) noexcept {
        const auto bucket = static_cast<std::uint64_t>(std::max(at_s, 0.0) / kBucketSeconds);
        for (std::uint64_t b = std::max(last_ + 1, bucket >= kBuckets ? bucket - kBuckets + 1 : 0);
             b <= bucket; b++)
            buckets_[b % kBuckets] = 0;
        last_ = std::max(last_, bucket);
        std::uint64_t& of_bucket = buckets_[last_ % kBuckets];
        of_bucket = std::max(of_bucket, value);
        peak_.ever = std::max(peak_.ever, value);
        peak_.minute = *std::max_element(buckets_.begin(), buckets_.end());
        peak_.now = value;
        any_ = true;
    }
    const Peak& peak() const noexcept { return peak_; }
    /// Returns whether nothing has been added since the start, or since it was forgotten.
    bool empty() const noexcept { return !any_; }
    void forget() noexcept { *this = PeakRecord(); }

  private:
    std::array<std::uint64_t, kBuckets> buckets_{};
    std::uint64_t last_ = 0;
    Peak peak_;
    bool any_ = false;
};

}  // namespace spead::stats
