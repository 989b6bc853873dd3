// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "port/device_clock.hpp"
#include "port/gate.hpp"
#include "port/link_guard.hpp"
#include "port/port.hpp"
#include "port/queues.hpp"
#include "port/timestamps.hpp"

/// Holds a Port's objects. Internal to lib/port: port_open.cpp makes it, port_life.cpp starts, stops and
/// tears it down, port.cpp reads it.
namespace spead::port {

inline std::string reason_of(int error) {
    return rte_strerror(error < 0 ? -error : error);
}

struct Port::State {
    explicit State(PlannedPort p)
        : planned(std::move(p)), device(planned.device), name(where(planned.request)) {}
    ~State() { tear_down(); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    struct Written {
        std::uint64_t packets = 0;
        std::uint64_t bytes = 0;
    };

    PlannedPort planned;
    PreparedDevice& device;
    std::string name;  ///< for errors
    std::uint16_t port_id = RTE_MAX_ETHPORTS;
    rte_device* eal_device = nullptr;
    unsigned if_index = 0;
    int socket_id = SOCKET_ID_ANY;
    MacAddress mac{};
    Ipv4 address = kFallbackAddress;
    Capabilities capabilities;
    DeviceClock clock;  ///< once started, where times of the device are used
    std::optional<ArrivalTimes> arrivals;
    SendTimes send_times;
    std::uint64_t next_clock_sample = 0;  ///< cycles
    bool reported_clock = false;
    bool reported_rules = false;
    bool reported_peer = false;
    std::vector<rte_mempool*> pools;
    std::deque<RxState> rx;
    std::deque<TxState> tx;
    std::unique_ptr<Gate> gate;  ///< devices with a peer only
    std::unique_ptr<LinkGuard> guard;
    std::unique_ptr<RuleTable> rules;  ///< while started; null where only software classifies
    std::vector<std::string> remarks;
    bool claimed = false;
    bool applied = false;
    bool attached = false;  ///< the device exists in EAL and is ours to remove
    bool opened = false;    ///< the ethdev port exists
    bool started = false;
    bool waiting = false;  ///< started by the user, but the peer is not there yet
    mutable stats::NicSnapshot nic;
    mutable std::uint64_t kernel_missed = 0;
    std::vector<Written> written_at_start;
    std::vector<Written> written;  ///< since the last start, kept at stop

    /// Marks the device and its netdev as this Port's. Throws Error when another Port has them.
    void claim();
    void give_up_claim();
    void attach();
    void configure();
    void isolate();
    void choose_times(const rte_eth_dev_info& info);
    void start_clock();
    void follow_clock();
    bool sample_clock();
    void make_pools();
    void set_up_queues(const rte_eth_dev_info& info);
    void identify();
    bool try_start(std::string& reason);
    void make_rules();
    void watch_rules();
    void make_gate();
    int in_order(const std::function<int()>& call) const;
    void follow_peer();
    bool device_link() const;
    void rewind();
    void free_leftovers();
    void wait_until_met();
    void wait_until_fetched();
    void stop();
    void tear_down() noexcept;
    void update_nic() const;
    std::vector<Written> count_written() const;
    std::vector<Written> written_now() const;
};

}  // namespace spead::port
