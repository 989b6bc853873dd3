// SPDX-License-Identifier: BSD-3-Clause
#include "app/command_line.hpp"

#include <algorithm>
#include <array>

#include <rte_version.h>

#include "app/bench/bench_pair_options.hpp"
#include "app/option_set.hpp"
#include "app/stream_options.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/suggest.hpp"
#include "config/config.hpp"

namespace spead::app {

namespace {

constexpr std::array<std::string_view, 12> kCommands{"recv",     "send", "loopback", "capture",
                                                     "replay",   "run",  "info",     "check",
                                                     "selftest", "top",  "attach",   "bench"};
constexpr std::array<std::string_view, 4> kBenches{"assemble", "transmit", "link", "latency"};

constexpr std::array kTopPageWords{
    config::Word{TopPage::streams, kTopPages[0]}, config::Word{TopPage::loss, kTopPages[1]},
    config::Word{TopPage::sends, kTopPages[2]}, config::Word{TopPage::ports, kTopPages[3]},
    config::Word{TopPage::lcores, kTopPages[4]}};
constexpr std::array kTopSortWords{
    config::Word{TopSort::name, kTopSorts[0]}, config::Word{TopSort::rate, kTopSorts[1]},
    config::Word{TopSort::loss, kTopSorts[2]}, config::Word{TopSort::ring, kTopSorts[3]}};

/// EAL's options that people know, for a hint when one stands among ours.
constexpr std::array<std::string_view, 27> kEalOptions{"-l",
                                                       "-c",
                                                       "-a",
                                                       "-b",
                                                       "-m",
                                                       "-n",
                                                       "-d",
                                                       "-s",
                                                       "-r",
                                                       "-w",
                                                       "--vdev",
                                                       "--allow",
                                                       "--block",
                                                       "--no-huge",
                                                       "--no-pci",
                                                       "--in-memory",
                                                       "--no-shconf",
                                                       "--huge-dir",
                                                       "--socket-mem",
                                                       "--main-lcore",
                                                       "--file-prefix",
                                                       "--iova-mode",
                                                       "--proc-type",
                                                       "--legacy-mem",
                                                       "--telemetry",
                                                       "--no-telemetry",
                                                       "--base-virtaddr"};

constexpr const char* kDescription = R"(Sends and receives SPEAD streams over DPDK.

Options of DPDK's EAL, if any, stand before `--`. Without them the program chooses.
Sizes take a unit (64KiB, 1GB), rates too (10Gbps, 1.25GB/s), times may (5s, 250ms).
A DEVICE is a netdev name, an IP address of this machine, a PCI address, an RDMA
device or a device string such as net_af_packet0,iface=veth0. `dpdk-spead COMMAND --help` tells more.)";

constexpr const char* kExamples = R"(Examples:
  dpdk-spead loopback
  dpdk-spead recv --port net_af_packet0,iface=eth1 239.10.10.0+15:7148
  dpdk-spead send --port net_af_packet0,iface=eth1 --rate 1Gbps 239.10.10.0+15:7148
  dpdk-spead -l 0,1 --vdev=net_memif0,role=client -- recv --json - 239.1.2.3:7148)";

/// CLI11's help with the usage line of a program whose first options are EAL's.
class HelpFormatter : public CLI::Formatter {
  public:
    HelpFormatter() {
        column_width(36);
        label("Positionals", "Arguments");
        label("Subcommands", "Commands");
    }

    std::string make_usage(const CLI::App* app, std::string) const override {
        std::string path;
        for (; app->get_parent() != nullptr; app = app->get_parent())
            path = " " + app->get_name() + path;
        return fmt::format("\nUsage: dpdk-spead [EAL options --]{} [options]{}\n",
                           path.empty() ? " COMMAND" : path,
                           path == " recv" || path == " send"    ? " ENDPOINT..."
                           : path == " capture"                  ? " ENDPOINT... FILE"
                           : path == " replay"                   ? " FILE..."
                           : path == " info" || path == " check" ? " [PORT...]"
                           : path == " top"                      ? " [PROCESS]"
                           : path == " attach"                   ? " [NAME] [-- COMMAND...]"
                                                                 : "");
    }
    // One row per option: TYPE, then the default in brackets.
    std::string make_option_opts(const CLI::Option* option) const override {
        std::string text;
        if (!option->get_type_name().empty())
            text += " " + option->get_type_name();
        return text;
    }
    std::string make_option_desc(const CLI::Option* option) const override {
        std::string text = option->get_description();
        if (!option->get_default_str().empty())
            text += " [" + option->get_default_str() + "]";
        return text;
    }
};

