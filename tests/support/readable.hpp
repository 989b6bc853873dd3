// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <poll.h>

namespace spead::test {

/// Returns whether a read of the descriptor does not wait, after at most `patience_ms`.
inline bool is_readable(int fd, int patience_ms = 0) {
    pollfd p{fd, POLLIN, 0};
    return ::poll(&p, 1, patience_ms) == 1;
}

}  // namespace spead::test
