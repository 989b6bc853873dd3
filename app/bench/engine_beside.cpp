// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/engine_beside.hpp"

#include <exception>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

#include "app/bench/json_channel.hpp"
#include "base/error.hpp"
#include "base/start_thread.hpp"

namespace spead::app {

namespace {

class NeededDescriptor {
  public:
    explicit NeededDescriptor(int fd) : fd_(fd) {
        if (fd_ < 0)
            throw_error("bench", "cannot make an event descriptor");
    }
    ~NeededDescriptor() { close(fd_); }
    NeededDescriptor(const NeededDescriptor&) = delete;
    NeededDescriptor& operator=(const NeededDescriptor&) = delete;
    int fd() const noexcept { return fd_; }

  private:
    int fd_;
};

bool readable(int fd) {
    pollfd p{fd, POLLIN, 0};
    return poll(&p, 1, 0) > 0;
}

}  // namespace

bool run_beside(door::PlanRun& run, int signal_fd, const std::function<void(const BesideEnd&)>& work) {
    const NeededDescriptor done(eventfd(0, EFD_CLOEXEC));
    const NeededDescriptor stop(eventfd(0, EFD_CLOEXEC));
    // An epoll descriptor is readable when one of its own is: the engine waits for one descriptor.
    const NeededDescriptor either(epoll_create1(EPOLL_CLOEXEC));
    for (const int fd : {done.fd(), signal_fd}) {
        epoll_event event{};
        event.events = EPOLLIN;
        epoll_ctl(either.fd(), EPOLL_CTL_ADD, fd, &event);
    }
    std::atomic<bool> cancelled{false};
    std::exception_ptr failure;
    std::thread worker = start_thread("bench", [&] {
        try {
            work({cancelled, stop.fd()});
        } catch (const Interrupted&) {
        } catch (...) {
            failure = std::current_exception();
        }
        eventfd_write(done.fd(), 1);
    });
    const runtime::EndReason reason = run.run(either.fd(), nullptr);
    const bool finished = readable(done.fd());
    cancelled.store(true);
    eventfd_write(stop.fd(), 1);
    worker.join();
    if (failure)
        std::rethrow_exception(failure);
    const std::vector<std::string>& problems = run.engine().problems();
    if (!finished && reason != runtime::EndReason::interrupted)
        throw_error("bench", "the run ended early: {}{}{}", runtime::name_of(reason),
                    problems.empty() ? "" : "; ", problems.empty() ? std::string() : problems.front());
    return readable(signal_fd);
}

}  // namespace spead::app
