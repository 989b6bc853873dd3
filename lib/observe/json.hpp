// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace spead::observe {

/// Holds JSON whose members keep the order in which they were added.
using Json = nlohmann::ordered_json;

/// Writes it on one line, without the line's end. Replaces bytes that are no UTF-8, as names of others may
/// have.
inline std::string text_of(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace spead::observe
