// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace spead::port {

/// Holds the events that an lcore can wait for on one receive queue of a Port, instead of polling it.
///
/// Made by Port::rx_events() once the port is started; unusable after it is stopped. Copies are equal; the
/// queue's lcore calls arm() and disarm(). To wait without missing a packet: arm(), poll once more, wait
/// until one of the descriptors is readable, disarm() (as DPDK's l3fwd-power does).
class RxEvents {
  public:
    /// Holds one queue of the device.
    struct Part {
        int fd = -1;
        std::uint16_t port_id = 0;
        std::uint16_t queue = 0;
        /// Says that rte_eth_dev_rx_intr_enable arms it; the descriptor then becomes readable and stays so:
        /// wait for the edge. Otherwise it is readable whenever packets are there.
        bool armed_by_device = false;
    };

    RxEvents() = default;
    explicit RxEvents(std::vector<Part> parts) : parts_(std::move(parts)) {}

    /// Returns false when the port has no event: poll it.
    explicit operator bool() const noexcept { return !parts_.empty(); }
    const std::vector<Part>& parts() const noexcept { return parts_; }

    void arm() const noexcept;
    /// Disarms the events. The device's result does not matter: mlx5 answers -EAGAIN when there was no event.
    void disarm() const noexcept;

  private:
    std::vector<Part> parts_;
};

}  // namespace spead::port
