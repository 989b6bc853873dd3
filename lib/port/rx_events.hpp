// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace spead::port {

/// What an lcore can wait for on one receive queue of a Port, instead of polling it.
///
/// Made by Port::rx_events() once the port is started, and of no use after it is stopped. Copies are equal;
/// the queue's lcore calls arm() and disarm(). The way to wait, without missing a packet: arm(), poll once
/// more, wait until one of the descriptors is readable, disarm() (DPDK's l3fwd-power does it so).
class RxEvents {
  public:
    /// One queue of the device.
    struct Part {
        int fd = -1;
        std::uint16_t port_id = 0;
        std::uint16_t queue = 0;
        /// rte_eth_dev_rx_intr_enable; the descriptor becomes readable then and stays so: wait for the edge.
        /// Else it is readable whenever packets are there.
        bool armed_by_device = false;
    };

    RxEvents() = default;
    explicit RxEvents(std::vector<Part> parts) : parts_(std::move(parts)) {}

    /// False: the port has nothing to wait for, poll it.
    explicit operator bool() const noexcept { return !parts_.empty(); }
    const std::vector<Part>& parts() const noexcept { return parts_; }

    void arm() const noexcept;
    /// What the device says of it does not matter: mlx5 answers -EAGAIN when there was no event.
    void disarm() const noexcept;

  private:
    std::vector<Part> parts_;
};

}  // namespace spead::port
