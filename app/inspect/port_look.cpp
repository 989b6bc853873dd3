// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/port_look.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/core.h>
#include <rte_ethdev.h>

#include "base/mac.hpp"

namespace spead::app {

namespace {

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

}  // namespace

std::string netdev_link(const port::NetdevFacts& netdev) {
    if (!netdev.running)
        return netdev.up ? "no carrier" : "down";
    const port::Machine& machine = port::this_machine();
    const auto speed = machine.sees(netdev)
                           ? machine.files.number(fmt::format("/sys/class/net/{}/speed", netdev.name))
                           : std::nullopt;
    return speed && *speed > 0 ? fmt::format("up, {} Mb/s", *speed) : "up";
}

void fill(PortFacts& facts, const port::Port& port, const port::Driver& driver) {
    rte_eth_dev_info info{};
    if (rte_eth_dev_info_get(port.port_id(), &info) != 0)
        info = {};  // its limits are not known
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
    // The plan was for small packets; the family's own limits are wanted here.
    const port::Capabilities declared = driver.declared();
    facts.capabilities = port.capabilities();
    facts.capabilities.max_rx_frame = std::max(facts.capabilities.max_rx_frame, declared.max_rx_frame);
    facts.capabilities.max_tx_frame = std::max(facts.capabilities.max_tx_frame, declared.max_tx_frame);
    facts.remarks = port.remarks();
}

}  // namespace spead::app
