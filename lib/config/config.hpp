// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/plan.hpp"

/// Configuration files (TOML, version 1) <-> runtime::Plan. Keys: docs/configuration.md and config/*.toml.
namespace spead::config {

/// The version of the file format that is read and written.
inline constexpr std::int64_t kVersion = 1;

/// Reads and validates a file. Throws UsageError whose where() is "file:line:column" of the offending key or
/// value, and whose text says what is wrong and what would be right; Error when the file cannot be read.
runtime::Plan load_file(const std::string& path);

/// As load_file, for a text that is already in memory; `name` stands for the file in errors.
runtime::Plan parse_text(std::string_view text, std::string_view name);

/// Where in the user's words a value of the plan came from, for errors: takes a path such as
/// "receive[0].heaps.queue_depth", "port[1]" or "memory.heaps"; returns "file:line:column", an option
/// ("--ring-heaps") or an empty string.
using Locator = std::function<std::string(std::string_view path)>;

/// The rules that the command line and the file share: ranges, names, references between parts, endpoints
/// that overlap, sizes that contradict each other. Throws UsageError for the first that is broken.
void validate(const runtime::Plan& plan, const Locator& locate = {});

/// The effective plan as a configuration file with every key: parse_text(to_toml(plan), "") == plan for every
/// plan that validate accepts.
std::string to_toml(const runtime::Plan& plan);

}  // namespace spead::config
