// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace spead::drivers {

/// Why the kernel cannot do what net_tap's rte_flow is made of (qdiscs multiq and ingress, the flower
/// classifier, the skbedit action); empty if it can. The kernel is asked in a network namespace that exists
/// only for the question (which loads the modules); the answer is kept for the life of the process. Control
/// world.
const std::string& why_no_flower();

}  // namespace spead::drivers
