// SPDX-License-Identifier: BSD-3-Clause
#include "stats/path_findings.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shell_word.hpp"
#include "base/units.hpp"
#include "stats/paths.hpp"
#include "stats/rates.hpp"
#include "stats/setting_names.hpp"
#include "stats/stream_cures.hpp"

namespace spead::stats {

namespace {

/// Holds the seconds that a path has for its first packet.
constexpr double kFirstPacket = 2;

/// Returns the endpoints of a path: "239.1.2.3:7148 239.1.2.4:7148".
std::string endpoints_of(const StreamSnapshot& s, std::size_t path) {
    return path < s.path_endpoints.size() ? fmt::format("{}", fmt::join(s.path_endpoints[path], " "))
                                          : std::string();
}

Cures for_silent(const StreamSnapshot& s, std::size_t path, const Advice& advice) {
    Cures cures;
    const PortSnapshot* const port = find(advice.snapshot().ports, s.path_ports[path]);
    if (port != nullptr && !port->settings.interface.empty()) {
        cures.push_back(fmt::format("see whether its port has a link: `ip link show {}`",
                                    shell_word(port->settings.interface)));
        cures.push_back(advice.see_arrivals(*port));
    } else {
        cures.push_back("look at that port's link and network");
    }
    if (const std::string wanted = endpoints_of(s, path); !wanted.empty())
        cures.push_back(fmt::format("see whether the sender of that path sends to {}", wanted));
    cures.push_back("until then, a loss on the other path is final");
    return cures;
}

Cures for_lossy(const StreamSnapshot& s, std::size_t path, const Advice& advice) {
    Cures cures;
    const PortSnapshot* const port = find(advice.snapshot().ports, s.path_ports[path]);
    if (port != nullptr && port->nic.missed + port->nic.no_mbuf != 0)
        cures.push_back(fmt::format("see the finding of port {} first: it has lost {} packets itself",
                                    port->name, port->nic.missed + port->nic.no_mbuf));
    if (port != nullptr && !port->settings.interface.empty())
        cures.push_back(fmt::format("see whether its interface dropped packets: `ip -s link show {}`",
                                    shell_word(port->settings.interface)));
    cures.push_back("look for drops on that path: no data are lost as long as the other one has the packets");
    if (s.settings.path_skew > 0)
        cures.push_back("if that path is only slow, " + advice.allow_skew(s, 2 * s.settings.path_skew));
    return cures;
}

/// Returns a time that is longer by half, in two digits.
double half_longer(double seconds) {
    const double digits = 1 - std::floor(std::log10(seconds));
    // A division by a power of ten has an exact text, and a product with a fraction has none.
    const double unit = std::pow(10, std::abs(digits));
    return digits > 0 ? std::ceil(1.5 * seconds * unit) / unit : std::ceil(1.5 * seconds / unit) * unit;
}

/// Returns the name of a key, between backticks; empty: this run cannot set it.
std::string named(const StreamKey& key, const Advice& advice) {
    if (advice.is_by_program())
        return member_of(key.key).empty() ? std::string() : name_in_program(key.key);
    return fmt::format("`{}`", advice.is_by_option(key.option) ? key.option : key.key);
}

/// Returns the action for a sender that begins anew with the heap counts of before.
std::string again(const Advice& advice) {
    const std::string history = named(kHistoryTime, advice);
    return "give a sender that begins anew other heap counts" +
           (history.empty() ? ", or let it pause for longer than a second" : ", or lower " + history);
}

/// Returns the actions for a path that was behind the other one by more than heaps are remembered. `behind`:
/// seconds, 0: unknown. `seconds`: of the counts.
Cures for_behind(const StreamSnapshot& s, double behind, double seconds, const Advice& advice) {
    const StreamSettings& set = s.settings;
    const std::string why = "find out why that path is so slow: no data are lost meanwhile";
    if (behind <= 0 || set.history == 0)
        return {fmt::format("raise {} and {}", named(kPathSkew, advice), named(kHistory, advice)), why};
    Cures cures;
    if (behind > set.history_time || behind > set.path_skew)
        cures.push_back(advice.allow_skew(s, half_longer(behind)));
    // Heaps that began while a path was behind, of one substream.
    const double began = seconds > 0 ? static_cast<double>(s.heaps_started) / seconds * behind /
                                           static_cast<double>(std::max<std::uint64_t>(set.substreams, 1))
                                     : 0;
    if (behind <= set.history_time || 2 * began > static_cast<double>(set.history)) {
        const auto least = static_cast<std::uint64_t>(std::min(2 * began, static_cast<double>(kMostHistory)));
        cures = with(std::move(cures),
                     advice.raise_to(s, kHistory, std::bit_ceil(std::max(2 * set.history, least))));
    }
    // Heaps of which a packet or two came are not remembered.
    if (s.heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)] != 0)
        cures = with(std::move(cures), more_live(s, advice, ""));
    cures.push_back(why);
    return cures;
}

