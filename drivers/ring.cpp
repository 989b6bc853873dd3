// SPDX-License-Identifier: BSD-3-Clause
/// Drives net_ring: mbufs sent on queue i come back on queue i, through a ring of 1024 entries.
///
/// Facts (drivers/net/ring of DPDK 22.11): chains and external buffers pass through untouched; a full ring
/// makes tx_burst return less. Packets stay in the rings over stop, close and remove, so Port frees them
/// first. Closing frees only the rings of configured receive queues and the others are found again by name,
/// so a device name can be used again. No byte counts; mbuf->port is not set.
#include <algorithm>

#include "drivers/common.hpp"
#include "drivers/table.hpp"

namespace spead::drivers {

namespace {

constexpr std::uint16_t kRingEntries = 1024;
constexpr std::uint16_t kMaxQueues = 16;  // RTE_PMD_RING_MAX_RX_RINGS
/// Limits the device name. A ring is named ETH_RXTX<queue>_<device>, in RTE_RING_NAMESIZE (29) bytes.
constexpr std::size_t kMaxName = 17;
constexpr std::size_t kRingBytes = kRingEntries * 8 + 1024;

class Ring final : public port::Driver {
  public:
    std::string_view name() const override { return "net_ring"; }
    std::string_view alias() const override { return "eth_ring"; }

    /// Returns true: the PMD reports that the rings of an earlier device of the name exist, and uses them.
    bool complains() const override { return true; }

    port::Capabilities declared() const override {
        port::Capabilities c;
        c.tx_multi_segment = true;
        c.tx_external_buffer = true;
        c.tx_device_memory = true;
        c.lossless = true;
        c.receives_own = true;
        c.splitting = port::Splitting::software;
        c.max_rx_frame = c.max_tx_frame = port::kMaxPayload + port::frame_of(0);
        return c;
    }

    port::PreparedDevice plan(const port::PortRequest& request) const override {
        const auto where = port::where(request);
        const auto device = port::DeviceString::parse(request.device, where);
        device.check_keys({"nodeaction"}, {"nodeaction"});
        if (device.name().size() > kMaxName) {
            throw_usage(where,
                        "the device name {} has {} characters, and net_ring allows {}; give a shorter name",
                        device.name(), device.name().size(), kMaxName);
        }
        check_mtu(request);
        if (request.tx_queues > 0 && request.rx_queues == 0) {
            throw_usage(where,
                        "no stream receives from {}, and its packets only come back to it: sending would "
                        "stop after {} packets; add a stream, or use net_null0, which discards packets",
                        device.name(), kRingEntries - 1);
        }
        if (std::max(request.rx_queues, request.tx_queues) > kMaxQueues) {
            throw_usage(where, "{} has {} queues, and {} are needed; use fewer lcores or senders",
                        device.name(), kMaxQueues, std::max(request.rx_queues, request.tx_queues));
        }
        auto plan = start_plan(*this, request, device);
        // A transmit queue without its receive queue would fill up: Port reads surplus queues too.
        plan.rx_queues = std::max(plan.rx_queues, plan.tx_queues);
        count_pools(plan, request);
        plan.devargs = device.text();
        plan.device_bytes += kMaxQueues * kRingBytes;
        // The receive pool is never used: received mbufs are the sender's.
        plan.rx = port::queue_sizes(kRingEntries, 63, 256, 0);
        plan.tx = port::queue_sizes(kRingEntries, 2 * kRingEntries, port::data_room_of(tx_frame(request)),
                                    kPoolCache);
        return plan;
    }
};

}  // namespace

const port::Driver& ring() {
    static const auto& driver = *new const Ring;  // threads may use it while the process ends
    return driver;
}

}  // namespace spead::drivers