/// argv without the program's name, cut at the first `--`.
struct Split {
    std::vector<std::string> eal;
    std::vector<std::string> ours;
};

Split split(int argc, const char* const* argv) {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    const auto mark = std::find(words.begin(), words.end(), "--");
    // attach needs no EAL; its own `--` stands before the command for the other side.
    if (mark == words.end() || words.front() == "attach")
        return {{}, words};
    return {{words.begin(), mark}, {mark + 1, words.end()}};
}

bool is_eal_option(std::string_view word) {
    const std::string_view name = word.substr(0, word.find('='));
    return std::find(kEalOptions.begin(), kEalOptions.end(), name) != kEalOptions.end();
}

[[noreturn]] void refuse_eal_option(std::string_view word) {
    throw_usage("", "`{}` is an option of EAL; those stand before `--`, as in dpdk-spead -l 2,4 -- recv ...",
                word.substr(0, word.find('=')));
}

/// Devices that EAL's --vdev makes, by name.
std::vector<std::string> eal_devices(const std::vector<std::string>& eal) {
    std::vector<std::string> devices;
    for (std::size_t i = 0; i < eal.size(); i++) {
        std::string_view device;
        if (eal[i].starts_with("--vdev="))
            device = std::string_view(eal[i]).substr(7);
        else if (eal[i] == "--vdev" && i + 1 < eal.size())
            device = eal[++i];
        if (!device.empty())
            devices.emplace_back(device.substr(0, device.find(',')));
    }
    return devices;
}

std::string default_port(const Split& words, const Environment& environment) {
    const auto devices = eal_devices(words.eal);
    if (devices.size() == 1)
        return devices.front();
    if (devices.size() > 1)
        throw_usage("--port", "it is missing, and EAL's --vdev makes {} ports: name one of {}",
                    devices.size(), fmt::join(devices, ", "));
    const char* named = environment ? environment(kInterfaceVariable) : nullptr;
    return named == nullptr ? std::string{} : std::string(named);
}

/// Finds the command before CLI11 does, for errors that say what may be typed.
void check_command(const Split& words) {
    if (!words.eal.empty() &&
        std::find(kCommands.begin(), kCommands.end(), words.eal.front()) != kCommands.end())
        throw_usage(
            "",
            "`{0}` stands before `--`, where EAL's options stand; write dpdk-spead [EAL options] -- {0} ...",
            words.eal.front());
    if (words.ours.empty())
        throw_usage("", "there is no command; give {}, or --help", list_of(kCommands));
    const std::string& first = words.ours.front();
    if (first == "--help" || first == "-h" || first == "--version")
        return;
    if (first.starts_with("-")) {
        if (is_eal_option(first))
            refuse_eal_option(first);
        throw_usage(first, "the command comes first; give {}, then its options", list_of(kCommands));
    }
    if (std::find(kCommands.begin(), kCommands.end(), first) == kCommands.end())
        throw_usage("", "`{}` is not a command{}; give {}", first, hint(first, kCommands),
                    list_of(kCommands));
    if (first != "bench" || words.ours.size() < 2 || words.ours[1] == "--help" || words.ours[1] == "-h")
        return;
    if (std::find(kBenches.begin(), kBenches.end(), words.ours[1]) == kBenches.end())
        throw_usage("", "`bench {}` is not a benchmark{}; give bench {}", words.ours[1],
                    hint(words.ours[1], kBenches), list_of(kBenches));
}

void add_common_options(CLI::App& app, CommandLine& result) {
    OptionSet options(app);
    options.text("--json", result.json_path, "FILE", "Write the final report as JSON; - = standard output");
    options.flag("--quiet", result.quiet, "No progress line and no table");
    options.flag("--check", result.check, "Check everything, print the plan and EAL's options, and exit");
    options.add("--log-level", "LEVEL", "notice", "error, warning, notice, info, debug, or PATTERN:LEVEL",
                [&result](const std::string& text) {
                    check_log_level(text, "--log-level");
                    result.plan.runtime.log_level = text;
                });
}

