// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

#include "port/candidates.hpp"

namespace spead::app {

/// Finds a port when none was given.
struct DefaultPort {
    /// Returns the device of EAL's only --vdev, else DPDK_SPEAD_INTERFACE, else an empty text.
    std::function<std::string()> named;
    /// Finds the only possible port after that, or says why there is none.
    std::function<port::LonePort()> lone;
};

}  // namespace spead::app
