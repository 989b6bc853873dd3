// SPDX-License-Identifier: BSD-3-Clause
#include "app/shards/plan_formats.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/option_set.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "observe/table.hpp"

namespace spead::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestHost = 253;  // RFC 1035, section 2.3.4, without the root's dot

std::string json_text(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Returns the expected rate: "9.6 Gb/s", "9.6 Gb/s and more", or "?".
std::string rate_cell(double rate, std::size_t unrated) {
    if (rate == 0)
        return unrated == 0 ? "0" : "?";
    return human_bit_rate(rate) + (unrated == 0 ? "" : " and more");
}

std::string link_cell(const PortShare& port) {
    if (port.link_rate == 0 || port.expected_rate == 0)
        return "?";
    return fmt::format("{:.0f} % of {}{}", 100 * port.of_link(), human_bit_rate(port.link_rate),
                       port.unrated == 0 ? "" : " and more");
}

/// Returns the endpoints of a shard, stream by stream.
std::string endpoints_cell(const ShardShares& shard) {
    constexpr std::size_t kMost = 4;
    std::vector<std::string> parts;
    for (const StreamShare& s : shard.streams) {
        const std::size_t shown = std::min(s.endpoints.size(), kMost);
        const auto first = s.endpoints.begin();
        const std::string more =
            shown == s.endpoints.size() ? "" : fmt::format(" and {} ranges", s.endpoints.size() - shown);
        parts.push_back(fmt::format("{} {}{}", s.stream,
                                    fmt::join(first, first + static_cast<std::ptrdiff_t>(shown), " "), more));
        if (parts.size() == kMost)
            break;
    }
    if (shard.streams.size() > parts.size())
        parts.push_back(fmt::format("and {}", counted(shard.streams.size() - parts.size(), "streams")));
    return fmt::format("{}", fmt::join(parts, "; "));
}

Json rate_json(double rate) {
    return rate > 0 ? Json(rate) : Json();
}

/// Puts a text into single quotes for a shell.
std::string shell_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text)
        out += c == '\'' ? "'\\''" : std::string(1, c);
    return out + "'";
}

}  // namespace

std::string plan_table(const PlanShares& shares) {
    observe::Table table;
    std::size_t idle = 0;
    bool unknown_link = false;
    std::size_t unrated = 0;
    for (std::size_t i = 0; i < shares.shards.size(); i++) {
        const ShardShares& shard = shares.shards[i];
        idle += shard.streams.empty() ? 1 : 0;
        unrated += shard.unrated();
        table.row("shard", fmt::format("{}/{}", i, shares.shards.size()));
        table.count("endpoints", shard.endpoints);
        table.number("expected", rate_cell(shard.expected_rate(), shard.unrated()));
        std::vector<std::string> links;
        for (const PortShare& port : shard.ports) {
            unknown_link |= port.link_rate == 0;
            links.push_back(fmt::format("{} {}", port.port, link_cell(port)));
        }
        table.word("of the link", fmt::format("{}", fmt::join(links, ", ")));
        table.word("receives", shard.streams.empty() ? "nothing" : endpoints_cell(shard));
    }
    std::string text = fmt::format("plan {}: {} endpoint{} in {} stream{}\n\n{}", shares.plan,
                                   shares.endpoints, shares.endpoints == 1 ? "" : "s", shares.streams,
                                   shares.streams == 1 ? "" : "s", table.text());
    if (unrated != 0)
        text += "\nStreams without `expected_rate` are not in these rates.\n";
    if (unknown_link)
        text += "\nThe rate of a link is unknown: give --link-rate, or `link_rate` in [[port]].\n";
    if (idle != 0)
        text += fmt::format("\n{} of the {} {} nothing.\n", idle, counted(shares.shards.size(), "shards"),
                            word_for(idle, "receives", "receive"));
    return text;
}

std::string plan_json(const PlanShares& shares) {
    Json document{{"version", 1},
                  {"plan", shares.plan},
                  {"streams", shares.streams},
                  {"endpoints", shares.endpoints},
                  {"shards", Json::array()}};
    for (std::size_t i = 0; i < shares.shards.size(); i++) {
        const ShardShares& shard = shares.shards[i];
        Json one{{"shard", i},
                 {"endpoints", shard.endpoints},
                 {"streams", Json::array()},
                 {"ports", Json::array()}};
        for (const StreamShare& s : shard.streams)
            one["streams"].push_back({{"name", s.stream}, {"port", s.port}, {"endpoints", s.endpoints}});
        for (const PortShare& p : shard.ports)
            one["ports"].push_back({{"name", p.port},
                                    {"endpoints", p.endpoints},
                                    {"expected_rate", rate_json(p.expected_rate)},
                                    {"streams_without_rate", p.unrated},
                                    {"link_rate", rate_json(p.link_rate)},
                                    {"of_link", rate_json(p.of_link())}});
        document["shards"].push_back(std::move(one));
    }
    return json_text(document);
}

