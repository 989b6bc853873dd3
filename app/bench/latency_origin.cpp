// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/latency_origin.hpp"

#include <algorithm>

namespace spead::app {

bool LatencyOrigin::send_one(std::uint64_t stamp, std::uint64_t now) {
    // Known as sent before it can come back.
    bound_.store(next_ + 1, std::memory_order_release);
    if (!send_(next_, stamp)) {
        bound_.store(next_, std::memory_order_release);
        return false;
    }
    next_++;
    last_sent_ = now;
    (stamp >= measured_from() ? sent_ : warmed_)++;
    return true;
}

bool LatencyOrigin::step(std::uint64_t now) {
    if (!begun()) {
        start_ = due_ = now;
        next_ = options_.first;
        answered_.store(options_.first, std::memory_order_relaxed);
        begun_.store(true, std::memory_order_release);
    }
    const bool all_back = answered_.load(std::memory_order_acquire) == next_;
    if (options_.interval == 0) {
        if (!all_back && now - last_sent_ < options_.patience)
            return true;
        if (now >= end())
            return false;
        send_one(now, now);
        return true;
    }
    if (due_ < end()) {
        // The time is over; heaps that were due in it count as unsent.
        if (now >= end() + options_.patience)
            return false;
        while (due_ <= now && due_ < end() && send_one(due_, now))
            due_ += options_.interval;
        return true;
    }
    const std::uint64_t back = came_back_.load(std::memory_order_acquire);
    return back < sent_ + warmed_ && now < std::max(last_sent_, end()) + options_.patience;
}

void LatencyOrigin::reply(std::uint64_t cnt, std::uint64_t stamp, std::uint64_t now) noexcept {
    // Received packets may come from anywhere.
    if (!begun() || cnt < options_.first || cnt >= bound_.load(std::memory_order_acquire) || stamp < start_ ||
        stamp > now)
        return;
    if (stamp >= measured_from())
        // Both factors are below 2^64 and the product need not be.
        histogram_.add(static_cast<std::uint64_t>(static_cast<long double>(now - stamp) * 1e9L /
                                                  static_cast<long double>(options_.hz)));
    came_back_.fetch_add(1, std::memory_order_release);
    if (cnt + 1 > answered_.load(std::memory_order_relaxed))
        answered_.store(cnt + 1, std::memory_order_release);
}

LatencyOrigin::Result LatencyOrigin::result() const {
    Result r;
    r.nanoseconds = histogram_;
    r.sent = sent_;
    r.warmed = warmed_;
    if (options_.interval != 0 && due_ < end())
        r.unsent = (end() - due_ + options_.interval - 1) / options_.interval;
    return r;
}

}  // namespace spead::app
