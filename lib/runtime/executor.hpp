// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>

#include "base/error.hpp"

namespace spead::runtime {

/// The main thread is held up.
class Busy : public Error {
  public:
    using Error::Error;
};

/// How threads of the control world (prompts, an attached terminal, signals) have something done by the
/// control executor, which owns every change: a function is posted and runs on the main thread, between two
/// rounds of Engine::run.
///
/// serve() and close() belong to the main thread; the rest may be called by any other. While nobody serves, a
/// caller waits for its patience and is told so.
class Executor {
  public:
    Executor();
    ~Executor();
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    static constexpr std::chrono::seconds kPatience{30};

    /// Runs `function` on the main thread and returns what it returns, or throws what it throws. Throws Error
    /// when the program ends, and Busy when the main thread has not begun with it for `patience`; then it
    /// will not run. A function that has begun is waited for.
    template <typename Function>
    auto call(Function&& function, std::chrono::nanoseconds patience = kPatience) {
        using Result = std::invoke_result_t<Function>;
        if constexpr (std::is_void_v<Result>) {
            run([&] { function(); }, patience);
        } else {
            std::unique_ptr<Result> result;
            run([&] { result = std::make_unique<Result>(function()); }, patience);
            return std::move(*result);
        }
    }

    /// Runs `function` on the main thread at every serve() until what it returns, an optional, has a value,
    /// and returns that: for what the main thread begins and does not wait for. Otherwise as call().
    template <typename Function>
    auto until(Function&& function, std::chrono::nanoseconds patience = kPatience) {
        std::invoke_result_t<Function> result;
        run_until([&] { return (result = function()).has_value(); }, patience);
        return std::move(*result);
    }

    /// Has `function` run on the main thread as soon as it gets to it, and does not wait for that. It throws
    /// nothing. Once the program ends it may not run any more.
    void post(std::function<void()> function);

    /// Readable while something is posted: what the main thread polls.
    int fd() const noexcept { return fd_; }

    /// Runs what was posted until now, and what waits in until(), for whose sake it is called at every round,
    /// be fd() readable or not. Returns whether there was anything.
    bool serve();
    /// Nothing runs any more: whoever waits, and whoever calls later, is told that the program ends.
    void close() noexcept;

  private:
    struct Job {
        std::function<bool()> function;  ///< false: again at the next serve()
        std::exception_ptr error;
        enum class State : unsigned char { waiting, running, done, refused } state = State::waiting;
    };

    void run(const std::function<void()>& function, std::chrono::nanoseconds patience);
    void run_until(std::function<bool()> function, std::chrono::nanoseconds patience);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<Job>> jobs_;
    std::deque<std::shared_ptr<Job>> again_;  ///< running, and not done
    bool closed_ = false;
    int fd_;
};

}  // namespace spead::runtime
