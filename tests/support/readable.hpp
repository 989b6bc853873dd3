// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <poll.h>

namespace spead::test {

/// Returns whether a read of the descriptor would not wait.
inline bool is_readable(int fd) {
    pollfd p{fd, POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
}

}  // namespace spead::test
