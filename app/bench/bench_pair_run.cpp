// SPDX-License-Identifier: BSD-3-Clause
/// Carries out what app/bench/bench_pair.hpp describes: engines, their cases in turn, and the talk between
/// two processes.
#include <charconv>
#include <deque>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/bench/bench_pair.hpp"
#include "app/bench/engine_beside.hpp"
#include "app/bench/second_process.hpp"
#include "base/error.hpp"
#include "base/foreign_json.hpp"
#include "base/log.hpp"
#include "config/limits.hpp"
#include "port/machine.hpp"
#include "process/kept_privileges.hpp"
#include "process/stop_signals.hpp"
#include "runtime/consumers.hpp"
#include "runtime/eal.hpp"
#include "runtime/layout_busy.hpp"
#include "runtime/thread_activity.hpp"
#include "spead/plan_run.hpp"

namespace spead::app {

namespace {

using nlohmann::json;

constexpr const char* kBenchGreeting = "dpdk-spead bench 2";
constexpr std::size_t kMostCases = 1000;
/// Begins the --server of a process that the near end has started.
constexpr std::string_view kInherited = "fd:";

/// Holds the cases of one process, laid out before EAL starts. It serves one after the other.
/// Returns the first CPU of the process that is no lcore of these ends; nothing: there is none.
std::optional<unsigned> main_cpu_of(const PairOptions& options, Ends ends) {
    for (const unsigned cpu : runtime::allowed_cpus())
        if (!(ends.near && options.tx_lcore == cpu) && !(ends.far && options.rx_lcore == cpu))
            return cpu;
    return std::nullopt;
}

struct Prepared {
    door::EalStart eal;
    std::deque<door::PlanRun> runs;

    Prepared(const std::vector<PairCase>& cases, const PairOptions& options, Ends ends,
             const runtime::EalOptions& eal_options)
        : eal(eal_options) {
        for (const PairCase& c : cases) {
            runtime::Plan plan = pair_plan(options, c, ends);
            plan.runtime.main_cpu = main_cpu_of(options, ends);
            runs.emplace_back(std::move(plan), eal);
        }
    }
};

/// Refers to the parts of an engine that a benchmark uses.
struct Parts {
    CountingSink* counting = nullptr;
    ReflectingSink* reflecting = nullptr;
    BenchHeaps* there = nullptr;
    BenchHeaps* back = nullptr;
};

runtime::EngineHooks hooks_of(const PairOptions& options, const PairBench* bench, Parts& parts) {
    runtime::EngineHooks s;
    s.make_sink = [&options, bench, &parts](const runtime::SinkPlan&,
                                            const std::string& stream) -> std::unique_ptr<runtime::Sink> {
        if (stream == "back")
            return bench->make_return_sink();
        if (options.kind == PairKind::latency) {
            auto sink = std::make_unique<ReflectingSink>();
            parts.reflecting = sink.get();
            return sink;
        }
        auto sink = std::make_unique<CountingSink>();
        parts.counting = sink.get();
        return sink;
    };
    s.make_heap_source = [&options, &parts](const runtime::SendPlan& plan, send::Sender& sender,
                                            memory::RegionTable& regions) {
        auto heaps = std::make_unique<BenchHeaps>(plan, sender, regions, options.kind == PairKind::latency);
        (plan.name == "d0" ? parts.there : parts.back) = heaps.get();
        return heaps;
    };
    return s;
}

/// Runs the engine of one case, from the opening of its ports to their end.
class CaseEngine {
  public:
    CaseEngine(const PairOptions& options, const PairBench* bench, door::PlanRun& run) : run_(run) {
        run_.start_eal();
        run_.open(hooks_of(options, bench, parts_));
        if (parts_.reflecting != nullptr)
            parts_.reflecting->send_with(*parts_.back);
        run_.engine().start();
    }
    ~CaseEngine() { run_.end(); }
    CaseEngine(const CaseEngine&) = delete;
    CaseEngine& operator=(const CaseEngine&) = delete;
    Parts& parts() { return parts_; }
    /// Stops, and returns the problems.
    std::vector<std::string> end() {
        run_.engine().stop();
        std::vector<std::string> problems = run_.engine().problems();
        for (const std::string& broken : stats::broken_identities(run_.engine().snapshot()))
            problems.push_back("counters do not add up: " + broken);
        return problems;
    }

