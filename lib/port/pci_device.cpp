// SPDX-License-Identifier: BSD-3-Clause
#include "port/pci_device.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/core.h>

namespace spead::port {

namespace {

constexpr std::int64_t kNetworkClass = 0x02;  // of 24 bits, the upper 8

bool is_hex(std::string_view text, std::size_t least, std::size_t most) {
    return text.size() >= least && text.size() <= most && std::ranges::all_of(text, [](char c) {
               return std::isxdigit(static_cast<unsigned char>(c)) != 0;
           });
}

/// Returns the interfaces in the device's own directory, or in that of a device on its bus
/// (virtio0/net/eth0).
std::vector<std::string> netdevs_below(const Sysfs& files, const std::string& directory) {
    std::vector<std::string> names = files.list(directory + "/net");
    for (const auto& child : files.list(directory)) {
        if (child.starts_with("virtio")) {
            for (auto& name : files.list(fmt::format("{}/{}/net", directory, child))) {
                names.push_back(std::move(name));
            }
        }
    }
    return names;
}

}  // namespace

bool takes_from_kernel(std::string_view driver) {
    return driver == "vfio-pci" || driver == "uio_pci_generic" || driver == "igb_uio";
}

std::optional<std::string> pci_address(std::string_view text) {
    if (text.starts_with("pci:")) {
        text.remove_prefix(4);
    }
    const auto dot = text.rfind('.');
    if (dot == std::string_view::npos || dot + 2 != text.size() || text[dot + 1] < '0' ||
        text[dot + 1] > '7') {
        return std::nullopt;
    }
    std::array<std::string_view, 3> parts{"0000", {}, {}};
    const std::string_view head = text.substr(0, dot);
    const auto last = head.rfind(':');
    if (last == std::string_view::npos) {
        return std::nullopt;
    }
    parts[2] = head.substr(last + 1);
    const std::string_view front = head.substr(0, last);
    const auto first = front.find(':');
    parts[1] = first == std::string_view::npos ? front : front.substr(first + 1);
    if (first != std::string_view::npos) {
        parts[0] = front.substr(0, first);
    }
    if (!is_hex(parts[0], 4, 8) || !is_hex(parts[1], 2, 2) || !is_hex(parts[2], 2, 2)) {
        return std::nullopt;
    }
    std::string address = fmt::format("{}:{}:{}.{}", parts[0], parts[1], parts[2], text[dot + 1]);
    std::ranges::transform(address, address.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return address;
}

std::optional<PciDevice> pci_device(const Sysfs& files, std::string_view address) {
    const std::string directory = fmt::format("/sys/bus/pci/devices/{}", address);
    if (!files.exists(directory)) {
        return std::nullopt;
    }
    PciDevice device;
    device.address = address;
    device.vendor = static_cast<std::uint16_t>(files.number(directory + "/vendor").value_or(0));
    device.network = files.number(directory + "/class").value_or(0) >> 16 == kNetworkClass;
    device.driver = files.link(directory + "/driver");
    device.netdevs = netdevs_below(files, directory);
    device.rdma = files.list(directory + "/infiniband");
    device.verbs = files.list(directory + "/infiniband_verbs");
    device.numa_node = static_cast<int>(files.number(directory + "/numa_node").value_or(-1));
    device.iommu_group = files.link(directory + "/iommu_group");
    device.iommu = !device.iommu_group.empty() &&
                   files.text(directory + "/iommu_group/name").value_or("") != "vfio-noiommu";
    return device;
}

std::optional<PciDevice> pci_device_of(const Machine& machine, const NetdevFacts& netdev) {
    const std::string directory = fmt::format("/sys/class/net/{}/device", netdev.name);
    if (!machine.sees(netdev) || machine.files.link(directory + "/subsystem") != "pci") {
        return std::nullopt;
    }
    return pci_device(machine.files, machine.files.link(directory));
}

std::vector<PciDevice> pci_network_devices(const Sysfs& files) {
    std::vector<PciDevice> devices;
    for (const auto& address : files.list("/sys/bus/pci/devices")) {
        if (auto device = pci_device(files, address); device && device->network) {
            devices.push_back(std::move(*device));
        }
    }
    return devices;
}

}  // namespace spead::port
