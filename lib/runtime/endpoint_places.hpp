// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/paths.hpp"

namespace spead::runtime {

/// Assigns a stream's endpoints their places, which are indices into the tables of its lanes. An endpoint
/// keeps its place while others are added and removed. Those of two paths have places of their own. Main
/// thread only.
class EndpointPlaces {
  public:
    /// Keeps the places of the `endpoints`, which receive packets from now on. New endpoints get free places:
    /// those that no packet may still be counted for, in tables about to be exchanged or in lanes that are
    /// being removed (`lanes_leave`). Returns the places of the new endpoints.
    std::vector<std::size_t> keep(const std::vector<PathEndpoint>& endpoints, bool lanes_leave);

    /// Returns the endpoints in the order of their places, with former ones whose place is not taken.
    const std::vector<PathEndpoint>& all() const noexcept { return all_; }
    std::size_t size() const noexcept { return all_.size(); }
    /// Returns the endpoint's place; size(): it has none.
    std::size_t of(const PathEndpoint& endpoint) const noexcept;
    /// Returns the number of each place's endpoint among those of its path: `endpoints` has all_endpoints().
    /// A former one keeps that of `before`, by place: packets on their way may still be counted for it.
    std::vector<std::uint16_t> numbers(const std::vector<PathEndpoint>& endpoints,
                                       std::vector<std::uint16_t> before) const;
    /// Returns the path of each place's endpoint.
    std::vector<std::uint8_t> paths() const;

  private:
    std::vector<PathEndpoint> all_;
    std::vector<PathEndpoint> in_use_;  ///< they receive packets
};

}  // namespace spead::runtime
