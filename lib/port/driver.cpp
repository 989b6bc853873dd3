// SPDX-License-Identifier: BSD-3-Clause
#include "port/driver.hpp"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "base/error.hpp"
#include "port/buffer_loans.hpp"
#include "port/device_name.hpp"
#include "port/device_string.hpp"
#include "port/split_sizes.hpp"

namespace spead::port {

namespace {

bool names_family(std::string_view device, std::string_view family) {
    return !family.empty() && device.starts_with(family);
}

/// Parses an entry of EAL's own list, which may hold a card's address in its short form.
DeviceString eal_device(const std::string& text) {
    auto device = DeviceString::parse(text, "EAL's --vdev or -a");
    if (auto address = pci_address(device.name())) {
        device.set_name(std::move(*address));
    }
    return device;
}

/// Adds a number: "net_null" -> "net_null0". EAL accepts a bare driver name, but a second one would silently
/// be the first.
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

template <typename Has>
std::string drivers_that(std::span<const Driver* const> table, const Has& has) {
    std::string names;
    for (const Driver* d : table)
        if (has(d->declared()))
            names += (names.empty() ? "" : ", ") + std::string(d->name());
    return names;
}

/// Checks for missing requirements before EAL starts.
void check_times(const PortRequest& request, const Driver& driver, std::span<const Driver* const> table) {
    const Capabilities c = driver.declared();
    if (request.timestamps == UseDevice::must && c.rx_timestamps == RxTimestamps::none)
        throw_usage(where(request),
                    "`timestamps` is \"hardware\", and {} has no times of arrival; of the drivers here {} "
                    "do; use \"auto\" or \"software\"",
                    driver.name(), drivers_that(table, [](const Capabilities& d) {
                        return d.rx_timestamps != RxTimestamps::none;
                    }));
    if (request.send_on_time == UseDevice::must && !c.send_on_time)
        throw_usage(
            where(request),
            "`pacer` is \"hardware\", and {} cannot send packets at a given time; of the drivers here "
            "{} can, with a card that has it; use \"auto\" or \"software\"",
            driver.name(), drivers_that(table, [](const Capabilities& d) { return d.send_on_time; }));
}

/// Refuses reassembly where fragments do not arrive: all but the first lack the UDP port that rules match.
void check_reassembly(const PortRequest& request, const Driver& driver, const Capabilities& c) {
    if (request.reassembled_datagrams == 0 || c.steering == Steering::software)
        return;
    const char* const why =
        c.steering == Steering::sockets
            ? "the kernel's sockets bring whole datagrams already; leave it out"
            : "rules there select packets by their UDP port, which fragments lack, and leave these to the "
              "kernel; let the sender's packets fit every MTU on the way, or use another driver, such as "
              "net_af_packet";
    throw_usage(where(request), "`reassemble` is true, and has no effect on {} ({} steering): {}",
                driver.name(), name_of(c.steering), why);
}

/// Plans the device. If the driver refuses it, the error adds why better families of the interface declined,
/// because that can be easier to fix.
PreparedDevice plan_device(const PortRequest& request, const NamedDevice& named) {
    const auto both = [&named](const std::exception& error) {
        return fmt::format("{}; before {} it was offered to {}", error.what(), named.driver->name(),
                           named.refusals);
    };
    if (named.refusals.empty()) {
        return named.driver->plan(request);
    }
    try {
        return named.driver->plan(request);
    } catch (const UsageError& error) {
        throw UsageError(both(error));
    } catch (const Error& error) {
        throw Error(both(error));
    }
}

/// Has this program cut the packets, for tests, unless a card does it.
void need_split(const PortRequest& request, PreparedDevice& device) {
    if (device.split)
        return;
    if (device.capabilities.splitting != Splitting::software)
        throw_usage(where(request),
                    "`split` is {}, and {} receives packets of other machines that nothing splits; leave out "
                    "`split` (--split)",
                    request.split, device.devargs);
    device.split = software_split(request);
    device.remarks.push_back(fmt::format(
        "{}: no card splits packets of {}: the program copies each into headers and data, which is "
        "for tests, and slower than without `split`",
        where(request), device.name));
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
        if (d->pci()) {
            continue;
        }
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
                                    std::span<const std::string> eal_devices, const Machine& machine,
                                    const AddQueues& add_queues, std::span<const std::string> in_use) {
    std::vector<NamedDevice> named;
    std::vector<DeviceString> devices;
    std::set<std::string> taken(in_use.begin(), in_use.end());
    for (const auto& text : eal_devices) {
        taken.insert(eal_device(text).name());
    }
    for (const auto& request : requests) {
        named.push_back(name_device(request, table, eal_devices, machine));
        devices.push_back(DeviceString::parse(named.back().device, where(request)));
        taken.insert(devices.back().name());
    }

    std::vector<PlannedPort> planned;
    std::set<std::string> used;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        PortRequest request = requests[i];
        DeviceString& device = devices[i];
        const Driver& driver = *named[i].driver;
        device.set_name(numbered(device.name(), driver, taken));
        taken.insert(device.name());
        if (!used.insert(device.name()).second) {
            throw_usage(where(request),
                        "another port already has the device {}; give each port a device of its own",
                        device.name());
        }
        for (const auto& text : eal_devices) {
            const auto vdev = eal_device(text);
            if (vdev.name() != device.name()) {
                continue;
            }
            if (!device.parameters().empty() && device.text() != vdev.text()) {
                throw_usage(where(request),
                            "EAL's {} already makes \"{}\"; name the port {} without parameters",
                            driver.pci() ? "-a" : "--vdev", vdev.text(), device.name());
            }
            device = vdev;
            request.exists = true;
        }
        request.device = device.text();
        if (add_queues) {
            add_queues(driver, request);
        }
        if (request.fewer_queues_do) {
            request.rx_queues = driver.grant_queues(request);
        }
        check_times(request, driver, table);
        check_split(request, driver, table);
        planned.push_back({request, &driver, plan_device(request, named[i])});
        check_reassembly(request, driver, planned.back().device.capabilities);
        if (request.split != 0 && request.rx_queues != 0)
            need_split(request, planned.back().device);
        const std::uint32_t in_the_making =
            request.reassembled_datagrams == 0 ? 0 : reassembly_places(request.reassembled_datagrams);
        planned.back().device.device_bytes += in_the_making * kReassemblyBytes;
        const bool lends = request.lent_mbufs != 0 && !planned.back().device.capabilities.receives_own;
        if (lends) {
            planned.back().loans = std::make_shared<BufferLoans>(request.lent_mbufs);
        } else if (request.lent_mbufs != 0) {
            planned.back().device.remarks.push_back(
                fmt::format("{}: received packets are in the buffers of its senders, which cannot be lent: "
                            "heaps are copied",
                            where(request)));
        }
        if (const std::uint32_t more = request.held_mbufs + request.gathered_mbufs +
                                       in_the_making * kMostFragments + (lends ? request.lent_mbufs : 0);
            more != 0) {
            if (planned.back().device.split)
                add_mbufs(*planned.back().device.split, more);
            QueueSizes& rx = planned.back().device.rx;
            rx = queue_sizes(rx.descriptors, rx.mbufs + more, rx.data_room, rx.cache);
            if (const std::uint32_t slot = planned.back().device.rx_slot; slot != 0) {
                rx.pool_bytes = slot_pool_bytes(rx.mbufs, slot);
            }
        }
        auto& remarks = planned.back().device.remarks;
        remarks.insert(remarks.begin(), named[i].remarks.begin(), named[i].remarks.end());
        const auto& netdev = planned.back().device.netdev;
        for (std::size_t k = 0; k + 1 < planned.size(); ++k) {
            if (!netdev.empty() && planned[k].device.netdev == netdev) {
                throw_usage(where(request),
                            "the network interface {} already belongs to port {}; give each port an "
                            "interface of its own",
                            netdev, planned[k].request.name);
            }
        }
    }
    return planned;
}

}  // namespace spead::port
