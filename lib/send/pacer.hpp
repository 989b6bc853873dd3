// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

namespace spead::send {

/// Holds the rate limit of a stream.
struct Pacing {
    double rate = 0;                   ///< bytes of UDP payload per second; 0: unlimited
    std::uint64_t burst_size = 65536;  ///< bytes handed out before the clock is consulted
    double burst_rate_ratio = 1.05;    ///< how much faster than `rate` a late stream may catch up; at least 1

    bool operator==(const Pacing&) const = default;
};

/// Computes when the next packet may be sent. Time is a cycle counter that the caller reads and passes in;
/// nothing here reads a clock.
///
/// Bytes are granted freely until burst_size is reached. Then their cost in time is added to two clocks, and
/// sending waits for both. `due` advances by bytes / rate whatever really happened, so that the average rate
/// is met although the caller comes late. `earliest` is the time of the last burst plus bytes / (rate x
/// ratio), so that catching up is never faster than that. Times carry 64 bits of fraction: the rounding of
/// one cost is 2^-64 of it, so equal costs added without end do not drift. Time without anything to send
/// earns no credit (resume).
///
/// Not thread-safe; belongs to the lcore.
class Pacer {
  public:
    /// Holds time in cycles with 64 fractional bits.
    __extension__ using Fixed = unsigned __int128;

    /// Holds the cost of a byte at some rate; 0: none.
    using Cost = Fixed;

    /// Takes `hz`, the counter's cycles per second, above 0. The pacing must be valid (rate >= 0, ratio >=
    /// 1).
    Pacer(double hz, const Pacing& pacing) noexcept : hz_(hz) { set(pacing); }

    /// Changes the pacing from the next ready(), which must be called before more is granted. Bytes granted
    /// at the stream's rate and not waited for yet get the cost of the new rate: a running wait becomes
    /// shorter or longer. Credit for being late is lost. The same pacing again changes nothing.
    void set(const Pacing& pacing) noexcept {
        if (pacing == pacing_)
            return;
        const Cost before = cost_;
        pacing_ = pacing;
        pacing_.burst_size = std::max<std::uint64_t>(1, pacing.burst_size);
        cost_ = cost_of(pacing.rate);
        // Split so that neither factor of the product below overflows: 2^-16 of the ratio is exact enough for
        // a cap.
        inverse_ratio_ = static_cast<std::uint32_t>(65536.0 / std::max(1.0, pacing.burst_rate_ratio));
        if (before != 0)
            scale_ *= static_cast<long double>(cost_) / static_cast<long double>(before);
        restart_ = true;
    }
    /// Notes that sending was impossible until now: the next ready() gives no credit for that time.
    void restart() noexcept { restart_ = true; }
    const Pacing& pacing() const noexcept { return pacing_; }

    /// Returns the cost of a byte at `rate` bytes per second, for charge(bytes, cost). 0: unlimited.
    Cost cost_of(double rate) const noexcept {
        if (!(rate > 0))
            return 0;
        // At most 2^40 cycles per byte, some minutes: the sum of a burst must not overflow.
        const long double cycles =
            std::min(static_cast<long double>(hz_) / static_cast<long double>(rate), 0x1p40L);
        const auto whole = static_cast<std::uint64_t>(cycles);
        const auto fraction =
            static_cast<std::uint64_t>((cycles - static_cast<long double>(whole)) * 0x1p64L);
        return Fixed{whole} << 64 | fraction;
    }
    Cost cost() const noexcept { return cost_; }

    /// Returns whether a packet may be sent now.
    bool ready(std::uint64_t now) noexcept {
        if (restart_) [[unlikely]]
            begin_anew(now);
        if (waiting_) {
            if (now < next_time())
                return false;
            waiting_ = false;
        }
        return handed_ < pacing_.burst_size || settle(now);
    }

    /// Returns, after ready() returned true, whether no byte of this burst was granted yet; the next: its due
    /// time.
    bool burst_begins() const noexcept { return handed_ == 0; }
    std::uint64_t burst_time() const noexcept {
        return static_cast<std::uint64_t>(std::max(due_, earliest_) >> 64);
    }

