// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace spead::port {

/// Converts between a port's clock, the lcores' cycle counter and UTC, by straight lines through samples of
/// all three.
///
/// One thread takes samples; any thread converts, without locks or waiting. A converting thread that is
/// stopped for as long as kMaps - 1 samples take (seconds) may get a time between two lines.
class DeviceClock {
  public:
    /// Holds the three clocks at one moment.
    struct Sample {
        std::uint64_t device = 0;  ///< ticks of the port's clock
        std::uint64_t cycles = 0;  ///< rte_rdtsc()
        std::uint64_t utc = 0;     ///< nanoseconds since 1970
    };
    /// Counts the samples from the newest to the oldest, through which lines go.
    static constexpr std::size_t kSamples = 16;

    /// Takes a sample. Conversion needs at least two, between which the device's clock has advanced. A sample
    /// at which it has not (a reset) restarts.
    void take(const Sample& sample) noexcept;
    bool known() const noexcept { return current_.load(std::memory_order_acquire) != 0; }

    /// Returns whether the device's ticks are nanoseconds since 1970 (within an hour), as mlx5's are with
    /// REAL_TIME_CLOCK_ENABLE in the firmware.
    bool is_utc() const noexcept { return is_utc_.load(std::memory_order_relaxed); }
    static bool are_close(std::uint64_t a, std::uint64_t b) noexcept {
        constexpr std::uint64_t hour = 3'600'000'000'000;
        return (a > b ? a - b : b - a) < hour;
    }

    /// Returns the nanoseconds since 1970 of a device time; only when known.
    std::uint64_t utc_of(std::uint64_t device) const noexcept;
    /// Returns the device time of a cycle count; only when known.
    std::uint64_t device_of(std::uint64_t cycles) const noexcept;

  private:
    struct Map {
        std::atomic<std::uint64_t> device{0}, cycles{0}, utc{0};
        std::atomic<double> nanoseconds_per_tick{0}, ticks_per_cycle{0};
    };
    static constexpr std::size_t kMaps = 8;

    std::array<Map, kMaps> maps_;
    std::atomic<std::uint64_t> current_{0};  ///< samples mapped; 0: nothing is known
    std::atomic<bool> is_utc_{false};
    std::array<Sample, kSamples> samples_{};
    std::size_t count_ = 0;
};

}  // namespace spead::port
