// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "observe/json.hpp"

namespace spead::app {

/// Returns the known formats of packets for people: a name, what it is, where its layout was read, and the
/// declaration.
std::string format_list();
/// Returns the same for programs.
observe::Json format_document();

}  // namespace spead::app
