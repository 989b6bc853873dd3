// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mailbox.hpp"
#include "base/yield_price.hpp"
#include "port/impaired_queue.hpp"
#include "recv/distributor.hpp"
#include "recv/rx_agent.hpp"
#include "runtime/idle.hpp"
#include "runtime/sleeper.hpp"
#include "send/sender.hpp"
#include "stats/counters.hpp"

namespace spead::runtime {

/// Runs one worker lcore: receiving, sending, or both in turn, its mailbox, and resting when idle.
///
/// Control code sets it up; then run() runs on the lcore until quit() is called. Meanwhile everything but
/// mailbox(), thread() and quit() belongs to the lcore; use the mailbox.
class LcoreLoop {
  public:
    /// Limits how many an lcore may have at once: their tables are made with it.
    static constexpr std::size_t kMaxDistributors = 256;
    static constexpr std::size_t kMaxSenders = 4096;

    LcoreLoop(IdlePolicy idle, bool yields) : idle_(idle), yields_(yields) {
        distributors_.reserve(kMaxDistributors);
        senders_.reserve(kMaxSenders);
        impaired_.reserve(kMaxSenders);
    }

    recv::RxAgent& receiver() noexcept { return receiver_; }
    /// Adds a distributor of a queue that this lcore polls for other lcores, too.
    void add_distributor(recv::Distributor& distributor) noexcept { distributors_.push_back(&distributor); }
    void add_sender(send::Sender& sender) noexcept { senders_.push_back(&sender); }
    void remove_sender(const send::Sender& sender) noexcept { std::erase(senders_, &sender); }
    const std::vector<send::Sender*>& senders() const noexcept { return senders_; }
    /// Adds the impaired queue of a sender, which holds packets back.
    void add_impaired(port::ImpairedQueue& queue) noexcept { impaired_.push_back(&queue); }
    void remove_impaired(const port::ImpairedQueue& queue) noexcept { std::erase(impaired_, &queue); }
    stats::LcoreCounters& counters() noexcept { return counters_; }

    /// Opens the mailbox. Launch run() next.
    void prepare() noexcept {
        quit_.store(false, std::memory_order_relaxed);
        mailbox_.open();
    }
    /// Runs on the worker lcore until quit().
    void run() noexcept;
    void quit() noexcept {
        quit_.store(true, std::memory_order_release);
        if (sleeper_)
            sleeper_->wake();
    }

    /// Sets the sleeper for interrupt mode, before run(). Without one, the lcore polls adaptively.
    void wait_for(std::unique_ptr<Sleeper> sleeper);
    /// Forgets the events of ports, which are stopped.
    void forget_events() noexcept {
        if (sleeper_)
            sleeper_->clear();
    }
    PollMode mode() const noexcept { return idle_.mode(); }
    void set_mode(PollMode mode) noexcept { idle_.set_mode(mode); }
    void set_max_poll(std::uint32_t polls) noexcept { idle_.set_max_poll(polls); }
    /// Returns whether interrupt mode is possible: there is an event to wait for.
    bool can_wait() const noexcept { return sleeper_ != nullptr && !sleeper_->empty(); }

    Mailbox& mailbox() noexcept { return mailbox_; }
    /// Returns the gettid(2) of the thread of run(); 0: it does not run yet. Any thread.
    int thread() const noexcept { return thread_.load(std::memory_order_relaxed); }

    /// Takes no more packets from the receive queues. Called through the mailbox.
    void stop_receiving() noexcept { receiving_ = false; }

  private:
    void rest(std::uint64_t now) noexcept;
    void wait() noexcept;
    void give_way() noexcept;
    bool nothing_pending() const noexcept;
    void sleep(std::uint64_t now, std::uint64_t microseconds) noexcept;

    static constexpr std::uint64_t kHousekeepingMicroseconds = 1000;
    /// Holds the excess of a loop over its rest after which the thread counts as off its CPU.
    static constexpr std::uint64_t kInterruptedMicroseconds = 1000;
    /// Limits the time between two checks of heap timeouts while no packet arrives.
    static constexpr std::uint64_t kLongestWaitMicroseconds = 20'000;

    Mailbox mailbox_;
    std::atomic<bool> quit_{false};
    std::atomic<int> thread_{0};
    recv::RxAgent receiver_;
    std::vector<recv::Distributor*> distributors_;
    std::vector<send::Sender*> senders_;
    std::vector<port::ImpairedQueue*> impaired_;
    std::unique_ptr<Sleeper> sleeper_;
    IdlePolicy idle_;
    bool yields_;
    YieldPrice price_;  ///< in ticks
    bool receiving_ = true;
    std::uint64_t rest_ticks_ = 0;  ///< longest intended rest of this loop
    std::uint64_t ticks_per_us_ = 0;
    stats::LcoreCounters counters_;
};

}  // namespace spead::runtime
