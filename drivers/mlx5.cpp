// SPDX-License-Identifier: BSD-3-Clause
/// mlx5: ConnectX-4 and later, BlueField, through verbs beside the kernel's driver.
///
/// Facts (drivers/net/mlx5 and doc/guides of DPDK 22.11; not seen on hardware): configuring the port writes
/// rte_eth_conf's MTU to the network interface, so it must be the one the interface is to have. A frame takes
/// one mbuf, and receiving is vectorised, when MTU + 18 bytes fit behind the headroom; otherwise chains.
/// Transmit descriptors count segments, are a power of two and more than 32; a completion is asked for after
/// 32 segments, so up to 31 stay inside until more are sent. Descriptor counts are at most 32768.
///
/// Multi-packet receive queues (mprq_en=1) are for the user to ask for: the card then writes packets into
/// strides of large buffers from a pool of the PMD's own, 4 x buffers of all queues + 32 per queue; they
/// start only from rxqs_min_mprq queues on (12 by default), the stride must be 2048 bytes for jumbo frames
/// because one that holds a whole frame is more than cards have, and there must be more descriptors than
/// strides in a buffer. Packets that end in the next stride's headroom come as two segments, which takes the
/// scatter offload. A packet that is held pins its whole buffer; every packet still takes an mbuf from our
/// pool.
///
/// The engine of flow rules (dv_flow_en=1), inlining (txq_inline_*) and vectors are left as the PMD has them.
/// tx_pp (send scheduling, ConnectX-6 Dx and later; ConnectX-7 can without it): added when it must be there,
/// as a card that lacks it then fails to start; the number is the granularity, 500 ns at least. The clock
/// that packets are stamped with can be read with tx_pp, or where the card shows it; not in isolated mode
/// else.
#include <algorithm>
#include <memory>

#include <rte_ethdev.h>

#include "drivers/common.hpp"
#include "drivers/interface.hpp"
#include "drivers/mlx.hpp"
#include "drivers/netdev_mtu.hpp"
#include "drivers/table.hpp"

namespace spead::drivers {

namespace {

constexpr std::uint16_t kTxDescriptors = 1024;
constexpr std::uint16_t kLateSegments = 31;    // MLX5_TX_COMP_THRESH - 1
constexpr std::uint32_t kMostMtu = 9978;       // of the cards' network interfaces
constexpr const char* kGranularity = "500";    // nanoseconds
constexpr std::uint32_t kLogStrides = 6;       // MLX5_MPRQ_DEFAULT_LOG_STRIDE_NUM
constexpr std::uint32_t kLogStrideBytes = 11;  // MLX5_MPRQ_DEFAULT_LOG_STRIDE_SIZE

class Mlx5 final : public port::Driver {
  public:
    explicit Mlx5(const port::Host& host) : host_(host) {}

    std::string_view name() const override { return "net_mlx5"; }
    bool pci() const override { return true; }
    bool drives(const port::PciDevice& card) const override {
        return card.vendor == port::kMellanox && card.driver == "mlx5_core";
    }

    port::Capabilities declared() const override {
        port::Capabilities c;
        c.steering = port::Steering::rte_flow;
        c.membership = port::Membership::kernel_socket;
        c.isolation = true;
        c.rx_interrupt = true;
        c.spreads_sources = true;
        c.tx_multi_segment = true;
        c.tx_external_buffer = true;
        c.late_free_segments = kLateSegments;
        c.rx_timestamps = port::RxTimestamps::device_clock;
        c.send_on_time = true;
        c.max_rx_frame = c.max_tx_frame = kMostMtu + port::kEthernetHeader + port::kVlanTags;
        c.rx_offloads = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
        return c;
    }

    std::string translate(std::string_view netdev) const override;
    port::PreparedDevice plan(const port::PortRequest& request) const override;
    void apply(port::PreparedDevice& plan) const override { apply_netdev_mtu(plan); }
    void released(const port::PreparedDevice& plan) const noexcept override { restore_netdev_mtu(plan); }

  private:
    port::NetdevFacts netdev_of(const port::PciDevice& card, const std::string& where) const;
    static void plan_mprq(const port::PortRequest& request, port::DeviceString& device,
                          port::PreparedDevice& plan);

