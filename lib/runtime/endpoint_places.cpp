// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/endpoint_places.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "stats/counters.hpp"

namespace spead::runtime {

std::vector<std::size_t> EndpointPlaces::keep(const std::vector<PathEndpoint>& endpoints, bool lanes_leave) {
    const std::vector<PathEndpoint> before = std::exchange(in_use_, endpoints);
    const auto wanted = [&](const PathEndpoint& e) {
        return lanes_leave || std::find(endpoints.begin(), endpoints.end(), e) != endpoints.end() ||
               std::find(before.begin(), before.end(), e) != before.end();
    };
    std::vector<std::size_t> fresh;
    for (const PathEndpoint& e : endpoints) {
        if (of(e) != all_.size())
            continue;
        const auto free = std::find_if_not(all_.begin(), all_.end(), wanted);
        fresh.push_back(static_cast<std::size_t>(free - all_.begin()));
        if (free == all_.end())
            all_.push_back(e);
        else
            *free = e;
    }
    return fresh;
}

std::size_t EndpointPlaces::of(const PathEndpoint& endpoint) const noexcept {
    return static_cast<std::size_t>(std::find(all_.begin(), all_.end(), endpoint) - all_.begin());
}

std::vector<std::uint16_t> EndpointPlaces::numbers(const std::vector<PathEndpoint>& endpoints,
                                                   std::vector<std::uint16_t> before) const {
    before.resize(all_.size());
    std::array<std::uint16_t, stats::kMaxPaths> next{};
    for (const PathEndpoint& e : endpoints)
        before[of(e)] = next[e.path]++;
    return before;
}

std::vector<std::uint8_t> EndpointPlaces::paths() const {
    std::vector<std::uint8_t> paths;
    for (const PathEndpoint& e : all_)
        paths.push_back(e.path);
    return paths;
}

}  // namespace spead::runtime
