// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/bench/bench_pair.hpp"
#include "app/invocation.hpp"

namespace spead::app {

/// Measures at the near end: `bench_link` or `bench_latency`.
using MeasurePair = int (*)(const PairOptions& options, const std::vector<std::string>& eal_args,
                            const std::string& json_path, bool quiet);

/// Carries out a benchmark between two ends: prints what would run for --check, serves as the far end with
/// --server, else measures. Returns an exit status; throws UsageError and Error.
int run_two_ends(const PairOptions& options, const Invocation& invocation, MeasurePair measure);

}  // namespace spead::app
