// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <sys/types.h>

namespace spead {

/// Returns the name of a user, or "number N" for one without.
std::string user_name(uid_t user);

}  // namespace spead
