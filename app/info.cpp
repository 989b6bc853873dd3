// SPDX-License-Identifier: BSD-3-Clause
#include "app/info.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <rte_ethdev.h>

#include "app/command_line.hpp"
#include "app/driver_table.hpp"
#include "app/port_facts.hpp"
#include "base/error.hpp"
#include "base/mac.hpp"
#include "drivers/table.hpp"
#include "port/candidates.hpp"
#include "port/port.hpp"
#include "runtime/eal.hpp"
#include "runtime/layout.hpp"

namespace spead::app {

namespace {

/// A port to look at: one that was named, or one found on the machine.
struct Looked {
    PortFacts facts;
    port::PlannedPort planned;  ///< where facts.error is empty
};

std::vector<std::string> names_of(std::uint64_t offloads, const char* (*name)(std::uint64_t)) {
    std::vector<std::string> names;
    for (; offloads != 0; offloads &= offloads - 1)
        names.emplace_back(name(std::uint64_t{1} << std::countr_zero(offloads)));
    return names;
}

std::string link_text(std::uint16_t port_id) {
    rte_eth_link link{};
    if (rte_eth_link_get_nowait(port_id, &link) != 0)
        return {};
    if (link.link_status == RTE_ETH_LINK_DOWN)
        return "down (the port is not started)";
    return fmt::format("up, {}, {} duplex", rte_eth_link_speed_to_str(link.link_speed),
                       link.link_duplex == RTE_ETH_LINK_FULL_DUPLEX ? "full" : "half");
}

/// Of an interface of the kernel, which tells it also of a port that is not started.
std::string netdev_link(const port::NetdevFacts& netdev) {
    if (!netdev.running)
        return netdev.up ? "no carrier" : "down";
    const port::Host& host = port::this_host();
    const auto speed = host.sees(netdev)
                           ? host.files.number(fmt::format("/sys/class/net/{}/speed", netdev.name))
                           : std::nullopt;
    return speed && *speed > 0 ? fmt::format("up, {} Mb/s", *speed) : "up";
}

/// By the plan, before the device exists.
Looked look(const std::string& name, const runtime::EalOptions& eal) {
    Looked looked;
    looked.facts.named = name;
    port::PortRequest request;
    request.name = name;
    request.device = name;
    request.tx_queues = 1;
    // Without a need for large packets nothing outside the process is changed.
    request.max_rx_packet = request.max_tx_packet = 1000;
    try {
        looked.planned = port::plan_ports({&request, 1}, drivers::table(), eal.devices).front();
        looked.facts.family = looked.planned.driver->name();
        looked.facts.device = looked.planned.device.devargs;
    } catch (const Error& error) {
        looked.facts.error = error.what();
    }
    return looked;
}

void fill(PortFacts& facts, const port::Port& port, const port::Driver& driver) {
    rte_eth_dev_info info{};
    rte_eth_dev_info_get(port.port_id(), &info);
    facts.pmd = info.driver_name == nullptr ? "" : info.driver_name;
    facts.netdev = port.netdev();
    facts.mac = mac_text(port.mac());
    if (port.source_address() != port::kFallbackAddress)
        facts.address = port.source_address();
    facts.numa_node = port.socket_id();
    std::array<char, 64> firmware{};
    if (rte_eth_dev_fw_version_get(port.port_id(), firmware.data(), firmware.size()) == 0)
        facts.firmware = firmware.data();
    facts.link = link_text(port.port_id());
    facts.max_rx_queues = info.max_rx_queues;
    facts.max_tx_queues = info.max_tx_queues;
    facts.max_rx_descriptors = info.rx_desc_lim.nb_max;
    facts.max_tx_descriptors = info.tx_desc_lim.nb_max;
    facts.max_tx_segments = info.tx_desc_lim.nb_seg_max;
    std::uint16_t mtu = 0;
    rte_eth_dev_get_mtu(port.port_id(), &mtu);
    facts.mtu = mtu;
    facts.max_mtu = info.max_mtu;
    if (!port.netdev().empty())
        if (const auto netdev = port::netdev_facts(port.netdev())) {
            facts.mtu = netdev->mtu;
            facts.link = netdev_link(*netdev);
        }
    facts.rx_offloads = names_of(info.rx_offload_capa, rte_eth_dev_rx_offload_name);
    facts.tx_offloads = names_of(info.tx_offload_capa, rte_eth_dev_tx_offload_name);
    facts.send_scheduling = (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP) != 0;
    // The plan was for small packets; what counts here is what the family can be planned for.
    const port::Capabilities declared = driver.declared();
    facts.capabilities = port.capabilities();
    facts.capabilities.max_rx_frame = std::max(facts.capabilities.max_rx_frame, declared.max_rx_frame);
    facts.capabilities.max_tx_frame = std::max(facts.capabilities.max_tx_frame, declared.max_tx_frame);
    facts.remarks = port.remarks();
}

std::vector<Looked> ports_to_look_at(const InfoOptions& options, const runtime::EalOptions& eal) {
    std::vector<Looked> ports;
    for (const std::string& name : options.ports)
        ports.push_back(look(name, eal));
    if (!options.ports.empty())
        return ports;
    for (const port::Candidate& c : port::candidates(port::this_host())) {
        if (c.why_not.empty()) {
            ports.push_back(look(c.device, eal));
            continue;
        }
        Looked& looked = ports.emplace_back();
        looked.facts.named = c.device;
        looked.facts.error = fmt::format("{}; name it to look at it ({})", c.why_not, port::list_of({c}));
    }
    return ports;
}

void open_all(std::vector<Looked>& ports, const runtime::EalOptions& options) {
    std::vector<port::PlannedPort> planned;
    std::size_t bytes = std::size_t{24} << 20;
    for (const Looked& port : ports)
        if (port.facts.error.empty()) {
            planned.push_back(port.planned);
            bytes += port.planned.device.eal_bytes();
        }
    if (planned.empty())
        return;
    const runtime::Eal eal(
        runtime::eal_arguments(options, fmt::format("0@{}", runtime::allowed_cpus().front()),
                               bytes + bytes / 8, "dpdk-spead-info", runtime::BusNeeds::of(planned)));
    for (Looked& looked : ports) {
        if (!looked.facts.error.empty())
            continue;
        try {
            fill(looked.facts, *port::Port::open(looked.planned), *looked.planned.driver);
        } catch (const Error& error) {
            looked.facts.error = error.what();
        }
    }
}

}  // namespace

int info(const InfoOptions& options, const std::vector<std::string>& eal_words) {
    if (options.drivers) {
        if (options.json)
            fmt::print("{}\n", driver_document(drivers::table()).dump(2));
        else
            fmt::print("{}", driver_table(drivers::table()));
        return kSuccess;
    }
    const runtime::EalOptions eal = runtime::EalOptions::parse(eal_words);
    std::vector<Looked> ports = ports_to_look_at(options, eal);
    open_all(ports, eal);
    if (options.json) {
        auto list = nlohmann::ordered_json::array();
        for (const Looked& port : ports)
            list.push_back(port_document(port.facts));
        fmt::print("{}\n", nlohmann::ordered_json{{"version", 1}, {"ports", list}}.dump(2));
    } else {
        if (ports.empty())
            fmt::print("this machine has no Ethernet interface\n");
        for (const Looked& port : ports)
            fmt::print("{}{}", &port == &ports.front() ? "" : "\n", describe(port.facts));
    }
    const bool failed =
        !options.ports.empty() &&
        std::any_of(ports.begin(), ports.end(), [](const Looked& port) { return !port.facts.error.empty(); });
    return failed ? kFailure : kSuccess;
}

}  // namespace spead::app
