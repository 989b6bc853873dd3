// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/bench/bench_pair.hpp"

namespace spead::app {

/// Holds one trial of a rate; rates in bytes of UDP payload per second.
struct LinkTrial {
    double offered = 0;
    double reached = 0;
    std::uint64_t sent = 0;     ///< heaps
    std::uint64_t arrived = 0;  ///< complete
    bool passed = false;
};

struct LinkResult {
    PairCase c;
    std::uint64_t bytes_per_heap = 0;  ///< UDP payload
    std::uint64_t packets_per_heap = 0;
    std::optional<double> sustained;
    std::optional<double> refused;
    double confidence = 0;  ///< if one trial in fifty errs
    std::vector<LinkTrial> trials;
};

/// Returns whether a trial passes: every heap arrived, and the rate was reached to within 1 %, because some
/// links push back instead of losing.
bool link_trial_passes(const LinkTrial& trial);

std::string link_table(const std::vector<LinkResult>& results);
/// Returns the results as JSON, with the facts of the outcome.
std::string link_json(const PairOptions& options, const std::vector<LinkResult>& results,
                      const PairOutcome& outcome);

/// Runs `bench link`; returns the program's exit status. Progress goes to standard error unless `quiet`.
int bench_link(const PairOptions& options, const std::vector<std::string>& eal_args,
               const std::string& json_path, bool quiet);

}  // namespace spead::app
