// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <sys/eventfd.h>
#include <thread>
#include <type_traits>

namespace spead {

/// How the control world has something done by a worker lcore: it posts a function, the lcore runs it between
/// bursts and acknowledges. Nothing the lcore owns is ever touched by another thread while the lcore runs.
///
/// open() before the lcore's loop starts; serve() and close() belong to the lcore; call() to any other
/// thread, one at a time (others wait for their turn). While the mailbox is closed the caller runs the
/// function itself.
class Mailbox {
  public:
    enum class Answer : std::uint8_t {
        done,     ///< the lcore ran it, or the mailbox is closed and the caller did
        timeout,  ///< the lcore did not take it; it will not run
    };

    /// An lcore that may sleep is woken by an event descriptor (eventfd(2)) for what is posted; -1: it polls.
    void set_waker(int fd) noexcept { waker_ = fd; }

    void open() noexcept { state_.store(State::idle, std::memory_order_release); }

    /// The lcore, between bursts: one load while nothing is posted. Returns whether it ran something.
    bool serve() noexcept {
        if (state_.load(std::memory_order_relaxed) != State::posted) [[likely]]
            return false;
        run_posted();
        return true;
    }

    /// The lcore, before it leaves its loop: runs what is posted and waits until its caller knows. Nothing
    /// happens to a mailbox that is closed.
    void close() noexcept {
        State expected = State::idle;
        while (!state_.compare_exchange_weak(expected, State::closed, std::memory_order_acq_rel)) {
            if (expected == State::closed)
                return;
            run_posted();
            expected = State::idle;
        }
    }

    /// Runs `function` on the lcore and returns when it has run. It must not allocate, throw or wait, since
    /// the lcore runs it. A function that has started is waited for, however long `timeout`. Time in which
    /// this thread does not run (a stopped process, a busy machine) hardly counts towards it.
    template <typename Function>
    Answer call(Function&& function, std::chrono::nanoseconds timeout = std::chrono::seconds(2)) {
        const std::lock_guard lock(callers_);
        function_ = [](void* f) { (*static_cast<std::remove_reference_t<Function>*>(f))(); };
        argument_ = const_cast<void*>(static_cast<const void*>(&function));
        State expected = State::idle;
        if (!state_.compare_exchange_strong(expected, State::posted, std::memory_order_acq_rel)) {
            function();
            return Answer::done;
        }
        if (waker_ >= 0)
            eventfd_write(waker_, 1);
        std::chrono::nanoseconds waited{0};
        auto last = std::chrono::steady_clock::now();
        for (unsigned round = 0;; round++) {
            expected = State::done;
            if (state_.compare_exchange_strong(expected, State::idle, std::memory_order_acq_rel))
                return Answer::done;
            const auto now = std::chrono::steady_clock::now();
            waited += std::min<std::chrono::nanoseconds>(now - last, kLongestRound);
            last = now;
            if (waited > timeout) {
                expected = State::posted;
                if (state_.compare_exchange_strong(expected, State::idle, std::memory_order_acq_rel))
                    return Answer::timeout;
            }
            if (round < 64)
                std::this_thread::yield();
            else
                std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
    }

  private:
    enum class State : std::uint8_t { closed, idle, posted, running, done };

    /// A round of waiting that took longer than this was no waiting.
    static constexpr std::chrono::milliseconds kLongestRound{5};

    void run_posted() noexcept {
        State expected = State::posted;
        if (!state_.compare_exchange_strong(expected, State::running, std::memory_order_acquire))
            return;
        function_(argument_);
        state_.store(State::done, std::memory_order_release);
    }

    alignas(64) std::atomic<State> state_{State::closed};
    int waker_ = -1;
    void (*function_)(void*) = nullptr;
    void* argument_ = nullptr;
    alignas(64) std::mutex callers_;
};

}  // namespace spead
