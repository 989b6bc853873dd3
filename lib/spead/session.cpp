// SPDX-License-Identifier: BSD-3-Clause
#include "spead/session.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <sys/eventfd.h>
#include <unistd.h>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "drivers/table.hpp"
#include "memory/huge_turn.hpp"
#include "runtime/descriptors.hpp"
#include "runtime/eal.hpp"
#include "runtime/heap_generator.hpp"
#include "runtime/layout.hpp"
#include "spead/main_thread.hpp"
#include "spead/plan_edits.hpp"

namespace spead::door {

namespace {

/// EAL may have to clear many huge pages.
constexpr auto kStartPatience = std::chrono::minutes(2);
/// Longer than an engine waits for its ports, consumers and lcores together.
constexpr auto kStopPatience = std::chrono::seconds(90);
/// How long a stream whose source can wait holds up the end for a user who takes no heap.
constexpr auto kUserPatience = std::chrono::seconds(2);
/// Descriptors of a session without ports.
constexpr std::size_t kDescriptors = 64;

std::mutex sessions;
std::weak_ptr<Session> the_session;  ///< guarded

runtime::EalOptions eal_options(const ProcessConfig& config) {
    for (const std::string& word : config.eal)
        // EAL ends the process when it is asked for its help.
        if (word == "-h" || word == "--help" || word == "-v" || word == "--version")
            throw_usage("EAL", "`{}` ends the process; leave it out", word);
    return runtime::EalOptions::parse(config.eal);
}

}  // namespace

struct Session::State {
    explicit State(const ProcessConfig& config)
        : options(eal_options(config)), plan(first_plan(config)), stop_fd(eventfd(0, EFD_CLOEXEC)) {
        if (stop_fd < 0)
            throw_error("process", "no descriptor is left for it; raise the limit (ulimit -n)");
    }
    ~State() { close(stop_fd); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    runtime::EalOptions options;
    runtime::Plan plan;
    runtime::Layout layout;
    runtime::Executor executor;
    const int stop_fd;
    std::promise<void> started;

    // The session's thread only.
    std::map<std::string, StreamHooks> hooks;
    runtime::Engine* engine = nullptr;

    // Guarded.
    mutable std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
    std::vector<std::string> problems;
    stats::Snapshot last;

    void run() noexcept;
    void run_engine();
    runtime::EngineHooks engine_hooks();
    std::string add(const runtime::Plan& wanted, const std::string& name, StreamHooks of);
    void remove(const std::string& name, runtime::Engine& running,
                const std::function<void(runtime::Plan&)>& take_out);
};

/// Which users, filters and heap sources the engine makes is for the streams to say.
runtime::EngineHooks Session::State::engine_hooks() {
    runtime::EngineHooks s;
    s.user_queues = [this](const std::string& stream) {
        const auto found = hooks.find(stream);
        return found == hooks.end() ? nullptr : found->second.user_queues;
    };
    s.make_filter = [this](const runtime::ReceivePlan& r) {
        const auto found = hooks.find(r.name);
        return found != hooks.end() && found->second.make_filter ? found->second.make_filter(r)
                                                                 : runtime::make_filter(r);
    };
    s.make_heap_source = [this](const runtime::SendPlan& p, send::Sender& sender,
                                memory::RegionTable& regions) -> std::unique_ptr<runtime::HeapSource> {
        const auto found = hooks.find(p.name);
        return found != hooks.end() && found->second.make_heap_source
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
    // It has the lcores that the first session gave it.
    options.has_lcores |= runtime::Eal::runs();
    if (!runtime::Eal::runs())
        // It goes on when this object is gone: EAL is not cleaned up before the process ends.
        const runtime::Eal eal(layout.eal_args, runtime::Eal::Owner::library);
    runtime::use_lcores_of_eal(layout, options);
    runtime::Engine running(plan, layout, engine_hooks());
    running.serve(executor);
    running.stay();
    running.start();
    engine = &running;
    started.set_value();
    const runtime::Engine::Reason reason = running.run(stop_fd, {});
    executor.close();
    engine = nullptr;
    running.stop();
    const std::lock_guard lock(mutex);
    last = running.snapshot();
    problems = running.problems();
    if (reason != runtime::Engine::Reason::interrupted && problems.empty())
        problems.push_back(fmt::format("the session has ended: {}", runtime::name_of(reason)));
}

void Session::State::run() noexcept {
    try {
        run_engine();
    } catch (const std::exception& error) {
        executor.close();
        const std::lock_guard lock(mutex);
        problems.emplace_back(reason_of(error));
        try {
            started.set_exception(std::current_exception());
        } catch (const std::future_error&) {
            log_error(LogType::app, "the session has failed: {}", problems.back());
        }
    }
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_all();
}

std::shared_ptr<Session> Session::start(const ProcessConfig& config) {
    const std::lock_guard lock(sessions);
    if (living() != nullptr)
        throw_error("process",
                    "a session lives in this process already, and EAL is its own; use a copy of its Process, "
                    "or Process::shared(), or stop it first");
    return start_first(config);
}

std::shared_ptr<Session> Session::shared(const ProcessConfig& config) {
    const std::lock_guard lock(sessions);
    std::shared_ptr<Session> session = living();
    return session != nullptr ? session : start_first(config);
}

/// Under the lock, as the next.
std::shared_ptr<Session> Session::living() {
    std::shared_ptr<Session> session = the_session.lock();
    return session && session->running() ? session : nullptr;
}

std::shared_ptr<Session> Session::start_first(const ProcessConfig& config) {
    MainThread& thread = MainThread::instance();
    // Lcores must not run while the process destroys its static objects.
    [[maybe_unused]] static const int at_exit = std::atexit([] {
        if (const std::shared_ptr<Session> session = current())
            session->stop();
    });
    auto state = std::make_shared<State>(config);
    runtime::need_descriptors(kDescriptors);
    set_log_level(config.log_level, "log_level");
    // Others take huge pages, too: what is free must stay so until EAL has taken it.
    std::optional<memory::HugePageTurn> turn(std::in_place);
    // On this thread, whose CPUs the process may use; EAL pins the other one.
    state->layout = runtime::lay_out(state->plan, state->options, drivers::table());
    std::future<void> started = state->started.get_future();
    thread.post([state] { state->run(); });
    std::shared_ptr<Session> session(new Session(state));
    if (started.wait_for(kStartPatience) != std::future_status::ready)
        throw_error("process", "EAL has not started within two minutes; its log may say why");
    started.get();
    the_session = session;
    return session;
}

std::shared_ptr<Session> Session::current() {
    const std::lock_guard lock(sessions);
    return living();
}

Session::~Session() {
    stop();
}

void Session::stop() noexcept {
    if (!is_own_process())
        return;
    eventfd_write(state_->stop_fd, 1);
    // A last handle that goes on the session's own thread cannot wait for it.
    if (MainThread::instance().is_this_thread())
        return;
    std::unique_lock lock(state_->mutex);
    if (!state_->changed.wait_for(lock, kStopPatience, [this] { return state_->ended; }))
        log_error(LogType::app, "the session does not end; its thread is left behind");
}

bool Session::running() const noexcept {
    const std::lock_guard lock(state_->mutex);
    return !state_->ended && is_own_process();
}

std::vector<std::string> Session::problems() const {
    const std::lock_guard lock(state_->mutex);
    return state_->problems;
}

stats::Snapshot Session::last_snapshot() const {
    const std::lock_guard lock(state_->mutex);
    return state_->last;
}

runtime::Executor& Session::executor() {
    if (!is_own_process())
        throw_error("process", "it belongs to the parent of this process, and cannot be used after fork(2)");
    if (MainThread::instance().is_this_thread())
        throw_error("process", "a filter or another hook must not call the session");
    return state_->executor;
}

runtime::Engine& Session::engine() {
    if (state_->engine == nullptr)
        throw_error("process", "the session has ended");
    return *state_->engine;
}

/// Carries the change out with one more stream, whose hooks the engine asks for meanwhile.
std::string Session::State::add(const runtime::Plan& wanted, const std::string& name, StreamHooks of) {
    check(wanted);
    hooks.insert_or_assign(name, std::move(of));
    try {
        engine->reconfigure(wanted);
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
        if (plan.name.empty())
            plan.name = free_name(wanted, "s");
        wanted.receives.push_back(plan);
        return state_->add(wanted, plan.name, std::move(hooks));
    });
}

std::string Session::add(runtime::SendPlan plan, const std::string& interface, StreamHooks hooks) {
    return on_engine([&](const runtime::Engine& running) {
        runtime::Plan wanted = running.plan();
        plan.port = port_for(wanted, interface);
        if (plan.name.empty())
            plan.name = free_name(wanted, "d");
        wanted.sends.push_back(plan);
        return state_->add(wanted, plan.name, std::move(hooks));
    });
}

void Session::change(const std::string& stream, const std::function<void(runtime::ReceivePlan&)>& edit) {
    on_engine([&](runtime::Engine& running) {
        runtime::Plan wanted = running.plan();
        edit(named(wanted.receives, stream));
        check(wanted);
        running.reconfigure(wanted);
    });
}

void Session::change_sender(const std::string& sender, const std::function<void(runtime::SendPlan&)>& edit) {
    on_engine([&](runtime::Engine& running) {
        runtime::Plan wanted = running.plan();
        edit(named(wanted.sends, sender));
        check(wanted);
        running.reconfigure(wanted);
    });
}

/// `take_out` removes it from a plan.
void Session::State::remove(const std::string& name, runtime::Engine& running,
                            const std::function<void(runtime::Plan&)>& take_out) {
    runtime::Plan wanted = running.plan();
    take_out(wanted);
    running.reconfigure(wanted);
    hooks.erase(name);
}

void Session::remove(const std::string& stream) noexcept {
    try {
        on_engine([&](runtime::Engine& running) {
            state_->remove(stream, running, [&](runtime::Plan& wanted) {
                std::erase_if(wanted.receives, [&](const auto& r) { return r.name == stream; });
            });
        });
    } catch (const std::exception& error) {
        if (running())
            log_error(LogType::app, "stream {} cannot be removed: {}", stream, reason_of(error));
    }
}

void Session::remove_sender(const std::string& sender) noexcept {
    try {
        on_engine([&](runtime::Engine& running) {
            state_->remove(sender, running, [&](runtime::Plan& wanted) {
                std::erase_if(wanted.sends, [&](const auto& s) { return s.name == sender; });
            });
        });
    } catch (const std::exception& error) {
        if (running())
            log_error(LogType::app, "sender {} cannot be removed: {}", sender, reason_of(error));
    }
}

}  // namespace spead::door
