// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>
#include <vector>

#include "base/endpoint.hpp"

namespace spead {

/// Parses destinations of packets that exist already, as parse_endpoints() does. Their groups may have any
/// scope: packets may have been captured on the interface that they stay on.
std::vector<Endpoint> parse_seen_endpoints(std::string_view text);

}  // namespace spead
