// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/endpoint.hpp"
#include "port/capabilities.hpp"

/// Holds the facts of one port that `info` prints, and the features that follow from them. Pure.
namespace spead::app {

struct PortFacts {
    std::string named;   ///< as the user named it
    std::string error;   ///< why it could not be opened; then only facts from the machine are known
    std::string family;  ///< "net_mlx5"
    std::string pmd;     ///< in DPDK: "mlx5_pci"
    std::string device;  ///< with its arguments
    std::string netdev;  ///< empty: the kernel does not see it
    std::string mac;
    Ipv4 address;
    int numa_node = -1;  ///< -1: unknown, or any
    std::string firmware;
    std::string link;  ///< "up, 100 Gb/s, full duplex"
    std::uint16_t max_rx_queues = 0, max_tx_queues = 0;
    std::uint16_t max_rx_descriptors = 0, max_tx_descriptors = 0;  ///< 0: unknown
    std::uint16_t max_tx_segments = 0;
    std::uint32_t mtu = 0, max_mtu = 0;
    std::vector<std::string> rx_offloads, tx_offloads;  ///< DPDK's names, as offered
    port::Capabilities capabilities;
    std::vector<std::string> kept;  ///< "CAP_NET_RAW": capabilities that a run keeps because of it
    std::vector<std::string> remarks;
};

/// Describes a feature of ours and the port's way to provide it, in plain words.
struct Feature {
    std::string name;
    std::string how;
};
std::vector<Feature> features_of(const PortFacts& port);

/// Returns lines for a terminal.
std::string describe(const PortFacts& port);

nlohmann::ordered_json port_document(const PortFacts& port);

}  // namespace spead::app
