// SPDX-License-Identifier: BSD-3-Clause
#include "app/replay/replay_run.hpp"

#include <algorithm>
#include <atomic>
#include <poll.h>
#include <sched.h>
#include <thread>
#include <time.h>
#include <unistd.h>

#include <fmt/core.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_pause.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mailbox.hpp"
#include "base/waiting_time.hpp"
#include "runtime/consumers.hpp"

namespace spead::app {

namespace {

const char* const kReplayWhere = "replay";
constexpr int kReplayTickMs = 20;
/// Limits the wait for a link; a peer (memif) has no limit.
constexpr std::chrono::seconds kLinkPatience{5};
/// Limits the wait at the end for a port that takes nothing.
constexpr std::chrono::seconds kStoppedPortPatience{2};
/// Limits the wait for the lcore once the replay ends.
constexpr std::chrono::steady_clock::duration kReplayEndPatience = std::chrono::seconds(10);
/// Holds the distance to the next packet above which an lcore sleeps rather than spins.
constexpr std::uint64_t kSleepAbove = 200;  // us

}  // namespace

/// Holds the state of the sending lcore.
struct ReplayRun::Sending {
    Sending(replay::Player& p, port::ImpairedQueue* i, bool shares_cpu)
        : player(p), impaired(i), yields(shares_cpu) {}

    void run() noexcept {
        thread.store(gettid(), std::memory_order_relaxed);
        const std::uint64_t per_us = rte_get_tsc_hz() / 1'000'000;
        while (!quit.load(std::memory_order_acquire)) {
            mailbox.serve();
            const std::uint64_t now = rte_rdtsc();
            const bool let_go = impaired != nullptr && impaired->poll();
            if (player.poll(now) || let_go)
                continue;
            std::uint64_t next = player.next_time();
            if (impaired != nullptr && !impaired->empty())
                next = std::min(next, impaired->next_time());
            if (next > now + kSleepAbove * per_us) {
                const std::uint64_t us = std::min<std::uint64_t>((next - now) / per_us / 2, 1000);
                const timespec nap{0, static_cast<long>(us * 1000)};
                nanosleep(&nap, nullptr);
            } else if (yields) {
                sched_yield();
            } else {
                rte_pause();
            }
        }
        mailbox.close();
    }

