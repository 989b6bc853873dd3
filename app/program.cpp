// SPDX-License-Identifier: BSD-3-Clause
#include "app/program.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_version.h>

#include "app/bench/bench_assemble.hpp"
#include "app/bench/bench_latency.hpp"
#include "app/bench/bench_link.hpp"
#include "app/bench/bench_transmit.hpp"
#include "app/command_line.hpp"
#include "app/inspect/check.hpp"
#include "app/inspect/info.hpp"
#include "app/inspect/selftest.hpp"
#include "app/prompt/attach.hpp"
#include "app/prompt/console.hpp"
#include "app/prompt/engine_process.hpp"
#include "app/replay.hpp"
#include "app/top/top.hpp"
#include "app/verdict.hpp"
#include "base/error.hpp"
#include "base/line_output.hpp"
#include "base/log.hpp"
#include "base/privileges.hpp"
#include "base/tell.hpp"
#include "base/units.hpp"
#include "config/config.hpp"
#include "drivers/table.hpp"
#include "memory/huge_turn.hpp"
#include "observe/observe.hpp"
#include "port/host.hpp"
#include "process/process.hpp"
#include "runtime/descriptors.hpp"
#include "runtime/eal.hpp"
#include "runtime/engine.hpp"
#include "runtime/lossless.hpp"
#include "runtime/numa.hpp"
#include "runtime/stream_health.hpp"
#include "stats/snapshot_board.hpp"

namespace spead::app {

namespace {

void check_readable(const std::string& path) {
    if (!path.empty() && !std::ifstream(path))
        throw_error(path, "cannot read the commands: {}", std::strerror(errno));
}

/// So that what --check prints is a configuration file as a whole.
std::string as_comments(const std::string& text) {
    std::string out;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        out += "# " + text.substr(at, end - at) + '\n';
        at = end + 1;
    }
    return out;
}

/// One line that says what runs now, for a user who would otherwise wait in front of nothing.
std::string started_text(const runtime::Plan& plan) {
    std::vector<std::string> parts;
    for (const runtime::ReceivePlan& r : plan.receives)
        if (parts.size() < 4)
            parts.push_back(
                fmt::format("{} receives {} on {}", r.name, fmt::join(r.endpoint_texts, " "), r.port));
    for (const runtime::SendPlan& s : plan.sends)
        if (parts.size() < 4)
            parts.push_back(
                fmt::format("{} sends to {} on {}", s.name, fmt::join(s.endpoint_texts, " "), s.port));
    const std::size_t more = plan.receives.size() + plan.sends.size() - parts.size();
    return fmt::format("{}{}; Ctrl-C ends", fmt::join(parts, "; "),
                       more == 0 ? "" : fmt::format("; {} more", more));
}

/// What telemetry tells of the process itself.
nlohmann::ordered_json facts_of(const runtime::Plan& plan) {
    return {{"name", plan.runtime.name}, {"version", DPDK_SPEAD_VERSION}, {"pid", getpid()}};
}
/// Rates for the service manager, since the last line; or what is more urgent.
class ServiceStatus {
  public:
    std::string line(const stats::Snapshot& now) {
        for (const stats::LcoreSnapshot& l : now.lcores)
            if (l.silent_s > 0)
                return l.silence();
        const observe::ProgressSample sample = observe::progress_sample(now);
        if (sample.time_s - last_.time_s >= kEvery) {
            text_ = observe::progress_line(last_, sample);
            last_ = sample;
        }
        return text_;
    }

  private:
    static constexpr double kEvery = 5;
    observe::ProgressSample last_;
    std::string text_ = "running";
};

/// File descriptors that a run opens, generously; those of strangers are counted by who lets them in.
std::size_t descriptors_for(const runtime::Plan& plan, const runtime::Layout& layout) {
    constexpr std::size_t kProgram = 64;
    constexpr std::size_t kPort = 16;
    constexpr std::size_t kStreamOnLcore = 2;
    std::size_t n = kProgram + kPort * plan.ports.size() + 2 * layout.workers.size();
    for (const runtime::ReceivePlan& r : plan.receives)
        n += kStreamOnLcore * layout.workers.size() + (r.capture ? r.capture->files.size() : 0) + 1;
    return n;
}

/// `timeout`: seconds, 0 for never; none: 30 s.
std::chrono::steady_clock::duration lcore_patience(const std::optional<double>& timeout) {
    if (!timeout)
        return runtime::Surroundings{}.lcore_patience;
    return *timeout > 0 ? std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                              std::chrono::duration<double>(*timeout))
                        : std::chrono::steady_clock::duration::max();
}

bool all_answer(const stats::Snapshot& now) {
    return std::none_of(now.lcores.begin(), now.lcores.end(),
                        [](const stats::LcoreSnapshot& l) { return l.silent_s > 0; });
}

