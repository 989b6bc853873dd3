// SPDX-License-Identifier: BSD-3-Clause
#include "spead/local_sender.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"

namespace spead::door {

namespace {

using namespace std::chrono_literals;
using Step = send::DatagramSender::Step;

/// Limits a wait of the thread; every event that it waits for wakes it.
constexpr std::chrono::nanoseconds kLongestWait = 1s;
/// Limits a wait for room, so that time-outs are looked at.
constexpr std::chrono::nanoseconds kRoom = 10ms;
/// Limits the wait of other threads for the end of a burst.
constexpr std::chrono::nanoseconds kPatience = 5s;
/// Holds how late the kernel may wake the thread, which waits for the time of the next burst.
constexpr unsigned long kSlack = 1000;  // ns

std::uint64_t clock_now() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

LocalSender::LocalSender(send::DatagramSender::Config config, std::unique_ptr<send::PacketWriter> writer)
    : where_(config.where), sender_(std::move(config)), writer_(std::move(writer)), work_(where_) {}

LocalSender::~LocalSender() {
    if (is_own())
        end();
    else if (thread_.joinable())
        thread_.detach();  // it is the parent's
}

bool LocalSender::is_own() const noexcept {
    return mark_.is_own();
}

void LocalSender::begin(std::optional<unsigned> cpu) {
    // Signals are for the user's threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = start_thread(where_, [this] { run(); });
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!cpu || *cpu >= CPU_SETSIZE)
        return;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(*cpu, &cpus);
    if (const int error = pthread_setaffinity_np(thread_.native_handle(), sizeof cpus, &cpus); error != 0)
        log_warning(LogType::send, "{}: its thread cannot run on CPU {} alone: {}", where_, *cpu,
                    std::strerror(error));
}

void LocalSender::end() noexcept {
    ending_ = true;
    request_stop();
    if (thread_.joinable())
        thread_.join();
}

bool LocalSender::submit(std::span<const send::Submission> group, send::Interleave mode) {
    if (!sender_.submit(group, mode))
        return false;
    work_.announce();
    return true;
}

void LocalSender::request_stop() noexcept {
    sender_.request_stop();
    work_.wake();
}

/// Runs on the stream's thread.
void LocalSender::run() noexcept {
    pthread_setname_np(pthread_self(), "spead-send");
    prctl(PR_SET_TIMERSLACK, kSlack);
    std::uint64_t now = 0;
    while (!ending_)
        switch (step(now)) {
            case Step::packets:
                break;
            case Step::time: {
                const std::uint64_t next = sender_.next_time();
                const std::chrono::nanoseconds left(next > now ? next - now : 0);
                send::wait_for_waker(work_.fd(), std::min(left, kLongestWait));
                work_.clear();
                break;
            }
            case Step::room:
                writer_->wait(work_.fd(), kRoom);
                work_.clear();
                break;
            case Step::nothing:
                work_.arm();
                if (!sender_.any_submitted() && !ending_)
                    send::wait_for_waker(work_.fd(), kLongestWait);
                work_.clear();
                break;
        }
    // The rest is aborted.
    step(now);
}

Step LocalSender::step(std::uint64_t& now) noexcept {
    const BurstMutex::Lock lock = turn_.burst();
    now = clock_now();
    return sender_.step(*writer_, now);
}

send::DatagramSender::Counters LocalSender::counts() const noexcept {
    // A burst waits for nothing, so there is a turn.
    BurstMutex::Lock lock = turn_.ask(kPatience);
    while (!lock)
        lock = turn_.ask(kPatience);
    return sender_.counters();
}

void LocalSender::set_rate(double bytes_per_second) {
    if (!std::isfinite(bytes_per_second) || bytes_per_second < 0)
        throw_usage(where_, "`rate` is {}; give 0 (unlimited) or bytes per second", bytes_per_second);
    {
        const BurstMutex::Lock lock = turn_.ask(kPatience);
        if (!lock)
            throw_error(where_, "its thread got no time for {} s; the rate stays as it is",
                        std::chrono::duration_cast<std::chrono::seconds>(kPatience).count());
        send::Pacing pacing = sender_.pacing();
        pacing.rate = bytes_per_second;
        sender_.set_pacing(pacing);
    }
    // The present wait may be too long now.
    work_.wake();
}

}  // namespace spead::door