  private:
    Parts parts_;
    door::PlanRun& run_;
};

/// Serves as the far end in this process, with its sink.
class LocalEnd final : public FarEnd {
  public:
    void use(CountingSink* sink) { sink_ = sink; }
    void open(std::size_t) override {}
    void begin(std::uint64_t first) override { sink_->begin(first); }
    Count count() override { return {sink_->complete(), sink_->broken()}; }
    std::uint64_t preemptions() override { return 0; }
    std::vector<std::string> close() override { return {}; }

  private:
    CountingSink* sink_ = nullptr;
};

class RemoteEnd final : public FarEnd {
  public:
    RemoteEnd(JsonChannel& channel, int stop_fd) : channel_(channel), stop_fd_(stop_fd) {}
    void open(std::size_t i) override { ask({{"do", "open"}, {"case", i}}); }
    void begin(std::uint64_t first) override { ask({{"do", "begin"}, {"first", first}}); }
    Count count() override {
        const json answer = ask({{"do", "count"}});
        return {answer.value("complete", std::uint64_t{0}), answer.value("broken", std::uint64_t{0})};
    }
    std::uint64_t preemptions() override {
        return ask({{"do", "preemptions"}}).value("preemptions", std::uint64_t{0});
    }
    std::vector<std::string> close() override {
        return ask({{"do", "close"}}).value("problems", std::vector<std::string>{});
    }

