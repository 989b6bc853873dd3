// SPDX-License-Identifier: BSD-3-Clause
#include "app/api/work_queue.hpp"

#include <pthread.h>
#include <utility>

#include "base/start_thread.hpp"
#include "runtime/consumers.hpp"

namespace spead::app {

WorkQueue::WorkQueue(const std::string& name, std::vector<unsigned> cpus) {
    thread_ = start_thread(name, [this, name, cpus = std::move(cpus)] {
        pthread_setname_np(pthread_self(), name.c_str());
        runtime::run_on(cpus);
        work();
    });
}

WorkQueue::~WorkQueue() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

bool WorkQueue::post(std::function<void()> job) {
    {
        const std::lock_guard lock(mutex_);
        if (over_ || jobs_.size() == kMost)
            return false;
        jobs_.push_back(std::move(job));
    }
    changed_.notify_all();
    return true;
}

void WorkQueue::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return over_ || !jobs_.empty(); });
        if (over_)
            return;
        const std::function<void()> job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
        lock.lock();
    }
}

}  // namespace spead::app
