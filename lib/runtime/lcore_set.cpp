// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/lcore_set.hpp"

#include <algorithm>
#include <poll.h>
#include <thread>

#include <fmt/core.h>
#include <rte_errno.h>
#include <rte_launch.h>

#include "base/log.hpp"
#include "base/waiting_time.hpp"
#include "runtime/waits.hpp"

namespace spead::runtime {

namespace {

/// Holds the interval between checks of an lcore that is waited for.
constexpr auto kSlice = std::chrono::milliseconds(20);
/// Limits the wait for a look at an lcore that is known to be silent.
constexpr auto kGlance = std::chrono::milliseconds(1);
/// Limits the wait for an lcore while the run ends.
constexpr LcoreSet::Clock::duration kEndPatience = std::chrono::seconds(10);
constexpr auto kTellWaiting = std::chrono::milliseconds(200);
/// Limits the wait for the end of the loops. An lcore that answers ends at once, unless it shares its CPU.
constexpr LcoreSet::Clock::duration kQuit = std::chrono::seconds(10);

bool readable(int fd) {
    pollfd p{fd, POLLIN, 0};
    return fd >= 0 && poll(&p, 1, 0) > 0;
}

}  // namespace

void LcoreSet::set_patience(const std::optional<double>& timeout, Clock::duration otherwise) noexcept {
    if (!timeout)
        patience_ = otherwise;
    else
        patience_ = *timeout > 0
                        ? std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*timeout))
                        : Clock::duration::max();
}

Worker& LcoreSet::on_cpu(unsigned cpu) const {
    const auto found = std::find_if(workers_.begin(), workers_.end(),
                                    [cpu](const auto& w) { return w->layout->planned_cpu == cpu; });
    if (found == workers_.end())
        throw_error("runtime", "no lcore runs on CPU {}", cpu);
    return **found;
}

void LcoreSet::launch() {
    for (const auto& w : workers_) {
        if (w->launched || (needed_ && !needed_(*w)))
            continue;
        w->loop->prepare();
        const int rc = rte_eal_remote_launch(
            [](void* loop) {
                static_cast<LcoreLoop*>(loop)->run();
                return 0;
            },
            w->loop.get(), w->layout->lcore);
        if (rc != 0) {
            w->loop->mailbox().close();
            throw_error("runtime", "lcore {} cannot be started: {}", w->layout->lcore, rte_strerror(-rc));
        }
        w->launched = true;
    }
}

void LcoreSet::stop(Clock::duration longest) {
    for (const auto& w : workers_)
        w->loop->quit();
    for (const auto& w : workers_) {
        if (!w->launched)
            continue;
        WaitingTime waited(kRound);
        const Clock::duration most = w->lost ? longest : std::min(patience(), kQuit);
        while (rte_eal_get_lcore_state(w->layout->lcore) == RUNNING && waited.add() < most)
            std::this_thread::sleep_for(kStep);
        if (rte_eal_get_lcore_state(w->layout->lcore) == RUNNING) {
            if (!w->lost)
                lose(*w);
            continue;
        }
        rte_eal_wait_lcore(w->layout->lcore);
        w->launched = w->lost = false;
        // It may have finished its job before it was given up; the result is no longer wanted.
        static_cast<void>(w->loop->mailbox().take());
        heard(*w);
    }
}

/// Returns the job once the lcore has done it; null: the lcore is lost.
std::unique_ptr<LcoreJob> LcoreSet::have_done(Worker& w, std::unique_ptr<LcoreJob> job) {
    Mailbox& mailbox = w.loop->mailbox();
    if (w.lost || !is_clear(w) || !mailbox.post(job))
        return nullptr;
    while (!mailbox.wait(kSlice))
        if (!keep_waiting(w)) {
            static_cast<void>(mailbox.withdraw());
            return nullptr;
        }
    heard(w);
    return mailbox.take();
}

/// Withdraws a look that an lcore has not taken yet. Returns false when the lcore is lost.
bool LcoreSet::is_clear(Worker& w) {
    Mailbox& mailbox = w.loop->mailbox();
    static_cast<void>(mailbox.withdraw());
    while (mailbox.busy() && !mailbox.wait(kSlice))
        if (!keep_waiting(w))
            return false;
    static_cast<void>(mailbox.take());
    return true;
}

LcoreSet::Clock::duration LcoreSet::patience() const {
    return ending_ || readable(interrupt_fd_) ? std::min(patience_, kEndPatience) : patience_;
}

/// Checks an lcore that is waited for. Returns false when it is lost. Call it repeatedly during the wait.
bool LcoreSet::keep_waiting(Worker& w) {
    if (w.watch.waited(w.loop->thread()) == LcoreWatch::News::silent && hooks_.on_silence)
        hooks_.on_silence(w, true);
    if (w.watch.silence() >= patience()) {
        lose(w);
        return false;
    }
    if (w.watch.silent() && hooks_.on_wait && Clock::now() >= next_wait_) {
        next_wait_ = Clock::now() + kTellWaiting;
        hooks_.on_wait();
    }
    return true;
}

void LcoreSet::heard(Worker& w) {
    if (w.watch.answered() == LcoreWatch::News::back && hooks_.on_silence)
        hooks_.on_silence(w, false);
}

void LcoreSet::lose(Worker& w) {
    w.lost = true;
    problems_.push_back(
        fmt::format("{}; the run ends, and the lcore's later work is not counted", w.watch.sentence()));
    log_error(LogType::runtime, "{}", problems_.back());
}

void LcoreSet::throw_lost(const Worker& w) {
    throw LcoreLost(w.watch.name(), "it does not answer, and the run ends");
}

bool LcoreSet::any_lost() const {
    return std::any_of(workers_.begin(), workers_.end(), [](const auto& w) { return w->lost; });
}

bool LcoreSet::any_silent() const {
    return std::any_of(workers_.begin(), workers_.end(), [](const auto& w) { return is_silent(*w); });
}

void LcoreSet::need_answers() const {
    for (const auto& w : workers_)
        if (is_silent(*w))
            throw_error(w->watch.sentence(), "changes are refused until it answers");
}

std::unique_ptr<LcoreLook> LcoreSet::look(Worker& w,
                                          const std::function<std::unique_ptr<LcoreLook>()>& make) {
    using Taken = std::unique_ptr<LcoreLook>;
    const auto take = [](Taken& look) {
        look->take();
        return std::move(look);
    };
    using Call = LcoreCall<decltype(take), Taken>;
    Mailbox& mailbox = w.loop->mailbox();
    if (!mailbox.busy()) {
        std::unique_ptr<LcoreJob> job = std::make_unique<Call>(take, make());
        static_cast<void>(mailbox.post(job));
    }
    while (!mailbox.wait(w.watch.silent() ? std::chrono::nanoseconds(kGlance) : kSlice))
        if (!keep_waiting(w) || w.watch.silent())
            return nullptr;
    heard(w);
    return static_cast<Call&>(*mailbox.take()).take_result();
}

}  // namespace spead::runtime
