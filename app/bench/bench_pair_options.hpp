// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/bench/bench_pair.hpp"

namespace CLI {
class App;
}

namespace spead::app {

/// Sets the defaults of bench link or bench latency (by `options.kind`) and adds their options to the
/// command. `options` must outlive the parse.
void add_pair_options(CLI::App& app, PairOptions& options);

}  // namespace spead::app