  private:
    json ask(const json& question) try {
        return channel_.ask(question, stop_fd_);
    } catch (const json::exception&) {
        throw_error("bench", "the other end does not speak the protocol of bench");
    }
    JsonChannel& channel_;
    int stop_fd_;
};

json greeting_of(const PairOptions& options) {
    json cases = json::array();
    for (const PairCase& c : cases_of(options))
        cases.push_back({{"payload", c.payload}, {"heap", c.heap}});
    return {{"bench", kBenchGreeting},
            {"kind", options.kind == PairKind::link ? "link" : "latency"},
            {"to", options.to},
            {"cases", cases}};
}

/// Returns the near end's options, with the ports and lcores of this one. Received values are checked as if
/// they had been typed.
PairOptions options_of(const json& greeting, const PairOptions& own) try {
    PairOptions options = own;
    if (greeting.at("bench") != kBenchGreeting)
        throw_error("bench", "the other end is of another version: {}", greeting.at("bench").dump());
    options.kind = greeting.at("kind") == "latency" ? PairKind::latency : PairKind::link;
    options.to = greeting.at("to").get<std::string>();
    if (greeting.at("cases").size() > kMostCases)
        throw_error("bench", "the other end asks for {} cases, {} at most are done",
                    greeting.at("cases").size(), kMostCases);
    options.payload_sizes.clear();
    options.heap_sizes.clear();
    return options;
} catch (const json::exception&) {
    throw_error("bench", "the other end does not speak the protocol of bench");
}

std::vector<PairCase> cases_from(const json& greeting, PairKind kind) try {
    std::vector<PairCase> cases;
    const std::uint64_t least = kind == PairKind::latency ? BenchHeaps::kStampBytes : 1;
    for (const json& c : greeting.at("cases")) {
        const PairCase one{c.at("payload").get<std::uint32_t>(), c.at("heap").get<std::uint64_t>()};
        if (one.payload < 1 || one.payload > 65400 || one.heap < one.payload || one.heap < least ||
            !config::kHeapSize.hold(one.heap))
            throw_error("bench", "the other end asks for packets of {} bytes in heaps of {}", one.payload,
                        one.heap);
        cases.push_back(one);
    }
    return cases;
} catch (const json::exception&) {
    throw_error("bench", "the other end does not speak the protocol of bench");
}

bool alone(const PairOptions& options) {
    return options.client.empty() && options.tx_port.empty();
}

Ends ends_of(const PairOptions& options) {
    return {true, options.client.empty() && !options.tx_port.empty()};
}

/// Logs the remarks on the layout. `placed`: the placement of both processes has a warning for all their
/// CPUs.
void tell_remarks(const door::PlanRun& run, bool placed) {
    if (!placed)
        for (const std::string& warning : runtime::busy_warnings(run.plan(), run.layout()))
            log_warning(LogType::app, "{}", warning);
    for (const std::string& remark : run.layout().remarks)
        log_info(LogType::app, "{}", remark);
}

}  // namespace

PairOutcome run_pair(const PairOptions& typed, const std::vector<std::string>& eal_args,
                     const PairBench& bench) {
    PairOptions options = typed;
    const runtime::EalOptions eal_options = runtime::EalOptions::parse(eal_args);
    PairOutcome outcome;
    const process::StopSignals signals;
    // Waits for its process last, when the channel to it is closed.
    std::unique_ptr<SecondProcess> second;
    const Ends ends = ends_of(options);
    if (alone(options)) {
        second = std::make_unique<SecondProcess>(options, eal_options);
        outcome.placement = second->placement();
        if (const std::string warning =
                second->placement().warning(options.poll, options.kind == PairKind::latency);
            !warning.empty())
            log_warning(LogType::app, "{}", warning);
    }
    try {
        std::unique_ptr<JsonChannel> channel;
        if (second)
            channel = std::make_unique<JsonChannel>(second->socket());
        else if (!options.client.empty())
            channel = std::make_unique<JsonChannel>(JsonChannel::connect_to(options.client, signals.fd()));
        const std::vector<PairCase> cases = cases_of(options);
        Prepared prepared(cases, options, ends, eal_options);
        prepared.eal.start();
        outcome.packet_pages = runtime::Eal::pages();
        tell_remarks(prepared.runs.front(), second != nullptr);
        LocalEnd local;
        std::unique_ptr<RemoteEnd> remote;
        if (channel) {
            channel->ask(greeting_of(options), signals.fd());
            remote = std::make_unique<RemoteEnd>(*channel, signals.fd());
        }
        FarEnd& far = remote ? static_cast<FarEnd&>(*remote) : local;
        for (std::size_t i = 0; i < cases.size() && !outcome.interrupted; i++) {
            far.open(i);
            CaseEngine e(options, &bench, prepared.runs[i]);
            local.use(e.parts().counting);
            outcome.interrupted = run_beside(prepared.runs[i], signals.fd(), [&](const BesideEnd& end) {
                runtime::run_on(e.parts().there->cpus());
                PairRun run{i, cases[i], *e.parts().there, far, end.cancelled};
                bench.measure(run);
            });
            for (std::string& problem : e.end())
                outcome.problems.push_back(std::move(problem));
            if (outcome.interrupted)
                break;
            for (const std::string& problem : far.close())
                outcome.problems.push_back("the other end: " + problem);
        }
    } catch (const Interrupted&) {
        outcome.interrupted = true;
    }
    return outcome;
}

namespace {

/// Answers the near end while the engine of a case runs, until it is to end.
void answer(JsonChannel& channel, Parts& parts, int stop_fd) {
    for (;;) {
        const json question = channel.receive(stop_fd);
        const std::string what = text_in(question, "do");
        if (what == "close")
            return;
        if (what == "begin" && parts.counting != nullptr) {
            parts.counting->begin(number_in(question, "first"));
            channel.send({{"ok", true}});
        } else if (what == "count" && parts.counting != nullptr) {
            channel.send({{"complete", parts.counting->complete()}, {"broken", parts.counting->broken()}});
        } else if (what == "preemptions") {
            channel.send({{"preemptions", runtime::involuntary_switches(port::this_machine().files)}});
        } else {
            throw_error("bench", "the other end asks for `{}`", what);
        }
    }
}

int connected(const std::string& server, int stop_fd) {
    if (!server.starts_with(kInherited))
        return JsonChannel::accept_one(server, stop_fd);
    int fd = -1;
    const std::string number = server.substr(kInherited.size());
    std::from_chars(number.data(), number.data() + number.size(), fd);
    if (fd < 0)
        throw_usage("--server", "`{}` is not a descriptor", server);
    return fd;
}

/// Serves until the near end has finished, or a signal comes; returns which.
bool serve(JsonChannel& channel, const PairOptions& own, const runtime::EalOptions& eal_options,
           int signal_fd) {
    const json greeting = channel.receive(signal_fd);
    const PairOptions options = options_of(greeting, own);
    Prepared prepared(cases_from(greeting, options.kind), options, {false, true}, eal_options);
    if (prepared.runs.empty())
        throw_error("bench", "the other end asks for nothing");
    prepared.eal.start();
    tell_remarks(prepared.runs.front(), own.server.starts_with(kInherited));
    channel.send({{"ok", true}});
    for (;;) {
        json question;
        try {
            question = channel.receive(signal_fd);
        } catch (const ChannelClosed&) {
            return false;
        }
        const std::size_t i = number_in(question, "case", prepared.runs.size());
        if (text_in(question, "do") != "open" || i >= prepared.runs.size())
            throw_error("bench", "the other end asks for {}", question.dump());
        door::PlanRun& run = prepared.runs[i];
        CaseEngine e(options, nullptr, run);
        // Cases that follow open the same port, for which it needs no more.
        process::give_up_privileges(process::privileges_after_start(run.layout().ports, run.plan()), {});
        channel.send({{"ok", true}});
        if (run_beside(run, signal_fd, [&](const BesideEnd& end) { answer(channel, e.parts(), end.fd); }))
            return true;
        channel.send({{"ok", true}, {"problems", e.end()}});
    }
}

}  // namespace

PairOutcome serve_pair(const PairOptions& own, const std::vector<std::string>& eal_args) {
    PairOutcome outcome;
    const process::StopSignals signals;
    const bool reported = own.server.starts_with(kInherited);  // the near end says for both what goes wrong
    try {
        JsonChannel channel(connected(own.server, signals.fd()));
        try {
            outcome.interrupted = serve(channel, own, runtime::EalOptions::parse(eal_args), signals.fd());
        } catch (const ChannelClosed&) {
            throw;
        } catch (const std::exception& error) {
            channel.send({{"error", error.what()}});
            throw;
        }
    } catch (const Interrupted&) {
        outcome.interrupted = true;
    } catch (const std::exception&) {
        if (!reported)
            throw;
        outcome.interrupted = true;
    }
    return outcome;
}

std::string describe_pair(const PairOptions& typed, const std::vector<std::string>& eal_args) {
    PairOptions options = typed;
    Ends ends = ends_of(options);
    if (!options.server.empty())
        ends = {false, true};
    std::optional<MeetingPlace> meeting;
    std::string placed;
    if (alone(options)) {
        options.tx_port = meeting.emplace().near_device();
        const PairPlacement placement = take_near_end(options);
        placed = placement.text() + '\n';
        if (const std::string warning = placement.warning(options.poll, options.kind == PairKind::latency);
            !warning.empty())
            placed += warning + '\n';
    }
    const runtime::EalOptions eal_options = runtime::EalOptions::parse(eal_args);
    const Prepared prepared(cases_of(options), options, ends, eal_options);
    const door::PlanRun& first = prepared.runs.front();
    return fmt::format("{}{} cases; the first:\n{}", placed, prepared.runs.size(),
                       runtime::describe(first.layout(), first.plan()));
}

}  // namespace spead::app
