// SPDX-License-Identifier: BSD-3-Clause
#include "app/stream_options.hpp"

#include <algorithm>
#include <array>

#include <CLI/CLI.hpp>

#include "app/option_set.hpp"
#include "base/error.hpp"
#include "base/mac.hpp"
#include "config/config.hpp"
#include "port/impairments.hpp"
#include "recv/filter_expression.hpp"

namespace spead::app {

namespace {

using config::Limits;
using runtime::Plan;

constexpr const char* kLoopbackEndpoint = "239.10.10.10:7148";
constexpr const char* kLoopbackDevice = "net_ring0";
constexpr double kLoopbackSeconds = 5;

constexpr std::string_view kPortForms =
    "a netdev name (ens1f0), an IP address of this machine (10.0.0.5), a PCI address (0000:03:00.0), an RDMA "
    "device (mlx5_0) or a device string (net_af_packet0,iface=veth0)";

/// How streams are received; the same for recv and loopback.
void add_receive_details(OptionSet& options, StreamWords& words) {
    runtime::ReceivePlan& r = words.receive;
    options.size("--buffer-size", r.buffer_size, config::kBufferSize,
                 "Packets that the port's receive queue holds; 0 = default");
    options.choice("--poll", r.poll, config::kPollModes, "What an idle receive lcore does");
    options.integer("--max-poll", r.max_poll, config::kMaxPoll,
                    "Empty polls before an adaptive lcore pauses");
    options.integer("--substreams", r.substreams, config::kSubstreams,
                    "Windows per stream; heap count modulo N picks one");
    options.integer("--ring-heaps", r.ring, config::kRing, "Heaps that wait for the consumer");
    options.duration("--heap-timeout", r.timeout, true,
                     "Give up a heap after so long without a packet of it");
    options.integer("--history", r.history, config::kHistory,
                    "Finished heaps remembered per substream, to know repeats; 0 = none");
    options.duration("--history-time", r.history_time, false, "How long they are remembered");
    options.rate("--expected-rate", r.expected_rate,
                 "Payload per second that should come; 0 = nothing is expected");
    options.flag("--in-order", r.in_order, "Take a heap's packets in order only, as spead2 does");
    options.choice("--on-full", r.on_full, config::kOnFull,
                   "When the consumer is slow; auto = block on lossless ports, else drop_newest");
    options.flag("--joint", words.joint, "Make all endpoints one stream");
    options.size("--memory", words.memory.heaps, config::kMemoryHeaps, "Memory for the heaps of all streams");
    options.duration("--idle-exit", words.end.idle_exit, true,
                     "Leave after so long without a packet, once one has come");
}

void add_max_heap_bytes(OptionSet& options, StreamWords& words) {
    std::uint64_t& out = words.receive.max_bytes;
    options.add("--max-heap-bytes", "SIZE", size_text(out),
                "Largest heap received; larger ones are refused and counted",
                [&words, &out](const std::string& text) {
                    out = parse_size(text, "--max-heap-bytes");
                    if (!config::kMaxHeapBytes.hold(out))
                        throw_usage("--max-heap-bytes", "`{}` is out of range; give {} to {}", text,
                                    human_size(config::kMaxHeapBytes.min),
                                    human_size(config::kMaxHeapBytes.max));
                    words.receive_limit_given = true;
                });
}

void add_duration(OptionSet& options, StreamWords& words, const std::string& shown) {
    options.add("--duration", "TIME", shown, "Leave after so long", [&words](const std::string& text) {
        words.end.duration = text == "off" ? 0 : parse_duration(text, "--duration");
        words.duration_given = true;
    });
}

/// What is sent and how; the same for send and loopback.
void add_send_details(OptionSet& options, StreamWords& words) {
    runtime::SendPlan& s = words.send;
    options.size("--heap-size", s.heap_size, config::kHeapSize, "Bytes of a heap's items together");
    options.integer("--items", s.items, config::kItems, "Items per heap");
    options.integer("--heaps", s.heaps, config::kSendHeaps, "Heaps to send; -1 = for ever");
    options.integer("--max-packet-size", s.max_packet_size, config::kSendPacket,
                    "UDP payload of a packet, at most");
    options.add("--dst-mac", "MAC", "", "Where unicast packets go; default: as the kernel's tables say",
                [&s](const std::string& text) { s.dst_mac = parse_mac(text, "--dst-mac"); });
    options.rate("--rate", s.rate, "UDP payload per second; 0 = unlimited");
    options.size("--burst-size", s.burst_size, config::kBurstSize,
                 "Bytes sent between two looks at the clock");
    options.real("--burst-rate-ratio", s.burst_rate_ratio, config::kBurstRateRatio,
                 "How much faster late packets catch up");
    options.choice("--pacer", s.pacer, config::kDoers,
                   "Who keeps the rate: the lcore or the port's hardware");
    options.integer("--first-count", s.first_count, config::kHeapCount, "Heap count of the first heap");
    options.integer("--count-step", s.count_step, config::kCountStep, "From one heap's count to the next");
    options.integer("--addr-bits", s.address_bits, Limits<std::uint8_t>{8, 56}, "XX of SPEAD-64-XX");
    options.choice("--zero-copy", s.zero_copy, config::kZeroCopy, "Send straight from the heaps' memory");
    options.flag("--udp-checksum", s.udp_checksum, "Fill in UDP checksums rather than 0");
    options.add("--impair", "WHAT", "",
                "Lose, repeat, reorder, delay or corrupt packets on purpose (docs/impair.md)",
                [&s](const std::string& text) {
                    port::Impairments::parse(text, "--impair");
                    s.impair = text;
                });
}

/// One stream per endpoint argument, or one of all.
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

/// The ports named, by option, EAL or environment; empty when there are none.
std::vector<std::string> ports_of(const StreamWords& words, const DefaultPort& default_port) {
    if (!words.ports.empty())
        return words.ports;
    std::string port = default_port.named();
    return port.empty() ? std::vector<std::string>{} : std::vector<std::string>{std::move(port)};
}

void add_ports(Plan& plan, const std::vector<std::string>& devices,
               const std::vector<std::string>& addresses = {}, std::uint16_t vlan = 0) {
    for (const std::string& device : devices) {
        plan.ports.push_back({fmt::format("p{}", plan.ports.size()), device, 0});
        if (vlan != 0)
            plan.ports.back().vlan = vlan;
    }
    if (addresses.empty() || plan.ports.empty())
        return;
    if (addresses.size() != plan.ports.size())
        throw_usage("--address", "there are {} addresses for {} port{}; give one for each, or none",
                    addresses.size(), plan.ports.size(), plan.ports.size() == 1 ? "" : "s");
    for (std::size_t i = 0; i < addresses.size(); i++)
        plan.ports[i].address = parse_ipv4(addresses[i], "--address");
}

void add_address(CLI::App& app, StreamWords& words) {
    app.add_option("--address", words.addresses,
                   "The port's own IPv4 address, where the kernel has none for it; once per port")
        ->type_name("A.B.C.D")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void check(const Plan& plan, std::string_view port_option) {
    config::validate(plan, [&](std::string_view path) { return option_of(path, port_option); });
}

/// Checks the plan, and then that it has a port: what was typed wrong is said before what was not typed.
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
    app.add_option("ENDPOINT", words.endpoints,
                   "A.B.C.D[+N]:PORT[@SOURCE]; each is one stream s0, s1, ... (+N: N more groups)")
        ->type_name("");
    app.add_option("--port", words.ports,
                   "Port to receive on; once, or once per endpoint [$DPDK_SPEAD_INTERFACE]")
        ->type_name("DEVICE")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    add_address(app, words);
    OptionSet options(app);
    options.integer("--vlan", words.vlan, Limits<std::uint16_t>{1, 4094},
                    "VLAN of what is sent and of what steering lets in");
    options.integer("--max-packet-size", words.receive.max_packet_size, config::kReceivePacket,
                    "UDP payload of a packet, at most");
    options.integer("--max-heaps", words.receive.max_live, config::kMaxLive,
                    "Heaps open at once, per substream");
    add_max_heap_bytes(options, words);
    options.sink("--sink", words.receive.sink, "What becomes of heaps: counted, checked, or written to DIR");
    options.choice("--on-sink-error", words.receive.sink.on_error, config::kOnSinkError,
                   "A disk that takes no more: stop writing that stream, or end the run");
    options.flag("--stop-on-stop-item", words.receive.stop_on_stop_item, "A stop item ends its stream");
    options.add("--filter", "EXPRESSION", "", "Keep only the packets for which it holds (docs/hooks.md)",
                [&words](const std::string& text) {
                    recv::FilterExpression::parse(text, "--filter");
                    words.receive.filter = text;
                });
    options.flag("--exit-on-stop", words.end.exit_on_stop, "Leave when every endpoint has seen a stop item");
    options.integer("--heaps", words.end.heaps, config::kEndHeaps, "Leave after N heaps; 0 = no limit");
    add_duration(options, words, "off");
    add_receive_details(options, words);
    options.cpus("--lcores", words.lcores, "CPUs to receive on, as in 1,3-5");
    options.flag("--udp-checksum", words.check_udp,
                 "Check UDP checksums, in software where the port does not");
}

void add_capture_options(CLI::App& app, StreamWords& words) {
    app.add_option("ENDPOINT... FILE", words.words,
                   "A.B.C.D[+N]:PORT[@SOURCE], then where to: a pcap file, or several on several disks")
        ->type_name("");
    app.add_option("--port", words.ports, "Port to receive on [$DPDK_SPEAD_INTERFACE]")
        ->type_name("DEVICE")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_option("--file", words.capture.files, "Another FILE; packets are dealt over all of them")
        ->type_name("FILE")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    add_address(app, words);
    OptionSet options(app);
    capture::Options& c = words.capture;
    options.size("--rotate-size", c.rotate_size, config::kRotateSize,
                 "Bytes of a file, at most; 0 = no limit");
    options.duration("--rotate-seconds", c.rotate_seconds, true, "Time of the packets in a file, at most");
    options.integer("--snaplen", c.snap_length, config::kSnapLength, "Bytes of a packet that are kept");
    options.integer("--count", c.count, config::kCaptureCount, "Leave after N packets; 0 = no limit");
    options.flag("--direct-io", c.direct_io, "Write past the kernel's page cache (O_DIRECT)");
    options.size("--buffer", c.buffer, config::kCaptureBuffer, "Packets that may wait for the disks");
    add_duration(options, words, "off");
    options.duration("--idle-exit", words.end.idle_exit, true,
                     "Leave after so long without a packet, once one has come");
    options.integer("--vlan", words.vlan, Limits<std::uint16_t>{1, 4094}, "VLAN of what steering lets in");
    options.integer("--max-packet-size", words.receive.max_packet_size, config::kReceivePacket,
                    "UDP payload of a packet that buffers are made for");
    options.size("--buffer-size", words.receive.buffer_size, config::kBufferSize,
                 "Packets that the port's receive queue holds; 0 = default");
    options.choice("--poll", words.receive.poll, config::kPollModes, "What an idle receive lcore does");
    options.integer("--max-poll", words.receive.max_poll, config::kMaxPoll,
                    "Empty polls before an adaptive lcore pauses");
    options.choice("--on-full", words.receive.on_full, config::kOnFull,
                   "When disks are slow; auto = block on lossless ports, else drop_newest");
    options.cpus("--lcores", words.lcores, "CPUs to receive on, as in 1,3-5");
}

void add_send_options(CLI::App& app, StreamWords& words) {
    app.add_option("ENDPOINT", words.endpoints,
                   "A.B.C.D[+N]:PORT; heap i goes to endpoint i modulo their number")
        ->type_name("");
    app.add_option("--port", words.ports, "Port to send on [$DPDK_SPEAD_INTERFACE]")
        ->type_name("DEVICE")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    add_address(app, words);
    OptionSet options(app);
    options.integer("--vlan", words.vlan, Limits<std::uint16_t>{1, 4094},
                    "VLAN of what is sent and of what steering lets in");
    add_send_details(options, words);
    options.integer("--max-heaps", words.send.max_heaps, config::kInFlight, "Heaps in flight");
    options.integer("--dscp", words.send.dscp, Limits<std::uint8_t>{0, 63}, "Class of the packets (DSCP)");
    options.integer("--ttl", words.send.ttl, Limits<std::uint8_t>{1, 255},
                    "IP time to live; 1 stays in the local network");
    options.flag("--verify", words.send.verify,
                 "Send data that a verify sink or spead2_recv --verify can check");
    add_duration(options, words, "off");
    options.cpu("--lcore", words.send.lcore, "CPU to send on");
}

void add_loopback_options(CLI::App& app, StreamWords& words) {
    words.ports = {kLoopbackDevice};
    words.receive.sink.kind = runtime::SinkKind::verify;
    words.send.verify = true;
    words.end.exit_on_stop = true;

    app.add_option("ENDPOINT", words.endpoints, fmt::format("As for recv [{}]", kLoopbackEndpoint))
        ->type_name("");
    OptionSet options(app);
    options.text("--device", words.ports.front(), "DEVICE", "A port that receives what it sends");
    add_send_details(options, words);
    add_duration(options, words, fmt::format("{} without --heaps", duration_text(kLoopbackSeconds)));
    add_max_heap_bytes(options, words);
    options.add("--max-heaps", "N", fmt::format("{}", words.send.max_heaps),
                "Heaps in flight, and open at once per substream", [&words](const std::string& text) {
                    const auto n =
                        parse_integer(text, config::kInFlight.min, config::kInFlight.max, "--max-heaps");
                    words.send.max_heaps = words.receive.max_live = static_cast<std::uint32_t>(n);
                });
    add_receive_details(options, words);
    options.cpus("--lcores", words.lcores, "CPUs to run on; of several, the last one sends");
}

runtime::Plan recv_plan(const StreamWords& words, const DefaultPort& default_port) {
    need_endpoints(words, "recv");
    Plan plan;
    plan.memory = words.memory;
    plan.end = words.end;
    plan.receives = streams_of(words);
    add_ports(plan, ports_of(words, default_port), words.addresses, words.vlan);
    for (runtime::PortPlan& port : plan.ports)
        port.udp_checksum = words.check_udp;
    if (plan.ports.size() > 1) {
        if (plan.ports.size() != plan.receives.size())
            throw_usage(
                "--port",
                "there are {} ports for {} stream{}; give one port for all, or one for each endpoint{}",
                plan.ports.size(), plan.receives.size(), plan.receives.size() == 1 ? "" : "s",
                words.joint ? " without --joint" : "");
        for (std::size_t i = 0; i < plan.ports.size(); i++)
            plan.receives[i].port = plan.ports[i].name;
    }
    for (runtime::ReceivePlan& stream : plan.receives)
        stream.lcores = words.lcores;
    check_with_port(plan, "recv", default_port);
    return plan;
}

namespace {

/// A word of capture's that is an endpoint, or was meant to be one.
bool is_endpoint(const std::string& word) {
    const bool digits = !word.empty() && word.front() >= '0' && word.front() <= '9';
    return word.starts_with("spead://") ||
           (digits && !word.ends_with(".pcap") && word.find('/') == word.npos);
}

}  // namespace

runtime::Plan capture_plan(const StreamWords& typed, const DefaultPort& default_port) {
    StreamWords words = typed;
    const auto first_file = std::find_if_not(words.words.begin(), words.words.end(), is_endpoint);
    words.endpoints.assign(words.words.begin(), first_file);
    words.capture.files.insert(words.capture.files.begin(), first_file, words.words.end());
    if (words.endpoints.empty() || words.capture.files.empty())
        throw_usage("",
                    "capture needs {}: dpdk-spead capture 239.1.2.3:7148 out.pcap, or 239.1.2.0+15:7148 for "
                    "sixteen groups",
                    words.endpoints.empty() ? "an endpoint" : "a file");
    words.joint = true;
    words.capture.only = true;
    // No heap is made of what is captured.
    words.receive.max_bytes = 1;
    words.receive.max_live = 1;
    words.receive.ring = 1;
    words.receive.history = 0;
    words.memory.heaps = config::kMemoryHeaps.min;
    words.receive.capture = words.capture;
    Plan plan;
    plan.memory = words.memory;
    plan.end = words.end;
    plan.receives = streams_of(words);
    add_ports(plan, ports_of(words, default_port), words.addresses, words.vlan);
    if (plan.ports.size() > 1)
        throw_usage("--port", "capture takes one port, and there are {}; run one capture for each",
                    plan.ports.size());
    plan.receives.front().lcores = words.lcores;
    check_with_port(plan, "capture", default_port);
    return plan;
}

runtime::Plan send_plan(const StreamWords& words, const DefaultPort& default_port) {
    need_endpoints(words, "send");
    Plan plan;
    plan.end = words.end;
    plan.sends.push_back(sender_of(words));
    const auto ports = ports_of(words, default_port);
    if (ports.size() > 1)
        throw_usage("--port", "send takes one port, and there are {}: {}; run one send for each",
                    ports.size(), fmt::join(ports, ", "));
    add_ports(plan, ports, words.addresses, words.vlan);
    check_with_port(plan, "send", default_port);
    return plan;
}

runtime::Plan loopback_plan(const StreamWords& typed) {
    StreamWords words = typed;
    if (words.endpoints.empty())
        words.endpoints = {kLoopbackEndpoint};
    words.receive.max_packet_size = std::max(words.send.max_packet_size, config::kReceivePacket.min);
    if (!words.receive_limit_given)
        words.receive.max_bytes = std::max(words.receive.max_bytes, config::largest_heap(words.send));
    if (words.send.heaps < 0 && !words.duration_given)
        words.end.duration = kLoopbackSeconds;
    if (!words.lcores.empty()) {
        words.send.lcore = words.lcores.back();
        words.receive.lcores = words.lcores;
        if (words.lcores.size() > 1)
            words.receive.lcores.pop_back();
    }
    Plan plan;
    plan.memory = words.memory;
    plan.end = words.end;
    plan.receives = streams_of(words);
    plan.sends.push_back(sender_of(words));
    add_ports(plan, words.ports);
    // What has a checksum is worth checking.
    for (runtime::PortPlan& port : plan.ports)
        port.udp_checksum = words.send.udp_checksum;
    check(plan, "--device");
    return plan;
}

std::string option_of(std::string_view path, std::string_view port_option) {
    struct Place {
        std::string_view key;
        std::string_view option;
    };
    static constexpr std::array kPlaces{
        Place{"memory.heaps", "--memory"},
        Place{"heaps.max_live", "--max-heaps"},
        Place{"heaps.ring", "--ring-heaps"},
        Place{"heaps.max_bytes", "--max-heap-bytes"},
        Place{"heaps.timeout", "--heap-timeout"},
        Place{"heaps.history_time", "--history-time"},
        Place{"heaps.history", "--history"},
        Place{"sink.directory", "--sink"},
        Place{"sink.on_error", "--on-sink-error"},
        Place{"].address", "--address"},
        Place{"capture.files", "FILE"},
        Place{"capture.snap_length", "--snaplen"},
    };
    for (const Place& place : kPlaces)
        if (path.ends_with(place.key))
            return std::string(place.option);
    if (path.starts_with("port["))
        return std::string(port_option);
    const std::size_t dot = path.rfind('.');
    std::string key(path.substr(dot == std::string_view::npos ? path.size() : dot + 1));
    key = key.substr(0, key.find('['));
    if (key.empty() || key == "name")
        return {};
    if (key == "endpoints")
        return "ENDPOINT";
    if (key == "port")
        return std::string(port_option);
    std::replace(key.begin(), key.end(), '_', '-');
    return "--" + key;
}

}  // namespace spead::app
