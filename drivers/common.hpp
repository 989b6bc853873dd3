// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "port/device_string.hpp"
#include "port/driver.hpp"
#include "port/sizes.hpp"

/// Holds the code that the driver files share. Internal to drivers/.
namespace spead::drivers {

/// Limits the mbufs in each lcore's cache; a burst of 64 is taken and given back without the pool's ring.
inline constexpr std::uint16_t kPoolCache = 128;

/// Holds the EAL memory of an ethdev and its PMD's own structures, generously.
inline constexpr std::size_t kDeviceBytes = std::size_t{1} << 20;

/// Returns a plan with the names, the requested queue counts, and the family's capabilities.
inline port::PreparedDevice start_plan(const port::Driver& driver, const port::PortRequest& request,
                                       const port::DeviceString& device) {
    port::PreparedDevice plan;
    plan.name = device.name();
    plan.rx_queues = request.rx_queues;
    plan.tx_queues = request.tx_queues;
    plan.capabilities = driver.declared();
    plan.device_bytes = kDeviceBytes;
    return plan;
}

/// Counts the pools. Call it when the queue counts of the device are known.
inline void count_pools(port::PreparedDevice& plan, const port::PortRequest& request) {
    plan.rx_pools = plan.rx_queues == 0 ? std::uint16_t{0} : std::max<std::uint16_t>(1, request.rx_queues);
}

/// Checks that the configuration's MTU lets sent packets through; devices without an MTU of their own check
/// only that.
inline void check_mtu(const port::PortRequest& request) {
    const std::uint32_t needed = port::mtu_of(request.max_tx_packet);
    if (request.mtu != 0 && request.max_tx_packet != 0 && request.mtu < needed) {
        throw_usage(port::where(request),
                    "mtu {} is too small: packets of {} bytes of UDP payload are IP packets of {} bytes",
                    request.mtu, request.named(request.max_tx_packet), needed);
    }
}

/// Returns the largest sent frame; 0 when nothing is sent.
inline std::uint32_t tx_frame(const port::PortRequest& request) {
    if (request.max_tx_packet == 0) {
        return 0;
    }
    return port::frame_of(request.max_tx_packet) + (request.vlan ? port::kVlanTag : 0);
}

/// Returns the transmit queue of a device that has copied or freed a packet when tx_burst returns: nothing
/// stays inside.
inline port::QueueSizes copying_tx(const port::PortRequest& request) {
    return port::queue_sizes(request.tx_queues == 0 ? std::uint16_t{0} : std::uint16_t{512}, 1024,
                             port::data_room_of(tx_frame(request)), kPoolCache);
}

}  // namespace spead::drivers
