// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

/// What `check` found. Pure.
namespace spead::app {

enum class Verdict : unsigned char { ok, warn, fail };

struct Finding {
    Verdict verdict = Verdict::ok;
    std::string subject;  ///< "huge pages", "p0 MTU"
    std::string text;     ///< what was found
    std::string fix;      ///< the command that fixes it; empty where nothing is wrong, or no command does
    bool usage = false;   ///< what was typed is wrong, on every machine
};

using Findings = std::vector<Finding>;

void append(Findings& findings, Findings more);

/// A line each, the command below what it fixes, and a line that counts them.
std::string describe(std::span<const Finding> findings);
nlohmann::ordered_json findings_document(std::span<const Finding> findings);
bool any_failed(std::span<const Finding> findings);
/// Whether what was typed is all that failed.
bool only_usage_failed(std::span<const Finding> findings);

}  // namespace spead::app