    const port::Host& host_;
};

std::string Mlx5::translate(std::string_view netdev) const {
    const auto comma = std::min(netdev.find(','), netdev.size());
    const auto facts = host_.netdev(std::string{netdev.substr(0, comma)});
    const auto card = facts ? port::pci_device_of(host_, *facts) : std::nullopt;
    return card ? card->address + std::string{netdev.substr(comma)} : std::string{};
}

/// In switchdev mode the card's interface stands among those that represent its virtual functions (their
/// physical port is called pf0vf1, its own p0).
port::NetdevFacts Mlx5::netdev_of(const port::PciDevice& card, const std::string& where) const {
    std::vector<std::string> own;
    std::ranges::copy_if(card.netdevs, std::back_inserter(own), [this](const std::string& name) {
        const auto port = host_.files.text(fmt::format("/sys/class/net/{}/phys_port_name", name));
        return !port || port->find("vf") == std::string::npos;
    });
    if (own.empty()) {
        throw_error(where,
                    "{} has no network interface here; is it in another network namespace? `ip link set DEV "
                    "netns ...` moves it",
                    card.address);
    }
    return usable_interface(own.front(), where, host_);
}

void Mlx5::plan_mprq(const port::PortRequest& request, port::DeviceString& device,
                     port::PreparedDevice& plan) {
    const auto where = port::where(request);
    if (device.number("mprq_en", 0, 1).value_or(0) == 0 || request.rx_queues == 0) {
        return;
    }
    recommend(request, device, "rxqs_min_mprq", "1");
    if (plan.eal_mtu + port::kEthernetHeader + 4 + port::kHeadroom > 1U << kLogStrideBytes) {
        recommend(request, device, "mprq_log_stride_size", std::to_string(kLogStrideBytes));
    }
    const auto log_strides =
        static_cast<unsigned>(device.number("mprq_log_stride_num", 0, 16).value_or(kLogStrides));
    const auto log_bytes =
        static_cast<unsigned>(device.number("mprq_log_stride_size", 6, 16).value_or(kLogStrideBytes));
    if (const auto least = device.number("rxqs_min_mprq", 0, 65535).value_or(12); least > request.rx_queues) {
        plan.remarks.push_back(fmt::format(
            "{}: rxqs_min_mprq={} keeps mprq_en=1 off with {} receive queues; give rxqs_min_mprq={}", where,
            least, request.rx_queues, request.rx_queues));
        return;
    }
    if (plan.rx.descriptors <= 1U << log_strides) {
        throw_usage(
            where,
            "mprq_en=1 needs more than {} descriptors (mprq_log_stride_num={}), the queue has {}; raise "
            "--buffer-size or lower mprq_log_stride_num",
            1U << log_strides, log_strides, plan.rx.descriptors);
    }
    const std::size_t buffers = (std::size_t{plan.rx.descriptors} >> log_strides) * request.rx_queues;
    plan.device_bytes += (4 * buffers + 32 * std::size_t{request.rx_queues}) *
                         ((std::size_t{1} << (log_strides + log_bytes)) + 4096);
}

port::PreparedDevice Mlx5::plan(const port::PortRequest& request) const {
    const auto where = port::where(request);
    auto device = port::DeviceString::parse(request.device, where);
    const auto card = usable_card(host_, device, where, "mlx5_core", "mlx5_ib");
    if (device.number("dv_flow_en", 0, 2).value_or(1) == 2) {
        throw_usage(where, "dv_flow_en=2 of {} takes rules through another interface than ours; leave it out",
                    device.name());
    }
    auto plan = start_plan(*this, request, device);
    plan_on_netdev(host_, request, netdev_of(card, where), kTxDescriptors, plan);
    plan_mprq(request, device, plan);
    if (request.send_on_time == port::UseDevice::must) {
        recommend(request, device, "tx_pp", kGranularity);
    }
    // A run of errors must not fill the disk with dumps.
    recommend(request, device, "max_dump_files_num", "1");
    plan.devargs = device.text();
    check_lockable(host_, request, plan);
    return plan;
}

}  // namespace

const port::Driver& mlx5() {
    static const Mlx5 driver{port::this_host()};
    return driver;
}

std::unique_ptr<port::Driver> mlx5_on(const port::Host& host) {
    return std::make_unique<Mlx5>(host);
}

}  // namespace spead::drivers