void add_top_options(CLI::App& app, TopOptions& top) {
    app.add_option("PROCESS", top.process, "Its name, pid or telemetry socket; none: the only one that runs")
        ->type_name("");
    OptionSet options(app);
    options.flag("--once", top.once, "Print one picture as text and exit");
    options.duration("--interval", top.interval, false, "Between two pictures; rates are over so long");
    options.choice("--page", top.view.page, kTopPageWords, "What the table shows at first");
    options.choice("--sort", top.view.sort, kTopSortWords, "What its rows are sorted by");
}

void add_metrics_option(CLI::App& app, CommandLine& result) {
    OptionSet(app).add("--metrics", "[ADDRESS:]PORT", "",
                       "Where Prometheus may fetch metrics; without ADDRESS on 127.0.0.1",
                       [&result](const std::string& text) {
                           result.given.metrics = parse_listen_address(text, "--metrics");
                       });
}

void add_capabilities_option(CLI::App& app, CommandLine& result) {
    OptionSet(app).add("--capabilities", "needed|all", "needed",
                       "What to keep of root's power after the start; needed = by the ports",
                       [&result](const std::string& text) {
                           result.given.capabilities =
                               config::choose(config::kKeptCapabilities, text, "--capabilities");
                       });
}

void add_lcore_timeout(CLI::App& app, CommandLine& result) {
    OptionSet(app).add("--lcore-timeout", "TIME|off", "30s",
                       "End the run when an lcore has not answered for so long; off = never",
                       [&result](const std::string& text) {
                           const double time = text == "off" ? 0 : parse_duration(text, "--lcore-timeout");
                           if (text != "off" && !config::kLcoreTimeout.hold(time))
                               throw_usage("--lcore-timeout", "`{}` is out of range; give 1s or more, or off",
                                           text);
                           result.given.lcore_timeout = time;
                       });
}

void add_prompt_options(CLI::App& app, CommandLine& result) {
    OptionSet options(app);
    options.flag("-i,--interactive", result.interactive,
                 "A prompt to look and to change things while it runs");
    options.text("--cmdline-file", result.cmdline_file, "FILE",
                 "Carry out this file's commands at the start");
    options.add("--control", "auto|PATH|off", "auto for run, else off",
                "Socket for dpdk-spead attach; auto = by [runtime] name", [&result](const std::string& text) {
                    if (text.empty())
                        throw_usage("--control", "it is empty; give auto, off or a path");
                    result.given.control = text;
                });
}

/// Cuts the command for the other side off attach's words.
std::vector<std::string> cut_command(std::vector<std::string>& words) {
    const auto mark = std::find(words.begin(), words.end(), "--");
    if (words.empty() || words.front() != "attach" || mark == words.end())
        return {};
    std::vector<std::string> command(mark + 1, words.end());
    if (command.empty())
        throw_usage("attach", "there is no command after `--`; leave it out to type");
    words.erase(mark, words.end());
    return command;
}

void add_bench_options(CLI::App& app, BenchOptions& bench, bool transmit) {
    constexpr config::Limits<std::uint64_t> kSet{4096, std::uint64_t{1} << 40};
    constexpr config::Limits<std::uint32_t> kMany{1, 65536};
    bench.payload_sizes = {64, 256, 1024, 1408, 4096, 8192};
    bench.heap_sizes = {0, std::uint64_t{64} << 10, std::uint64_t{4} << 20};
    OptionSet options(app);
    options.integers("--payload", bench.payload_sizes, {1, 65400}, "SPEAD payload bytes per packet");
    options.sizes("--heap-size", bench.heap_sizes, config::kHeapSize, "packet",
                  "Bytes per heap; packet = one packet each");
    if (transmit) {
        bench.device = "net_null0";
        options.text("--device", bench.device, "DEVICE", "Port to send into");
        options.choice("--zero-copy", bench.zero_copy, config::kZeroCopy,
                       "Send straight from the heaps' memory");
        options.rate("--rate", bench.rate, "UDP payload per second; 0 = unlimited");
    } else {
        bench.working_sets = {std::uint64_t{8} << 20, std::uint64_t{1} << 30};
        bench.streams = {1};
        bench.live_heaps = {4};
        options.sizes("--set", bench.working_sets, kSet, "",
                      "Bytes of heaps gone through in turn: warm, cold");
        options.integers("--streams", bench.streams, kMany, "Streams fed in turn");
        options.integers("--live-heaps", bench.live_heaps, kMany, "Heaps open at once, per stream");
    }
    options.duration("--time", bench.time, false, "How long each combination is measured");
    options.integer("--rounds", bench.rounds, config::Limits<std::uint32_t>{1, 1000},
                    "Repetitions; the median counts");
    options.cpu("--lcore", bench.lcore, "CPU to run on");
}

