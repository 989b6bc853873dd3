// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "port/machine.hpp"

/// Reads PCI network cards from /sys. Control code; nothing throws.
namespace spead::port {

inline constexpr std::uint16_t kMellanox = 0x15b3;

struct PciDevice {
    std::string address;  ///< "0000:03:00.0"
    std::uint16_t vendor = 0;
    bool network = false;              ///< its class is network controller
    std::string driver;                ///< the kernel driver it is bound to; empty: none
    std::vector<std::string> netdevs;  ///< its interfaces, as far as they are in this network namespace
    std::vector<std::string> rdma;     ///< "mlx5_0"
    std::vector<std::string> verbs;    ///< "uverbs0": /dev/infiniband/uverbs0
    int numa_node = -1;                ///< -1: unknown
    std::string iommu_group;           ///< its number; empty: the kernel keeps it behind no IOMMU
    bool iommu = false;                ///< the group is a real one, not vfio's substitute without IOMMU
};

/// Returns whether the kernel driver hands a card to a program: vfio-pci, uio_pci_generic, igb_uio.
bool takes_from_kernel(std::string_view driver);

/// Returns "0000:03:00.0" for that, for "03:00.0" and for "pci:0000:03:00.0", in lower case; absent when the
/// text is no PCI address.
std::optional<std::string> pci_address(std::string_view text);

/// Returns the device at this address (in pci_address()'s form); absent when there is none.
std::optional<PciDevice> pci_device(const Sysfs& files, std::string_view address);

/// Returns the card behind an interface of the kernel; absent when there is none, or /sys does not have it.
std::optional<PciDevice> pci_device_of(const Machine& machine, const NetdevFacts& netdev);

/// Returns all network cards, by address.
std::vector<PciDevice> pci_network_devices(const Sysfs& files);

}  // namespace spead::port
