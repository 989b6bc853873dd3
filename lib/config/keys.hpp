// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/key.hpp"

/// Lists every key of the file format, by table. Any other key in a file is an error.
namespace spead::config {

/// Returns all tables, in the order of docs/configuration.md; its sub-tables ("receive.heaps") follow each
/// one.
std::span<const Section> sections();

/// Returns the table of that name ("receive.heaps"), which must exist.
const Section& section_of(std::string_view table);

/// Returns the possible names in the table: its keys, then the tables within it. "" is the file itself.
std::vector<std::string_view> names_in(std::string_view table);

/// Returns the key with this path within a table: "poll" or "heaps.queue_depth" of "receive". Null: no such
/// key.
const Key* find_key(std::string_view root, std::string_view path);

/// Returns the paths of all keys of a table and of the tables within it, in the file's order.
std::vector<std::string> key_paths(std::string_view root);

/// Returns the key's value in a new plan.
Value default_value(const Section& section, const Key& key);

/// Calls `visit` for each part of the plan that has the section's keys, with its path ("receive[1].heaps").
void for_each_part(const runtime::Plan& plan, const Section& section,
                   const std::function<void(const std::string& path, ConstPart part)>& visit);

void for_each_part(runtime::Plan& plan, const Section& section,
                   const std::function<void(const std::string& path, Part part)>& visit);

/// Returns whether the stream has the table: those that a stream may be without are "receive.chunk" and
/// "receive.capture".
bool has_table(const runtime::ReceivePlan& r, std::string_view table);
/// Gives the stream a table that it may be without, with default values; does nothing for others.
void add_table(runtime::ReceivePlan& r, std::string_view table);

/// Returns the name here of a word that people write from habit (the command line's option, an older or a
/// likely name): for "max_heaps", "max_live in [receive.heaps]". Empty: no such word.
std::string name_here(std::string_view habit);

}  // namespace spead::config