std::vector<std::string> hosts_of(std::string_view text, std::size_t count) {
    std::vector<std::string> hosts;
    if (const std::size_t mark = text.find("{}"); mark != text.npos && text.find(',') == text.npos)
        for (std::size_t i = 0; i < count; i++)
            hosts.push_back(fmt::format("{}{}{}", text.substr(0, mark), i, text.substr(mark + 2)));
    else
        hosts = split_list(text);
    if (hosts.size() != count)
        throw_usage("--hosts", "{} {} given for {}; give as many, or one name with {{}} for the number",
                    counted(hosts.size(), "hosts"), word_for(hosts.size(), "is", "are"),
                    counted(count, "shards"));
    for (const std::string& host : hosts)
        if (host.empty() || host.size() > kLongestHost || !std::ranges::all_of(host, [](char c) {
                return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '-' || c == '_';
            }))
            throw_usage("--hosts", "`{}` is not the name or address of a host", host);
    return hosts;
}

std::string plan_file_sd(const PlanShares& shares, const std::vector<std::string>& hosts,
                         std::uint16_t port) {
    Json targets = Json::array();
    for (std::size_t i = 0; i < shares.shards.size(); i++)
        targets.push_back({{"targets", {fmt::format("{}:{}", hosts[i], port)}},
                           {"labels",
                            {{"spead_plan", shares.plan},
                             {"spead_shard", fmt::format("{}", i)},
                             {"spead_shards", fmt::format("{}", shares.shards.size())}}}});
    return json_text(targets);
}

std::string plan_helm(const PlanShares& shares, const std::string& file_text, std::uint16_t metrics_port) {
    std::string out = fmt::format("name: \"{}\"\nmetricsPort: {}\nshards:\n", shares.plan, metrics_port);
    for (std::size_t i = 0; i < shares.shards.size(); i++)
        out += fmt::format("  - {{shard: \"{}/{}\", endpoints: {}, expectedBitsPerSecond: {:.0f}}}\n", i,
                           shares.shards.size(), shares.shards[i].endpoints,
                           8 * shares.shards[i].expected_rate());
    // A JSON string is a YAML string, whatever the file holds.
    return out + "plan: " + Json(file_text).dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string plan_slurm(const PlanShares& shares, const std::string& path) {
    return fmt::format(R"(#!/bin/bash
# Receives the plan {0} on {1} nodes, one shard each: submit it with sbatch.
# If a node dies, a spare node of the partition gets its shard. docs/many-hosts.md says after how long.
# `scancel --batch --signal=HUP JOB` makes every shard read the plan again.
#SBATCH --job-name={0}
#SBATCH --array=0-{2}
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output={0}-%a.log
#SBATCH --signal=B:TERM@60
# A login shell's limit for locked memory would make rings small: take the node's limits.
#SBATCH --propagate=NONE

plan={3}
plan="${{DPDK_SPEAD_PLAN:-$plan}}"
program="${{DPDK_SPEAD_PROGRAM:-dpdk-spead}}"
# An element that is submitted alone (--array=1) is the same shard.
shard="${{SLURM_ARRAY_TASK_ID:?submit this script with sbatch}}/{1}"
receiver=
ending=
trap '[ -z "$receiver" ] || kill -HUP "$receiver"' HUP
trap 'ending=yes; [ -z "$receiver" ] || kill -TERM "$receiver"' TERM INT

while [ -z "$ending" ]; do
    "$program" run --config "$plan" --shard "$shard" --quiet &
    receiver=$!
    # A signal ends `wait`, not the receiver.
    while :; do
        wait "$receiver"
        status=$?
        kill -0 "$receiver" 2>/dev/null || break
    done
    receiver=
    # 0: the run is over. 2: the plan or the command line can never work.
    [ "$status" -ne 0 ] && [ "$status" -ne 2 ] || exit "$status"
    [ -n "$ending" ] || sleep 1
done
exit "$status"
)",
                       shares.plan, shares.shards.size(), shares.shards.size() - 1, shell_quoted(path));
}

}  // namespace spead::app