/// Ports as arguments, for commands that look rather than run.
void add_port_arguments(CLI::App& app, std::vector<std::string>& ports, const std::string& description) {
    app.add_option("PORT", ports, description)->type_name("");
}

/// What check looks at when ports are named rather than a file: a stream from each.
runtime::Plan plan_of_ports(std::vector<std::string> devices, const DefaultPort& default_port,
                            std::vector<std::string>& remarks) {
    runtime::Plan plan;
    if (devices.empty())
        devices.push_back(default_port.named());
    if (devices.front().empty()) {
        port::LonePort lone = default_port.lone();
        if (!lone.why_not.empty())
            remarks.push_back("no port is named: " + lone.why_not);
        devices.front() = std::move(lone.device);
    }
    std::erase(devices, "");
    for (const std::string& device : devices) {
        const std::size_t i = plan.ports.size();
        plan.ports.push_back({fmt::format("p{}", i), device, 0});
        runtime::ReceivePlan& stream = plan.receives.emplace_back();
        stream.name = fmt::format("s{}", i);
        stream.port = plan.ports.back().name;
        stream.endpoint_texts = {fmt::format("239.255.0.1:{}", 7148 + i)};
        stream.endpoints = parse_endpoints(stream.endpoint_texts.front());
    }
    return plan;
}

void check_bench(const BenchOptions& bench) {
    for (const std::uint64_t heap : bench.heap_sizes)
        for (const std::uint32_t payload : bench.payload_sizes)
            if (heap != 0 && heap < payload)
                throw_usage(
                    "--heap-size",
                    "heaps of {} are smaller than one packet's payload of {} bytes; give larger heaps, or "
                    "`packet`",
                    human_size(heap), payload);
    if (bench.time == 0)
        throw_usage("--time", "measuring for no time shows nothing; give at least 1ms");
}

[[noreturn]] void refuse_extra(const CLI::App& command, std::string_view path,
                               const std::vector<std::string>& extras) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options())
        for (const std::string& name : option->get_lnames())
            names.push_back("--" + name);
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string& word = extras.front();
    const std::string see = fmt::format("dpdk-spead {} --help lists what there is", path);
    if (is_eal_option(word))
        refuse_eal_option(word);
    if (word.starts_with("-")) {
        const std::string name = word.substr(0, word.find('='));
        throw_usage("", "`{}` is not an option of {}{}; {}", name, path, hint(name, known), see);
    }
    throw_usage("", "`{}` is too much for {}; {}", word, path, see);
}

}  // namespace

void RuntimeOptions::apply_to(runtime::RuntimePlan& plan) const {
    if (!control.empty())
        plan.control = control;
    if (metrics)
        plan.metrics = metrics;
    if (capabilities)
        plan.capabilities = *capabilities;
    if (lcore_timeout)
        plan.lcore_timeout = lcore_timeout;
}

