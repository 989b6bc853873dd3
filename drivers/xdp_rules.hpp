// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include "port/steering.hpp"

namespace spead::drivers {

/// Makes the rules of an interface with our XDP program: entries of its map from (group, source, UDP port),
/// which hold at once and for all receive queues. The kernel delivers a packet only to the socket of the
/// queue on which it arrived, whatever queues its rule names. A rule's VLAN is the outermost tag's.
///
/// Throws Error when this process has not loaded the program.
std::unique_ptr<port::RuleTable> make_xdp_rules(const std::string& netdev);

}  // namespace spead::drivers
