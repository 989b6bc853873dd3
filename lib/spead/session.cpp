// SPDX-License-Identifier: BSD-3-Clause
#include "spead/session.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <span>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

#include <fmt/core.h>

#include "base/current_reason.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "drivers/table.hpp"
#include "runtime/descriptors.hpp"
#include "runtime/heap_generator.hpp"
#include "spead/eal_words.hpp"
#include "spead/main_thread.hpp"
#include "spead/plan_edits.hpp"

namespace spead::door {

namespace {

/// Limits the wait for the start: EAL may have to clear many huge pages.
constexpr auto kStartPatience = std::chrono::minutes(2);
/// Limits the wait for the stop; longer than an engine's waits for its ports, consumers and lcores together.
constexpr auto kStopPatience = std::chrono::seconds(90);
/// Limits how long a stream whose source can wait delays the end for a user who takes no heap.
constexpr auto kUserPatience = std::chrono::seconds(2);
/// Limits how long the end of the process waits for a session that another thread is starting.
constexpr std::chrono::milliseconds kExitPatience{10'000};
constexpr std::chrono::milliseconds kExitStep{10};
/// Counts the descriptors of a session without ports.
constexpr std::size_t kDescriptors = 64;

using namespace std::chrono_literals;

std::mutex sessions;  ///< one start at a time
std::mutex living;    ///< held for no longer than a look
std::atomic<bool> starting{false};
std::atomic<bool> process_ends{false};  ///< no session starts any more

/// Returns the present session, guarded by `living`. Never destroyed: threads may ask while the process ends.
std::weak_ptr<Session>& the_session() {
    static auto& one = *new std::weak_ptr<Session>;
    return one;
}

runtime::EalOptions eal_options(const ProcessConfig& config) {
    need_harmless(config.eal);
    return runtime::EalOptions::parse(config.eal);
}

/// Tells the end of the process that a session is being started.
class Starting {
  public:
    Starting() { starting = true; }
    ~Starting() { starting = false; }
    Starting(const Starting&) = delete;
    Starting& operator=(const Starting&) = delete;
};

}  // namespace

/// Returns the latest session's state, guarded by `living`; also while ~Session waits. Never destroyed.
std::weak_ptr<Session::State>& Session::latest() {
    static auto& one = *new std::weak_ptr<State>;
    return one;
}

struct Session::State {
    explicit State(const ProcessConfig& config)
        : eal(eal_options(config), EalStart::Owner::library),
          adopts_lcores(config.lcores.empty() && eal.options().has_lcores && !runtime::Eal::runs()),
          plan_run(
              first_plan(config, runtime::Eal::runs() ? std::optional(runtime::Eal::cpus()) : std::nullopt),
              eal),
          stop_fd(eventfd(0, EFD_CLOEXEC)) {
        if (stop_fd < 0)
            throw_error("process", "no file descriptor is left for it; raise the limit (ulimit -n)");
    }
    ~State() { close(stop_fd); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    EalStart eal;
    const bool adopts_lcores;  ///< the lcores are those of the user's arguments for EAL
    PlanRun plan_run;
    const int stop_fd;
    std::promise<void> started;

    // The session's thread only.
    using Hooks = std::map<std::string, StreamHooks>;  ///< by name; a stream and a sender may share one
    Hooks stream_hooks;
    Hooks sender_hooks;

    // Guarded.
    mutable std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
    std::vector<std::string> problems;
    stats::Snapshot last;

    void run() noexcept;
    void stop() noexcept;
    bool wait_for_end() noexcept;
    void run_engine();
    runtime::EngineHooks engine_hooks();
    void make_way(runtime::Plan& wanted, std::span<const std::string> asking = {});
    std::string add(const runtime::Plan& wanted, const std::string& name, Hooks& hooks, StreamHooks of);
    void take_out(const std::string& name, bool sends);
    void remove(const std::string& name, bool sends) noexcept;
    void remove_later(const std::string& name, bool sends);
};

/// Returns the engine's hooks; the streams decide which users, filters and heap sources it makes.
runtime::EngineHooks Session::State::engine_hooks() {
    runtime::EngineHooks s;
    // Its users have no command line.
    s.by_configuration = true;
    s.user_queues = [this](const std::string& stream) {
        const auto found = stream_hooks.find(stream);
        return found == stream_hooks.end() ? nullptr : found->second.user_queues;
    };
    s.user_chunks = [this](const std::string& stream) {
        const auto found = stream_hooks.find(stream);
        return found == stream_hooks.end() ? runtime::UserChunks::Use() : found->second.chunks;
    };
    s.make_filter = [this](const runtime::ReceivePlan& r) {
        const auto found = stream_hooks.find(r.name);
        return found != stream_hooks.end() && found->second.make_filter ? found->second.make_filter(r)
                                                                        : runtime::make_filter(r);
    };
    s.make_heap_source = [this](const runtime::SendPlan& p, send::Sender& sender,
                                memory::RegionTable& regions) -> std::unique_ptr<runtime::HeapSource> {
        const auto found = sender_hooks.find(p.name);
        return found != sender_hooks.end() && found->second.make_heap_source
                   ? found->second.make_heap_source(p, sender, regions)
                   : std::make_unique<runtime::HeapGenerator>(p, sender, regions);
    };
    // Users who take no heaps may be the very thread that waits for the end.
    s.consumer_patience = kUserPatience;
    s.interrupt_fd = stop_fd;
    s.drivers = drivers::table();
    s.rest_unused_lcores = true;
    return s;
}

void Session::State::run_engine() {
    plan_run.start_eal(adopts_lcores ? PlanRun::Lcores::of_eal : PlanRun::Lcores::of_plan);
    plan_run.open(engine_hooks());
    runtime::Engine& running = plan_run.engine();
    running.stay();
    running.start();
    started.set_value();
    const runtime::EndReason reason = plan_run.run(stop_fd, {});
    running.stop();
    const std::lock_guard lock(mutex);
    last = running.snapshot();
    problems = running.problems();
    if (reason != runtime::EndReason::interrupted && problems.empty())
        problems.push_back(fmt::format("the session has ended: {}", runtime::name_of(reason)));
}

void Session::State::run() noexcept {
    try {
        run_engine();
    } catch (...) {
        plan_run.end();
        const std::lock_guard lock(mutex);
        problems.emplace_back(reason_of_current());
        try {
            started.set_exception(std::current_exception());
        } catch (const std::future_error&) {
            log_error(LogType::app, "the session has failed: {}", problems.back());
        }
    }
    plan_run.end();
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_all();
}

std::shared_ptr<Session> Session::start(const ProcessConfig& config) {
    MainThread::instance();  // which a child of fork(2) has not
    const std::lock_guard lock(sessions);
    if (current() != nullptr)
        throw_error("process",
                    "this process already has a session, which uses EAL; use a copy of its Process, or "
                    "Process::shared(), or stop it first");
    return start_first(config);
}

std::shared_ptr<Session> Session::shared(const ProcessConfig& config) {
    MainThread::instance();
    const std::lock_guard lock(sessions);
    std::shared_ptr<Session> session = current();
    return session != nullptr ? session : start_first(config);
}

/// Stops the session at the end of the process: lcores must not run while static objects are destroyed. Takes
/// no lock that a start has: EAL may end the process in the middle of one, on the session's own thread.
void Session::stop_at_exit() {
    if (!is_own_process())
        return;
    // Before the look at `starting`: a start sets that, and then looks here.
    process_ends = true;
    if (MainThread::instance().is_this_thread())
        return;
    for (auto waited = 0ms; starting.load() && waited < kExitPatience; waited += kExitStep)
        std::this_thread::sleep_for(kExitStep);
    std::shared_ptr<State> state;
    {
        const std::lock_guard lock(living);
        state = latest().lock();
    }
    if (state)
        state->stop();
}

std::shared_ptr<Session> Session::start_first(const ProcessConfig& config) {
    MainThread& thread = MainThread::instance();
    [[maybe_unused]] static const int at_exit = std::atexit(stop_at_exit);
    const Starting under_way;
    if (process_ends)
        throw_error("process", "this operating system process is ending; no session can be started any more");
    runtime::need_descriptors(kDescriptors);
    set_log_level(config.log_level, "log_level");
    // On this thread, whose CPUs the process may use; EAL pins the other one.
    auto state = with_names_of_headers([&config] { return std::make_shared<State>(config); });
    std::future<void> started = state->started.get_future();
    thread.post([state] { state->run(); });
    std::shared_ptr<Session> session(new Session(state));
    if (started.wait_for(kStartPatience) != std::future_status::ready)
        throw_error("process", "EAL has not started within two minutes; its log may say why");
    started.get();
    const std::lock_guard lock(living);
    the_session() = session;
    latest() = state;
    return session;
}

std::shared_ptr<Session> Session::current() {
    if (!is_own_process())
        return nullptr;
    std::shared_ptr<Session> session;
    {
        const std::lock_guard lock(living);
        session = the_session().lock();
    }
    return session && session->running() ? session : nullptr;
}

Session::~Session() {
    stop();
}

void Session::stop() noexcept {
    if (is_own_process())
        state_->stop();
}

bool Session::wait_for_end() const noexcept {
    return is_own_process() && state_->wait_for_end();
}

void Session::State::stop() noexcept {
    eventfd_write(stop_fd, 1);
    wait_for_end();
}

bool Session::State::wait_for_end() noexcept {
    // A last handle that goes on the session's own thread cannot wait for it.
    if (MainThread::instance().is_this_thread())
        return false;
    std::unique_lock lock(mutex);
    if (changed.wait_for(lock, kStopPatience, [this] { return ended; }))
        return true;
    log_error(LogType::app, "the session does not end; its thread keeps running");
    return false;
}

bool Session::running() const noexcept {
    // In a child of fork(2) another thread of the parent may have the lock, for ever.
    if (!is_own_process())
        return false;
    const std::lock_guard lock(state_->mutex);
    return !state_->ended;
}

std::vector<std::string> Session::problems() const {
    need_own_process("process");
    const std::lock_guard lock(state_->mutex);
    return state_->problems;
}

stats::Snapshot Session::last_snapshot() const {
    need_own_process("process");
    const std::lock_guard lock(state_->mutex);
    return state_->last;
}

PlanRun& Session::plan_run() {
    need_own_process("process");
    if (MainThread::instance().is_this_thread())
        throw_error("process", "a filter or another hook must not call the session");
    return state_->plan_run;
}

/// Replaces the words of the executor, which are about the program and its main thread.
void Session::retell(const Error& error) {
    if (dynamic_cast<const runtime::Busy*>(&error) != nullptr)
        throw_error("process",
                    "its thread is busy with other calls, and has not begun this one in time; try again");
    if (error.where() == "control")
        throw Ending("process", "the session has ended, or ends just now; start another one");
}

/// Stops users' streams that have ended by themselves and have an endpoint that another stream of `wanted`
/// asks for: it gets the endpoint with the change. Those of `asking` are not stopped.
void Session::State::make_way(runtime::Plan& wanted, std::span<const std::string> asking) {
    const runtime::Engine& engine = plan_run.engine();
    const runtime::Plan& running = engine.plan();
    for (std::size_t i = 0; i < running.receives.size(); i++) {
        const std::string& name = running.receives[i].name;
        if (stream_hooks.count(name) == 0 || !engine.has_ended(i) ||
            std::find(asking.begin(), asking.end(), name) != asking.end())
            continue;
        for (runtime::ReceivePlan& r : wanted.receives)
            if (r.name == name && is_in_the_way(wanted, r))
                r.enabled = false;
    }
}

/// Carries out a change with one more stream, whose hooks the engine calls meanwhile.
std::string Session::State::add(const runtime::Plan& wanted, const std::string& name, Hooks& hooks,
                                StreamHooks of) {
    check(wanted);
    hooks.insert_or_assign(name, std::move(of));
    try {
        with_names_of_headers([&] { plan_run.engine().reconfigure(wanted); });
    } catch (...) {
        hooks.erase(name);
        throw;
    }
    return name;
}

std::string Session::add(runtime::ReceivePlan plan, const std::string& interface, StreamHooks hooks) {
    return on_engine([&](const runtime::Engine& running) {
        runtime::Plan wanted = running.plan();
        plan.port = port_for(wanted, interface);
        for (std::string& path : plan.paths)
            path = port_for(wanted, path);
        if (plan.name.empty())
            plan.name = free_name(wanted, "s");
        wanted.receives.push_back(plan);
        state_->make_way(wanted);
        return state_->add(wanted, plan.name, state_->stream_hooks, std::move(hooks));
    });
}

std::string Session::add(runtime::SendPlan plan, const std::string& interface, StreamHooks hooks) {
    return on_engine([&](const runtime::Engine& running) {
        runtime::Plan wanted = running.plan();
        plan.port = port_for(wanted, interface);
        if (plan.name.empty())
            plan.name = free_name(wanted, "d");
        wanted.sends.push_back(plan);
        return state_->add(wanted, plan.name, state_->sender_hooks, std::move(hooks));
    });
}

void Session::apply(runtime::Plan given) {
    on_engine([&](runtime::Engine& running) {
        const auto is_users = [](const State::Hooks& hooks) {
            return [&hooks](const std::string& name) { return hooks.count(name) != 0; };
        };
        runtime::Plan wanted = merged(running.plan(), std::move(given), is_users(state_->stream_hooks),
                                      is_users(state_->sender_hooks));
        state_->make_way(wanted);
        check(wanted);
        running.reconfigure(wanted);
    });
}

void Session::change(const std::string& stream, const std::function<void(runtime::ReceivePlan&)>& edit) {
    on_engine([&](runtime::Engine& running) {
        runtime::Plan wanted = running.plan();
        edit(named(wanted.receives, stream));
        state_->make_way(wanted, std::span(&stream, 1));
        check(wanted, std::span(&stream, 1));
        with_names_of_headers([&] { running.reconfigure(wanted); });
    });
}

void Session::change_all(const std::vector<std::string>& streams,
                         const std::function<void(runtime::ReceivePlan&)>& edit) {
    on_engine([&](runtime::Engine& running) {
        runtime::Plan wanted = running.plan();
        for (runtime::ReceivePlan& r : wanted.receives)
            if (std::find(streams.begin(), streams.end(), r.name) != streams.end())
                edit(r);
        state_->make_way(wanted, streams);
        check(wanted, streams);
        with_names_of_headers([&] { running.reconfigure(wanted); });
    });
}

void Session::change_sender(const std::string& sender, const std::function<void(runtime::SendPlan&)>& edit) {
    on_engine([&](runtime::Engine& running) {
        runtime::Plan wanted = running.plan();
        edit(named(wanted.sends, sender));
        check(wanted);
        with_names_of_headers([&] { running.reconfigure(wanted); });
    });
}

/// Takes a stream or a sender out of the plan, on the session's thread.
void Session::State::take_out(const std::string& name, bool sends) {
    runtime::Plan wanted = plan_run.engine().plan();
    const auto is_it = [&name](const auto& one) { return one.name == name; };
    if (sends)
        std::erase_if(wanted.sends, is_it);
    else
        std::erase_if(wanted.receives, is_it);
    plan_run.engine().reconfigure(wanted);
    (sends ? sender_hooks : stream_hooks).erase(name);
}

/// Posts the removal, which the session's thread carries out when it is free.
void Session::State::remove_later(const std::string& name, bool sends) {
    log_error(LogType::app, "{} {}: the session is busy; it is removed later", sends ? "send" : "receive",
              name);
    plan_run.executor().post([this, name, sends] {
        try {
            take_out(name, sends);
        } catch (...) {
            log_error(LogType::app, "{} {} cannot be removed: {}", sends ? "send" : "receive", name,
                      reason_of_current());
        }
    });
}

void Session::State::remove(const std::string& name, bool sends) noexcept {
    try {
        if (MainThread::instance().is_this_thread())
            throw_error("process", "a filter or another hook must not call the session");
        try {
            plan_run.on_engine([&](runtime::Engine&) { take_out(name, sends); });
        } catch (const runtime::Busy&) {
            remove_later(name, sends);
        } catch (const Error& error) {
            // The lcores work on until the engine has stopped.
            if (error.where() != "control")
                throw;
            wait_for_end();
        }
    } catch (...) {
        log_error(LogType::app, "{} {} cannot be removed: {}", sends ? "send" : "receive", name,
                  reason_of_current());
    }
}

void Session::remove(const std::string& stream) noexcept {
    if (is_own_process())
        state_->remove(stream, false);
}

void Session::remove_sender(const std::string& sender) noexcept {
    if (is_own_process())
        state_->remove(sender, true);
}

}  // namespace spead::door
