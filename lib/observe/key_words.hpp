// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace spead::observe {

/// Returns advice in the words of the configuration file, which the prompt takes too: "raise --ring-heaps"
/// becomes "raise heaps.queue_depth". Options without a key stay as they are, and commands between
/// backticks.
std::string with_keys(std::string_view advice);

}  // namespace spead::observe
