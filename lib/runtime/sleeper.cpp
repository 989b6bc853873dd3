// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/sleeper.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.hpp"

namespace spead::runtime {

namespace {

void watch(int epoll, int fd, bool edge) {
    epoll_event event{};
    // The counter that a device raises is never read (DPDK's own loop waits for edges, too).
    event.events = edge ? EPOLLIN | EPOLLET : EPOLLIN;
    event.data.fd = fd;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        throw_error("interrupt mode", "cannot wait for descriptor {}: {}", fd, std::strerror(errno));
}

}  // namespace

Sleeper::Sleeper() : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (epoll_ < 0 || wake_ < 0)
        throw_error("interrupt mode", "cannot make a descriptor: {}", std::strerror(errno));
    watch(epoll_, wake_, false);
}

Sleeper::~Sleeper() {
    ::close(epoll_);
    ::close(wake_);
}

void Sleeper::add(const port::RxEvents& events) {
    for (const auto& part : events.parts())
        watch(epoll_, part.fd, part.armed_by_device);
    events_.push_back(events);
}

void Sleeper::clear() noexcept {
    for (const port::RxEvents& events : events_)
        for (const auto& part : events.parts())
            epoll_ctl(epoll_, EPOLL_CTL_DEL, part.fd, nullptr);
    events_.clear();
}

void Sleeper::arm() const noexcept {
    for (const port::RxEvents& events : events_)
        events.arm();
}

void Sleeper::disarm() const noexcept {
    for (const port::RxEvents& events : events_)
        events.disarm();
}

void Sleeper::wait(std::uint64_t microseconds) const noexcept {
    std::array<epoll_event, 8> events;
    const int n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                             static_cast<int>((microseconds + 999) / 1000));
    for (int i = 0; i < n; i++)
        if (events[static_cast<std::size_t>(i)].data.fd == wake_) {
            eventfd_t ignored = 0;
            eventfd_read(wake_, &ignored);
        }
}

void Sleeper::wake() const noexcept {
    eventfd_write(wake_, 1);
}

}  // namespace spead::runtime