const char* environment(const char* name) {
    return std::getenv(name);
}

/// SIGHUP: the file as it is now is what the process is to do. What cannot be is said, and changes nothing.
void reload(const CommandLine& line, runtime::Engine& engine) {
    const std::string& path = line.config_path;
    try {
        runtime::Plan wanted = config::load_file(path);
        // What options gave besides the file stays.
        wanted.runtime.live = engine.plan().runtime.live;
        line.given.apply_to(wanted.runtime);
        const std::string level = wanted.runtime.log_level;
        if (wanted == engine.plan()) {
            log_notice(LogType::app, "SIGHUP: {} says what is done already", path);
            return;
        }
        engine.reconfigure(wanted);
        if (!level.empty())
            set_log_level(level);
        log_notice(LogType::app, "SIGHUP: {} was read again and is carried out: {} streams, {} senders", path,
                   wanted.receives.size(), wanted.sends.size());
    } catch (const std::exception& e) {
        log_error(LogType::app, "SIGHUP: nothing was changed: {}", e.what());
    }
}

/// Whether there is to be a control socket: it was asked for, or the command has one if it can.
bool wants_control(const CommandLine& line) {
    const std::string& control = line.plan.runtime.control;
    return control.empty() ? line.command == Command::run : control != "off";
}

/// None when nobody asked for one and there is no place for it, or a process of that name has it.
std::optional<ControlSocket> control_socket(const CommandLine& line) {
    const std::string& control = line.plan.runtime.control;
    if (!wants_control(line))
        return std::nullopt;
    try {
        return std::make_optional<ControlSocket>(
            socket_path(control.empty() ? "auto" : control, line.plan.runtime.name, environment, geteuid()));
    } catch (const Error& error) {
        if (!control.empty())
            throw;
        log_notice(LogType::app, "there is no control socket: {}", error.what());
        return std::nullopt;
    }
}

/// On the way out nobody waits for the main thread any more.
struct CloseFirst {
    runtime::Executor& executor;
    ~CloseFirst() { executor.close(); }
};

/// Nothing that is written is to destroy it.
FileUse claim_input(const std::string& path, FileUse::Way way, const std::string& option) {
    return path.empty() ? FileUse() : FileUse::planned(path, way, option + " reads", option);
}

