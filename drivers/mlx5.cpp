// SPDX-License-Identifier: BSD-3-Clause
/// Drives mlx5: ConnectX-4 and later, BlueField, through verbs beside the kernel's driver.
///
/// Facts (drivers/net/mlx5 and doc/guides of DPDK 22.11; not seen on hardware): configuring the port writes
/// rte_eth_conf's MTU to the network interface, so it must be the intended one. A frame takes one mbuf, and
/// receiving is vectorised, when MTU + 18 bytes fit behind the headroom; otherwise chains. Transmit
/// descriptors count segments, are a power of two and more than 32; a completion is requested after 32
/// segments, so up to 31 stay inside until more are sent. Descriptor counts are at most 32768.
///
/// Multi-packet receive queues (mprq_en=1) are the user's choice (docs/drivers.md has the reasons). The card
/// then writes packets into strides of large buffers from a pool of the PMD's own, 4 x buffers of all queues
/// + 32 per queue. Descriptors then count strides, and there must be more than a buffer has. As many mbufs of
/// our pool are taken; one goes with each packet. They start only from rxqs_min_mprq queues on (12 by
/// default). A stride of 2048 bytes is requested with jumbo frames, because a stride for a whole frame
/// exceeds the limits of cards: a frame takes as many strides as it fills. If its end lies in the headroom of
/// the next one's stride, the PMD makes that end a second segment, at most 128 bytes (it has the scatter
/// offload). Short packets, and all packets while its pool is empty, are copied into our mbuf, which holds
/// any frame. A held packet pins its whole buffer. For a card without striding queues, and for unsupported
/// numbers, the PMD warns and uses one mbuf per packet. A pool that does not fit memory stops the port.
///
/// `split` is its buffer split: a queue with two segments, of which the first has a length. The PMD pads the
/// segments of a frame to a power of two, and descriptors count them. Only the first has headroom. One such
/// queue turns vectors off for the port, and multi-packet queues. A frame of no more than the first segment's
/// length comes in one mbuf.
///
/// The PMD copies up to 290 bytes of a packet into its descriptor from txqs_min_inline transmit queues on (8
/// by default), going on into the second segment. The CPU must not read memory of a GPU, so both segments of
/// such packets have the flag "mlx5_fine_granularity_inline". The PMD looks for it when the port starts.
/// Cards that need txq_inline_min bytes in the descriptor take these from the headers, which are longer.
///
/// The engine of flow rules (dv_flow_en=1), inlining (txq_inline_*) and vectors keep the PMD's defaults.
/// tx_pp (send scheduling, ConnectX-6 Dx and later; ConnectX-7 can without it) is added when it is required,
/// because a card without it then fails to start. The number is the granularity, 500 ns at least. The clock
/// of packet timestamps can be read with tx_pp, or if the card exposes it; otherwise not in isolated mode.
#include <algorithm>
#include <cstdio>
#include <memory>

#include <rte_errno.h>
#include <rte_mbuf_dyn.h>
#include <rte_pmd_mlx5.h>

#include "drivers/card.hpp"
#include "drivers/common.hpp"
#include "drivers/interface.hpp"
#include "drivers/mlx.hpp"
#include "drivers/table.hpp"
#include "port/split_sizes.hpp"

namespace spead::drivers {

namespace {

constexpr MlxGeneration kConnectX4{"net_mlx5", "mlx5_core", "mlx5_ib", 9978};
constexpr std::uint16_t kLateSegments = 31;        // MLX5_TX_COMP_THRESH - 1
constexpr const char* kGranularity = "500";        // nanoseconds
constexpr std::uint32_t kLogStrides = 6;           // MLX5_MPRQ_DEFAULT_LOG_STRIDE_NUM
constexpr std::uint32_t kLogStrideBytes = 11;      // MLX5_MPRQ_DEFAULT_LOG_STRIDE_SIZE
constexpr std::uint32_t kLeastMprqQueues = 12;     // MLX5_MPRQ_MIN_RXQS
constexpr std::uint32_t kMostDescriptors = 32768;  // 1 << 15, cards' maximum
/// Holds the bytes of a buffer of the PMD's pool beside its strides: 24 for each (rte_mbuf_ext_shared_info),
/// its own head, headroom, the mempool's header and a page's rest.
constexpr std::size_t kPerStride = 32;
constexpr std::size_t kPerBuffer = port::kPage + 512;

class Mlx5 final : public MlxDriver {
  public:
    explicit Mlx5(const port::Machine& machine) : MlxDriver(machine, kConnectX4) {}

    port::Capabilities declared() const override {
        port::Capabilities c = MlxDriver::declared();
        c.spreads_sources = true;
        c.tx_external_buffer = true;
        c.tx_device_memory = true;
        c.late_free_segments = kLateSegments;
        c.rx_timestamps = port::RxTimestamps::device_clock;
        c.send_on_time = true;
        c.splitting = port::Splitting::card;
        return c;
    }

    std::string translate(std::string_view netdev) const override;
    std::uint64_t device_memory_flags() const override;
    port::PreparedDevice plan(const port::PortRequest& request) const override;

