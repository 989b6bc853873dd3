// SPDX-License-Identifier: BSD-3-Clause
#include "port/rx_events.hpp"

#include <cerrno>

#include <rte_ethdev.h>

#include "base/error.hpp"
#include "port/port.hpp"
#include "port/port_state.hpp"

namespace spead::port {

void RxEvents::arm() const noexcept {
    for (const Part& part : parts_) {
        if (part.armed_by_device) {
            (void)rte_eth_dev_rx_intr_enable(part.port_id, part.queue);
        }
    }
}

void RxEvents::disarm() const noexcept {
    for (const Part& part : parts_) {
        if (part.armed_by_device) {
            (void)rte_eth_dev_rx_intr_disable(part.port_id, part.queue);
        }
    }
}

RxEvents Port::rx_events(std::uint16_t i) const {
    State& s = *state_;
    if (i >= s.rx.size()) {
        throw_error(s.name, "receive queue {} does not exist; there are {}", i, s.rx.size());
    }
    if (!s.is.started || !s.capabilities.rx_interrupt || !s.planned.request.interrupts) {
        return {};
    }
    const auto own = s.planned.driver->event_descriptors(s.device);
    std::vector<RxEvents::Part> parts;
    for (const RxPart& part : s.rx[i].parts) {
        RxEvents::Part event{-1, s.identity.port_id, part.queue, false};
        if (!own) {
            event.fd = rte_eth_dev_rx_intr_ctl_q_get_fd(s.identity.port_id, part.queue);
            // net_tap has nothing to arm: its descriptor is readable whenever packets are there.
            event.armed_by_device = rte_eth_dev_rx_intr_enable(s.identity.port_id, part.queue) != -ENOTSUP;
            (void)rte_eth_dev_rx_intr_disable(s.identity.port_id, part.queue);
        } else if (part.queue < own->size()) {
            event.fd = (*own)[part.queue];
        }
        if (event.fd < 0) {
            return {};
        }
        parts.push_back(event);
    }
    return RxEvents(std::move(parts));
}

}  // namespace spead::port