CommandLine parse_command_line(int argc, const char* const* argv, const Environment& environment,
                               const FindLonePort& lone_port) {
    Split words = split(argc, argv);
    check_command(words);

    CommandLine result;
    result.attach.command = cut_command(words.ours);
    result.eal_args = words.eal;
    StreamWords recv_words;
    StreamWords send_words;
    StreamWords loopback_words;
    StreamWords capture_words;
    BenchOptions assemble;
    BenchOptions transmit;
    PairOptions link;
    PairOptions latency;
    latency.kind = PairKind::latency;
    std::string config_file;
    std::vector<std::string> check_ports;
    bool version = false;

    CLI::App app(kDescription, "dpdk-spead");
    app.formatter(std::make_shared<HelpFormatter>());
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    app.set_help_flag("-h,--help", "Show this and exit");
    app.add_flag("--version", version, "Show the versions of the program and of DPDK, and exit");

    CLI::App& recv = *app.add_subcommand("recv", "Receive streams and give their heaps to a sink");
    add_recv_options(recv, recv_words);
    CLI::App& send = *app.add_subcommand("send", "Send generated heaps");
    add_send_options(send, send_words);
    CLI::App& loopback =
        *app.add_subcommand("loopback", "Send to itself and check every byte; needs no card and no root");
    add_loopback_options(loopback, loopback_words);
    CLI::App& capture = *app.add_subcommand("capture", "Write the packets of streams to pcap files");
    add_capture_options(capture, capture_words);
    CLI::App& replay = *app.add_subcommand("replay", "Send pcap files again");
    add_replay_options(replay, result.replay);
    CLI::App& run = *app.add_subcommand("run", "Do what a configuration file says");
    OptionSet(run).text("--config", config_file, "FILE", "The file; examples are in config/");
    CLI::App& info = *app.add_subcommand("info", "Tell what ports are and can do");
    add_port_arguments(info, result.info.ports,
                       "As for --port of recv; none: every interface that could be one");
    OptionSet(info).flag("--drivers", result.info.drivers, "The table of drivers instead");
    OptionSet(info).flag("--json", result.info.json, "As JSON on standard output");
    CLI::App& check = *app.add_subcommand("check", "Look for what would slow a run down or make it fail");
    add_port_arguments(check, check_ports, "As for --port of recv [$DPDK_SPEAD_INTERFACE]");
    OptionSet(check).text("--config", config_file, "FILE", "Check what this configuration file needs");
    OptionSet(check).flag("--json", result.json, "As JSON on standard output");
    CLI::App& selftest =
        *app.add_subcommand("selftest", "Try on a port everything that the program will ask of it");
    OptionSet(selftest).text("--port", result.selftest.port, "PORT", "As for --port of recv");
    OptionSet(selftest).text("--to", result.selftest.destination, "GROUP:PORT", "Where the test packets go");
    OptionSet(selftest).flag("--json", result.selftest.json, "As JSON on standard output");
    CLI::App& top = *app.add_subcommand("top", "Show what a running process does, live");
    add_top_options(top, result.top);
    CLI::App& attach = *app.add_subcommand("attach", "Type at the prompt of a running process");
    attach
        .add_option("NAME", result.attach.target, "Its [runtime] name, or its socket's path [the only one]")
        ->type_name("");
    CLI::App& bench = *app.add_subcommand("bench", "Measure what one core, or a link, can do");
    CLI::App& bench_assemble = *bench.add_subcommand("assemble", "Packets to heaps, against a bare copy");
    add_bench_options(bench_assemble, assemble, false);
    CLI::App& bench_transmit = *bench.add_subcommand("transmit", "Heaps to packets to a port");
    add_bench_options(bench_transmit, transmit, true);
    CLI::App& bench_link =
        *bench.add_subcommand("link", "The rate at which nothing is lost between two ends");
    add_pair_options(bench_link, link);
    CLI::App& bench_latency =
        *bench.add_subcommand("latency", "The time heaps take between two ends and back");
    add_pair_options(bench_latency, latency);
    for (CLI::App* command : {&recv, &send, &loopback, &capture, &replay, &run, &bench_assemble,
                              &bench_transmit, &bench_link, &bench_latency}) {
        add_common_options(*command, result);
        command->allow_extras();
    }
    for (CLI::App* command : {&recv, &send, &loopback, &capture, &replay, &run})
        add_lcore_timeout(*command, result);
    for (CLI::App* command : {&recv, &send, &loopback, &run})
        add_metrics_option(*command, result);
    for (CLI::App* command : {&recv, &send, &loopback, &capture, &run})
        add_capabilities_option(*command, result);
    for (CLI::App* command : {&info, &check, &selftest, &top, &attach})
        command->allow_extras();
    for (CLI::App* command : {&recv, &send, &loopback, &run})
        add_prompt_options(*command, result);

    app.footer(kExamples);  // after the commands, which would inherit it

    try {
        std::vector<std::string> reversed(words.ours.rbegin(), words.ours.rend());
        app.parse(std::move(reversed));
    } catch (const CLI::CallForHelp&) {
        result.command = Command::help;
        result.text = app.help();
        return result;
    } catch (const CLI::ArgumentMismatch& error) {
        const std::string_view text = error.what();
        if (text.find("flag override") != std::string_view::npos)
            throw_usage("", "`--{}` takes no value; leave out what follows the `=`",
                        text.substr(0, text.find(' ')));
        throw_usage("", "{}; dpdk-spead {} --help shows how", text, words.ours.front());
    } catch (const CLI::ParseError& error) {
        throw_usage("", "{}; dpdk-spead {} --help shows how", error.what(), words.ours.front());
    }
    if (version) {
        result.command = Command::version;
        result.text = fmt::format("dpdk-spead {} ({})\n", DPDK_SPEAD_VERSION, rte_version());
        return result;
    }

    const auto no_extras = [](const CLI::App& command, std::string_view path) {
        auto extras = command.remaining();
        std::erase(extras, "--");  // CLI11 keeps the mark itself among them
        if (!extras.empty())
            refuse_extra(command, path, extras);
    };
    const DefaultPort port{[&] { return default_port(words, environment); },
                           [&] {
                               const port::LonePort found = lone_port ? lone_port() : port::LonePort{};
                               if (!found.device.empty())
                                   result.remarks.push_back(fmt::format(
                                       "no port is named: {} is taken, the only interface that is up and "
                                       "carries no default route",
                                       found.device));
                               return found;
                           }};
    const std::string log_level = result.plan.runtime.log_level;
    if (recv.parsed()) {
        no_extras(recv, "recv");
        result.command = Command::recv;
        result.plan = recv_plan(recv_words, port);
    } else if (send.parsed()) {
        no_extras(send, "send");
        result.command = Command::send;
        result.plan = send_plan(send_words, port);
    } else if (loopback.parsed()) {
        no_extras(loopback, "loopback");
        result.command = Command::loopback;
        result.plan = loopback_plan(loopback_words);
    } else if (capture.parsed()) {
        no_extras(capture, "capture");
        result.command = Command::capture;
        result.plan = capture_plan(capture_words, port);
    } else if (replay.parsed()) {
        no_extras(replay, "replay");
        result.command = Command::replay;
        complete_replay(result.replay, port);
    } else if (run.parsed()) {
        no_extras(run, "run");
        if (config_file.empty())
            throw_usage("--config", "it is missing: dpdk-spead run --config FILE; examples are in config/");
        result.command = Command::run;
        result.config_path = config_file;
        result.plan = config::load_file(config_file);
    } else if (info.parsed()) {
        no_extras(info, "info");
        result.command = Command::info;
    } else if (check.parsed()) {
        no_extras(check, "check");
        if (!config_file.empty() && !check_ports.empty())
            throw_usage("--config", "it stands beside ports ({}); give one or the other",
                        fmt::join(check_ports, ", "));
        result.command = Command::check;
        result.plan = config_file.empty() ? plan_of_ports(check_ports, port, result.remarks)
                                          : config::load_file(config_file);
    } else if (selftest.parsed()) {
        no_extras(selftest, "selftest");
        if (result.selftest.port.empty())
            throw_usage("--port",
                        "it is missing: dpdk-spead selftest --port PORT (`dpdk-spead info` lists them)");
        result.command = Command::selftest;
    } else if (top.parsed()) {
        no_extras(top, "top");
        if (result.top.interval < 0.1 || result.top.interval > 3600)
            throw_usage("--interval", "pictures come every 100ms to 1h");
        result.command = Command::top;
    } else if (attach.parsed()) {
        no_extras(attach, "attach");
        result.command = Command::attach;
    } else if (bench_assemble.parsed() || bench_transmit.parsed()) {
        const bool sends = bench_transmit.parsed();
        no_extras(sends ? bench_transmit : bench_assemble, sends ? "bench transmit" : "bench assemble");
        result.command = sends ? Command::bench_transmit : Command::bench_assemble;
        result.bench = sends ? transmit : assemble;
        check_bench(result.bench);
    } else if (bench_link.parsed() || bench_latency.parsed()) {
        const bool rates = bench_link.parsed();
        no_extras(rates ? bench_link : bench_latency, rates ? "bench link" : "bench latency");
        result.command = rates ? Command::bench_link : Command::bench_latency;
        result.pair = rates ? link : latency;
        check_pair(result.pair);
    } else {
        throw_usage("", "bench what? Give bench {}", list_of(kBenches));
    }
    if (!log_level.empty())
        result.plan.runtime.log_level = log_level;
    result.given.apply_to(result.plan.runtime);
    const std::string& socket = result.plan.runtime.control;
    if (result.interactive || !result.cmdline_file.empty() || (!socket.empty() && socket != "off"))
        result.plan.runtime.live = true;
    return result;
}

}  // namespace spead::app
