// SPDX-License-Identifier: BSD-3-Clause
#include "stats/advice.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/endpoint.hpp"
#include "base/shell_word.hpp"
#include "base/units.hpp"
#include "stats/rates.hpp"
#include "stats/setting_names.hpp"
#include "stats/stream_ports.hpp"

namespace spead::stats {

namespace {

constexpr StreamKey kLcores{"lcores", "--lcores", 0, nullptr};
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

/// Returns the value as the file has it: sizes and times are texts, and lists have brackets.
std::string in_file(const StreamKey& key, std::string_view text) {
    if (key.key == kLcores.key)
        return fmt::format("[{}]", text);
    return key.now != nullptr && !key.is_size ? std::string(text) : fmt::format("\"{}\"", text);
}

/// Returns the head of the table that has the key, and the key's name in it.
std::pair<std::string, std::string_view> place_of(std::string_view key) {
    const std::size_t dot = key.find('.');
    if (dot == key.npos)
        return {"[[receive]]", key};
    return {fmt::format("[receive.{}]", key.substr(0, dot)), key.substr(dot + 1)};
}

std::string now_text(const StreamSnapshot& s, const StreamKey& key) {
    if (key.seconds != nullptr)
        return s.settings.*key.seconds == 0 ? "off" : duration_text(s.settings.*key.seconds);
    if (key.text != nullptr)
        return (s.settings.*key.text).empty() ? std::string() : shell_word(s.settings.*key.text);
    if (key.now == nullptr)
        return key.key != kLcores.key || s.settings.cpus.empty() ? std::string() : cpus_text(s.settings.cpus);
    const std::uint64_t now = s.settings.*key.now;
    return now == 0 ? std::string() : value_text(key, now);
}

std::string in_brackets(std::string_view now) {
    return now.empty() ? std::string() : fmt::format(" (now {})", now);
}

/// Returns whether the text means this destination. `source`: that of the packets; null: any.
bool means(const std::string& text, const Endpoint& destination, const std::string* source = nullptr) {
    return std::ranges::any_of(meant_by(text), [&](const Endpoint& e) {
        return e.address == destination.address && e.port == destination.port &&
               (source == nullptr || !e.has_source() || to_string(e.source) == *source);
    });
}

/// Returns the packets for no stream that the port has noted, or its rules have left to the kernel.
const std::vector<PassedSnapshot>& packets_for_nobody(const PortSnapshot& p) {
    return p.strays.empty() ? p.passed : p.strays;
}

/// Returns whether the streams share a port.
bool are_beside(const StreamSnapshot& one, const StreamSnapshot& other) {
    const auto comes_by = [&one](const std::string& port) { return one.comes_by(port); };
    return comes_by(other.port) || std::ranges::any_of(other.path_ports, comes_by);
}

/// Returns the endpoints of all streams that share a port with this one, itself included.
std::vector<Endpoint> endpoints_beside(const Snapshot& snapshot, const StreamSnapshot& s) {
    std::vector<Endpoint> all;
    const auto add = [&all](const std::vector<std::string>& texts) {
        for (const std::string& text : texts)
            std::ranges::copy(meant_by(text), std::back_inserter(all));
    };
    for (const StreamSnapshot& o : snapshot.streams) {
        if (!are_beside(o, s))
            continue;
        add(o.endpoints);
        for (const auto& path : o.path_endpoints)
            add(path);
    }
    return all;
}

/// Returns the endpoint of the first packets that can be added to those which are received: with its source
/// if they have the same one with others. Empty: there is none. A group whose scope no endpoint may have is
/// none.
std::string endpoint_of(const std::vector<PassedSnapshot>& seen, const std::vector<Endpoint>& received) {
    for (const PassedSnapshot& one : seen) {
        std::string wanted = one.endpoint;
        const std::vector<Endpoint> destination = meant_by(one.endpoint);
        bool is_received = destination.empty();
        for (const Endpoint& e : destination)
            for (const Endpoint& r : received) {
                if (r.address != e.address || r.port != e.port)
                    continue;
                is_received |= !r.has_source() || to_string(r.source) == one.source;
                wanted = one.endpoint + '@' + one.source;
            }
        if (!is_received && !meant_by(wanted).empty())
            return wanted;
    }
    return {};
}

}  // namespace

std::string value_text(const StreamKey& key, std::uint64_t value) {
    return key.is_size ? size_text(value) : fmt::format("{}", value);
}

std::string cpus_text(const std::vector<unsigned>& cpus) {
    return fmt::format("{}", fmt::join(cpus, ","));
}

std::vector<unsigned> cpus_without_lcores(const Snapshot& run) {
    std::vector<unsigned> cpus = run.settings.allowed_cpus;
    std::erase_if(cpus, [&run](unsigned cpu) {
        return std::ranges::any_of(run.lcores, [cpu](const LcoreSnapshot& l) { return l.cpu == cpu; });
    });
    return cpus;
}

std::string Advice::prompt(std::string_view command) const {
    if (!of_.settings.attach.empty())
        return fmt::format("run `{} {}`", of_.settings.attach, command);
    return of_.settings.own_prompt ? fmt::format("enter `{}` at its prompt", command) : std::string();
}

std::string Advice::word(std::string_view text) const {
    return of_.settings.attach.empty() ? std::string(text) : shell_word(text);
}

std::string Advice::begin_anew(const StreamSnapshot& s) const {
    const std::string stop = prompt("stream stop " + s.name);
    return stop.empty() ? std::string("restart")
                        : fmt::format("{}, then {}", stop, prompt("stream start " + s.name));
}

std::string Advice::for_next_start(std::string_view root, const std::string& part, std::string_view key,
                                   std::string_view option, std::string_view text,
                                   std::string_view now) const {
    const bool by_file = !of_.settings.configuration.empty();
    if (!by_file && of_.settings.by_options && has_option(option))
        return fmt::format("restart with `{} {}`{}", option, text, in_brackets(now));
    if (!by_file && of_.settings.by_options)
        return fmt::format(
            "restart with a configuration file (`run --config FILE`) that has `{} = {}` in {}{}", key, text,
            root, in_brackets(now));
    if (!by_file)
        return fmt::format("set `{}` to {}{}", key, text, in_brackets(now));
    return fmt::format("set `{} = {}` in {}{} in {}{}, and restart", key, text, root,
                       part.empty() ? "" : " of " + part, shell_word(of_.settings.configuration),
                       in_brackets(now));
}

std::string Advice::keep(const StreamSnapshot& s, const StreamKey& key, std::string_view text) const {
    if (of_.settings.configuration.empty())
        return {};
    const auto [table, name] = place_of(key.key);
    return fmt::format("; to keep it, set `{} = {}` in {} of {} in {}", name, in_file(key, text), table,
                       s.name, shell_word(of_.settings.configuration));
}

std::string Advice::set_at_start(const StreamSnapshot& s, const StreamKey& key, std::string_view text) const {
    return set_at_start(s, key, text, now_text(s, key));
}

std::string Advice::set_at_start(const StreamSnapshot& s, const StreamKey& key, std::string_view text,
                                 std::string_view now) const {
    if (s.settings.by_program && is_by_program())
        return fmt::format("set {} to {}{}", name_in_program(key.key), text, in_brackets(now));
    const bool by_option = of_.settings.by_options && has_option(key.option);
    if (of_.settings.configuration.empty() && (by_option || !of_.settings.by_options))
        return for_next_start("", s.name, key.key, key.option,
                              by_option && key.is_phrase ? fmt::format("'{}'", text) : std::string(text),
                              now);
    const auto [table, name] = place_of(key.key);
    return for_next_start(table, s.name, name, key.option, in_file(key, text), now);
}

std::string Advice::set(const StreamSnapshot& s, const StreamKey& key, std::string_view text) const {
    const char quote = of_.settings.attach.empty() ? '"' : '\'';
    const std::string live =
        prompt(fmt::format("stream set {} {} {}", s.name, key.key,
                           key.is_phrase ? quote + std::string(text) + quote : std::string(text)));
    if (live.empty())
        return set_at_start(s, key, text);
    return live + in_brackets(now_text(s, key)) + keep(s, key, text);
}

std::string Advice::set_at_start(const SendSnapshot& s, std::string_view key, std::string_view option,
                                 std::string_view text, std::string_view now) const {
    const bool in_file =
        !of_.settings.configuration.empty() || (of_.settings.by_options && !has_option(option));
    return for_next_start("[[send]]", s.name, key, option,
                          in_file ? fmt::format("\"{}\"", text) : std::string(text), now);
}

std::string Advice::set_at_start(const PortSnapshot& p, std::string_view key, std::string_view option,
                                 std::uint64_t value, std::string_view now) const {
    return for_next_start("[[port]]", p.name, key, option, fmt::format("{}", value), now);
}

bool Advice::has_option(std::string_view option) const {
    const std::vector<std::string>& known = of_.settings.options;
    return !option.empty() && (known.empty() || std::ranges::find(known, option) != known.end());
}

bool Advice::is_by_program() const {
    return of_.by_configuration && of_.settings.configuration.empty() && !of_.settings.by_options;
}

std::string Advice::named(std::string_view option, std::string_view key) const {
    if (is_by_program())
        return name_in_program(key);
    if (option.empty() || !of_.settings.configuration.empty())
        return fmt::format("`{}`", key);
    const bool lacks_it = of_.settings.by_options && !has_option(option);
    return lacks_it ? fmt::format("`{}` of a configuration file", key) : std::string(option);
}

std::string Advice::called(const StreamKey& key) const {
    if (is_by_program())
        return fmt::format("`{}`", member_of(key.key));
    const bool has_option_of_run =
        !of_.settings.by_options || (of_.settings.configuration.empty() && has_option(key.option));
    return has_option_of_run ? named(key) : fmt::format("`{}`", key.key);
}

std::string Advice::burst_size() const {
    if (is_by_program())
        return "(`burst_size` of SendConfig)";
    return of_.settings.configuration.empty() ? "(`send --burst-size`)" : "(`burst_size` in [[send]])";
}

bool Advice::is_by_option() const {
    return of_.settings.attach.empty() && !of_.settings.own_prompt && of_.settings.configuration.empty() &&
           of_.settings.by_options;
}

std::string Advice::lengthen(const StreamSnapshot& s, const StreamKey& key, bool or_off) const {
    const double now = s.settings.*key.seconds;
    const std::string_view off = or_off ? ", or turn it off" : "";
    if (now == 0)
        return fmt::format("raise {}{}", named(key), off);
    return set(s, key, duration_text(2 * now)) + std::string(off);
}

std::string Advice::allow_skew(const StreamSnapshot& s, double seconds) const {
    const StreamSettings& set = s.settings;
    std::vector<std::pair<const StreamKey*, std::string>> all{{&kPathSkew, duration_text(seconds)}};
    // Left out, it follows.
    if (!is_by_program() && set.history_time > 0 && set.history_time < seconds &&
        set.history_time != path_history_time(set.path_skew))
        all.emplace_back(&kHistoryTime, duration_text(path_history_time(seconds)));
    if (set.heap_timeout > 0 && set.heap_timeout < seconds)
        all.emplace_back(&kHeapTimeout, duration_text(seconds));
    std::string command = "stream set " + s.name;
    for (const auto& [key, text] : all)
        command += fmt::format(" {} {}", key->key, text);
    if (const std::string live = prompt(command); !live.empty()) {
        std::string action = live + in_brackets(now_text(s, kPathSkew));
        for (const auto& [key, text] : all)
            action += keep(s, *key, text);
        return action;
    }
    std::string action;
    for (const auto& [key, text] : all)
        action += (action.empty() ? "" : ", and ") + set_at_start(s, *key, text);
    return action;
}

std::string Advice::raise(const StreamSnapshot& s, const StreamKey& key, std::uint64_t factor) const {
    return raise_to(s, key, s.settings.*key.now * factor);
}

std::string Advice::raise_to(const StreamSnapshot& s, const StreamKey& key, std::uint64_t least) const {
    const std::uint64_t now = s.settings.*key.now;
    if (now == 0)
        return "raise " + named(key);
    const std::uint64_t wanted = std::min(std::max(least, now + 1), key.most);
    if (wanted <= now)
        return {};
    const std::string text = value_text(key, wanted);
    return key.at_start ? set_at_start(s, key, text) : set(s, key, text);
}

std::string Advice::raise_memory(const StreamSnapshot& s, std::uint64_t least) const {
    const std::uint64_t now = of_.settings.heap_memory;
    if (s.settings.gather_memory != 0)
        return raise_to(s, kGatherMemory, std::max(2 * s.settings.gather_memory, least));
    if (is_by_program())
        return s.settings.by_program ? "raise its " + name_in_program("memory.heaps")
                                     : std::string("raise `heaps` in [memory]");
    if (now == 0 || s.settings.own_memory)
        return "raise " + named("--memory", "memory.heaps");
    // Other programs keep what they need.
    const std::uint64_t most = std::min(now + of_.settings.memory_free / 2, kMostHeapMemory);
    std::uint64_t wanted = std::min(std::max(2 * now, least), most);
    if (wanted > kMebibyte)
        wanted -= wanted % kMebibyte;
    if (wanted < std::max(now + now / 4, least))
        return fmt::format(
            "free memory on this machine, or receive fewer streams here: heaps have {}, and {} is "
            "free",
            size_text(now), human_size(of_.settings.memory_free));
    const std::string text = size_text(wanted);
    return for_next_start("[memory]", "", "heaps", "--memory",
                          of_.settings.configuration.empty() ? text : fmt::format("\"{}\"", text),
                          size_text(now));
}

bool Advice::is_for(const StreamSnapshot& s, const PassedSnapshot& packets) {
    const std::vector<Endpoint> seen = meant_by(packets.endpoint);
    const auto is_among = [&](const std::vector<std::string>& texts) {
        return !seen.empty() && std::ranges::any_of(texts, [&](const std::string& text) {
            return means(text, seen.front(), &packets.source);
        });
    };
    return is_among(s.endpoints) || std::ranges::any_of(s.path_endpoints, is_among);
}

std::vector<std::string> Advice::endpoints_on(const StreamSnapshot& s, const PortSnapshot& p) {
    std::vector<std::string> all;
    const bool is_on = std::ranges::find(s.path_ports, p.name) != s.path_ports.end();
    for (std::size_t path = 0; path < s.path_endpoints.size(); path++)
        if (!is_on || (path < s.path_ports.size() && s.path_ports[path] == p.name))
            std::ranges::copy_if(s.path_endpoints[path], std::back_inserter(all), [&all](const auto& text) {
                return std::ranges::find(all, text) == all.end();
            });
    return all.empty() ? s.endpoints : all;
}

std::string Advice::destination_beside(const StreamSnapshot& s, const PortSnapshot& p) {
    std::vector<Endpoint> own;
    for (const std::string& text : endpoints_on(s, p))
        std::ranges::copy(meant_by(text), std::back_inserter(own));
    const auto is_beside = [&own](const Endpoint& e) {
        return std::ranges::any_of(own,
                                   [&e](const Endpoint& o) {
                                       return o.port == e.port &&
                                              o.address.is_multicast() == e.address.is_multicast();
                                   }) &&
               std::ranges::none_of(own, [&e](const Endpoint& o) { return o.address == e.address; });
    };
    const std::uint64_t all = p.rx[static_cast<std::size_t>(PortOutcome::unmatched)];
    for (const PassedSnapshot& stray : p.strays)
        if (stray.packets > all / kMostNamed && std::ranges::any_of(meant_by(stray.endpoint), is_beside))
            return stray.endpoint;
    return {};
}

std::string Advice::other_cpu(const LcoreSnapshot& l, const PortSnapshot& p, bool besides) const {
    const StreamSnapshot* busiest = nullptr;
    std::uint64_t most = 0;
    std::size_t streams = 0;
    for (const LcoreSnapshot::Received& r : l.streams)
        if (const StreamSnapshot* const s = find(of_.streams, r.name); s != nullptr && s->comes_by(p.name)) {
            streams++;
            if (busiest == nullptr || r.received > most) {
                busiest = s;
                most = r.received;
            }
        }
    if (busiest == nullptr || of_.settings.cpus.empty())
        return {};
    std::vector<unsigned> cpus = busiest->settings.cpus;
    // Fragments of a packet have to meet on one lcore.
    if (!besides || streams > 1 || p.reassembly_places != 0)
        std::erase(cpus, l.cpu);
    const auto with = [&cpus](unsigned cpu) {
        cpus.push_back(cpu);
        return cpus_text(cpus);
    };
    for (const unsigned cpu : of_.settings.idle_cpus)
        if (cpu != l.cpu && std::ranges::find(cpus, cpu) == cpus.end())
            return set(*busiest, kLcores, with(cpu));
    // Threads that are not lcores keep one.
    std::vector<unsigned> unused = of_.settings.cpus;
    std::erase_if(unused, [this](unsigned cpu) {
        return std::ranges::any_of(of_.lcores, [cpu](const auto& o) { return o.cpu == cpu; });
    });
    if (unused.size() > 1)
        return set_at_start(*busiest, kLcores, with(unused.back()));
    if (cpus_without_lcores(of_).size() > 1)
        return fmt::format("let more CPUs have lcores: `lcores` {} {}, and all have work",
                           is_by_program() ? "of ProcessConfig names" : "in [runtime] names",
                           cpus_text(of_.settings.cpus));
    return fmt::format("give the process more CPUs: it may use {}, and all have work",
                       cpus_text(of_.settings.cpus));
}

/// Adds the actions that start stopped streams, this one or beside it, whose packets come.
void Advice::start_stopped(const StreamSnapshot& with, const PortSnapshot& p, Cures& to) const {
    for (const StreamSnapshot& s : of_.streams) {
        if (s.state != "stopped" || !are_beside(s, with))
            continue;
        for (const PassedSnapshot& seen : packets_for_nobody(p)) {
            const std::vector<Endpoint> destination = meant_by(seen.endpoint);
            if (destination.size() != 1 ||
                std::ranges::none_of(endpoints_on(s, p), [&](const std::string& text) {
                    return means(text, destination.front());
                }))
                continue;
            const std::string live = prompt("stream start " + s.name);
            to.push_back(fmt::format("{} is stopped, and packets for {} come: {}", s.name, seen.endpoint,
                                     live.empty() ? std::string("start it") : live));
            break;
        }
    }
}

std::string Advice::see_arrivals(const PortSnapshot& p) const {
    return p.settings.interface.empty()
               ? std::string()
               : fmt::format(
                     "see what arrives: `timeout 5 tcpdump -ni {0} -c 20 udp`; and what this machine has "
                     "joined: `ip maddr show dev {0}`",
                     shell_word(p.settings.interface));
}

std::string Advice::see_own_arrivals(const StreamSnapshot& s, const PortSnapshot& p,
                                     std::string_view sender) const {
    const std::vector<std::string> endpoints = endpoints_on(s, p);
    const std::vector<Endpoint> all =
        endpoints.empty() ? std::vector<Endpoint>() : meant_by(endpoints.front());
    if (all.empty() || p.settings.interface.empty())
        return {};
    return fmt::format(
        "see whether its packets arrive: `timeout 5 tcpdump -ni {} -c 5 dst host {} and udp port {}` shows "
        "them; if none come, ask at {} whether packets are sent to {}",
        shell_word(p.settings.interface), to_string(all.front().address), all.front().port, sender,
        endpoints.front());
}

Cures Advice::receive_strays(const StreamSnapshot& s, const PortSnapshot& p) const {
    Cures cures;
    start_stopped(s, p, cures);
    const bool starts = !cures.empty();
    if (const std::vector<std::string> own = endpoints_on(s, p); !own.empty())
        cures.push_back(fmt::format("compare the endpoints with the sender's destinations: {} receives {}{}",
                                    s.name, fmt::join(own, " "),
                                    own == s.endpoints ? std::string() : " by " + p.name));
    else
        cures.push_back("compare the endpoints with the sender's destinations");
    // To parse the endpoints of all streams takes long: a diagnosis may ask for each silent one.
    const std::vector<PassedSnapshot>& seen = packets_for_nobody(p);
    if (const std::string wanted = seen.empty() ? "" : endpoint_of(seen, endpoints_beside(of_, s));
        !wanted.empty())
        cures.push_back(fmt::format("if {} should receive the packets for {}, {}", s.name, wanted,
                                    add_endpoint(s, p, wanted)));
    else if (!starts)
        cures.push_back("if it sends elsewhere, " + add_endpoint(s, p, "ADDRESS:PORT"));
    if (std::string see = see_arrivals(p); !see.empty())
        cures.push_back(std::move(see));
    return cures;
}

}  // namespace spead::stats
