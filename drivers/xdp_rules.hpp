// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include "port/steering.hpp"

namespace spead::drivers {

/// The rules of an interface that has our XDP program: entries of its map from (group, source, UDP port),
/// which hold at once and for all receive queues. A packet goes to the socket of the queue on which it
/// arrived whatever queues its rule names, for the kernel has no other way. A rule's VLAN is the outermost
/// tag's.
///
/// Throws Error when this process has not loaded the program.
std::unique_ptr<port::RuleTable> make_xdp_rules(const std::string& netdev);

}  // namespace spead::drivers
