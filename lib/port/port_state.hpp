// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rte_ethdev.h>

#include "port/capabilities.hpp"
#include "port/driver.hpp"
#include "port/port.hpp"
#include "port/port_counts.hpp"
#include "port/port_peer.hpp"
#include "port/port_rules.hpp"
#include "port/port_times.hpp"
#include "port/queues.hpp"
#include "port/split_pools.hpp"

/// Holds a Port's objects. Internal to lib/port: port_open.cpp makes it, port_life.cpp starts, stops and
/// tears it down, port.cpp reads it.
namespace spead::port {

/// Holds the parts of a Port, each an idea of its own.
struct Port::State {
    explicit State(PlannedPort p)
        : planned(std::move(p)),
          device(planned.device),
          name(where(planned.request)),
          times(planned.request, device),
          peer(*planned.driver, device),
          counts(*planned.driver, device) {}
    ~State() { tear_down(); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    /// Identifies the port to EAL, the kernel and the network.
    struct Identity {
        std::uint16_t port_id = RTE_MAX_ETHPORTS;
        rte_device* eal_device = nullptr;
        unsigned if_index = 0;
        int socket_id = SOCKET_ID_ANY;
        MacAddress mac{};
        Ipv4 address = kFallbackAddress;
        std::optional<Ipv6> address6{};
    };
    /// Says which steps of open and start were done and are not undone.
    struct Stages {
        bool claimed = false;
        bool applied = false;
        bool attached = false;  ///< the device exists in EAL and is ours to remove
        bool opened = false;    ///< the ethdev port exists
        bool started = false;
    };

    PlannedPort planned;
    PreparedDevice& device;
    std::string name;  ///< for errors
    Identity identity;
    Capabilities capabilities;
    PortTimes times;
    std::vector<rte_mempool*> pools;
    std::unique_ptr<SplitPools> split;  ///< null: packets stay whole
    std::deque<RxState> rx;
    std::deque<TxState> tx;
    PortPeer peer;
    PortRules rules;
    std::vector<std::string> remarks;
    Stages is;
    PortCounts counts;

    /// Marks the device and its netdev as this Port's. Throws Error when another Port has them.
    void claim();
    void give_up_claim();
    void attach();
    void configure();
    void prepare_device_memory();
    void prepare_split(const rte_eth_dev_info& info);
    void isolate();
    void make_pools();
    void set_up_queues(const rte_eth_dev_info& info);
    void identify();
    bool try_start(std::string& reason);
    void make_rules();
    void rewind();
    void free_leftovers();
    void stop();
    void tear_down() noexcept;
    void update_nic();
};

}  // namespace spead::port