    replay::Player& player;
    port::ImpairedQueue* const impaired;  ///< null: none
    const bool yields;
    Mailbox mailbox;
    std::atomic<bool> quit{false};
    std::atomic<int> thread{0};
};

ReplayRun::ReplayRun(const ReplayOptions& options, const ReplayLcore& lcore, port::Port& port,
                     replay::Replay& replay, port::ImpairedQueue* impaired, process::StopSignals& signals)
    : options_(options),
      place_(lcore),
      port_(port),
      replay_(replay),
      impaired_(impaired),
      signals_(signals),
      sending_(std::make_unique<Sending>(replay.player(), impaired, lcore.shares_cpu)),
      watch_(lcore.lcore, lcore.cpu) {}

ReplayRun::~ReplayRun() = default;

void ReplayRun::leave_to_lcore() {
    static_cast<void>(sending_.release());
}

void ReplayRun::go(const std::vector<unsigned>& control) {
    if (!wait_for_link())
        return;
    // Steps that may fail come before the lcore runs.
    begin_ = Clock::now();
    replay_.start([control] { runtime::run_on(control); });
    launch();
    wait_for_end();
    end_lcore();
    if (lost_)
        return;
    rte_eal_wait_lcore(place_.lcore);
    counters_ = replay_.player().counters();
}

void ReplayRun::launch() {
    sending_->mailbox.open();
    const int rc = rte_eal_remote_launch(
        [](void* s) {
            static_cast<Sending*>(s)->run();
            return 0;
        },
        sending_.get(), place_.lcore);
    if (rc != 0)
        throw_error(kReplayWhere, "lcore {} cannot be started: {}", place_.lcore, rte_strerror(-rc));
}

void ReplayRun::end_lcore() {
    ending_ = true;
    replay_.stop();
    // The lcore gives requested packets up at once.
    wait_for([this] { return replay_.player().finished(); });
    wait_for_impaired();
    sending_->quit.store(true, std::memory_order_release);
    wait_for([this] { return rte_eal_get_lcore_state(place_.lcore) != RUNNING; });
    end_ = Clock::now();
}

bool ReplayRun::interrupted() {
    pollfd p{signals_.fd(), POLLIN, 0};
    return poll(&p, 1, kReplayTickMs) > 0;
}

bool ReplayRun::wait_for_link() {
    const Clock::time_point since = Clock::now();
    bool reported = false;
    while (!port_.poll_link()) {
        const bool peer = port_.capabilities().needs_peer;
        if (!reported)
            log_notice(LogType::app, "{}: {}; waiting", port_.device_name(),
                       peer ? "no process is at the other end" : "its link is down");
        reported = true;
        if (interrupted())
            return false;
        if (!peer && Clock::now() - since > kLinkPatience)
            break;
    }
    return true;
}

/// Waits until impaired packets are sent, as far as the port takes them.
void ReplayRun::wait_for_impaired() {
    WaitingTime waited(std::chrono::milliseconds(2 * kReplayTickMs));
    while (!lost_ && impaired_ != nullptr && !impaired_->empty() && waited.add() <= kStoppedPortPatience) {
        impaired_->flush();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

/// Waits for an action of the lcore. Returns false when it is lost.
bool ReplayRun::wait_for(const std::function<bool()>& done) {
    while (!lost_ && !done()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        keep_waiting();
    }
    if (!lost_)
        heard();
    return !lost_;
}

void ReplayRun::heard() {
    if (watch_.answered() == runtime::LcoreWatch::News::back)
        log_notice(LogType::app, "{}", watch_.end_sentence());
}

/// Continues a wait for an answer of the lcore.
void ReplayRun::keep_waiting() {
    if (watch_.waited(sending_->thread.load(std::memory_order_relaxed)) == runtime::LcoreWatch::News::silent)
        log_warning(LogType::app, "{}", watch_.sentence());
    if (watch_.silence() < (ending_ ? std::min(place_.patience, kReplayEndPatience) : place_.patience))
        return;
    lost_ = true;
    problems_.push_back(
        fmt::format("{}; the replay ends, and packets sent since then are not counted", watch_.sentence()));
}

/// Returns the lcore's counts by the next tick; none: it has not answered yet.
std::optional<ReplayRun::Sent> ReplayRun::look() {
    const auto take = [](replay::Player* player, port::ImpairedQueue* impaired) {
        const std::uint64_t now = rte_rdtsc();
        const bool delays = impaired != nullptr && !impaired->empty() && impaired->next_time() > now;
        return Sent{player->counters(), delays || player->next_time() > now};
    };
    using PlayerCall = LcoreCall<decltype(take), replay::Player*, port::ImpairedQueue*>;
    Mailbox& mailbox = sending_->mailbox;
    if (!mailbox.busy()) {
        std::unique_ptr<LcoreJob> job = std::make_unique<PlayerCall>(take, &replay_.player(), impaired_);
        static_cast<void>(mailbox.post(job));
    }
    if (!mailbox.wait(std::chrono::milliseconds(kReplayTickMs))) {
        keep_waiting();
        return std::nullopt;
    }
    heard();
    return static_cast<PlayerCall&>(*mailbox.take()).take_result();
}

void ReplayRun::wait_for_end() {
    std::uint64_t last = 0;
    WaitingTime unmoved(std::chrono::milliseconds(2 * kReplayTickMs));
    while (!replay_.finished() && !interrupted() && !lost_) {
        port_.poll_link();
        if (options_.duration > 0 &&
            std::chrono::duration<double>(Clock::now() - begin_).count() >= options_.duration)
            return;
        if (const std::string netdev = port_.missing_netdev(); !netdev.empty()) {
            problems_.push_back(fmt::format("its network interface {} has disappeared", netdev));
            return;
        }
        const std::optional<Sent> sent = look();
        if (!sent)
            continue;
        counters_ = sent->counters;
        const std::uint64_t now = counters_.packets + counters_.starved;
        if (now != last || sent->has_time || !port_.link_up() || !replay_.reading_done()) {
            last = now;
            unmoved.restart();
        } else if (unmoved.add() > kStoppedPortPatience) {
            problems_.push_back(fmt::format("port {} takes no more packets", port_.device_name()));
            return;
        }
    }
}

}  // namespace spead::app
