// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gatherer.hpp"

namespace spead::gpu {

/// Serves a build without clang.
const char* kernels_ptx() noexcept {
    return nullptr;
}

}  // namespace spead::gpu
