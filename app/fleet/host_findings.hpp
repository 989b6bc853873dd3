// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Reads the findings of a process of another host, from its /api/v1/findings. The text may be hostile. Pure.
namespace spead::app {

/// Holds a problem that a process has now, in its own words. All texts are printable.
struct HostFinding {
    std::string where;  ///< the stream, port or lcore
    std::string cause;
    std::string stage;
    std::string what;                ///< a sentence with its count
    std::vector<std::string> cures;  ///< the most likely one first
    double first_s = 0;              ///< when it began, in seconds of the run
};

/// Limits the findings that are kept of a process, the cures of each, and the bytes of each text.
inline constexpr std::size_t kMostFindings = 8;
inline constexpr std::size_t kMostCures = 8;
inline constexpr std::size_t kLongestText = 1000;

/// Returns the first kMostFindings findings of `json` that grow still: not those that are over, and none that
/// are no loss. `run_seconds` is the age of the run. Entries of another shape are left out.
std::vector<HostFinding> findings_now(std::string_view json, double run_seconds);

}  // namespace spead::app
