// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "base/error.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace spead::fuzz {

/// Requires that a refusal, which terminals and logs show, is one line of text, for any input.
inline void require_sentence(std::string_view text) {
    require(!text.empty(), "a refusal says why");
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        require(byte >= 0x20 && byte != 0x7F, "a refusal has no control characters");
    }
}

}  // namespace spead::fuzz
