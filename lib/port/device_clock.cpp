// SPDX-License-Identifier: BSD-3-Clause
#include "port/device_clock.hpp"

#include <algorithm>
#include <cmath>

namespace spead::port {

namespace {

double difference(std::uint64_t a, std::uint64_t b) noexcept {
    return static_cast<double>(static_cast<std::int64_t>(a - b));
}

std::uint64_t sum(std::uint64_t a, double b) noexcept {
    return a + static_cast<std::uint64_t>(std::llround(b));
}

}  // namespace

void DeviceClock::take(const Sample& sample) noexcept {
    if (count_ != 0 && sample.device <= samples_[(count_ - 1) % kSamples].device)
        count_ = 0;
    samples_[count_++ % kSamples] = sample;
    is_utc_.store(are_close(sample.device, sample.utc), std::memory_order_relaxed);
    if (count_ < 2)
        return;
    const Sample& oldest = samples_[count_ > kSamples ? count_ % kSamples : 0];
    const double ticks = difference(sample.device, oldest.device);
    const double cycles = difference(sample.cycles, oldest.cycles);
    const double nanoseconds = difference(sample.utc, oldest.utc);
    if (cycles <= 0 || nanoseconds <= 0)  // somebody has set the time
        return;
    const std::uint64_t next = current_.load(std::memory_order_relaxed) + 1;
    Map& map = maps_[next % kMaps];
    map.device.store(sample.device, std::memory_order_relaxed);
    map.cycles.store(sample.cycles, std::memory_order_relaxed);
    map.utc.store(sample.utc, std::memory_order_relaxed);
    map.nanoseconds_per_tick.store(nanoseconds / ticks, std::memory_order_relaxed);
    map.ticks_per_cycle.store(ticks / cycles, std::memory_order_relaxed);
    current_.store(next, std::memory_order_release);
}

std::uint64_t DeviceClock::utc_of(std::uint64_t device) const noexcept {
    const Map& map = maps_[current_.load(std::memory_order_acquire) % kMaps];
    return sum(map.utc.load(std::memory_order_relaxed),
               difference(device, map.device.load(std::memory_order_relaxed)) *
                   map.nanoseconds_per_tick.load(std::memory_order_relaxed));
}

std::uint64_t DeviceClock::device_of(std::uint64_t cycles) const noexcept {
    const Map& map = maps_[current_.load(std::memory_order_acquire) % kMaps];
    return sum(map.device.load(std::memory_order_relaxed),
               difference(cycles, map.cycles.load(std::memory_order_relaxed)) *
                   map.ticks_per_cycle.load(std::memory_order_relaxed));
}

}  // namespace spead::port
