// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/plan.hpp"

/// Changes a plan by commands that are typed during a run. Pure functions: plan in, plan out.
///
/// They use the file's own parser and rules, so every key, unit, range and refusal is the file's. All throw
/// UsageError that names the fault; they never change the given plan.
namespace spead::config {

/// Holds a key and its value as typed. The key is as in the file, after its table below [[receive]] or
/// [[send]] ("poll", "heaps.queue_depth"). The value has no quotes: "busy", "16MiB", "true". Lists have
/// commas
/// ("1,2" or "1-3" of CPUs). "default" removes the key, so that the file's default holds.
using Setting = std::pair<std::string, std::string>;

runtime::Plan add_stream(const runtime::Plan& plan, const std::string& name, const std::string& port,
                         const std::string& endpoints, const std::vector<Setting>& settings);
runtime::Plan set_stream(const runtime::Plan& plan, const std::string& name,
                         const std::vector<Setting>& settings);
runtime::Plan delete_stream(const runtime::Plan& plan, const std::string& name);

/// Adds the endpoints of `range` ("239.1.2.0+3:7148"). An endpoint is in a stream once, and in one stream
/// only. Where both paths of a stream have the same endpoints, it adds them to both. Throws for a stream
/// whose second path has other ones: their twins are not known.
runtime::Plan add_endpoints(const runtime::Plan& plan, const std::string& stream, const std::string& range);
/// Removes the endpoints of `range`, which must all be in the stream, and their twins in `path_endpoints`.
/// Ranges that lose some are split.
runtime::Plan delete_endpoints(const runtime::Plan& plan, const std::string& stream,
                               const std::string& range);

runtime::Plan add_send(const runtime::Plan& plan, const std::string& name, const std::string& port,
                       const std::string& endpoints, const std::vector<Setting>& settings);
runtime::Plan set_send(const runtime::Plan& plan, const std::string& name,
                       const std::vector<Setting>& settings);
runtime::Plan delete_send(const runtime::Plan& plan, const std::string& name);

/// Throws UsageError for a key that is none of key_paths("receive") or key_paths("send") (config/keys.hpp).
/// The error names similar keys or the right table.
void check_stream_key(const std::string& key);
void check_send_key(const std::string& key);
/// Returns the shortest list of ranges with exactly these endpoints in this order.
std::vector<std::string> endpoint_ranges(const std::vector<Endpoint>& endpoints);

}  // namespace spead::config
