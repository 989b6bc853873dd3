// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>

namespace spead::observe {

/// Holds JSON whose members keep the order in which they were added.
using Json = nlohmann::ordered_json;

}  // namespace spead::observe
