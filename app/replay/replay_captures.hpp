// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/invocation.hpp"
#include "app/replay/replay_options.hpp"

namespace spead::app {

/// Sends the captures. Returns an exit status; throws UsageError and Error. The replay ends when its lcore
/// has not answered for as long as the options say.
int replay(const ReplayOptions& options, const Invocation& invocation);

}  // namespace spead::app
