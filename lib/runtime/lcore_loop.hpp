// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mailbox.hpp"
#include "port/impaired_queue.hpp"
#include "recv/distributor.hpp"
#include "recv/rx_agent.hpp"
#include "runtime/idle.hpp"
#include "runtime/sleeper.hpp"
#include "send/sender.hpp"
#include "stats/counters.hpp"

namespace spead::runtime {

/// What one worker lcore does: receiving, sending, or both in turn, its mailbox, and resting when idle.
///
/// Set up in the control world, then run() on the lcore until quit() is called. While it runs, everything but
/// mailbox(), thread() and quit() belongs to the lcore; use the mailbox.
class LcoreLoop {
  public:
    /// How many an lcore may have at once: their tables are made with it.
    static constexpr std::size_t kMaxDistributors = 256;
    static constexpr std::size_t kMaxSenders = 4096;

    LcoreLoop(IdlePolicy idle, bool yields) : idle_(idle), yields_(yields) {
        distributors_.reserve(kMaxDistributors);
        senders_.reserve(kMaxSenders);
        impaired_.reserve(kMaxSenders);
    }

    recv::RxAgent& receiver() noexcept { return receiver_; }
    /// Of a queue that this lcore polls for others, too.
    void add_distributor(recv::Distributor& distributor) noexcept { distributors_.push_back(&distributor); }
    void add_sender(send::Sender& sender) noexcept { senders_.push_back(&sender); }
    void remove_sender(const send::Sender& sender) noexcept { std::erase(senders_, &sender); }
    const std::vector<send::Sender*>& senders() const noexcept { return senders_; }
    /// What a sender sends through, while it holds packets back.
    void add_impaired(port::ImpairedQueue& queue) noexcept { impaired_.push_back(&queue); }
    void remove_impaired(const port::ImpairedQueue& queue) noexcept { std::erase(impaired_, &queue); }
    stats::LcoreCounters& counters() noexcept { return counters_; }

    /// The mailbox is open from here on; launch run() next.
    void prepare() noexcept {
        quit_.store(false, std::memory_order_relaxed);
        mailbox_.open();
    }
    /// Until quit(). Runs on the worker lcore.
    void run() noexcept;
    void quit() noexcept {
        quit_.store(true, std::memory_order_release);
        if (sleeper_)
            sleeper_->wake();
    }

    /// Interrupt mode, before run(): what to wait for. Without, the lcore polls adaptively.
    void wait_for(std::unique_ptr<Sleeper> sleeper);
    /// Ports are stopped: their events are gone.
    void forget_events() noexcept {
        if (sleeper_)
            sleeper_->clear();
    }
    PollMode mode() const noexcept { return idle_.mode(); }
    void set_mode(PollMode mode) noexcept { idle_.set_mode(mode); }
    void set_max_poll(std::uint32_t polls) noexcept { idle_.set_max_poll(polls); }
    /// Interrupt mode is possible: there is something to wait for.
    bool can_wait() const noexcept { return sleeper_ != nullptr && !sleeper_->empty(); }

    Mailbox& mailbox() noexcept { return mailbox_; }
    /// The thread that run() runs on, as gettid(2) tells there; 0: it does not run yet. Any thread.
    int thread() const noexcept { return thread_.load(std::memory_order_relaxed); }

    /// For the mailbox: no more packets are taken from the receive queues from now on.
    void stop_receiving() noexcept { receiving_ = false; }

  private:
    void rest(std::uint64_t now) noexcept;
    void wait() noexcept;
    void give_way() noexcept;
    bool nothing_pending() const noexcept;

    static constexpr std::uint64_t kHousekeepingMicroseconds = 1000;
    /// A loop that takes so much longer than its rest has not had its CPU meanwhile.
    static constexpr std::uint64_t kInterruptedMicroseconds = 1000;
    /// Heap timeouts are looked at so often at least, though no packet comes.
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
    bool receiving_ = true;
    std::uint64_t rest_ticks_ = 0;  ///< for so long at most this loop was to rest
    std::uint64_t ticks_per_us_ = 0;
    stats::LcoreCounters counters_;
};

}  // namespace spead::runtime
