// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "runtime/plan.hpp"

namespace spead::app {

/// Holds a configuration as the API shows it.
struct ConfigurationText {
    std::string toml;     ///< with every key
    std::string version;  ///< the same for the same text, and in practice for no other
};

/// Returns the text and the version of a plan.
ConfigurationText configuration_text(const runtime::Plan& plan);

/// Returns whether a field If-Match (RFC 9110, 13.1.1) names the version: "\"VERSION\"", a list, or `*`.
bool names_version(const std::string& if_match, const std::string& version);

}  // namespace spead::app
