// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

/// Holds the findings of `check` and `selftest`. Pure.
namespace spead::app {

enum class Verdict : unsigned char { ok, warn, fail };

struct Finding {
    Verdict verdict = Verdict::ok;
    std::string subject;  ///< "huge pages", "p0 MTU"
    std::string text;     ///< the observation
    std::string fix;      ///< the command that fixes it; empty if nothing is wrong, or no command does
    bool usage = false;   ///< the command line is wrong, on every machine
};

using Findings = std::vector<Finding>;

void append(Findings& findings, Findings more);

/// Returns the text of an action as a finding; a failed one, with the error's text, if it throws Error.
Finding finding_of(const std::string& subject, const std::function<std::string()>& action);

/// Returns a line for each finding, followed by its fix, and a line that counts them.
std::string describe(std::span<const Finding> findings);
nlohmann::ordered_json findings_document(std::span<const Finding> findings);
bool any_failed(std::span<const Finding> findings);
/// Returns whether all failed findings are errors of the command line.
bool only_usage_failed(std::span<const Finding> findings);

}  // namespace spead::app
