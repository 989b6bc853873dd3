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

/// Reports that the main thread is busy.
class Busy : public Error {
  public:
    using Error::Error;
};

/// Reports that the program ends.
class Ending : public Error {
  public:
    using Error::Error;
};

/// Runs functions of control threads (prompts, an attached terminal, signals) on the main thread, which owns
/// every change. A function is posted and runs between two rounds of Engine::run.
///
/// serve() and close() belong to the main thread; any other thread may call the rest. While the executor is
/// not served, a caller waits for its patience and then gets an error.
class Executor {
  public:
    Executor();
    ~Executor();
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    static constexpr std::chrono::seconds kPatience{30};

    /// Runs `function` on the main thread and returns what it returns, or throws what it throws. Throws
    /// Ending when the program ends, and Busy when the main thread has not begun with it for `patience`; then
    /// it will not run. A function that has begun is waited for.
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

    /// Runs `function` on the main thread at every serve() until the optional that it returns has a value,
    /// and returns that. Use it for actions that the main thread begins and does not wait for. Otherwise as
    /// call().
    template <typename Function>
    auto until(Function&& function, std::chrono::nanoseconds patience = kPatience) {
        std::invoke_result_t<Function> result;
        run_until([&] { return (result = function()).has_value(); }, patience);
        return std::move(*result);
    }

    /// Posts `function`, to run on the main thread as soon as possible, without waiting. `function` throws
    /// nothing. Once the program ends it may not run any more.
    void post(std::function<void()> function);

    /// Returns the descriptor that the main thread polls. It is readable while a function is posted.
    int fd() const noexcept { return fd_; }

    /// Runs all functions posted so far, and those that wait in until(). Because of the latter, call it at
    /// every round, whether or not fd() is readable. Returns whether there was any.
    bool serve();
    /// Ends the executor: no function runs any more. Waiting and later callers get the error that the program
    /// ends.
    void close() noexcept;

  private:
    struct Job {
        std::function<bool()> function;  ///< returns false: again at the next serve()
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