int run_plan(const CommandLine& line) {
    const FileUse configuration = claim_input(line.config_path, FileUse::Way::read_anew, "--config");
    const FileUse commands = claim_input(line.cmdline_file, FileUse::Way::read, "--cmdline-file");
    const FileUse report = observe::claim_report(line.json_path, "--json");
    const runtime::EalOptions eal_options = runtime::EalOptions::parse(line.eal_args);
    runtime::Plan plan = line.plan;
    plan.runtime.live |= wants_control(line);
    std::optional<memory::HugePageTurn> turn(std::in_place);
    runtime::Layout layout = runtime::lay_out(plan, eal_options, drivers::table());
    // What goes round in one process is ours, and no more of it is in flight than there is memory for.
    if (line.command != Command::loopback) {
        if (const std::string why = runtime::why_not_lossless(plan, layout); !why.empty())
            throw UsageError(why);
        for (std::string& remark : runtime::what_may_be_lost(plan, layout))
            layout.remarks.push_back(std::move(remark));
    }
    runtime::need_descriptors(descriptors_for(plan, layout));
    if (line.check) {
        tell(stdout, "{}\n{}", config::to_toml(line.plan), as_comments(runtime::describe(layout, line.plan)));
        return kSuccess;
    }
    observe::check_writable(line.json_path);
    if (line.plan.runtime.metrics)
        observe::check_metrics(*line.plan.runtime.metrics);
    check_readable(line.cmdline_file);
    const bool reloads = !line.config_path.empty();
    process::StopSignals signals(reloads ? process::StopSignals::Hangup::reloads
                                         : process::StopSignals::Hangup::ends);
    process::ReloadSignal hangups(reloads);
    std::optional<ControlSocket> socket = control_socket(line);
    process::ServiceNotifier service(environment, getpid());
    const runtime::Eal eal(layout.eal_args);
    turn.reset();
    runtime::use_lcores_of_eal(layout, eal_options);
    for (const std::string& remark : layout.remarks)
        log_notice(LogType::app, "{}", remark);

    // Threads that serve others look at the board as long as they like, rather than at the engine.
    const auto board = std::make_shared<stats::SnapshotBoard>();
    const observe::Telemetry telemetry(
        std::make_shared<observe::TelemetryAnswers>(board, facts_of(line.plan)));
    std::optional<observe::Metrics> metrics;
    if (line.plan.runtime.metrics) {
        metrics.emplace(board, *line.plan.runtime.metrics, layout.control_cpus(),
                        observe::ProcessIdentity{line.plan.runtime.name, DPDK_SPEAD_VERSION, rte_version()});
        log_notice(LogType::app, "metrics are at http://{}/metrics", to_string(metrics->address()));
    }
    stats::Snapshot last;
    stats::Snapshot total;  // counters may be cleared during the run; whether it was good they all tell
    runtime::Plan ran;      // streams come and go during the run: what it was in the end
    std::vector<std::string> problems;
    std::vector<std::string> script_problems;
    runtime::Engine::Reason reason{};
    {
        runtime::Executor executor;
        Notices notices;
        runtime::Surroundings surroundings;
        surroundings.on_event = [&notices](const std::string& stream, const stats::LastEvent& event) {
            notices.tell(runtime::sentence_of(stream, event));
        };
        surroundings.on_lcore = [&notices](const std::string& what) { notices.tell(what); };
        surroundings.interrupt_fd = signals.fd();
        surroundings.by_configuration = line.command == Command::run;
        // Who watches the process decides.
        if (service.watchdog())
            surroundings.lcore_patience = std::chrono::steady_clock::duration::max();
        ServiceStatus status;
        const runtime::Engine* running = nullptr;
        const auto tell_service = [&](const stats::Snapshot& now) {
            if (all_answer(now))
                service.alive(process::ServiceNotifier::Clock::now());
            if (service.active())
                service.status(status.line(now), process::ServiceNotifier::Clock::now());
        };
        // The main thread waits for an lcore, and has nothing newer to show.
        surroundings.on_wait = [&] {
            const stats::SnapshotBoard::View view = board->look();
            if (running == nullptr || !view)
                return;
            stats::Snapshot then = *view.latest.snapshot;
            running->mark_silent(then);
            tell_service(then);
            board->publish(std::move(then));
        };
        runtime::Engine engine(plan, layout, surroundings);
        running = &engine;
        engine.serve(executor);
        // Who looks wants to see what is left when the senders are done.
        if (line.interactive)
            engine.stay();
        engine.start();
        if (plan.runtime.capabilities == runtime::KeptCapabilities::needed) {
            std::vector<process::PathInUse> paths = process::paths_in_use(layout.ports, plan);
            process::add_written(paths, line.json_path);
            process::add_written(paths, socket ? socket->path() : "");
            process::add_read(paths, line.config_path);
            process::give_up_privileges(process::privileges_after_start(layout.ports, plan), paths);
        }
        service.ready();
        if (!line.quiet)
            tell(stderr, "{}\n", started_text(line.plan));
        // The terminal is the prompt's where there is one.
        observe::Progress progress(!line.quiet && !line.interactive);
        EngineProcess process(engine, executor, *board);
        Console console(process, {line.interactive, line.cmdline_file,
                                  line.json_path == "-" ? STDERR_FILENO : STDOUT_FILENO,
                                  layout.control_cpus(), socket ? &*socket : nullptr, &notices});
        const CloseFirst close_first{executor};
        reason = engine.run(signals.fd(), [&](const stats::Snapshot& now) {
            if (hangups.take()) {
                service.notify_reloading();
                reload(line, engine);
                service.ready();
            }
            board->publish(now);
            progress.update(now);
            standard_error().flush();
            tell_service(now);
        });
        service.stopping();
        progress.finish();
        executor.close();
        console.end();
        for (const std::string& problem : console.problems())
            script_problems.push_back(problem);
        signals.give_back();
        log_info(LogType::app, "ending: {}", runtime::name_of(reason));
        engine.stop();
        last = engine.snapshot();
        total = engine.totals();
        ran = engine.plan();
        board->publish(last);
        problems = engine.problems();
        problems.insert(problems.end(), script_problems.begin(), script_problems.end());
        for (const std::string& remark : engine.remarks())
            log_notice(LogType::app, "{}", remark);
    }

    // Standard output is the report's when it was asked for there.
    std::FILE* const out = line.json_path == "-" ? stderr : stdout;
    if (!line.quiet)
        tell(out, "{}",
             line.command == Command::run ? observe::with_keys(observe::report_table(last))
                                          : observe::report_table(last));
    bool good = true;
    if (line.command == Command::loopback) {
        const LoopbackVerdict verdict = judge_loopback(total, reason);
        good = verdict.good;
        if (!good || !line.quiet)
            tell(good ? out : stderr, "{}\n", verdict.sentence);
    } else {
        for (std::string& problem : verification_problems(ran, total))
            problems.push_back(std::move(problem));
    }
    if (!line.json_path.empty())
        observe::write_file(line.json_path, observe::report_json(last));
    for (const std::string& broken : stats::broken_identities(last))
        problems.push_back("counters do not add up: " + broken);
    std::fflush(stdout);
    for (const std::string& problem : problems)
        tell(stderr, "dpdk-spead: {}\n", problem);
    return good && problems.empty() ? kSuccess : kFailure;
}

