// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/plan.hpp"

/// Changes of a plan as they are typed while it runs: pure functions, plan in, plan out.
///
/// They go through the file's own parser and rules, so every key, unit, range and refusal is the file's. All
/// throw UsageError that says what was wrong; the plan given is never touched.
namespace spead::config {

/// A key as in the file, with its table below [[receive]] or [[send]] before it ("poll",
/// "heaps.queue_depth"), and its value as typed, without quotes: "busy", "16MiB", "true". Lists have commas
/// between ("1,2" or "1-3" of CPUs). "default" takes the key away, which leaves what the file's reader takes
/// without it.
using Setting = std::pair<std::string, std::string>;

runtime::Plan add_stream(const runtime::Plan& plan, const std::string& name, const std::string& port,
                         const std::string& endpoints, const std::vector<Setting>& settings);
runtime::Plan set_stream(const runtime::Plan& plan, const std::string& name,
                         const std::vector<Setting>& settings);
runtime::Plan delete_stream(const runtime::Plan& plan, const std::string& name);

/// `range`: "239.1.2.0+3:7148". An endpoint is in a stream once, and in one stream only.
runtime::Plan add_endpoints(const runtime::Plan& plan, const std::string& stream, const std::string& range);
/// Every endpoint of `range` must be in the stream. Ranges that lose some are written anew.
runtime::Plan delete_endpoints(const runtime::Plan& plan, const std::string& stream,
                               const std::string& range);

runtime::Plan add_send(const runtime::Plan& plan, const std::string& name, const std::string& port,
                       const std::string& endpoints, const std::vector<Setting>& settings);
runtime::Plan set_send(const runtime::Plan& plan, const std::string& name,
                       const std::vector<Setting>& settings);
runtime::Plan delete_send(const runtime::Plan& plan, const std::string& name);

/// Throws UsageError when it is none of key_paths("receive") or key_paths("send") (config/keys.hpp), saying
/// which is near or where it belongs.
void check_stream_key(const std::string& key);
void check_send_key(const std::string& key);
/// The shortest list of ranges with exactly these endpoints in this order.
std::vector<std::string> endpoint_ranges(const std::vector<Endpoint>& endpoints);

}  // namespace spead::config