    /// Returns the bytes that may be granted before the next ready(); a packet may exceed them. At least 1
    /// after ready() returned true.
    std::uint64_t budget() const noexcept { return pacing_.burst_size - handed_; }

    /// Charges granted bytes (at most 2^22 at once) at the stream's rate, or at that of their heap.
    void charge(std::uint64_t bytes) noexcept {
        handed_ = std::min(handed_ + bytes, pacing_.burst_size);
        wait_.stream = std::min(wait_.stream + bytes * cost_, kLongest);
    }
    void charge(std::uint64_t bytes, Cost cost) noexcept {
        handed_ = std::min(handed_ + bytes, pacing_.burst_size);
        wait_.own = std::min(wait_.own + bytes * cost, kLongest);
    }

    /// Notes that there was nothing to send until now: the next packet is due now, not earlier.
    void resume(std::uint64_t now) noexcept {
        const Fixed at = Fixed{now} << 64;
        due_ = std::max(due_, at - std::min(at, wait_.all()));
    }

    /// Returns whether sending waits for next_time().
    bool waiting() const noexcept { return waiting_; }
    std::uint64_t next_time() const noexcept { return static_cast<std::uint64_t>(earliest_ >> 64); }

  private:
    static constexpr Fixed kLongest = Fixed{1} << 125;  ///< 2^61 cycles: decades

    /// Holds the time that bytes cost.
    struct Wait {
        Fixed stream = 0;  ///< at the stream's rate
        Fixed own = 0;     ///< at the rates of their heaps
        Fixed all() const noexcept { return stream + own; }
    };

    static Fixed scaled(Fixed time, long double by) noexcept {
        return static_cast<Fixed>(
            std::min(static_cast<long double>(time) * by, static_cast<long double>(kLongest)));
    }

    /// Restarts after a change of rate or an outage: the remaining wait has a new cost, and there is no
    /// credit.
    void begin_anew(std::uint64_t now) noexcept {
        restart_ = false;
        const Fixed at = Fixed{now} << 64;
        const Wait& of = waiting_ ? begun_ : wait_;
        const Fixed whole = of.all();
        const Fixed until = waiting_ ? earliest_ : due_ + whole;
        Fixed left = until - std::min(at, until);
        if (whole != 0)
            left = scaled(left,
                          (static_cast<long double>(of.own) + static_cast<long double>(of.stream) * scale_) /
                              static_cast<long double>(whole));
        wait_.stream = scaled(wait_.stream, scale_);
        begun_.stream = scaled(begun_.stream, scale_);
        scale_ = 1;
        due_ = at + left;
        if (waiting_)
            earliest_ = due_;
        else
            due_ -= std::min(due_, wait_.all());
    }

    bool settle(std::uint64_t now) noexcept {
        const Fixed wait = wait_.all();
        if (wait == 0)
            resume(now);
        due_ += wait;
        earliest_ += (wait >> 16) * inverse_ratio_;
        begun_ = wait_;
        wait_ = {};
        handed_ = 0;
        const Fixed target = std::max(due_, earliest_);
        earliest_ = std::max(target, Fixed{now} << 64);
        waiting_ = now < static_cast<std::uint64_t>(target >> 64);
        return !waiting_;
    }

    double hz_;
    Pacing pacing_{-1, 0, 0};  ///< none yet
    Cost cost_ = 0;
    std::uint32_t inverse_ratio_ = 65536;  ///< 1 / burst_rate_ratio, 16 fractional bits
    bool waiting_ = false;
    bool restart_ = true;
    std::uint64_t handed_ = 0;  ///< bytes since the clock was last consulted, at most burst_size
    Wait wait_;                 ///< their cost
    Wait begun_;                ///< the cost of those before
    Fixed due_ = 0;             ///< when the next burst is due at the rate
    Fixed earliest_ = 0;        ///< when it may be sent at the catching-up rate; while waiting, the later of
                                ///< both
    long double scale_ = 1;     ///< new cost of a byte by its old one, of rates set since the last ready()
};

}  // namespace spead::send
