// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace spead::door {

/// Runs the thread that EAL knows as the main lcore: started by the first session, it carries out one session
/// after the other and lives as long as the operating system process. It blocks all signals, and so do the
/// lcores that EAL starts from it. Any thread may post.
class MainThread {
  public:
    /// Returns the process's thread, started at the first call. Throws Error when no thread can be started,
    /// and in a child of fork(2), which has neither the thread nor EAL's.
    static MainThread& instance();

    /// Runs the function, which throws nothing, after those posted before.
    void post(std::function<void()> function);
    bool is_this_thread() const noexcept { return std::this_thread::get_id() == thread_.get_id(); }

  private:
    MainThread();
    void run();

    std::mutex mutex_;
    std::condition_variable posted_;
    std::deque<std::function<void()>> functions_;
    std::thread thread_;
};

/// Returns whether this is the operating system process in which the first session was started, or none was
/// yet.
bool is_own_process() noexcept;

/// Throws Error in a child of fork(2). `where` is what belongs to its parent.
void need_own_process(const std::string& where, bool is_own = is_own_process());

}  // namespace spead::door