  private:
    port::NetdevFacts netdev_of(const port::PciDevice& card, const std::string& where) const;
    static void plan_mprq(const port::PortRequest& request, port::DeviceString& device,
                          port::PreparedDevice& plan);
};

std::string Mlx5::translate(std::string_view netdev) const {
    const auto comma = std::min(netdev.find(','), netdev.size());
    const auto card = card_of(std::string{netdev.substr(0, comma)});
    return card ? card->address + std::string{netdev.substr(comma)} : std::string{};
}

std::uint64_t Mlx5::device_memory_flags() const {
    rte_mbuf_dynflag flag{};
    std::snprintf(flag.name, sizeof flag.name, "%s", RTE_PMD_MLX5_FINE_GRANULARITY_INLINE);
    const int bit = rte_mbuf_dynflag_register(&flag);
    if (bit < 0) {
        throw_error(name().data(), "no mbuf flag is left for {} ({})", flag.name, rte_strerror(rte_errno));
    }
    return std::uint64_t{1} << bit;
}

/// Returns the card's interface. In switchdev mode it is among those that represent its virtual functions
/// (their physical port is called pf0vf1, its own p0).
port::NetdevFacts Mlx5::netdev_of(const port::PciDevice& card, const std::string& where) const {
    std::vector<std::string> own;
    std::ranges::copy_if(card.netdevs, std::back_inserter(own), [this](const std::string& name) {
        const auto port = machine_.files.text(fmt::format("/sys/class/net/{}/phys_port_name", name));
        return !port || port->find("vf") == std::string::npos;
    });
    if (own.empty()) {
        throw_error(where,
                    "{} has no network interface here; is it in another network namespace? `ip link set DEV "
                    "netns ...` moves it",
                    card.address);
    }
    return usable_interface(own.front(), where, machine_);
}

void Mlx5::plan_mprq(const port::PortRequest& request, port::DeviceString& device,
                     port::PreparedDevice& plan) {
    const auto where = port::where(request);
    if (device.number("mprq_en", 0, 1).value_or(0) == 0 || request.rx_queues == 0) {
        return;
    }
    if (request.split != 0)
        throw_usage(where, "mprq_en=1 leaves packets whole, and `split` is {}; leave out one of the two",
                    request.split);
    if (request.gathered_mbufs != 0)
        throw_usage(where,
                    "mprq_en=1 puts packets into memory of the PMD's own, which no engine of `gather` knows; "
                    "leave out mprq_en=1, or `gather` of the port's streams");
    recommend(request, device, "rxqs_min_mprq", "1");
    if (plan.eal_mtu + port::kEthernetHeader + 4 + port::kHeadroom > 1U << kLogStrideBytes) {
        recommend(request, device, "mprq_log_stride_size", std::to_string(kLogStrideBytes));
    }
    const auto log_strides =
        static_cast<unsigned>(device.number("mprq_log_stride_num", 0, 16).value_or(kLogStrides));
    const auto log_bytes =
        static_cast<unsigned>(device.number("mprq_log_stride_size", 6, 16).value_or(kLogStrideBytes));
    if (const auto least = device.number("rxqs_min_mprq", 0, 65535).value_or(kLeastMprqQueues);
        least > request.rx_queues) {
        plan.remarks.push_back(fmt::format(
            "{}: rxqs_min_mprq={} keeps mprq_en=1 off with {} receive queues; give rxqs_min_mprq={}", where,
            least, request.rx_queues, request.rx_queues));
        return;
    }
    plan.rx = card_rx_queue(
        port::slots_for(request.buffer_size, 1U << log_bytes, kLeastCardDescriptors, kMostDescriptors),
        plan.capabilities.max_rx_frame);
    if (plan.rx.descriptors <= 1U << log_strides) {
        throw_usage(where,
                    "mprq_en=1 needs more than {} descriptors (mprq_log_stride_num={}), and the queue has "
                    "{}; raise --buffer-size or lower mprq_log_stride_num",
                    1U << log_strides, log_strides, plan.rx.descriptors);
    }
    const std::size_t buffers = (std::size_t{plan.rx.descriptors} >> log_strides) * request.rx_queues;
    plan.device_bytes += (4 * buffers + 32 * std::size_t{request.rx_queues}) *
                         ((((std::size_t{1} << log_bytes) + kPerStride) << log_strides) + kPerBuffer);
}

port::PreparedDevice Mlx5::plan(const port::PortRequest& request) const {
    const auto where = port::where(request);
    auto device = port::DeviceString::parse(request.device, where);
    const auto card = usable_card(device, where);
    if (device.number("dv_flow_en", 0, 2).value_or(1) == 2) {
        throw_usage(where, "dv_flow_en=2 of {} needs another rule interface than the program's; leave it out",
                    device.name());
    }
    auto plan = plan_on(request, device, netdev_of(card, where));
    plan_mprq(request, device, plan);
    if (request.split != 0 && request.rx_queues != 0) {
        plan.split = port::card_split(request, plan.capabilities.max_rx_frame, kMostDescriptors, plan.rx);
    }
    if (request.send_on_time == port::UseDevice::must) {
        recommend(request, device, "tx_pp", kGranularity);
    }
    // A run of errors must not fill the disk with dumps.
    recommend(request, device, "max_dump_files_num", "1");
    plan.devargs = device.text();
    check_lockable(machine_, request, plan);
    return plan;
}

}  // namespace

const port::Driver& mlx5() {
    static const auto& driver =
        *new const Mlx5{port::this_machine()};  // threads may use it while the process ends
    return driver;
}

std::unique_ptr<port::Driver> mlx5_on(const port::Machine& machine) {
    return std::make_unique<Mlx5>(machine);
}

}  // namespace spead::drivers
