// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/plan.hpp"

/// Converts configuration files (TOML, version 1) to runtime::Plan and back. Keys: docs/configuration.md and
/// config/*.toml.
namespace spead::config {

/// Holds the version of the file format that is read and written.
inline constexpr std::int64_t kVersion = 1;

/// Returns the text of a configuration file. Throws Error when it cannot be read, UsageError when it is too
/// large to be one.
std::string read_file(const std::string& path);

/// Reads and validates a file. Throws Error when the file cannot be read. Throws UsageError whose where() is
/// "file:line:column" of the offending key or value, and whose text gives the fault and the fix.
runtime::Plan load_file(const std::string& path);

/// Does the same for a text in memory; `name` stands for the file in errors. `asking`: as of validate().
runtime::Plan parse_text(std::string_view text, std::string_view name,
                         std::span<const std::string> asking = {});

/// Finds where the user wrote a value of the plan, for errors. Takes a path such as
/// "receive[0].heaps.queue_depth", "port[1]" or "memory.heaps". Returns "file:line:column", an option
/// ("--ring-heaps") or an empty string.
using Locator = std::function<std::string(std::string_view path)>;

/// Checks the rules that the command line and the file share: ranges, names, references between parts,
/// endpoints that overlap, sizes that contradict each other. Throws UsageError for the first broken rule.
/// `asking`: the streams that are being changed. They do not have what they ask for: errors name other
/// streams as those that have it.
void validate(const runtime::Plan& plan, const Locator& locate = {},
              std::span<const std::string> asking = {});

/// Returns the effective plan as a configuration file with every key. parse_text(to_toml(plan), "") == plan
/// for every plan that validate accepts.
std::string to_toml(const runtime::Plan& plan);

}  // namespace spead::config
