// SPDX-License-Identifier: BSD-3-Clause
#include "port/candidates.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace spead::port {

namespace {

/// Returns the kind of a stacked or composed interface, from its uevent's DEVTYPE; empty for others.
std::string stacked_kind(const Sysfs& files, const std::string& name) {
    const std::string directory = fmt::format("/sys/class/net/{}", name);
    std::istringstream lines(files.text(directory + "/uevent").value_or(""));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("DEVTYPE=")) {
            return line.substr(8);
        }
    }
    return files.exists(directory + "/tun_flags") ? "tun" : std::string{};
}

std::string reason_against(const Machine& machine, const NetdevFacts& facts, const Candidate& candidate) {
    if (!facts.up) {
        return "it is down";
    }
    if (candidate.default_route) {
        return "it carries the default route";
    }
    if (!machine.sees(facts)) {
        return {};
    }
    if (const auto kind = stacked_kind(machine.files, facts.name); !kind.empty()) {
        return fmt::format("it is a {} interface", kind);
    }
    if (const auto master = machine.files.link(fmt::format("/sys/class/net/{}/master", facts.name));
        !master.empty()) {
        return fmt::format("it is part of {}", master);
    }
    return {};
}

}  // namespace

std::vector<std::string> default_route_netdevs(const Sysfs& files) {
    std::vector<std::string> names;
    std::istringstream lines(files.text("/proc/net/route").value_or(""));
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        std::string name;
        std::string destination;
        std::string gateway;
        std::string flags;
        std::string skipped;
        std::string mask;
        words >> name >> destination >> gateway >> flags >> skipped >> skipped >> skipped >> mask;
        if (words && destination == "00000000" && mask == "00000000") {
            names.push_back(name);
        }
    }
    return names;
}

std::string netdev_driver(const Machine& machine, const NetdevFacts& netdev) {
    return machine.sees(netdev)
               ? machine.files.link(fmt::format("/sys/class/net/{}/device/driver", netdev.name))
               : std::string{};
}

std::vector<Candidate> candidates(const Machine& machine) {
    std::vector<Candidate> found;
    const auto routed = default_route_netdevs(machine.files);
    for (const auto& name : machine.netdevs()) {
        const auto facts = machine.netdev(name);
        if (!facts || !facts->ethernet || facts->loopback) {
            continue;
        }
        Candidate candidate;
        candidate.device = name;
        candidate.address = facts->address;
        if (const auto card = pci_device_of(machine, *facts)) {
            candidate.pci = card->address;
        }
        candidate.driver = netdev_driver(machine, *facts);
        candidate.state = !facts->up ? "down" : facts->running ? "up" : "no carrier";
        candidate.default_route = std::ranges::find(routed, name) != routed.end();
        candidate.why_not = reason_against(machine, *facts, candidate);
        found.push_back(std::move(candidate));
    }
    for (const auto& card : pci_network_devices(machine.files)) {
        if (!takes_from_kernel(card.driver)) {
            continue;
        }
        Candidate candidate;
        candidate.device = candidate.pci = card.address;
        candidate.driver = card.driver;
        candidate.state = "not the kernel's";
        candidate.why_not = fmt::format("it is bound to {}, and another program may use it", card.driver);
        found.push_back(std::move(candidate));
    }
    return found;
}

std::string list_of(const std::vector<Candidate>& candidates) {
    std::vector<std::string> lines;
    for (const auto& c : candidates) {
        std::vector<std::string> parts;
        if (c.address.value != 0) {
            parts.push_back(to_string(c.address));
        }
        if (!c.driver.empty()) {
            parts.push_back(c.pci.empty() || c.pci == c.device ? c.driver
                                                               : fmt::format("{} at {}", c.driver, c.pci));
        }
        parts.push_back(c.state);
        if (c.default_route) {
            parts.emplace_back("carries the default route");
        }
        lines.push_back(fmt::format("{} ({})", c.device, fmt::join(parts, ", ")));
    }
    return lines.empty() ? "none" : fmt::format("{}", fmt::join(lines, "; "));
}

LonePort lone_port(const Machine& machine) {
    const auto all = candidates(machine);
    std::vector<std::string> fit;
    for (const auto& c : all) {
        if (c.why_not.empty()) {
            fit.push_back(c.device);
        }
    }
    if (fit.size() == 1) {
        return {fit.front(), {}};
    }
    if (fit.size() > 1) {
        return {{},
                fmt::format("{} all qualify; interfaces of this machine: {}", fmt::join(fit, ", "),
                            list_of(all))};
    }
    std::vector<std::string> reasons;
    reasons.reserve(all.size());
    for (const auto& c : all) {
        reasons.push_back(fmt::format("{}: {}", c.device, c.why_not));
    }
    return {{},
            all.empty() ? "this machine has no Ethernet interface"
                        : fmt::format("no interface qualifies by itself ({}); interfaces of this machine: {}",
                                      fmt::join(reasons, "; "), list_of(all))};
}

}  // namespace spead::port
