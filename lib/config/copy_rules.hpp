// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include <toml++/toml.h>

#include "config/key_fault.hpp"
#include "config/toml_table.hpp"
#include "runtime/plan.hpp"

/// Completes and checks senders that send the heaps of another one on a second path (`copy_of`).
namespace spead::config {

/// Gives each copy the keys that it leaves out, as its original has them. Left alone are keys of its own way
/// to the receiver: `name`, `port`, `lcore`, `dst_mac` and `impair`.
void complete_copies(toml::table& tree);

/// Refuses copies of no sender, and of themselves: they have no keys to take. Throws UsageError.
void check_originals(const toml::table& tree, const Source& source);

/// Returns the first fault of a sender that is a copy; none if it is not one.
std::optional<KeyFault> copy_fault(const runtime::Plan& plan, const runtime::SendPlan& send);

}  // namespace spead::config
