// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/fleet/host_look.hpp"
#include "app/top/top_frame.hpp"

/// Makes the frames of `top --fleet`, from two looks at all hosts and the size of the terminal. Pure.
namespace spead::app {

/// Makes a frame. Losses are those between `before`, which has the same hosts or none, and `now`.
TopFrame fleet_frame(const std::vector<HostLook>& before, const std::vector<HostLook>& now,
                     const TopView& view, const TopSize& size);

}  // namespace spead::app
