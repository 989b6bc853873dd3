// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/port_facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <rte_ethdev.h>
#include <rte_version.h>

#include "app/inspect/driver_table.hpp"
#include "port/sizes.hpp"

namespace spead::app {

namespace {

std::string steering_of(const port::Capabilities& c) {
    switch (c.steering) {
        case port::Steering::rte_flow:
            return c.isolation ? "exact, by rte_flow, isolated: all other packets stay with the kernel"
                               : "exact, by rte_flow, not isolated: the port receives all other packets, too";
        case port::Steering::xdp_map:
            return "exact, by an XDP program: all other packets stay with the kernel";
        case port::Steering::sockets:
            return "exact, by the kernel: each endpoint has a UDP socket";
        case port::Steering::software:
            break;
    }
    return c.distributes_flows ? "in software; the device distributes flows over its queues by itself"
                               : "in software, from one receive queue; more lcores work behind it";
}

std::string membership_of(const port::Capabilities& c) {
    switch (c.membership) {
        case port::Membership::kernel_socket:
            return "by the kernel, which joins groups and answers queries";
        case port::Membership::own_host:
            return "by our own IGMP and MLD host; the kernel does not see the port";
        case port::Membership::rules:
            return "by the kernel, through the socket of each endpoint";
        case port::Membership::none:
            break;
    }
    return "not needed: no network is asked for groups";
}

std::uint32_t payload_of(std::uint32_t frame) {
    constexpr std::uint32_t kHeaders = port::kEthernetHeader + port::kIpUdpHeaders + port::kVlanTags;
    return frame > kHeaders ? std::min(frame - kHeaders, port::kMaxPayload) : 0;
}

std::string zero_copy_of(const port::Capabilities& c) {
    if (c.receives_only)
        return "no: the port only receives";
    if (c.corrupts_chains)
        return fmt::format(
            "no: the driver of {} corrupts packets in several buffers, so heaps are copied; update DPDK",
            rte_version());
    if (!c.tx_multi_segment)
        return "no: the device takes a packet in one buffer only, so heaps are copied";
    if (!c.tx_external_buffer)
        return "no: the device works on DPDK's own memory only, so heaps are copied";
    return c.late_free_segments == 0
               ? "yes"
               : fmt::format("yes, but for the last {} segments before a pause, which are copied",
                             c.late_free_segments);
}

}  // namespace

std::vector<Feature> features_of(const PortFacts& port) {
    const port::Capabilities& c = port.capabilities;
    std::vector<Feature> list{
        {"steering", steering_of(c)},
        {"membership", membership_of(c)},
        {"zero-copy sending", zero_copy_of(c)},
        {"interrupt mode", c.rx_interrupt ? "yes" : "no, adaptive instead"},
        {"largest packet", fmt::format("{} bytes of UDP payload received, {} sent, at most",
                                       payload_of(c.max_rx_frame), payload_of(c.max_tx_frame))}};
    list.push_back(
        {"UDP checksums received", (c.rx_offloads & RTE_ETH_RX_OFFLOAD_UDP_CKSUM) != 0
                                       ? "checked by the port"
                                       : "not checked, unless udp_checksum = true (--udp-checksum) "
                                         "has software do it"});
    if (c.lossless)
        list.push_back({"when the receiver is slow", "the sender is slowed down, and nothing is lost"});
    if (c.finite)
        list.push_back({"end", "the source ends, and with it the run"});
    if (c.receives_own)
        list.push_back({"loopback", "sent packets come back: suitable for the loopback command"});
    if (c.needs_peer)
        list.push_back({"peer", "carries nothing until the process at the other end connects"});
    return list;
}

std::string describe(const PortFacts& port) {
    std::string text = port.named + "\n";
    const auto line = [&text](std::string_view name, const std::string& value) {
        if (!value.empty())
            text += fmt::format("  {:<28}{}\n", name, value);
    };
    line("driver", port.pmd.empty() || port.pmd == port.family
                       ? port.family
                       : fmt::format("{} ({})", port.family, port.pmd));
    line("device", port.device);
    if (!port.error.empty()) {
        line("not opened", port.error);
        return text;
    }
    line("network interface", port.netdev);
    line("MAC address", port.mac);
    if (port.address.value != 0)
        line("IPv4 address", to_string(port.address));
    line("link", port.link);
    line("firmware", port.firmware);
    line("NUMA node", port.numa_node < 0 ? "any" : fmt::format("{}", port.numa_node));
    // Of a port that was not opened, the PMD has told nothing.
    if (port.max_rx_queues != 0 || port.max_tx_queues != 0)
        line("queues", fmt::format("receive {}, transmit {}", port.max_rx_queues, port.max_tx_queues));
    if (port.max_rx_descriptors != 0)
        line("descriptors",
             fmt::format("receive {}, transmit {}", port.max_rx_descriptors, port.max_tx_descriptors));
    line("MTU", port.max_mtu == 0 ? fmt::format("{}", port.mtu)
                                  : fmt::format("{}, at most {}", port.mtu, port.max_mtu));
    line("receive offloads",
         port.rx_offloads.empty() ? "none" : fmt::format("{}", fmt::join(port.rx_offloads, " ")));
    line("transmit offloads",
         port.tx_offloads.empty() ? "none" : fmt::format("{}", fmt::join(port.tx_offloads, " ")));
    for (const Feature& feature : features_of(port))
        line(feature.name, feature.how);
    line("kept after the start",
         port.kept.empty() ? "no capability" : fmt::format("{}", fmt::join(port.kept, " ")));
    for (const std::string& remark : port.remarks)
        line("remark", remark);
    return text;
}

nlohmann::ordered_json port_document(const PortFacts& port) {
    nlohmann::ordered_json json{{"port", port.named}, {"driver", port.family}, {"device", port.device}};
    if (!port.error.empty()) {
        json["error"] = port.error;
        return json;
    }
    json["pmd"] = port.pmd;
    json["netdev"] = port.netdev;
    json["mac"] = port.mac;
    json["address"] = port.address.value == 0 ? "" : to_string(port.address);
    json["link"] = port.link;
    json["firmware"] = port.firmware;
    json["numa_node"] = port.numa_node;
    json["queues"] = {{"rx", port.max_rx_queues}, {"tx", port.max_tx_queues}};
    json["descriptors"] = {{"rx", port.max_rx_descriptors}, {"tx", port.max_tx_descriptors}};
    json["tx_segments"] = port.max_tx_segments;
    json["mtu"] = {{"now", port.mtu}, {"max", port.max_mtu}};
    json["rx_offloads"] = port.rx_offloads;
    json["tx_offloads"] = port.tx_offloads;
    json["capabilities"] = capability_document(port.capabilities);
    auto features = nlohmann::ordered_json::object();
    for (const Feature& feature : features_of(port))
        features[feature.name] = feature.how;
    json["features"] = features;
    json["kept_capabilities"] = port.kept;
    json["remarks"] = port.remarks;
    return json;
}

}  // namespace spead::app
