// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace spead::runtime {

/// Watches how much of an lcore's time a place callback takes, over intervals of a second. Reports it once
/// when it becomes too much, and again only after it has been less. Pure: the caller passes the counts of one
/// answer of the lcore.
class CallbackWatch {
  public:
    static constexpr double kTooMuch = 0.25;  ///< of the lcore's time
    static constexpr double kBetter = 0.2;

    /// Takes the cycles in the callback, and all cycles of the lcore, `hz` of them in a second. Returns the
    /// share of the time when it has become too much.
    std::optional<double> update(std::uint64_t callback, std::uint64_t all, std::uint64_t hz) noexcept {
        if (!begun_ || callback < callback_ || all < all_) {
            begun_ = true;
            callback_ = callback;
            all_ = all;
            return std::nullopt;
        }
        if (all - all_ < hz || hz == 0)
            return std::nullopt;
        const double share = static_cast<double>(callback - callback_) / static_cast<double>(all - all_);
        callback_ = callback;
        all_ = all;
        const bool was_slow = slow_;
        slow_ = share > (slow_ ? kBetter : kTooMuch);
        return slow_ && !was_slow ? std::optional(share) : std::nullopt;
    }
    bool slow() const noexcept { return slow_; }

  private:
    std::uint64_t callback_ = 0;  ///< at the start of the interval
    std::uint64_t all_ = 0;       ///< likewise
    bool begun_ = false;
    bool slow_ = false;
};

}  // namespace spead::runtime
