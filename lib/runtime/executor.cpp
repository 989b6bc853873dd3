// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/executor.hpp"

#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>
#include <unistd.h>

#include <fmt/core.h>

namespace spead::runtime {

Executor::Executor() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0)
        throw_error("runtime", "cannot make an event descriptor: {}", std::strerror(errno));
}

Executor::~Executor() {
    close();
    ::close(fd_);
}

void Executor::run(const std::function<void()>& function, std::chrono::nanoseconds patience) {
    run_until(
        [&function] {
            function();
            return true;
        },
        patience);
}

void Executor::run_until(std::function<bool()> function, std::chrono::nanoseconds patience) {
    std::unique_lock lock(mutex_);
    const auto job = std::make_shared<Job>();
    job->function = std::move(function);
    if (!closed_) {
        jobs_.push_back(job);
        eventfd_write(fd_, 1);
        changed_.wait_for(lock, patience, [&] { return job->state != Job::State::waiting || closed_; });
        if (job->state == Job::State::waiting) {
            std::erase(jobs_, job);
            if (!closed_)
                throw Busy("control", fmt::format("the program is busy: it has not answered for {:g} s",
                                                  std::chrono::duration<double>(patience).count()));
        } else {
            changed_.wait(lock, [&] { return job->state != Job::State::running; });
        }
    }
    if (job->state != Job::State::done)
        throw Ending("control", "the program is ending");
    if (job->error)
        std::rethrow_exception(job->error);
}

void Executor::post(std::function<void()> function) {
    const std::lock_guard lock(mutex_);
    if (closed_)
        return;
    jobs_.push_back(std::make_shared<Job>());
    jobs_.back()->function = [function = std::move(function)] {
        function();
        return true;
    };
    eventfd_write(fd_, 1);
}

bool Executor::serve() {
    bool any = false;
    std::unique_lock lock(mutex_);
    // Under the lock: a job posted between the two would be served here, and announced once more.
    eventfd_t count = 0;
    eventfd_read(fd_, &count);
    jobs_.insert(jobs_.begin(), again_.begin(), again_.end());
    again_.clear();
    // Jobs posted meanwhile run at the next call: the caller has other work, too.
    for (std::size_t left = jobs_.size(); left != 0 && !jobs_.empty(); left--) {
        const std::shared_ptr<Job> job = jobs_.front();
        jobs_.pop_front();
        job->state = Job::State::running;
        lock.unlock();
        bool over = true;
        try {
            over = job->function();
        } catch (...) {
            job->error = std::current_exception();
        }
        lock.lock();
        any = true;
        // Closed by the job that has just run: it is not run again.
        if (!over && !closed_) {
            again_.push_back(job);
            continue;
        }
        job->state = over ? Job::State::done : Job::State::refused;
        changed_.notify_all();
    }
    if (!jobs_.empty())
        eventfd_write(fd_, 1);
    return any;
}

void Executor::close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (auto* const list : {&jobs_, &again_}) {
        for (const auto& job : *list)
            job->state = Job::State::refused;
        list->clear();
    }
    changed_.notify_all();
}

}  // namespace spead::runtime
