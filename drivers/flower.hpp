// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace spead::drivers {

/// Returns why the kernel lacks what net_tap's rte_flow needs (qdiscs multiq and ingress, the flower
/// classifier, the skbedit action); empty if it has it. The kernel is asked in a network namespace made only
/// for the test (which loads the modules); the answer is kept for the life of the process. Control code.
const std::string& why_no_flower();

}  // namespace spead::drivers
