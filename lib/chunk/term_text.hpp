// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "chunk/placement.hpp"

namespace spead::chunk {

/// Returns the text form of a term, as in a placement: "item 0x1600 / 4096".
std::string term_text(const Term& term);

}  // namespace spead::chunk
