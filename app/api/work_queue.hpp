// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace spead::app {

/// Carries out jobs that may wait for the main thread, one after the other, on a thread of its own. So the
/// thread of the HTTP server waits for nobody. Any thread may post.
class WorkQueue {
  public:
    /// Limits the jobs that wait.
    static constexpr std::size_t kMost = 16;

    /// Starts the thread `name` on `cpus`. Throws Error when there is no thread left.
    WorkQueue(const std::string& name, std::vector<unsigned> cpus);
    /// Waits for the job that runs, and discards the others. Jobs bound their waits, and so this one: for the
    /// main thread (runtime::Ending), and for files (save_file()).
    ~WorkQueue();
    WorkQueue(const WorkQueue&) = delete;
    WorkQueue& operator=(const WorkQueue&) = delete;

    /// Adds a job, which throws nothing. Returns false when too many wait already.
    bool post(std::function<void()> job);

  private:
    void work();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> jobs_;
    bool over_ = false;
    std::thread thread_;
};

}  // namespace spead::app
