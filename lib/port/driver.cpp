// SPDX-License-Identifier: BSD-3-Clause
#include "port/driver.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "port/device_string.hpp"

namespace spead::port {

namespace {

bool names_family(std::string_view device, std::string_view family) {
    return !family.empty() && device.starts_with(family);
}

std::string names_of(std::span<const Driver* const> table) {
    std::vector<std::string_view> names;
    for (const Driver* d : table) {
        names.push_back(d->name());
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

/// The vdev string for what a person may have named otherwise.
std::string translated(const PortRequest& request, std::span<const Driver* const> table) {
    if (find_driver(table, request.device) != nullptr) {
        return request.device;
    }
    for (const Driver* d : table) {
        if (auto text = d->translate(request.device); !text.empty()) {
            return text;
        }
    }
    throw_usage(
        where(request),
        "no driver for the device \"{}\": it is neither a network interface of this machine, nor its IPv4 "
        "address, nor does it start with one of {}",
        request.device, names_of(table));
}

/// "net_null" -> "net_null0": EAL accepts a bare driver name, but a second one would silently be the first.
std::string numbered(const std::string& name, const Driver& driver, const std::set<std::string>& taken) {
    if (name != driver.name() && name != driver.alias()) {
        return name;
    }
    unsigned n = 0;
    while (taken.contains(fmt::format("{}{}", name, n))) {
        ++n;
    }
    return fmt::format("{}{}", name, n);
}

}  // namespace

std::string where(const PortRequest& request) {
    return request.name.empty() ? request.device : fmt::format("port {}", request.name);
}

const Driver* find_driver(std::span<const Driver* const> table, std::string_view device) {
    if (device.starts_with("vdev:")) {
        device.remove_prefix(5);
    }
    device = device.substr(0, device.find(','));
    const Driver* best = nullptr;
    std::size_t length = 0;
    for (const Driver* d : table) {
        for (const std::string_view family : {d->name(), d->alias()}) {
            if (names_family(device, family) && family.size() > length) {
                best = d;
                length = family.size();
            }
        }
    }
    return best;
}

std::vector<PlannedPort> plan_ports(std::span<const PortRequest> requests,
                                    std::span<const Driver* const> table,
                                    std::span<const std::string> eal_vdevs) {
    std::vector<DeviceString> devices;
    std::set<std::string> taken;
    for (const auto& vdev : eal_vdevs) {
        taken.insert(DeviceString::parse(vdev, "EAL's --vdev").name());
    }
    for (const auto& request : requests) {
        devices.push_back(DeviceString::parse(translated(request, table), where(request)));
        taken.insert(devices.back().name());
    }

    std::vector<PlannedPort> planned;
    std::set<std::string> used;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        PortRequest request = requests[i];
        DeviceString& device = devices[i];
        const Driver& driver = *find_driver(table, device.name());
        device.set_name(numbered(device.name(), driver, taken));
        taken.insert(device.name());
        if (!used.insert(device.name()).second) {
            throw_usage(where(request), "the device {} is already another port's; one device is one port",
                        device.name());
        }
        for (const auto& text : eal_vdevs) {
            const auto vdev = DeviceString::parse(text, "EAL's --vdev");
            if (vdev.name() != device.name()) {
                continue;
            }
            if (!device.parameters().empty() && device.text() != vdev.text()) {
                throw_usage(where(request),
                            "EAL's --vdev already makes \"{}\"; name the port {} without parameters",
                            vdev.text(), device.name());
            }
            device = vdev;
            request.exists = true;
        }
        request.device = device.text();
        if (request.fewer_queues_do) {
            request.rx_queues = driver.grant_queues(request);
        }
        planned.push_back({request, &driver, driver.plan(request)});
        if (request.held_mbufs != 0) {
            QueueSizes& rx = planned.back().device.rx;
            rx = queue_sizes(rx.descriptors, rx.mbufs + request.held_mbufs, rx.data_room, rx.cache);
        }
        const auto& netdev = planned.back().device.netdev;
        for (std::size_t k = 0; k + 1 < planned.size(); ++k) {
            if (!netdev.empty() && planned[k].device.netdev == netdev) {
                throw_usage(where(request),
                            "the network interface {} is already that of port {}; one interface is one port",
                            netdev, planned[k].request.name);
            }
        }
    }
    return planned;
}

}  // namespace spead::port
