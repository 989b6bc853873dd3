// SPDX-License-Identifier: BSD-3-Clause
#include "spead/main_thread.hpp"

#include <atomic>
#include <pthread.h>
#include <signal.h>
#include <utility>

#include "base/error.hpp"
#include "base/process_mark.hpp"
#include "base/start_thread.hpp"

namespace spead::door {

namespace {

std::atomic<const ProcessMark*> mark{nullptr};

/// Blocks all signals while a thread is started, which then keeps them blocked.
class BlockedSignals {
  public:
    BlockedSignals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

  private:
    sigset_t before_{};
};

}  // namespace

bool is_own_process() noexcept {
    const ProcessMark* const made = mark.load();
    return made == nullptr || made->is_own();
}

void need_own_process(const std::string& where, bool is_own) {
    if (!is_own)
        throw_error(where, "it belongs to the parent of this process, and cannot be used after fork(2)");
}

MainThread& MainThread::instance() {
    if (!is_own_process())
        throw_error("process",
                    "EAL belongs to the parent of this process: fork(2) copies neither its threads nor its "
                    "ports; start the child with exec(2), or call fork before the first session");
    // Never destroyed: EAL's lcores end with the process, not before.
    static MainThread* const thread = new MainThread;
    return *thread;
}

MainThread::MainThread() {
    const BlockedSignals blocked;
    thread_ = start_thread("process", [this] { run(); });
    static const ProcessMark made;
    mark = &made;
    pthread_setname_np(thread_.native_handle(), "spead-main");
}

void MainThread::post(std::function<void()> function) {
    {
        const std::lock_guard lock(mutex_);
        functions_.push_back(std::move(function));
    }
    posted_.notify_one();
}

void MainThread::run() {
    for (;;) {
        std::unique_lock lock(mutex_);
        posted_.wait(lock, [this] { return !functions_.empty(); });
        const std::function<void()> function = std::move(functions_.front());
        functions_.pop_front();
        lock.unlock();
        function();
    }
}

}  // namespace spead::door
