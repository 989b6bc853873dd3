// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/endpoint_places.hpp"

#include <algorithm>
#include <utility>

namespace spead::runtime {

std::vector<std::size_t> EndpointPlaces::keep(const std::vector<Endpoint>& endpoints, bool lanes_leave) {
    const std::vector<Endpoint> before = std::exchange(in_use_, endpoints);
    const auto wanted = [&](const Endpoint& e) {
        return lanes_leave || std::find(endpoints.begin(), endpoints.end(), e) != endpoints.end() ||
               std::find(before.begin(), before.end(), e) != before.end();
    };
    std::vector<std::size_t> fresh;
    for (const Endpoint& e : endpoints) {
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

std::size_t EndpointPlaces::of(const Endpoint& endpoint) const noexcept {
    return static_cast<std::size_t>(std::find(all_.begin(), all_.end(), endpoint) - all_.begin());
}

std::vector<std::uint16_t> EndpointPlaces::numbers(const std::vector<Endpoint>& endpoints,
                                                   std::vector<std::uint16_t> before) const {
    before.resize(all_.size());
    for (std::size_t i = 0; i < endpoints.size(); i++)
        before[of(endpoints[i])] = static_cast<std::uint16_t>(i);
    return before;
}

}  // namespace spead::runtime
