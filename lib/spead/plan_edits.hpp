// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/error.hpp"
#include "runtime/eal.hpp"
#include "runtime/plan.hpp"
#include "spead/process.hpp"

/// Converts calls of the library to edits of a plan. Control code; pure but for look-ups of the machine's
/// interfaces.
namespace spead::door {

/// Returns the plan of a session without streams and ports. `eal`: the CPUs of EAL's lcores, if it runs.
/// Throws Error for CPUs that the session may not use, and UsageError for an invalid name.
runtime::Plan first_plan(const ProcessConfig& config, const std::optional<runtime::Eal::Cpus>& eal);

/// Returns the name of the plan's port for `interface` (RecvConfig::interface), which is added unless it is
/// there. Throws Error, listing the candidates, when none is named and none can be chosen.
std::string port_for(runtime::Plan& plan, const std::string& interface);

/// Returns the running plan with the ports, streams and senders of `given` in place of those that no user
/// has. Streams of `given` get memory of their own. Ports
/// stay; one that both name is the same one, and one whose name is another's gets a new name.
runtime::Plan merged(runtime::Plan running, runtime::Plan given,
                     const std::function<bool(const std::string&)>& is_users_stream,
                     const std::function<bool(const std::string&)>& is_users_sender);

/// Returns whether another stream of the plan asks for an endpoint of this one, and both are enabled.
bool is_in_the_way(const runtime::Plan& plan, const runtime::ReceivePlan& stream);

/// Returns the prefix with the lowest number that no stream and no sender has.
std::string free_name(const runtime::Plan& plan, std::string_view prefix);

/// Throws UsageError for the first rule of the configuration that the plan breaks. The stream, sender or port
/// is its where(), and the keys in it have the names of the headers. `asking`: as of config::validate().
void check(const runtime::Plan& plan, std::span<const std::string> asking = {});

/// Throws the error again, with the names of the headers instead of the configuration's. Returns for classes
/// derived from Error and UsageError, which their catchers must still know.
void throw_with_names_of_headers(const Error& error);

/// Runs the function. What it throws has the names of the headers.
template <typename Function>
auto with_names_of_headers(Function&& function) {
    try {
        return function();
    } catch (const Error& error) {
        throw_with_names_of_headers(error);
        throw;
    }
}

/// Throws UsageError for an amount of memory that no machine has, and whose sums might overflow.
void need_room(const std::string& where, std::string_view name, std::size_t bytes);

/// Returns "receive NAME", or "receive" before the stream has a name.
inline std::string where_of(std::string_view part, const std::string& name) {
    return name.empty() ? std::string(part) : fmt::format("{} {}", part, name);
}

/// Runs the function. What it throws says `where`, too.
template <typename Function>
auto about(const std::string& where, Function&& function) {
    try {
        return function();
    } catch (const UsageError& error) {
        if (error.where() == where)
            throw;
        throw UsageError(where, error.what());
    } catch (const Error& error) {
        if (error.where() == where)
            throw;
        throw Error(where, error.what());
    }
}

/// Returns the stream or sender of this name. Throws Error when there is none: the session has removed it.
template <typename T>
T& named(std::vector<T>& all, const std::string& name) {
    for (T& one : all)
        if (one.name == name)
            return one;
    throw Error(name, "the stream has ended and is no longer part of the session");
}

/// Returns the CPUs of "2,3" or "2-5,8". Throws UsageError with `where`.
std::vector<unsigned> parse_cpus(std::string_view text, const std::string& where);

}  // namespace spead::door
