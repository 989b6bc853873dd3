// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "app/inspect/findings.hpp"
#include "port/machine.hpp"
#include "runtime/layout.hpp"

/// Checks for obstacles to a port's line rate: its card's slot, its interface, the distance to its CPUs.
/// Reads, changes nothing.
namespace spead::app {

/// Returns whether an interface pauses its sender or itself (flow control); absent when unknown.
using AskPauseFrames = std::function<std::optional<bool>(const std::string& netdev)>;

/// Returns ethtool's answer.
std::optional<bool> pause_frames(const std::string& netdev);

Findings check_port(const port::Machine& machine, const runtime::Layout& layout, const runtime::Plan& plan,
                    const port::PlannedPort& port, const AskPauseFrames& pauses);

/// Checks the card's slot and IOMMU; `subject` is the port's name.
Findings check_card(const port::Machine& machine, const std::string& subject, const port::PciDevice& card);

/// Returns the largest read request of a PCI Express device in bytes, from its configuration space. Absent if
/// that is cut short (only root may read beyond the first 64 bytes) or has no such capability.
std::optional<unsigned> max_read_request(const std::string& config_space);

}  // namespace spead::app
