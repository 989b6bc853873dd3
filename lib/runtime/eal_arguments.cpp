// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <unistd.h>

#include <fmt/core.h>

#include "base/error.hpp"
#include "runtime/layout.hpp"
#include "runtime/runtime_dir.hpp"

namespace spead::runtime {

namespace {

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& names) {
    return std::any_of(names.begin(), names.end(), [word](std::string_view name) {
        return word == name ||
               (word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=') ||
               (name.size() == 2 && name[1] != '-' && word.starts_with(name));
    });
}

}  // namespace

EalOptions EalOptions::parse(std::vector<std::string> words) {
    static constexpr std::array<std::string_view, 6> lcores{"-l",           "-c", "--lcores",
                                                            "--main-lcore", "-s", "-S"};
    static constexpr std::array<std::string_view, 10> memory{
        "--no-huge",           "--in-memory",        "--socket-mem",  "--socket-limit",
        "--legacy-mem",        "--huge-dir",         "--huge-unlink", "--single-file-segments",
        "--match-allocations", "--huge-worker-stack"};
    static constexpr std::array<std::string_view, 1> amount{"-m"};
    static constexpr std::array<std::string_view, 2> naming{"--file-prefix", "--no-shconf"};
    static constexpr std::array<std::string_view, 6> bus{"-a", "-b", "--allow", "--block", "--no-pci", "-w"};
    static constexpr std::array<std::string_view, 2> block{"-b", "--block"};
    static constexpr std::array<std::string_view, 1> log{"--log-level"};
    EalOptions o;
    for (std::size_t i = 0; i < words.size(); i++) {
        const std::string_view word = words[i];
        o.has_lcores |= is_one_of(word, lcores);
        o.has_memory |= is_one_of(word, memory);
        o.has_amount |= is_one_of(word, amount);
        o.has_naming |= is_one_of(word, naming);
        o.has_bus |= is_one_of(word, bus);
        o.has_log |= is_one_of(word, log);
        o.has_block |= is_one_of(word, block);
        o.has_no_pci |= word == "--no-pci";
        for (const std::string_view option : {"--vdev", "--allow", "-a"}) {
            if (word == option && i + 1 < words.size())
                o.devices.push_back(words[i + 1]);
            else if (word.starts_with(option) && word.size() > option.size() &&
                     (option.size() == 2 || word[option.size()] == '='))
                o.devices.emplace_back(word.substr(option.size() + (option.size() == 2 ? 0 : 1)));
        }
    }
    o.words = std::move(words);
    return o;
}

BusNeeds BusNeeds::of(std::span<const port::PlannedPort> ports) {
    BusNeeds needs;
    for (const port::PlannedPort& p : ports) {
        needs.pci |= p.device.pci;
        needs.physical_addresses |= p.device.physical_addresses;
        needs.shared_memory |= p.device.shares_eal_memory;
    }
    return needs;
}

EalArguments eal_arguments(const EalOptions& options, const EalNeeds& needs, const port::Machine& machine) {
    const BusNeeds& bus = needs.bus;
    const auto given = [&](std::string_view option) {
        return std::any_of(options.words.begin(), options.words.end(),
                           [option](const std::string& w) { return w.starts_with(option); });
    };
    if (bus.pci && options.has_no_pci)
        throw_usage("EAL",
                    "--no-pci excludes the card of a port; leave it out (EAL uses only the cards of ports)");
    if (bus.pci && options.has_block)
        throw_usage("EAL",
                    "-b makes EAL use every other card; leave it out (EAL uses only the cards of ports)");
    if (bus.shared_memory && options.has_memory && !given("--no-huge") && !given("--single-file-segments"))
        throw_usage("EAL",
                    "a vhost-user peer can map at most 8 files of EAL's memory; add --single-file-segments, "
                    "or leave EAL's memory options out");
    EalArguments made;
    std::vector<std::string>& args = made.words;
    if (!options.has_lcores)
        args.insert(args.end(), {"--lcores", needs.lcores, "--main-lcore", "0"});
    if (!options.has_memory) {
        const MemoryChoice choice =
            choose_memory(huge_memory(machine), needs.memory, bus.pci, options.has_amount);
        args.insert(args.end(), choice.arguments.begin(), choice.arguments.end());
        if (!choice.huge && !options.has_naming)
            args.emplace_back("--no-shconf");
        if (!choice.remark.empty())
            made.remarks.push_back(choice.remark);
    }
    const std::string prefix = fmt::format("{}.{}", needs.name, getpid());
    if (!options.has_naming) {
        args.insert(args.end(), {"--file-prefix", prefix});
        // Under a name that no other process uses, huge pages would stay behind for ever. EAL takes this
        // option with none of those.
        if (options.has_memory && !given("--no-huge") && !given("--in-memory") && !given("--huge-unlink") &&
            !given("--single-file-segments"))
            args.emplace_back("--huge-unlink=always");
    }
    if (!options.has_bus && bus.pci)
        args.insert(args.end(), {"-a", "0000:00:00.0"});
    else if (!options.has_bus)
        args.emplace_back("--no-pci");
    if (!options.has_log)
        // Telemetry warns that it has no socket of its older kind. If several patterns match, the first
        // counts.
        args.insert(args.end(), {"--log-level=lib.telemetry:error", "--log-level=lib.*:warning"});
    if (!given("--iova-mode"))
        args.emplace_back(bus.physical_addresses ? "--iova-mode=pa" : "--iova-mode=va");
    if (!given("--telemetry") && !given("--no-telemetry"))
        args.emplace_back(needs.telemetry && telemetry_socket_fits(prefix) ? "--telemetry"
                                                                           : "--no-telemetry");
    // Last, so that an option whose value is missing does not take one of these for it.
    args.insert(args.end(), options.words.begin(), options.words.end());
    return made;
}

}  // namespace spead::runtime
