// SPDX-License-Identifier: BSD-3-Clause
#include "app/replay/replay_options.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "app/option_set.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "config/limits.hpp"
#include "port/impairments.hpp"
#include "wire/net.hpp"

namespace spead::app {

namespace {

using replay::NewDestination;

constexpr std::uint64_t kLeastMemory = std::uint64_t{1} << 20;

/// Returns the destinations of the option, with the MAC addresses of groups; those of hosts stay zero until
/// the port is known.
std::vector<NewDestination> destinations(const std::string& text, std::string_view option) {
    std::vector<NewDestination> all;
    const std::vector<Endpoint> parsed = parse_endpoints(text);
    for (const Endpoint& e : parsed) {
        if (e.has_source())
            throw_usage(std::string(option), "`{}` names a source, which only a receiver can choose", text);
        all.push_back(
            {e.address, e.port, e.address.is_multicast() ? wire::multicast_mac_of(e.address) : MacAddress{}});
    }
    return all;
}

void read_map(const std::string& text, replay::RewriteRules& rules) {
    const std::size_t mark = text.find('=');
    if (mark == std::string::npos)
        throw_usage("--map", "`{}` is not OLD=NEW, as in 239.1.1.0+3:7148=239.2.2.0+3:7148", text);
    const std::vector<Endpoint> from = parse_seen_endpoints(text.substr(0, mark));
    if (from.front().has_source())
        throw_usage("--map", "`{}` names a source, but datagrams are redirected from any; leave it out",
                    text.substr(0, mark));
    const std::vector<NewDestination> to = destinations(text.substr(mark + 1), "--map");
    if (to.size() != from.size() && to.size() != 1)
        throw_usage("--map", "`{}` maps {} to {}; give as many, or one for all", text,
                    counted(from.size(), "destinations"), to.size());
    if (from.front().address.is_v4() != to.front().address.is_v4())
        throw_usage("--map",
                    "`{}` maps packets of one IP version to the other, whose headers are longer or shorter; "
                    "give two destinations of one version",
                    text);
    for (std::size_t i = 0; i < from.size(); i++)
        if (!rules.map.try_emplace({from[i].address, from[i].port}, to[to.size() == 1 ? 0 : i]).second)
            throw_usage("--map", "{} is mapped twice", to_string(from[i]));
}

}  // namespace

void add_replay_options(CLI::App& app, ReplayOptions& o) {
    const auto list = [&app](const char* name, std::vector<std::string>& out, const char* type,
                             const char* description) {
        app.add_option(name, out, description)
            ->type_name(type)
            ->expected(1)
            ->allow_extra_args(false)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    };
    app.add_option("FILE", o.words, "pcap files; of one capture over several disks, all of them")
        ->type_name("");
    OptionSet options(app);
    options.text("--port", o.port, "DEVICE", "Port to send on [$DPDK_SPEAD_INTERFACE]");
    options.integer("--mtu", o.mtu, config::Limits<std::uint32_t>{68, 65535},
                    "Largest IP packet to send; default: that of the captures");
    options.real("--speed", o.speed, config::Limits<double>{1e-6, 1e6}, "Factor to the speed of the capture");
    options.add("--rate", "RATE", "", "Fixed rate of frames' bytes instead; 0 = as fast as the port takes",
                [&o](const std::string& text) { o.rate = parse_rate(text, "--rate"); });
    options.real("--pps", o.pps, config::Limits<double>{0, 1e12}, "Fixed rate in packets per second instead");
    options.text("--to", o.to, "GROUP:PORT", "Send all datagrams to this destination");
    list("--map", o.maps, "OLD=NEW", "Redirect OLD (ADDRESS[+N]:PORT) to NEW; may be repeated");
    options.add("--dst-mac", "MAC", "", "MAC address for datagrams to unicast addresses",
                [&o](const std::string& text) { o.dst_mac = parse_mac(text, "--dst-mac"); });
    options.flag("--own-source", o.own_source, "Send from this port's MAC and IP addresses");
    options.add("--ttl", "N", "", "IP time to live, or hop limit; default: as captured",
                [&o](const std::string& text) {
                    o.replay.rules.ttl = static_cast<std::uint8_t>(parse_integer(text, 1, 255, "--ttl"));
                });
    options.flag("--strip-vlan", o.replay.rules.strip_vlan, "Remove VLAN tags");
    options.integer("--loop", o.replay.passes, config::Limits<std::int64_t>{-1, INT64_MAX},
                    "Number of passes; -1 = for ever");
    options.add(
        "--order", "time|sequence", "time", "Order of several files: by packet times, or one after another",
        [&o](const std::string& text) {
            if (text != "time" && text != "sequence")
                throw_usage("--order", "`{}` is not a choice; give time or sequence", text);
            o.replay.order = text == "time" ? replay::Loader::Order::time : replay::Loader::Order::sequence;
        });
    options.size("--memory", o.replay.memory, {kLeastMemory, std::uint64_t{1} << 46},
                 "Memory for packets; larger captures are read as they are sent");
    options.duration("--duration", o.duration, true, "End after this time");
    options.cpu("--lcore", o.lcore, "CPU to send on");
    options.add("--impair", "WHAT", "",
                "Lose, repeat, reorder, delay or corrupt packets on purpose (docs/impair.md)",
                [&o](const std::string& text) {
                    port::Impairments::parse(text, "--impair");
                    o.impair = text;
                });
}

void complete_replay(ReplayOptions& o, const DefaultPort& default_port) {
    o.replay.files = o.words;
    if (o.replay.files.empty())
        throw_usage("", "replay needs a file: dpdk-spead replay out.pcap");
    if (o.replay.passes == 0)
        throw_usage("--loop", "0 passes send nothing; give 1 or more, or -1 for ever");
    const int timings = (o.speed != 1) + o.rate.has_value() + (o.pps != 0);
    if (timings > 1)
        throw_usage("--rate", "--speed, --rate and --pps exclude each other; give one of them");
    o.replay.speed = o.speed;
    if (o.pps != 0) {
        o.replay.timing = replay::Timing::packets;
        o.replay.rate = o.pps;
    } else if (o.rate) {
        o.replay.timing = *o.rate == 0 ? replay::Timing::greedy : replay::Timing::bytes;
        o.replay.rate = *o.rate;
    }
    if (!o.to.empty()) {
        const auto to = destinations(o.to, "--to");
        if (to.size() != 1)
            throw_usage("--to", "`{}` has {} destinations; give one, or --map OLD=NEW", o.to, to.size());
        o.replay.rules.to = to.front();
    }
    for (const std::string& map : o.maps)
        read_map(map, o.replay.rules);
    if (o.port.empty())
        o.port = default_port.named();
    if (!o.port.empty())
        return;
    const port::LonePort lone = default_port.lone();
    if (lone.device.empty() && !lone.why_not.empty())
        throw_error("", "replay needs a port: give --port DEVICE or set DPDK_SPEAD_INTERFACE; here {}",
                    lone.why_not);
    if (lone.device.empty())
        throw_usage("", "replay needs a port: give --port DEVICE or set DPDK_SPEAD_INTERFACE");
    o.port = lone.device;
}

}  // namespace spead::app
