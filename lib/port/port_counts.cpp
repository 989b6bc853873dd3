// SPDX-License-Identifier: BSD-3-Clause
#include "port/port_counts.hpp"

#include <cstddef>

#include <rte_ethdev.h>

#include "port/device_calls.hpp"

namespace spead::port {

void PortCounts::update(std::uint16_t port_id) {
    rte_eth_stats stats{};
    if (device_calls().stats(port_id, stats) != 0) {
        return;
    }
    kernel_missed_ += driver_.take_missed(device_);
    nic_.missed = stats.imissed + kernel_missed_;
    nic_.no_mbuf = stats.rx_nombuf;
    nic_.errors = stats.ierrors + stats.oerrors;
    nic_.send_errors = stats.oerrors;
}

void PortCounts::restart(std::uint16_t port_id) {
    at_start_ = read_written(port_id);
    kept_.clear();
}

void PortCounts::keep_written(std::uint16_t port_id) {
    kept_ = written_since_start(port_id);
}

std::vector<PortCounts::Written> PortCounts::written_since_start(std::uint16_t port_id) const {
    std::vector<Written> counts = read_written(port_id);
    for (std::size_t q = 0; q < counts.size() && q < at_start_.size(); ++q) {
        counts[q].packets -= at_start_[q].packets;
        counts[q].bytes -= at_start_[q].bytes;
    }
    return counts;
}

std::vector<PortCounts::Written> PortCounts::read_written(std::uint16_t port_id) const {
    std::vector<Written> counts;
    rte_eth_stats stats{};
    if (device_.outputs.empty() || device_calls().stats(port_id, stats) != 0) {
        return counts;
    }
    for (std::uint16_t q = 0; q < device_.tx_queues && q < RTE_ETHDEV_QUEUE_STAT_CNTRS; ++q) {
        counts.push_back({stats.q_opackets[q], stats.q_obytes[q]});
    }
    return counts;
}

}  // namespace spead::port
