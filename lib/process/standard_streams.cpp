// SPDX-License-Identifier: BSD-3-Clause
#include "process/standard_streams.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace spead::process {

namespace {

/// Returns whether written data can no longer be read: a pipe or socket whose other end is closed.
bool has_no_reader(int fd) {
    pollfd state{fd, 0, 0};
    return poll(&state, 1, 0) > 0 && (state.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace

void fill_standard_descriptors() noexcept {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            // The lowest number that is free, which is this one.
            const int opened = open("/dev/null", O_RDWR);
            if (opened >= 0 && opened != fd)
                close(opened);
        }
}

std::optional<std::string> finish_standard_output() {
    errno = 0;
    const bool flushed = std::fflush(stdout) == 0;
    const int error = errno;
    if ((flushed && std::ferror(stdout) == 0) || error == EPIPE || has_no_reader(STDOUT_FILENO))
        return std::nullopt;
    return flushed || error == 0 ? std::string("a write to it failed; is its disk full?")
                                 : std::string(std::strerror(error));
}

}  // namespace spead::process
