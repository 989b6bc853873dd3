// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <functional>

namespace spead::app {

/// Looks up an environment variable; null when it is not set.
using Environment = std::function<const char*(const char*)>;

/// Looks it up in this process's environment.
inline const char* process_environment(const char* name) {
    return std::getenv(name);
}

}  // namespace spead::app
