// SPDX-License-Identifier: BSD-3-Clause
#include "heap/secret.hpp"

#include <random>

namespace spead::heap {

namespace {

std::uint64_t draw() {
    std::random_device device;
    return (std::uint64_t{device()} << 32 | device()) | 1;
}

const std::uint64_t secret = draw();

}  // namespace

std::uint64_t hash_secret() noexcept {
    return secret;
}

}  // namespace spead::heap