int run_bench(const CommandLine& line) {
    const bool assemble = line.command == Command::bench_assemble;
    const std::size_t mib =
        assemble ? bench_assemble_memory_mib(line.bench) : bench_transmit_memory_mib(line.bench);
    const runtime::EalOptions options = runtime::EalOptions::parse(line.eal_args);
    const std::vector<unsigned> cpus = runtime::allowed_cpus();
    const unsigned cpu = line.bench.lcore.value_or(cpus.back());
    std::optional<memory::HugePageTurn> turn(std::in_place);
    const runtime::EalArguments arguments = runtime::eal_arguments(
        options, {.memory = {{runtime::node_of_cpu(port::this_host().files, cpu), mib << 20}},
                  .lcores = fmt::format("0@{}", cpu),
                  .name = "dpdk-spead-bench",
                  .bus = assemble ? runtime::BusNeeds{} : bench_transmit_bus(line.bench)});
    if (line.check) {
        tell(stdout, "EAL arguments: {}\n", fmt::join(arguments.words, " "));
        return kSuccess;
    }
    const FileUse report = observe::claim_report(line.json_path, "--json");
    observe::check_writable(line.json_path);
    const process::StopSignals signals;
    const runtime::Eal eal(arguments.words);
    turn.reset();
    for (const std::string& remark : arguments.remarks)
        log_notice(LogType::app, "{}", remark);
    return assemble ? bench_assemble(line.bench, line.json_path, signals)
                    : bench_transmit(line.bench, line.json_path, signals);
}

int run_bench_pair(const CommandLine& line) {
    if (line.check) {
        tell(stdout, "{}", describe_pair(line.pair, line.eal_args));
        return kSuccess;
    }
    if (!line.pair.server.empty()) {
        const PairOutcome outcome = serve_pair(line.pair, line.eal_args);
        return outcome.interrupted ? kFailure : kSuccess;
    }
    const FileUse report = observe::claim_report(line.json_path, "--json");
    const FileUse histogram = observe::claim_report(line.pair.histogram_path, "--histogram");
    observe::check_writable(line.json_path);
    observe::check_writable(line.pair.histogram_path);
    if (line.command == Command::bench_latency)
        return bench_latency(line.pair, line.eal_args, line.json_path, line.quiet);
    return bench_link(line.pair, line.eal_args, line.json_path, line.quiet);
}

int carry_out(const CommandLine& line) {
    switch (line.command) {
        case Command::help:
        case Command::version:
            tell(stdout, "{}", line.text);
            return kSuccess;
        case Command::info:
            return info(line.info, line.eal_args);
        case Command::selftest:
            return selftest(line.selftest, line.eal_args);
        case Command::top:
            return top(line.top);
        case Command::check:
            return check(line.plan, line.eal_args, line.json);
        case Command::attach:
            return attach(line.attach, environment);
        case Command::bench_assemble:
        case Command::bench_transmit:
            return run_bench(line);
        case Command::bench_link:
        case Command::bench_latency:
            return run_bench_pair(line);
        case Command::replay:
            return replay(line.replay, line.eal_args, line.json_path, line.quiet, line.check,
                          lcore_patience(line.plan.runtime.lcore_timeout));
        default:
            return run_plan(line);
    }
}

}  // namespace

namespace {

/// At the end, a reader of standard error that takes nothing for so long is not waited for any more.
constexpr std::chrono::milliseconds kLastWordsPatience{1000};

int parse_and_carry_out(int argc, char** argv) {
    try {
        const CommandLine line =
            parse_command_line(argc, argv, environment, [] { return port::lone_port(port::this_host()); });
        if (!line.plan.runtime.log_level.empty())
            set_log_level(line.plan.runtime.log_level);
        for (const std::string& remark : line.remarks)
            log_notice(LogType::app, "{}", remark);
        return carry_out(line);
    } catch (const UsageError& e) {
        tell(stderr, "dpdk-spead: {}\n", e.what());
        return kUsage;
    } catch (const std::exception& e) {
        tell(stderr, "dpdk-spead: {}\n", reason_of(e));
        return kFailure;
    }
}

}  // namespace

int run_program(int argc, char** argv) {
    process::fill_standard_descriptors();
    // Nothing that it runs is to gain by being set-user-ID.
    refuse_new_privileges();
    int status = parse_and_carry_out(argc, argv);
    if (const auto why = process::finish_standard_output()) {
        tell(stderr, "dpdk-spead: standard output: not all that was printed is there: {}\n", *why);
        status = status == kSuccess ? kFailure : status;
    }
    standard_error().finish(kLastWordsPatience);
    return status;
}

}  // namespace spead::app
