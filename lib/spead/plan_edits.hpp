// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/error.hpp"
#include "runtime/plan.hpp"
#include "spead/process.hpp"

/// How calls of the front door become edits of a plan. Control world, pure but for what is looked up of the
/// machine's interfaces.
namespace spead::door {

/// Returns the plan of a session without streams and ports. Throws Error for CPUs that it may not use.
runtime::Plan first_plan(const ProcessConfig& config);

/// Returns the name of the plan's port that `interface` means (RecvConfig::interface), which is added unless
/// it is there. Throws Error, listing the candidates, when none is named and none can be chosen.
std::string port_for(runtime::Plan& plan, const std::string& interface);

/// Returns the prefix with the lowest number that no stream and no sender has.
std::string free_name(const runtime::Plan& plan, std::string_view prefix);

/// Throws UsageError for the first rule of the configuration that the plan breaks; the key is its where().
void check(const runtime::Plan& plan);

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
