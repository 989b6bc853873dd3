// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/mlx.hpp"

#include <algorithm>
#include <linux/capability.h>

#include <fmt/format.h>

#include "drivers/common.hpp"
#include "drivers/netdev_mtu.hpp"

namespace spead::drivers {

namespace {

constexpr std::uint32_t kLeastDescriptors = 256;
constexpr std::uint32_t kMostDescriptors = 8192;

}  // namespace

port::PciDevice usable_card(const port::Host& host, const port::DeviceString& device,
                            const std::string& where, const std::string& kernel_driver,
                            const std::string& verbs_module) {
    const std::string& address = device.name();
    auto card = port::pci_device(host.files, address);
    if (!card) {
        throw_usage(where,
                    "{} is no PCI device of this machine; name the card's network interface or address",
                    address);
    }
    if (card->driver != kernel_driver) {
        throw_error(where,
                    "{} is bound to {}, not to {}: run `modprobe {}`, then `dpdk-devbind.py --bind={} {}`",
                    address, card->driver.empty() ? "no kernel driver" : card->driver, kernel_driver,
                    kernel_driver, kernel_driver, address);
    }
    if (card->rdma.empty()) {
        throw_error(
            where,
            "{} has no RDMA device: run `modprobe {}` (in a container: on the host), which DPDK reaches "
            "the card through",
            address, verbs_module);
    }
    if (card->verbs.empty()) {
        throw_error(where, "{} has no verbs device: run `modprobe ib_uverbs` (in a container: on the host)",
                    address);
    }
    const std::string file = "/dev/infiniband/" + card->verbs.front();
    if (!host.files.exists(file)) {
        throw_error(where, "{} is not there; give it to the container (docker: `--device {}`)", file, file);
    }
    if (!host.files.writable(file)) {
        throw_error(where, "{} cannot be opened for reading and writing: run `chmod 666 {}` or as root", file,
                    file);
    }
    if (!host.capable(CAP_NET_RAW)) {
        throw_error(
            where,
            "{} needs CAP_NET_RAW: run as root, or `setcap cap_net_raw,cap_net_admin,cap_ipc_lock+ep` on "
            "the program",
            address);
    }
    return *std::move(card);
}

void plan_on_netdev(const port::Host& host, const port::PortRequest& request, const port::NetdevFacts& netdev,
                    std::uint16_t tx_descriptors, port::PreparedDevice& plan) {
    plan.netdev = netdev.name;
    plan.pci = true;
    plan.eal_mtu = plan_netdev_mtu(request, netdev, plan, host);
    const std::uint32_t frame = plan.eal_mtu + port::kEthernetHeader + port::kVlanTags;
    plan.capabilities.max_rx_frame = plan.capabilities.max_tx_frame = plan.capabilities.link_frame = frame;
    count_pools(plan, request);
    if (request.rx_queues > 0) {
        const std::uint32_t expected = std::min(port::rx_frame_of(request.max_rx_packet), frame);
        const std::uint32_t descriptors = port::slots_for(request.buffer_size, std::max(expected, 64U),
                                                          kLeastDescriptors, kMostDescriptors);
        // The device holds one mbuf per descriptor; the lcore's bursts need theirs besides.
        plan.rx = port::queue_sizes(static_cast<std::uint16_t>(descriptors),
                                    descriptors + port::copying_rx_mbufs(1, kPoolCache),
                                    port::data_room_of(frame), kPoolCache);
    }
    if (request.tx_queues > 0) {
        plan.tx = port::queue_sizes(tx_descriptors, tx_descriptors + 1024U,
                                    port::data_room_of(tx_frame(request)), kPoolCache);
    }
}

void check_lockable(const port::Host& host, const port::PortRequest& request,
                    const port::PreparedDevice& plan) {
    const std::uint64_t needed = plan.eal_bytes();
    if (const std::uint64_t lockable = host.lockable(); lockable < needed) {
        throw_error(
            port::where(request),
            "{} reaches {} bytes of packet buffers, which are locked in memory, and `ulimit -l` allows "
            "{}: run `ulimit -l unlimited` (LimitMEMLOCK=infinity for systemd), or give the program "
            "CAP_IPC_LOCK",
            plan.name, needed, lockable);
    }
}

void recommend(const port::PortRequest& request, port::DeviceString& device, std::string_view key,
               std::string value) {
    if (!request.exists && !device.has(key)) {
        device.add(key, std::move(value));
    }
}

}  // namespace spead::drivers
