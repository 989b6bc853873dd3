// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/mlx.hpp"

#include <linux/capability.h>

#include <fmt/core.h>
#include <rte_ethdev.h>

#include "drivers/card.hpp"
#include "drivers/common.hpp"

namespace spead::drivers {

namespace {

constexpr std::uint32_t kMostDescriptors = 8192;

}  // namespace

port::Capabilities MlxDriver::declared() const {
    port::Capabilities c;
    c.steering = port::Steering::rte_flow;
    c.membership = port::Membership::kernel_socket;
    c.isolation = true;
    c.rx_interrupt = true;
    c.tx_multi_segment = true;
    c.max_rx_frame = c.max_tx_frame = generation_.most_mtu + port::kEthernetHeader + port::kVlanTags;
    c.rx_offloads = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
    return c;
}

std::optional<port::PciDevice> MlxDriver::card_of(const std::string& netdev) const {
    const auto facts = machine_.netdev(netdev);
    return facts ? port::pci_device_of(machine_, *facts) : std::nullopt;
}

port::PciDevice MlxDriver::usable_card(const port::DeviceString& device, const std::string& where) const {
    const std::string_view kernel_driver = generation_.kernel_driver;
    const std::string& address = device.name();
    auto card = port::pci_device(machine_.files, address);
    if (!card) {
        throw_error(where,
                    "{} is not a PCI device of this machine; name the card's network interface or address",
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
            where, "{} has no RDMA device, which DPDK needs: run `modprobe {}` (in a container: on the host)",
            address, generation_.verbs_module);
    }
    if (card->verbs.empty()) {
        throw_error(where, "{} has no verbs device: run `modprobe ib_uverbs` (in a container: on the host)",
                    address);
    }
    const std::string file = "/dev/infiniband/" + card->verbs.front();
    if (!machine_.files.exists(file)) {
        throw_error(where, "{} is not there; give it to the container (docker: `--device {}`)", file, file);
    }
    if (!machine_.files.writable(file)) {
        throw_error(where, "{} cannot be opened for reading and writing: run `chmod 666 {}` or as root", file,
                    file);
    }
    if (!machine_.capable(CAP_NET_RAW)) {
        throw_error(
            where,
            "{} needs CAP_NET_RAW: run as root, or `setcap cap_net_raw,cap_net_admin,cap_ipc_lock+ep` on "
            "the program",
            address);
    }
    return *std::move(card);
}

port::PreparedDevice MlxDriver::plan_on(const port::PortRequest& request, const port::DeviceString& device,
                                        const port::NetdevFacts& netdev) const {
    auto plan = start_plan(*this, request, device);
    plan.kept = {CAP_NET_RAW, CAP_NET_ADMIN, CAP_IPC_LOCK};
    plan.netdev = netdev.name;
    plan_card_queues(request, plan_netdev_mtu(request, netdev, plan, machine_), kMostDescriptors, plan);
    return plan;
}

void recommend(const port::PortRequest& request, port::DeviceString& device, std::string_view key,
               std::string value) {
    if (!request.exists && !device.has(key)) {
        device.add(key, std::move(value));
    }
}

}  // namespace spead::drivers
