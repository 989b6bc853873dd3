// SPDX-License-Identifier: BSD-3-Clause
/// Drives net_null: discards sent packets, and makes packets of `size` arbitrary bytes as fast as they are
/// polled.
///
/// Facts (drivers/net/null of DPDK 22.11): tx_burst frees every mbuf with rte_pktmbuf_free, so chains and
/// external buffers are released properly although no offload is reported; copy=1 reads only the first
/// segment; no byte counts.
#include "drivers/common.hpp"
#include "drivers/table.hpp"

namespace spead::drivers {

namespace {

constexpr std::uint64_t kDefaultSize = 64;

class Null final : public port::Driver {
  public:
    std::string_view name() const override { return "net_null"; }
    std::string_view alias() const override { return "eth_null"; }

    port::Capabilities declared() const override {
        port::Capabilities c;
        c.tx_multi_segment = true;
        c.tx_external_buffer = true;
        c.tx_device_memory = true;
        c.splitting = port::Splitting::software;
        c.max_rx_frame = c.max_tx_frame = port::kMaxPayload + port::frame_of(0);
        return c;
    }

    port::PreparedDevice plan(const port::PortRequest& request) const override {
        const auto where = port::where(request);
        auto device = port::DeviceString::parse(request.device, where);
        device.check_keys({"size", "copy", "no-rx"});
        check_mtu(request);
        const std::uint64_t size =
            device.number("size", 1, port::kMaxDataRoom - port::kHeadroom).value_or(kDefaultSize);
        const bool copy = device.number("copy", 0, 1).value_or(0) != 0;
        const bool no_rx = device.number("no-rx", 0, 1).value_or(0) != 0;
        if (copy && no_rx) {
            throw_usage(where, "net_null takes copy=1 or no-rx=1, not both");
        }
        auto plan = start_plan(*this, request, device);
        if (request.rx_queues == 0 && !request.exists && !copy && !device.has("no-rx")) {
            device.add("no-rx", "1");
        }
        if (request.rx_queues > 0 && !no_rx) {
            plan.remarks.push_back(
                fmt::format("{}: {} makes packets of {} arbitrary bytes as fast as they are polled", where,
                            device.name(), size));
        }
        plan.capabilities.tx_device_memory = !copy;
        count_pools(plan, request);
        plan.devargs = device.text();
        plan.rx = port::queue_sizes(request.rx_queues == 0 ? std::uint16_t{0} : std::uint16_t{512},
                                    port::copying_rx_mbufs(1, kPoolCache),
                                    port::data_room_of(static_cast<std::uint32_t>(size)), kPoolCache);
        plan.tx = copying_tx(request);
        return plan;
    }
};

}  // namespace

const port::Driver& null() {
    static const auto& driver = *new const Null;  // threads may use it while the process ends
    return driver;
}

}  // namespace spead::drivers
