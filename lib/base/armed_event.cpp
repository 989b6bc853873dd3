// SPDX-License-Identifier: BSD-3-Clause
#include "base/armed_event.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.hpp"

namespace spead {

ArmedEvent::ArmedEvent(const std::string& where) : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!fd_)
        throw_error(where, "cannot make an event descriptor: {}", std::strerror(errno));
}

void ArmedEvent::clear() noexcept {
    withdraw();
    std::uint64_t count;
    while (read(fd_.get(), &count, sizeof count) < 0 && errno == EINTR) {
    }
}

void ArmedEvent::signal() noexcept {
    if (armed_.exchange(false, std::memory_order_relaxed))
        wake();
}

void ArmedEvent::wake() noexcept {
    const std::uint64_t one = 1;
    // A full counter (EAGAIN) is readable already, which is all that is wanted.
    [[maybe_unused]] const ssize_t n = write(fd_.get(), &one, sizeof one);
}

}  // namespace spead
