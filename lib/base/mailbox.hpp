// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <sys/eventfd.h>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/waiting_time.hpp"

namespace spead {

/// Holds work for a worker lcore, with all data that the lcore does not own.
class LcoreJob {
  public:
    LcoreJob() = default;
    virtual ~LcoreJob() = default;
    LcoreJob(const LcoreJob&) = delete;
    LcoreJob& operator=(const LcoreJob&) = delete;

    /// Runs on the lcore, between two bursts: it must not allocate, throw or wait.
    virtual void run() noexcept = 0;
};

/// Calls a function without captures with its arguments, by reference. The job owns the arguments, so that
/// the function may run, or run on, after its caller has given up. Pointers among them must stay valid as
/// long as the lcore may run, so never point to a caller's stack.
template <typename Function, typename... Arguments>
class LcoreCall final : public LcoreJob {
    static_assert(std::is_empty_v<Function>,
                  "a capture may outlive what it refers to: pass it as an argument");
    static_assert(
        ((!std::is_pointer_v<Arguments> || std::is_class_v<std::remove_pointer_t<Arguments>>)&&...),
        "a pointer to a plain value points to a caller's stack: have the function return the value");

  public:
    using Returned = std::invoke_result_t<Function&, Arguments&...>;
    /// Holds the function's result; std::monostate for void.
    using Result = std::conditional_t<std::is_void_v<Returned>, std::monostate, Returned>;

    explicit LcoreCall(Function function, Arguments... arguments)
        : function_(function), arguments_(std::move(arguments)...) {}

    void run() noexcept override {
        if constexpr (std::is_void_v<Returned>) {
            std::apply(function_, arguments_);
            result_.emplace();
        } else {
            result_.emplace(std::apply(function_, arguments_));
        }
    }
    /// Takes the result, once the job is finished. For the caller.
    Result take_result() { return std::move(*result_); }

  private:
    [[no_unique_address]] Function function_;
    std::tuple<Arguments...> arguments_;
    std::optional<Result> result_;
};

/// Makes a worker lcore do work for control code, which posts a job; the lcore runs it between bursts. While
/// the lcore runs, no other thread ever touches its objects.
///
/// open() before the lcore's loop starts; serve() and close() belong to the lcore; the rest belongs to one
/// control thread. While the mailbox is closed that thread runs the job itself. If the caller gives up, the
/// mailbox still owns the job as long as the lcore may run it.
class Mailbox {
  public:
    /// Sets the event descriptor (eventfd(2)) that wakes a sleeping lcore for a posted job; -1: it polls.
    void set_waker(int fd) noexcept { waker_ = fd; }

    void open() noexcept {
        job_.reset();
        state_.store(State::idle, std::memory_order_release);
    }

    /// Runs a posted job, on the lcore between bursts; one load when there is none. Returns whether it ran
    /// one.
    bool serve() noexcept {
        if (state_.load(std::memory_order_relaxed) != State::posted) [[likely]]
            return false;
        run_posted();
        return true;
    }

    /// Runs a posted job before the lcore leaves its loop. Does nothing to a closed mailbox.
    void close() noexcept {
        State now = state_.load(std::memory_order_relaxed);
        while (now != State::closed) {
            if (now == State::posted)
                run_posted();
            else if (state_.compare_exchange_weak(now, State::closed, std::memory_order_acq_rel))
                return;
            now = state_.load(std::memory_order_relaxed);
        }
    }

    /// Posts the job. Returns false when the lcore still has another one; `job` then stays with the caller.
    [[nodiscard]] bool post(std::unique_ptr<LcoreJob>& job) {
        if (job_ != nullptr)
            return false;
        job_ = std::move(job);
        State expected = State::idle;
        if (!state_.compare_exchange_strong(expected, State::posted, std::memory_order_acq_rel)) {
            job_->run();
            return true;
        }
        if (waker_ >= 0)
            eventfd_write(waker_, 1);
        return true;
    }

    /// Returns whether there is a job, finished or not.
    bool busy() const noexcept { return job_ != nullptr; }

    /// Waits until the job is finished. Returns false when it was not within `patience`. Time in which this
    /// thread did not run hardly counts.
    [[nodiscard]] bool wait(std::chrono::nanoseconds patience) const {
        WaitingTime waited(kLongestRound);
        for (unsigned round = 0; !finished(); round++) {
            if (waited.add() > patience)
                return false;
            if (round < 64)
                std::this_thread::yield();
            else
                std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
        return true;
    }

    /// Takes the job, if it is finished; else null.
    std::unique_ptr<LcoreJob> take() noexcept {
        if (!finished())
            return nullptr;
        State expected = State::done;
        state_.compare_exchange_strong(expected, State::idle, std::memory_order_acq_rel);
        return std::move(job_);
    }

    /// Takes back a job that the lcore has not begun and will not run. Null: it has begun, or is finished.
    std::unique_ptr<LcoreJob> withdraw() noexcept {
        State expected = State::posted;
        if (!state_.compare_exchange_strong(expected, State::idle, std::memory_order_acq_rel))
            return nullptr;
        return std::move(job_);
    }

    /// Runs `function(arguments...)` on the lcore and returns its result (std::monostate for void). Returns
    /// none when it was not finished within `patience`. Then the function does not run any more, unless it
    /// had begun; in that case the mailbox keeps it, and takes no other job until it is finished.
    template <typename Function, typename... Arguments>
    auto call(std::chrono::nanoseconds patience, Function function, Arguments... arguments) {
        using Call = LcoreCall<Function, Arguments...>;
        std::optional<typename Call::Result> result;
        std::unique_ptr<LcoreJob> job = std::make_unique<Call>(function, std::move(arguments)...);
        // One that was given up may have finished since.
        static_cast<void>(take());
        if (!post(job))
            return result;
        if (wait(patience) || withdraw() == nullptr)
            job = take();
        if (job != nullptr)
            result.emplace(static_cast<Call&>(*job).take_result());
        return result;
    }

  private:
    enum class State : std::uint8_t { closed, idle, posted, running, done };

    /// Limits the length of a round that counts as waiting.
    static constexpr std::chrono::milliseconds kLongestRound{5};

    bool finished() const noexcept {
        const State now = state_.load(std::memory_order_acquire);
        return job_ != nullptr && (now == State::done || now == State::closed);
    }

    void run_posted() noexcept {
        State expected = State::posted;
        if (!state_.compare_exchange_strong(expected, State::running, std::memory_order_acquire))
            return;
        job_->run();
        state_.store(State::done, std::memory_order_release);
    }

    alignas(64) std::atomic<State> state_{State::closed};
    int waker_ = -1;
    alignas(64) std::unique_ptr<LcoreJob> job_;  ///< control code's, except while posted or running
};

}  // namespace spead
