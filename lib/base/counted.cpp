// SPDX-License-Identifier: BSD-3-Clause
#include "base/counted.hpp"

#include <fmt/core.h>

namespace spead {

std::string counted(std::uint64_t count, std::string_view plural) {
    return fmt::format("{} {}", count, noun_for(count, plural));
}

std::string counted_were(std::uint64_t count, std::string_view plural) {
    return fmt::format("{} {}", counted(count, plural), word_for(count, "was", "were"));
}

}  // namespace spead
