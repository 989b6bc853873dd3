// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/lcore_loop.hpp"

#include <algorithm>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_pause.h>

namespace spead::runtime {

void LcoreLoop::run() noexcept {
    thread_.store(gettid(), std::memory_order_relaxed);
    // Sleeps of tens of microseconds would otherwise be rounded up by the default slack of 50.
    prctl(PR_SET_TIMERSLACK, 1000UL);
    ticks_per_us_ = rte_get_tsc_hz() / 1'000'000;
    price_ = YieldPrice(ticks_per_us_);
    const std::uint64_t housekeeping = ticks_per_us_ * kHousekeepingMicroseconds;
    const std::uint64_t interrupted = ticks_per_us_ * kInterruptedMicroseconds;
    std::uint64_t before = rte_rdtsc();
    std::uint64_t next_housekeeping = before;
    bool worked = false;
    while (!quit_.load(std::memory_order_acquire)) {
        std::uint64_t now = rte_rdtsc();
        // Before the mailbox, whose job may ask why packets were lost in this very loop.
        counters_.loop(now - before, worked, rest_ticks_, interrupted);
        before = now;
        rest_ticks_ = 0;
        if (mailbox_.serve()) [[unlikely]]
            now = rte_rdtsc();
        worked = receiving_ && receiver_.poll(now);
        for (recv::Distributor* const distributor : distributors_)
            worked |= distributor->take_moved();
        for (send::Sender* const sender : senders_)
            worked |= sender->poll(now);
        for (port::ImpairedQueue* const queue : impaired_)
            worked |= queue->poll();
        if (now >= next_housekeeping) [[unlikely]] {
            receiver_.housekeep(now);
            next_housekeeping = now + housekeeping;
        }
        if (worked)
            idle_.worked();
        else
            rest(now);
    }
    mailbox_.close();
}

void LcoreLoop::wait_for(std::unique_ptr<Sleeper> sleeper) {
    sleeper_ = std::move(sleeper);
    mailbox_.set_waker(sleeper_->wake_descriptor());
}

/// Returns whether only a new packet or the mailbox can bring work to this lcore.
bool LcoreLoop::nothing_pending() const noexcept {
    return !receiver_.blocked() && !receiver_.is_gathering() &&
           std::none_of(distributors_.begin(), distributors_.end(),
                        [](const recv::Distributor* d) { return d->holds(); }) &&
           std::all_of(impaired_.begin(), impaired_.end(),
                       [](const port::ImpairedQueue* q) { return q->empty(); });
}

void LcoreLoop::wait() noexcept {
    if (!nothing_pending()) {
        give_way();
        return;
    }
    sleeper_->arm();
    // Packets that arrived before the device was armed raise no event.
    bool came = receiving_ && receiver_.poll(rte_rdtsc());
    for (recv::Distributor* const distributor : distributors_)
        came |= distributor->take_moved() || distributor->holds();
    if (!came) {
        receiver_.rest();  // the poll has ended the one before
        rest_ticks_ = kLongestWaitMicroseconds * ticks_per_us_;
        counters_.sleeps++;
        sleeper_->wait(kLongestWaitMicroseconds);
    }
    sleeper_->disarm();
    if (came)
        idle_.worked();
}

void LcoreLoop::give_way() noexcept {
    if (yields_) {
        const std::uint64_t begun = rte_rdtsc();
        sched_yield();
        price_.yielded(begun, rte_rdtsc());
    } else {
        rte_pause();
    }
}

void LcoreLoop::rest(std::uint64_t now) noexcept {
    const IdlePolicy::Step step = idle_.idle(now);
    // Other lcores wait for the boundaries of this one unless it says that it rests.
    if (yields_ || !receiving_ || step.action != IdlePolicy::Action::poll)
        receiver_.rest();
    if (step.action == IdlePolicy::Action::wait) {
        wait();
        return;
    }
    if (step.action == IdlePolicy::Action::sleep) {
        sleep(now, step.microseconds);
        return;
    }
    if (yields_ && idle_.may_sleep() && price_.dear(now))
        sleep(now, IdlePolicy::kShortestSleep);
    else if (yields_ || step.action == IdlePolicy::Action::pause)
        give_way();
}

/// Sleeps for that long at most: not beyond the time at which packets are due.
void LcoreLoop::sleep(std::uint64_t now, std::uint64_t microseconds) noexcept {
    const auto sleep_until = [&microseconds, now](std::uint64_t next) {
        if (next != 0)
            microseconds =
                std::min(microseconds, next <= now ? 0 : (next - now) * 1'000'000 / rte_get_tsc_hz());
    };
    for (const send::Sender* const sender : senders_)
        sleep_until(sender->next_send_time());
    for (const port::ImpairedQueue* const queue : impaired_)
        sleep_until(queue->next_time());
    if (microseconds < IdlePolicy::kShortestSleep) {
        // The thread that empties a full ring, or brings the next heap, may want this CPU.
        give_way();
        return;
    }
    rest_ticks_ = microseconds * ticks_per_us_;
    counters_.sleeps++;
    const timespec time{0, static_cast<long>(microseconds * 1000)};
    nanosleep(&time, nullptr);
}

}  // namespace spead::runtime
