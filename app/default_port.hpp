// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

#include "port/candidates.hpp"

namespace spead::app {

/// The port when none was given.
struct DefaultPort {
    /// The device of EAL's only --vdev, else DPDK_SPEAD_INTERFACE, else empty.
    std::function<std::string()> named;
    /// Then: the only one that can be meant, or why there is none.
    std::function<port::LonePort()> lone;
};

}  // namespace spead::app
