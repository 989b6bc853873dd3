// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/engine_run.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/prompt/console.hpp"
#include "app/prompt/engine_process.hpp"
#include "app/run/reload.hpp"
#include "base/line_output.hpp"
#include "base/log.hpp"
#include "base/shell_word.hpp"
#include "base/tell.hpp"
#include "observe/progress.hpp"
#include "process/kept_privileges.hpp"
#include "runtime/paths.hpp"
#include "runtime/stream_health.hpp"

namespace spead::app {

namespace {

/// Returns the endpoints of a stream, and the ports that they are on: those of a second path, if it has
/// others.
std::string sources_text(const runtime::ReceivePlan& r) {
    if (r.path_endpoints.empty())
        return fmt::format("{} on {}", fmt::join(r.endpoint_texts, " "), runtime::ports_text(r));
    std::vector<std::string> paths;
    for (std::size_t path = 0; path < runtime::path_count(r); path++)
        paths.push_back(fmt::format("{} on {}", fmt::join(runtime::endpoint_texts_of(r, path), " "),
                                    runtime::port_of(r, path)));
    return fmt::format("{}", fmt::join(paths, " and "));
}

/// Returns the word that starts this program in a shell: its name, where packages and `meson install` put it.
std::string program_word() {
    std::error_code error;
    const std::filesystem::path file = std::filesystem::read_symlink("/proc/self/exe", error);
    const bool is_found = error || file == "/usr/bin/dpdk-spead" || file == "/usr/local/bin/dpdk-spead";
    return is_found ? "dpdk-spead" : shell_word(file.string());
}

/// Returns one line about the started run, so that its user does not wait without any output.
std::string started_text(const runtime::Plan& plan) {
    std::vector<std::string> parts;
    for (const runtime::ReceivePlan& r : plan.receives)
        if (parts.size() < 4)
            parts.push_back(fmt::format("{} receives {}", r.name, sources_text(r)));
    for (const runtime::SendPlan& s : plan.sends)
        if (parts.size() < 4)
            parts.push_back(
                fmt::format("{} sends to {} on {}", s.name, fmt::join(s.endpoint_texts, " "), s.port));
    if (parts.empty())
        return "nothing is received or sent; Ctrl-C ends";
    const std::size_t more = plan.receives.size() + plan.sends.size() - parts.size();
    return fmt::format("{}{}; Ctrl-C ends", fmt::join(parts, "; "),
                       more == 0 ? "" : fmt::format("; {} more", more));
}

}  // namespace

RunOutcome EngineRun::go() {
    run_.open(hooks());
    start();
    std::vector<std::string> script_problems;
    const runtime::EndReason reason = run(script_problems);
    return stop(reason, script_problems);
}

runtime::EngineHooks EngineRun::hooks() {
    runtime::EngineHooks s;
    s.on_event = [this](const std::string& stream, const stats::LastEvent& event) {
        notifications_.tell(runtime::sentence_of(stream, event));
        views_.events().add(stream, event);
    };
    s.on_lcore = [this](const std::string& what, double at_s) {
        notifications_.tell(what);
        views_.events().add_lcore(what, at_s);
    };
    s.on_engine = [this](const std::string& what, double at_s) {
        notifications_.tell(what);
        views_.events().add_engine(what, at_s);
    };
    s.interrupt_fd = channels_.signals.fd();
    s.by_configuration = options_.by_configuration();
    s.settings = settings();
    // The service manager's watchdog decides.
    if (channels_.service.watchdog())
        s.lcore_patience = std::chrono::steady_clock::duration::max();
    s.on_wait = [this] { show_silence(); };
    return s;
}

/// Returns how its users reach the prompt and the file.
stats::RunSettings EngineRun::settings() const {
    stats::RunSettings s;
    if (channels_.socket)
        s.attach = fmt::format("{} attach {} --", program_word(),
                               shell_word(std::filesystem::absolute(channels_.socket->path()).string()));
    s.own_prompt = options_.interactive;
    if (options_.by_configuration())
        s.configuration = std::filesystem::absolute(options_.config_path).string();
    s.by_options = !options_.by_configuration();
    s.options = options_.command_options;
    return s;
}

/// Marks silent lcores in the last snapshot, while the main thread waits for one and has nothing newer.
void EngineRun::show_silence() {
    const stats::LatestSnapshot::View view = latest_.look();
    if (!run_.is_open() || !view)
        return;
    stats::Snapshot then = *view.latest.snapshot;
    run_.engine().mark_silent(then);
    notify(channels_.service, status_, then);
    latest_.publish(std::move(then));
}

void EngineRun::start() {
    // An interactive user wants to see the state when the senders are done.
    if (options_.interactive)
        run_.engine().stay();
    run_.engine().start();
    give_up_privileges();
    channels_.service.ready();
    if (!common_.quiet)
        tell(stderr, "{}\n", started_text(options_.plan));
}

void EngineRun::give_up_privileges() const {
    const runtime::Plan& plan = run_.plan();
    if (plan.runtime.capabilities != runtime::KeptCapabilities::needed)
        return;
    std::vector<process::PathInUse> paths = process::paths_in_use(run_.layout().ports, plan);
    process::add_written(paths, common_.json_path);
    process::add_written(paths, channels_.socket ? channels_.socket->path() : "");
    process::add_read(paths, options_.config_path);
    process::give_up_privileges(process::privileges_after_start(run_.layout().ports, plan), paths);
}

runtime::EndReason EngineRun::run(std::vector<std::string>& script_problems) {
    // The terminal is the prompt's where there is one.
    observe::Progress progress(!common_.quiet && !options_.interactive);
    EngineProcess process(run_, latest_);
    std::optional<Api::Attached> attached;
    if (views_.api() != nullptr)
        attached.emplace(*views_.api(), process);
    Console console(process,
                    {options_.interactive, options_.cmdline_file,
                     common_.json_path == "-" ? STDERR_FILENO : STDOUT_FILENO, run_.layout().control_cpus(),
                     channels_.socket ? &*channels_.socket : nullptr, &notifications_});
    const runtime::EndReason reason = run_.run(channels_.signals.fd(), [&](const stats::Snapshot& now) {
        tick(now);
        progress.update(now);
        standard_error().flush();
        notify(channels_.service, status_, now);
    });
    channels_.service.stopping();
    progress.finish();
    console.end();
    script_problems = console.problems();
    return reason;
}

void EngineRun::tick(const stats::Snapshot& now) {
    if (channels_.hangups.take()) {
        channels_.service.notify_reloading();
        reload(options_, run_.engine());
        channels_.service.ready();
    }
    latest_.publish(now);
}

RunOutcome EngineRun::stop(runtime::EndReason reason, const std::vector<std::string>& script_problems) {
    channels_.signals.give_back();
    log_info(LogType::app, "ending: {}", runtime::name_of(reason));
    runtime::Engine& engine = run_.engine();
    engine.stop();
    RunOutcome outcome{engine.snapshot(), engine.totals(), engine.plan(), {}, reason};
    latest_.publish(outcome.last);
    outcome.problems = engine.problems();
    outcome.problems.insert(outcome.problems.end(), script_problems.begin(), script_problems.end());
    for (const std::string& remark : engine.remarks())
        log_notice(LogType::app, "{}", remark);
    return outcome;
}

}  // namespace spead::app
