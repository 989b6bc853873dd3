// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace spead {

/// Returns the ticks of the CPU's clock (TSC) in a second: EAL's number, or a measured one in a process that
/// has not started EAL. The first measurement takes 10 ms.
double ticks_per_second() noexcept;

}  // namespace spead
