// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "app/bench/median.hpp"
#include "memory/copy.hpp"

namespace spead::app {

/// Returns how many passes go before a measured one, for passes with so many bytes of payload into so much
/// memory: that memory twice, unless it is more than caches hold. A cache takes several passes to hold what
/// streaming copies drove out. After two, cached stores into 7.5 MiB of chunks took 1.9 times as long as
/// after 14 (bench chunks --pattern p1 --set 16MiB).
constexpr std::uint64_t warm_passes(std::uint64_t bytes, std::uint64_t memory) {
    constexpr std::uint64_t kLeast = std::uint64_t{64} << 20;
    constexpr std::uint64_t kMost = std::uint64_t{256} << 20;
    return std::max<std::uint64_t>(1, std::clamp(2 * memory, kLeast, kMost) / bytes);
}

/// Returns the time of a pass, which `pass()` returns. A pass finds in the cache what those before left
/// there. So `warm` others of its kind go before.
template <typename Pass>
double time_after(std::uint64_t warm, const Pass& pass) {
    for (std::uint64_t i = 0; i < warm; i++)
        pass();
    return pass();
}

/// Holds the times of both kinds of bare copies; those of the better one are the limit of a benchmark.
class BareCopies {
  public:
    /// Measures a pass of each kind, after `warm` others; `pass(stores)` returns its time.
    template <typename Pass>
    void measure(std::uint64_t warm, const Pass& pass) {
        for (const memory::Stores stores : {memory::Stores::cached, memory::Stores::streaming})
            times_[static_cast<std::size_t>(stores)].push_back(
                time_after(warm, [&] { return pass(stores); }));
    }

    double median(memory::Stores stores) const { return median_of(times_[static_cast<std::size_t>(stores)]); }
    /// Returns the times of the better kind.
    const std::vector<double>& limit() const {
        return times_[median(memory::Stores::streaming) < median(memory::Stores::cached) ? 1 : 0];
    }
    /// Returns by how much each of `ours` is over the limit of its round.
    std::vector<double> over_limit(const std::vector<double>& ours) const {
        std::vector<double> added;
        for (std::size_t i = 0; i < ours.size(); i++)
            added.push_back(ours[i] - limit()[i]);
        return added;
    }

  private:
    std::array<std::vector<double>, 2> times_;
};

}  // namespace spead::app
