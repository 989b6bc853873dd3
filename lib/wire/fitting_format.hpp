// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string_view>

#include "wire/refused_heads.hpp"

namespace spead::wire {

/// Names packets of SPEAD.
inline constexpr std::string_view kSpeadName = "spead";

/// Returns the name of the one known format, or kSpeadName, that all these datagrams fit; empty if there is
/// none, or several. A format that a header of zeros fits, too, counts only if no datagram fits another one.
/// Control code only.
std::string_view fitting_format(std::span<const DatagramHead> heads);

}  // namespace spead::wire
