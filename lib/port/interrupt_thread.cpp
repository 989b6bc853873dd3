// SPDX-License-Identifier: BSD-3-Clause
#ifndef ALLOW_EXPERIMENTAL_API
#define ALLOW_EXPERIMENTAL_API  // rte_intr_instance_alloc and its like
#endif
#include "port/interrupt_thread.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <future>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_errno.h>

#include "base/error.hpp"

namespace spead::port {

void FreeInterruptHandle::operator()(rte_intr_handle* handle) const {
    rte_intr_instance_free(handle);
}

InterruptHandle call_back_on(int fd, rte_intr_callback_fn callback, void* argument) {
    InterruptHandle handle{rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE)};
    if (handle == nullptr || rte_intr_fd_set(handle.get(), fd) != 0 ||
        rte_intr_type_set(handle.get(), RTE_INTR_HANDLE_EXT) != 0) {
        throw_error("EAL's interrupt thread", "it cannot make a handle: {}", rte_strerror(rte_errno));
    }
    if (const int error = rte_intr_callback_register(handle.get(), callback, argument); error != 0) {
        throw_error("EAL's interrupt thread", "it cannot register a callback: {}", rte_strerror(-error));
    }
    return handle;
}

struct InterruptThread::Task {
    const std::function<void()>& job;
    std::promise<void> done;
};

InterruptThread::InterruptThread() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) {
        throw_error("EAL's interrupt thread", "no event descriptor to wake it: {}", std::strerror(errno));
    }
    try {
        handle_ = call_back_on(fd_, event, this);
    } catch (const Error&) {
        ::close(fd_);
        throw;
    }
}

InterruptThread& InterruptThread::get() {
    static auto* const thread = new InterruptThread;
    return *thread;
}

void InterruptThread::run(const std::function<void()>& job) {
    Task task{job, {}};
    auto done = task.done.get_future();
    task_ = &task;
    // EAL takes new callbacks up when it reads its pipe, which their registration wrote before this event.
    const std::uint64_t one = 1;
    if (::write(fd_, &one, sizeof one) != ssize_t{sizeof one}) {
        throw_error("EAL's interrupt thread", "cannot wake it: {}", std::strerror(errno));
    }
    done.get();
}

void InterruptThread::event(void* self) {
    auto& thread = *static_cast<InterruptThread*>(self);
    std::uint64_t count = 0;
    if (::read(thread.fd_, &count, sizeof count) != ssize_t{sizeof count}) {
        return;
    }
    Task& task = *thread.task_;
    try {
        task.job();
        task.done.set_value();
    } catch (...) {
        task.done.set_exception(std::current_exception());
    }
}

}  // namespace spead::port