/// Returns what is said of copies that came when their heaps were forgotten.
Finding behind_finding(const StreamSnapshot& s, std::size_t path, double seconds, const Advice& advice) {
    const double ticks = advice.snapshot().ticks_per_second;
    const double behind = ticks > 0 ? static_cast<double>(s.paths[path].forgotten_after) / ticks : 0;
    return {Cause::path_behind,
            Stage::network,
            s.name,
            s.paths[path].forgotten,
            "packets",
            fmt::format("came by port {}{} after their copy by the other path, when they were forgotten: "
                        "they are delivered again",
                        path_name(s, path), behind > 0 ? fmt::format(" up to {:.3g} s", behind) : " long"),
            for_behind(s, behind, seconds, advice)};
}

}  // namespace

std::vector<Finding> path_findings(const StreamSnapshot& s, double seconds, const Advice& advice) {
    std::vector<Finding> all;
    // Packets that a sender repeats come again by both paths.
    const std::uint64_t by_both = kMaxPaths * std::min(s.paths[0].repeated, s.paths[1].repeated);
    if (const std::uint64_t renewed = s.path_ports.empty() ? 0 : renewed_packets(s) + by_both; renewed != 0)
        all.push_back({Cause::duplicates, Stage::network, s.name, renewed, "packets",
                       "came again after both paths had brought them: a sender began anew with heap counts "
                       "of before, or both paths repeat packets",
                       again(advice)});
    for (std::size_t path = 0; path < s.path_ports.size(); path++) {
        const std::string port = path_name(s, path);
        if (const std::uint64_t repeated = s.paths[path].repeated - by_both / kMaxPaths; repeated != 0)
            all.push_back(
                {Cause::duplicates, Stage::network, s.name, repeated, "packets",
                 fmt::format("came twice by port {} alone: that path repeats packets", port),
                 "look for a loop on that path, or for two senders there with the same heap counts; "
                 "no data are lost"});
        if (s.paths[path].forgotten != 0)
            all.push_back(behind_finding(s, path, seconds, advice));
        const std::uint64_t missing =
            s.paths[path].packets == 0 ? missing_packets(s, path) : lost_packets(s, path);
        if (missing == 0)
            continue;
        if (s.path_is_silent[path] || (s.paths[path].packets == 0 && seconds >= kFirstPacket))
            all.push_back(
                {Cause::path_silent, Stage::network, s.name, missing, "packets",
                 fmt::format("came by one path alone: the path by port {} {}", port,
                             s.paths[path].packets == 0 ? "has brought nothing" : "brings nothing any more"),
                 for_silent(s, path, advice)});
        else if (s.paths[path].packets != 0)
            all.push_back(
                {Cause::path_loss, Stage::network, s.name, missing, "packets",
                 fmt::format(
                     "came by one path alone; the path by port {} lacked them, or brought them too late",
                     port),
                 for_lossy(s, path, advice)});
    }
    return all;
}

std::string late_path(const StreamSnapshot& s, std::string_view parts) {
    std::uint64_t all = 0;
    for (const PathCounters& path : s.paths)
        all += path.late;
    for (std::size_t path = 0; path < s.path_ports.size(); path++)
        if (2 * s.paths[path].late > all)
            return fmt::format(
                ", most of them by port {}: that path is behind the other one by more than the {} that may "
                "be open",
                path_name(s, path), parts);
    return {};
}

}  // namespace spead::stats
