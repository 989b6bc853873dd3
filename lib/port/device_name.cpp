// SPDX-License-Identifier: BSD-3-Clause
#include "port/device_name.hpp"

#include <algorithm>
#include <cctype>
#include <net/if.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "port/candidates.hpp"
#include "port/pci_device.hpp"

namespace spead::port {

namespace {

/// Holds a name and the text after it, comma included.
struct Words {
    std::string name;
    std::string arguments;
};

Words split(std::string_view text) {
    const auto comma = std::min(text.find(','), text.size());
    return {std::string{text.substr(0, comma)}, std::string{text.substr(comma)}};
}

/// Returns whether an interface or an RDMA device of that name can appear later. Names that begin like DPDK's
/// virtual devices are taken for misspelt drivers.
bool may_be_a_device(std::string_view name) {
    const bool valid = !name.empty() && name.size() < IF_NAMESIZE && name != "." && name != ".." &&
                       std::ranges::none_of(name, [](unsigned char c) {
                           return c == '/' || c == ':' || std::isspace(c) != 0;
                       });
    return valid && !name.starts_with("net_") && !name.starts_with("eth_");
}

class Naming {
  public:
    Naming(const PortRequest& request, std::span<const Driver* const> table, const Machine& machine)
        : request_(request), table_(table), machine_(machine), words_(split(request.device)) {}

    NamedDevice find(std::span<const std::string> eal_devices) const {
        const bool of_eal = std::ranges::any_of(
            eal_devices, [&](const std::string& device) { return split(device).name == words_.name; });
        if (const Driver* family = find_driver(table_, request_.device);
            family != nullptr && (of_eal || !words_.arguments.empty() || !machine_.netdev(words_.name))) {
            return {request_.device, family, {}};
        }
        if (machine_.netdev(words_.name)) {
            return netdev(words_.name);
        }
        if (const auto address = address_of(words_.name)) {
            if (const auto name = machine_.netdev_of(*address); !name.empty()) {
                return netdev(name);
            }
            throw_error(where(request_), "no network interface of this machine has the address {}; it has {}",
                        words_.name, list_of(candidates(machine_)));
        }
        if (const auto address = pci_address(words_.name)) {
            return card(*address);
        }
        if (const auto rdma =
                machine_.files.link(fmt::format("/sys/class/infiniband/{}/device", words_.name));
            !rdma.empty() && words_.name.find('/') == std::string::npos) {
            return card(rdma);
        }
        refuse();
    }

  private:
    static std::optional<IpAddress> address_of(const std::string& text) {
        const bool brackets = text.size() > 2 && text.front() == '[' && text.back() == ']';
        try {
            return parse_ip(brackets ? std::string_view(text).substr(1, text.size() - 2) : text);
        } catch (const UsageError&) {
            return std::nullopt;
        }
    }

    const Driver* family_of(const PciDevice& device) const {
        const auto found = std::ranges::find_if(table_, [&](const Driver* d) { return d->drives(device); });
        return found == table_.end() ? nullptr : *found;
    }

    NamedDevice netdev(const std::string& name) const {
        const auto facts = machine_.netdev(name);
        if (const auto device = facts ? pci_device_of(machine_, *facts) : std::nullopt) {
            if (const Driver* family = family_of(*device)) {
                return {family->translate(name + words_.arguments), family, {}};
            }
        }
        std::vector<const Driver*> families;
        std::ranges::copy_if(table_, std::back_inserter(families),
                             [](const Driver* d) { return d->netdev_rank() > 0; });
        std::ranges::stable_sort(families, std::greater<>{}, &Driver::netdev_rank);
        std::vector<std::string> reasons;
        for (const Driver* family : families) {
            const std::string reason = family->why_not(request_, name);
            if (!reason.empty()) {
                reasons.push_back(fmt::format("{}: {}", family->name(), reason));
                continue;
            }
            NamedDevice named{family->translate(name + words_.arguments), family, {}};
            if (reasons.empty() && families.size() > 1) {
                named.remarks.push_back(
                    fmt::format("{}: {} is driven by {}", where(request_), name, family->name()));
            } else if (!reasons.empty()) {
                named.refusals = fmt::format("{}", fmt::join(reasons, "; "));
                named.remarks.push_back(fmt::format("{}: {} is driven by {} ({})", where(request_), name,
                                                    family->name(), named.refusals));
            }
            return named;
        }
        throw_error(where(request_), "no driver can use the network interface {}: {}", name,
                    reasons.empty() ? "none is for interfaces of the kernel"
                                    : fmt::format("{}", fmt::join(reasons, "; ")));
    }

    NamedDevice card(const std::string& address) const {
        const auto device = pci_device(machine_.files, address);
        if (!device) {
            throw_error(where(request_), "there is no PCI device {}; this machine has {}", address,
                        list_of(candidates(machine_)));
        }
        if (!device->network) {
            throw_error(where(request_), "the PCI device {} is not a network card; this machine has {}",
                        address, list_of(candidates(machine_)));
        }
        if (const Driver* family = family_of(*device)) {
            return {address + words_.arguments, family, {}};
        }
        if (device->vendor == kMellanox && takes_from_kernel(device->driver)) {
            throw_error(where(request_),
                        "{} is bound to {}, but a Mellanox card stays with its kernel driver while DPDK uses "
                        "it: run `dpdk-devbind.py --bind=mlx5_core {}` (mlx4_core for a ConnectX-3)",
                        address, device->driver, address);
        }
        const std::string bind = fmt::format(
            "`driverctl set-override {0} vfio-pci` (or `modprobe vfio-pci && dpdk-devbind.py "
            "--bind=vfio-pci {0}`)",
            address);
        if (device->driver.empty()) {
            throw_error(where(request_), "{} is bound to no kernel driver: give it to vfio-pci with {}",
                        address, bind);
        }
        throw_error(where(request_),
                    "{} is bound to the kernel driver {}, which keeps it: name its network interface ({}) to "
                    "go through the kernel, or take it from the kernel with {}",
                    address, device->driver,
                    device->netdevs.empty() ? "none in this network namespace"
                                            : fmt::format("{}", fmt::join(device->netdevs, ", ")),
                    bind);
    }

    [[noreturn]] void refuse() const {
        std::vector<std::string_view> names;
        for (const Driver* d : table_) {
            if (!d->pci()) {
                names.push_back(d->name());
            }
        }
        const std::string what = fmt::format(
            "no driver for the device \"{}\": it is neither a network interface of this machine, nor its IP "
            "address, a PCI address or an RDMA device, nor does it start with one of {}; this machine has {}",
            request_.device, fmt::join(names, ", "), list_of(candidates(machine_)));
        if (may_be_a_device(words_.name))
            throw Error(where(request_), what);
        throw UsageError(where(request_), what);
    }

    const PortRequest& request_;
    std::span<const Driver* const> table_;
    const Machine& machine_;
    Words words_;
};

}  // namespace

NamedDevice name_device(const PortRequest& request, std::span<const Driver* const> table,
                        std::span<const std::string> eal_devices, const Machine& machine) {
    return Naming{request, table, machine}.find(eal_devices);
}

}  // namespace spead::port
