// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/endpoint.hpp"
#include "port/capabilities.hpp"

/// What `info` tells of one port: facts, and what follows from them for a user. Pure.
namespace spead::app {

struct PortFacts {
    std::string named;   ///< what the user named it by
    std::string error;   ///< why it could not be opened; then only what the machine tells is known
    std::string family;  ///< "net_mlx5"
    std::string pmd;     ///< as DPDK calls it: "mlx5_pci"
    std::string device;  ///< with its arguments
    std::string netdev;  ///< empty: the kernel does not see it
    std::string mac;
    Ipv4 address;
    int numa_node = -1;  ///< -1: not known, or any
    std::string firmware;
    std::string link;  ///< "up, 100 Gb/s, full duplex"
    std::uint16_t max_rx_queues = 0, max_tx_queues = 0;
    std::uint16_t max_rx_descriptors = 0, max_tx_descriptors = 0;  ///< 0: not told
    std::uint16_t max_tx_segments = 0;
    std::uint32_t mtu = 0, max_mtu = 0;
    std::vector<std::string> rx_offloads, tx_offloads;  ///< DPDK's names, as offered
    port::Capabilities capabilities;
    std::vector<std::string> kept;  ///< "CAP_NET_RAW": what a run keeps of root's power because of it
    std::vector<std::string> remarks;
};

/// A feature of ours and how the port has it, in plain words.
struct Feature {
    std::string name;
    std::string how;
};
std::vector<Feature> features_of(const PortFacts& port);

/// Lines for a terminal.
std::string describe(const PortFacts& port);

nlohmann::ordered_json port_document(const PortFacts& port);

}  // namespace spead::app
