// SPDX-License-Identifier: BSD-3-Clause
#include "app/stream_options.hpp"

#include <algorithm>
#include <array>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "app/option_set.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "config/config.hpp"
#include "config/kernel_ports.hpp"
#include "runtime/paths.hpp"

namespace spead::app {

namespace {

using runtime::Plan;

constexpr const char* kKernelDevice = "net_kernel0";
constexpr const char* kLoopbackEndpoint = "239.10.10.10:7148";
constexpr const char* kLoopbackDevice = "net_ring0";
constexpr double kLoopbackSeconds = 5;

constexpr std::string_view kPortForms =
    "a netdev name (ens1f0), an IP address of this machine (10.0.0.5), a PCI address (0000:03:00.0), an RDMA "
    "device (mlx5_0) or a device string (net_af_packet0,iface=veth0)";

/// Adds the options of several keys of one part.
void add_keys(OptionSet& options, config::Part part, std::initializer_list<std::string_view> paths) {
    for (const std::string_view path : paths)
        options.key(path, part);
}

/// Adds options for receiving; the same for recv and loopback.
void add_receive_details(OptionSet& options, StreamWords& words) {
    add_keys(options, &words.receive,
             {"receive.buffer_size", "receive.poll", "receive.max_poll", "receive.substreams",
              "receive.heaps.queue_depth", "receive.heaps.timeout", "receive.expected_rate",
              "receive.in_order", "receive.heaps.on_full", "receive.heaps.gather"});
    options.key("receive.heaps.history", &words.receive, {.then = [&words] { words.history_given = true; }});
    options.key("receive.heaps.history_time", &words.receive,
                {.then = [&words] { words.history_time_given = true; }});
    options.flag("--joint", words.joint, "Make all endpoints one stream");
    options.key("memory.heaps", &words.memory);
    options.key("end.idle_exit", &words.end);
}

void add_max_heap_bytes(OptionSet& options, StreamWords& words) {
    options.key("receive.heaps.max_bytes", &words.receive,
                {.then = [&words] { words.receive_limit_given = true; }});
}

void add_duration(OptionSet& options, StreamWords& words, const std::string& default_text = {}) {
    options.key("end.duration", &words.end,
                {.default_text = default_text, .then = [&words] { words.duration_given = true; }});
}

/// Adds options for sending; the same for send and loopback.
void add_send_details(OptionSet& options, StreamWords& words) {
    add_keys(options, &words.send,
             {"send.pattern", "send.senders", "send.first_time", "send.repeat_items", "send.heap_size",
              "send.items", "send.heaps", "send.max_packet_size", "send.dst_mac", "send.rate",
              "send.burst_size", "send.burst_rate_ratio", "send.pacer", "send.first_count", "send.count_step",
              "send.addr_bits", "send.zero_copy", "send.udp_checksum", "send.impair"});
}

/// Returns one stream per endpoint argument, or one for all.
std::vector<runtime::ReceivePlan> streams_of(const StreamWords& words) {
    std::vector<runtime::ReceivePlan> streams;
    for (const std::string& text : words.endpoints) {
        if (streams.empty() || !words.joint) {
            streams.push_back(words.receive);
            streams.back().name = fmt::format("s{}", streams.size() - 1);
            streams.back().port = "p0";
        }
        runtime::ReceivePlan& stream = streams.back();
        const auto endpoints = parse_endpoints(text);
        stream.endpoint_texts.push_back(text);
        stream.endpoints.insert(stream.endpoints.end(), endpoints.begin(), endpoints.end());
    }
    return streams;
}

runtime::SendPlan sender_of(const StreamWords& words) {
    runtime::SendPlan sender = words.send;
    sender.name = "d0";
    sender.port = "p0";
    for (const std::string& text : words.endpoints) {
        const auto endpoints = parse_endpoints(text);
        sender.endpoint_texts.push_back(text);
        sender.endpoints.insert(sender.endpoints.end(), endpoints.begin(), endpoints.end());
    }
    return sender;
}

void need_endpoints(const StreamWords& words, std::string_view command) {
    if (words.endpoints.empty())
        throw_usage(
            "",
            "{0} needs an endpoint: dpdk-spead {0} 239.1.2.3:7148, or 239.1.2.0+15:7148 for sixteen groups",
            command);
}

/// Returns the ports named by option, EAL or environment; empty when there are none.
std::vector<std::string> ports_of(const StreamWords& words, const DefaultPort& default_port) {
    if (!words.ports.empty())
        return words.ports;
    std::string port = default_port.named();
    return port.empty() ? std::vector<std::string>{} : std::vector<std::string>{std::move(port)};
}

/// Deals the addresses to the ports, in order: those of IPv4, and those of IPv6.
void deal_addresses(Plan& plan, const std::vector<std::string>& addresses) {
    std::size_t v4 = 0;
    std::size_t v6 = 0;
    const std::size_t ports = plan.ports.size();
    for (const std::string& text : addresses) {
        const IpAddress address = parse_host(text, "--address");
        const std::size_t i = address.is_v4() ? v4++ : v6++;
        if (i < ports && address.is_v4())
            plan.ports[i].address = address.v4();
        else if (i < ports)
            plan.ports[i].address6 = address.v6();
    }
    for (const auto& [count, family] : {std::pair{v4, "IPv4"}, std::pair{v6, "IPv6"}})
        if (count != 0 && count != ports)
            throw_usage("--address", "{} {} address{} given for {} port{}; give one for each, or none", count,
                        family, count == 1 ? " is" : "es are", ports, ports == 1 ? "" : "s");
}

void add_ports(Plan& plan, const std::vector<std::string>& devices,
               const std::vector<std::string>& addresses = {}, const runtime::PortPlan& common = {}) {
    for (const std::string& device : devices) {
        runtime::PortPlan port = common;
        port.name = fmt::format("p{}", plan.ports.size());
        port.device = device;
        plan.ports.push_back(std::move(port));
    }
    if (!plan.ports.empty())
        deal_addresses(plan, addresses);
}

/// Adds the option of a key that may be given several times; `how` says how often.
void add_repeated(CLI::App& app, std::string_view path, std::vector<std::string>& values,
                  std::string_view how_often) {
    const config::Key& key = key_of(path);
    app.add_option(std::string(key.option), values, fmt::format("{}{}", key.help, how_often))
        ->type_name(std::string(key.word))
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

/// Adds the command's own words. CLI11 strips the brackets of a word such as [ff15::1]:7148@[fd00::2] where
/// an argument takes any number of words: so this one takes a certain number, or fewer.
void add_words(CLI::App& app, const std::string& name, std::vector<std::string>& words,
               const std::string& help) {
    constexpr int kMost = 1 << 20;
    app.add_option(name, words, help)
        ->type_name("")
        ->expected(kMost)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_port(CLI::App& app, StreamWords& words, std::string_view how_often) {
    add_repeated(app, "port.device", words.ports, how_often);
    add_repeated(app, "port.address", words.addresses, "; or IPv6; once per port");
    OptionSet(app).key("port.vlan", &words.port);
}

void check(Plan& plan, std::string_view port_option) {
    config::add_kernel_ports(plan);
    config::validate(plan, [&](std::string_view path) { return option_of(path, port_option); });
}

/// Checks the plan, and then that it has a port: errors in typed options come before missing ones.
void check_with_port(Plan& plan, std::string_view command, const DefaultPort& default_port) {
    const bool missing = plan.ports.empty();
    if (missing)
        add_ports(plan, {"missing"});
    check(plan, "--port");
    if (!missing)
        return;
    const port::LonePort lone = default_port.lone();
    if (lone.device.empty()) {
        const std::string what =
            fmt::format("{} needs a port: give --port DEVICE or set DPDK_SPEAD_INTERFACE; DEVICE is {}",
                        command, kPortForms);
        // Without one it works on another machine, or later.
        if (!lone.why_not.empty())
            throw_error("", "{}. Here {}", what, lone.why_not);
        throw_usage("", "{}", what);
    }
    plan.ports.front().device = lone.device;
}

}  // namespace

void add_recv_options(CLI::App& app, StreamWords& words) {
    add_words(app, "ENDPOINT", words.endpoints,
              "ADDRESS[+N]:PORT[@SOURCE]; each is one stream s0, s1, ... (+N: N more groups)");
    add_port(app, words, "; once, or once per endpoint [$DPDK_SPEAD_INTERFACE]");
    OptionSet options(app);
    options.flag("--two-paths", words.two_paths,
                 "Takes copies of every stream from both of two ports, and merges them");
    options.key("receive.path_skew", &words.receive, {.then = [&words] { words.path_skew_given = true; }});
    options.key("receive.max_packet_size", &words.receive);
    options.key("receive.heaps.max_live", &words.receive,
                {.then = [&words] { words.max_live_given = true; }});
    add_max_heap_bytes(options, words);
    options.sink("--sink", words.receive.sink, std::string(key_of("receive.sink.kind").help));
    add_keys(
        options, &words.receive,
        {"receive.sink.header", "receive.sink.notify", "receive.sink.on_error", "receive.stop_on_stop_item",
         "receive.format", "receive.filter", "receive.backend", "receive.copy"});
    words.receive.chunk.emplace();
    add_keys(options, &words.receive,
             {"receive.chunk.placement", "receive.chunk.chunks", "receive.chunk.window"});
    add_keys(options, &words.end, {"end.exit_on_stop", "end.heaps"});
    add_duration(options, words);
    add_receive_details(options, words);
    options.key("receive.lcores", &words.receive);
    options.key("port.udp_checksum", &words.port);
    options.key("port.reassemble", &words.port);
    options.key("port.split", &words.port);
}

void add_capture_options(CLI::App& app, StreamWords& words) {
    add_words(app, "ENDPOINT... FILE", words.words,
              "ADDRESS[+N]:PORT[@SOURCE], then a pcap file, or several on several disks");
    add_port(app, words, " [$DPDK_SPEAD_INTERFACE]");
    app.add_option("--file", words.receive.capture.emplace().files,
                   "Adds another FILE; packets are distributed over all of them")
        ->type_name("FILE")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    OptionSet options(app);
    add_keys(options, &words.receive,
             {"receive.capture.rotate_size", "receive.capture.rotate_seconds", "receive.capture.snap_length",
              "receive.capture.count", "receive.capture.direct_io", "receive.capture.buffer"});
    add_duration(options, words);
    options.key("end.idle_exit", &words.end);
    add_keys(options, &words.receive,
             {"receive.max_packet_size", "receive.buffer_size", "receive.poll", "receive.max_poll",
              "receive.heaps.on_full", "receive.lcores"});
    options.key("port.reassemble", &words.port);
}

void add_send_options(CLI::App& app, StreamWords& words) {
    add_words(app, "ENDPOINT", words.endpoints,
              "ADDRESS[+N]:PORT; heap i goes to endpoint i modulo their number");
    add_port(app, words, " [$DPDK_SPEAD_INTERFACE]");
    OptionSet options(app);
    add_send_details(options, words);
    options.flag("--two-paths", words.two_paths, "Sends a copy of every packet on each of two ports");
    add_keys(options, &words.send, {"send.from", "send.max_heaps", "send.dscp", "send.ttl", "send.verify"});
    add_duration(options, words);
    options.key("send.lcore", &words.send);
}

void add_loopback_options(CLI::App& app, StreamWords& words) {
    words.ports = {kLoopbackDevice};
    words.receive.sink.kind = runtime::SinkKind::verify;
    words.send.verify = true;
    words.end.exit_on_stop = true;

    add_words(app, "ENDPOINT", words.endpoints, fmt::format("As for recv [{}]", kLoopbackEndpoint));
    OptionSet options(app);
    options.text("--device", words.ports.front(), "DEVICE", "Selects a port that receives its own packets");
    add_send_details(options, words);
    add_duration(options, words, fmt::format("{} without --heaps", duration_text(kLoopbackSeconds)));
    add_max_heap_bytes(options, words);
    options.key("send.max_heaps", &words.send,
                {.help = ", and the heaps that are open at once, per substream",
                 .then = [&words] { words.receive.max_live = words.send.max_heaps; }});
    add_receive_details(options, words);
    options.key("receive.lcores", &words.receive, {.help = "; the last of several sends"});
    options.key("port.split", &words.port);
}

namespace {

void need_two_ports(const Plan& plan) {
    if (plan.ports.size() != 2)
        throw_usage("--two-paths", "{} port{} given; name the ports of both paths, each with --port",
                    plan.ports.size(), plan.ports.size() == 1 ? " is" : "s are");
    if (plan.ports[0].device == plan.ports[1].device)
        throw_usage(
            "--two-paths",
            "both paths have the port {}; name the ports of both. Paths with one port and two groups need "
            "a configuration file (`paths = [\"p0\", \"p0\"]`)",
            plan.ports[0].device);
}

/// Makes the two ports the paths of every stream.
void use_two_paths(Plan& plan, const StreamWords& words) {
    need_two_ports(plan);
    for (runtime::ReceivePlan& r : plan.receives) {
        r.paths = {plan.ports[0].name, plan.ports[1].name};
        if (!words.max_live_given)
            r.max_live = runtime::kPathLive;
        if (!words.history_given)
            r.history = runtime::kPathHistory;
        if (!words.history_time_given)
            r.history_time = path_history_time(r.path_skew);
    }
}

}  // namespace

runtime::Plan recv_plan(const StreamWords& typed, const DefaultPort& default_port) {
    need_endpoints(typed, "recv");
    StreamWords words = typed;
    if (std::optional<runtime::ChunkPlan>& chunk = words.receive.chunk; chunk && chunk->placement.empty()) {
        if (*chunk != runtime::ChunkPlan{})
            throw_usage(chunk->chunks != runtime::ChunkPlan{}.chunks ? "--chunks" : "--chunk-window",
                        "chunks need to know where heaps go; give --placement TEXT");
        chunk.reset();
    }
    Plan plan;
    plan.memory = words.memory;
    plan.end = words.end;
    plan.receives = streams_of(words);
    if (words.path_skew_given && !words.two_paths)
        throw_usage("--path-skew",
                    "streams have one path; give --two-paths and the ports of both, or leave it out");
    std::vector<std::string> ports = ports_of(words, default_port);
    // The routes name the interface.
    if (ports.empty() && words.receive.backend == runtime::Backend::kernel)
        ports.emplace_back(kKernelDevice);
    add_ports(plan, ports, words.addresses, words.port);
    if (words.two_paths) {
        use_two_paths(plan, words);
    } else if (plan.ports.size() > 1) {
        if (plan.ports.size() != plan.receives.size())
            throw_usage("--port",
                        "{} ports are given for {}; give one port for all, or one for each endpoint{}",
                        plan.ports.size(), counted(plan.receives.size(), "streams"),
                        words.joint ? " without --joint" : "");
        for (std::size_t i = 0; i < plan.ports.size(); i++)
            plan.receives[i].port = plan.ports[i].name;
    }
    check_with_port(plan, "recv", default_port);
    return plan;
}

namespace {

/// Returns whether a word of capture is an endpoint, or was meant as one.
bool is_endpoint(const std::string& word) {
    const bool address =
        !word.empty() && ((word.front() >= '0' && word.front() <= '9') || word.front() == '[');
    return word.starts_with("spead://") ||
           (address && !word.ends_with(".pcap") && word.find('/') == word.npos);
}

}  // namespace

runtime::Plan capture_plan(const StreamWords& typed, const DefaultPort& default_port) {
    StreamWords words = typed;
    const auto first_file = std::find_if_not(words.words.begin(), words.words.end(), is_endpoint);
    words.endpoints.assign(words.words.begin(), first_file);
    capture::Options& capture = words.receive.capture.value();
    capture.files.insert(capture.files.begin(), first_file, words.words.end());
    if (words.endpoints.empty() || capture.files.empty())
        throw_usage("",
                    "capture needs {}: dpdk-spead capture 239.1.2.3:7148 out.pcap, or 239.1.2.0+15:7148 for "
                    "sixteen groups",
                    words.endpoints.empty() ? "an endpoint" : "a file");
    words.joint = true;
    capture.only = true;
    // No heap is made of what is captured.
    words.receive.max_bytes = 1;
    words.receive.max_live = 1;
    words.receive.queue_depth = 1;
    words.receive.history = 0;
    words.memory.heaps = config::kMemoryHeaps.min;
    Plan plan;
    plan.memory = words.memory;
    plan.end = words.end;
    plan.receives = streams_of(words);
    add_ports(plan, ports_of(words, default_port), words.addresses, words.port);
    if (plan.ports.size() > 1)
        throw_usage("--port", "capture takes one port, and {} are given; run one capture for each",
                    plan.ports.size());
    check_with_port(plan, "capture", default_port);
    return plan;
}

runtime::Plan send_plan(const StreamWords& words, const DefaultPort& default_port) {
    need_endpoints(words, "send");
    Plan plan;
    plan.end = words.end;
    plan.sends.push_back(sender_of(words));
    const auto ports = ports_of(words, default_port);
    if (ports.size() > 1 && !words.two_paths)
        throw_usage("--port",
                    "send takes one port, and {} are given: {}; run one send for each, or give --two-paths",
                    ports.size(), fmt::join(ports, ", "));
    add_ports(plan, ports, words.addresses, words.port);
    if (words.two_paths) {
        need_two_ports(plan);
        runtime::SendPlan& copy = plan.sends.emplace_back(plan.sends.front());
        copy.copy_of = plan.sends.front().name;
        copy.name += "-copy";
        copy.port = plan.ports[1].name;
        copy.lcore.reset();
    }
    check_with_port(plan, "send", default_port);
    return plan;
}

runtime::Plan loopback_plan(const StreamWords& typed) {
    StreamWords words = typed;
    if (words.endpoints.empty())
        words.endpoints = {kLoopbackEndpoint};
    words.receive.max_packet_size = std::max(packet_size(sender_of(words)), config::kReceivePacket.min);
    if (!words.receive_limit_given)
        words.receive.max_bytes = std::max(words.receive.max_bytes, config::largest_heap(words.send));
    // The heaps of all senders of a pattern arrive together.
    if (words.send.pattern != HeapPattern::none)
        words.receive.max_live = std::max(words.receive.max_live, words.send.max_heaps);
    if (words.send.heaps < 0 && !words.duration_given)
        words.end.duration = kLoopbackSeconds;
    if (std::vector<unsigned>& lcores = words.receive.lcores; !lcores.empty()) {
        words.send.lcore = lcores.back();
        if (lcores.size() > 1)
            lcores.pop_back();
    }
    Plan plan;
    plan.memory = words.memory;
    plan.end = words.end;
    plan.receives = streams_of(words);
    plan.sends.push_back(sender_of(words));
    add_ports(plan, words.ports, {}, words.port);
    // Packets with a checksum are checked.
    for (runtime::PortPlan& port : plan.ports)
        port.udp_checksum = words.send.udp_checksum;
    check(plan, "--device");
    return plan;
}

std::string option_of(std::string_view path, std::string_view port_option) {
    const std::string_view root = path.substr(0, path.find_first_of(".["));
    const std::size_t dot = path.find('.');
    // The part as such stands for the port that it has; a table within it for its first key.
    std::string_view inner = dot == std::string_view::npos ? "" : path.substr(dot + 1);
    inner = inner.substr(0, inner.find('['));
    for (const config::Section& section : config::sections())
        if (section.root() == root && !inner.empty() && section.prefix() == fmt::format("{}.", inner))
            return std::string(section.keys.front().option);
    const config::Key* key = config::find_key(root, inner);
    if (root == "port" && (key == nullptr || key->option.empty() || key->name == "device"))
        return std::string(port_option);
    if (key == nullptr)
        return {};
    return std::string(key->name == "port" ? port_option : key->option);
}

}  // namespace spead::app
