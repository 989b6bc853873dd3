// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/info.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "app/exit_status.hpp"
#include "app/inspect/driver_table.hpp"
#include "app/inspect/format_list.hpp"
#include "app/inspect/gpu_steps.hpp"
#include "app/inspect/port_facts.hpp"
#include "app/inspect/port_look.hpp"
#include "base/error.hpp"
#include "base/mac.hpp"
#include "base/tell.hpp"
#include "drivers/table.hpp"
#include "port/candidates.hpp"
#include "port/netdev.hpp"
#include "port/port.hpp"
#include "process/stop_signals.hpp"
#include "runtime/copy_limits.hpp"
#include "runtime/numa.hpp"
#include "spead/eal_start.hpp"

namespace spead::app {

namespace {

/// Describes a port to examine: a named one, or one found on the machine.
struct Looked {
    PortFacts facts;
    port::PlannedPort planned;  ///< valid if facts.error is empty
    bool usage = false;         ///< the error is in the command line, on every machine
};

/// Describes a port by its plan, before the device exists.
Looked look(const std::string& name, const runtime::EalOptions& eal) {
    Looked looked;
    looked.facts.named = name;
    port::PortRequest request;
    request.timestamps = request.send_on_time = port::UseDevice::if_it_can;
    request.name = name;
    request.device = name;
    // Without a need for large packets nothing outside the process is changed.
    request.max_rx_packet = request.max_tx_packet = 1000;
    try {
        // One queue, as ethdev takes no device without any.
        looked.planned =
            port::plan_ports({&request, 1}, drivers::table(), eal.devices, port::this_machine(),
                             [](const port::Driver& driver, port::PortRequest& one) {
                                 (driver.declared().receives_only ? one.rx_queues : one.tx_queues) = 1;
                             })
                .front();
        looked.facts.family = looked.planned.driver->name();
        looked.facts.device = looked.planned.device.devargs;
        looked.facts.kept = looked.planned.device.kept.names();
    } catch (const Error& error) {
        looked.facts.error = error.what();
        looked.usage = dynamic_cast<const UsageError*>(&error) != nullptr;
    }
    return looked;
}

std::vector<Looked> ports_to_look_at(const InfoOptions& options, const runtime::EalOptions& eal) {
    std::vector<Looked> ports;
    for (const std::string& name : options.ports)
        ports.push_back(look(name, eal));
    if (!options.ports.empty())
        return ports;
    for (const port::Candidate& c : port::candidates(port::this_machine())) {
        if (c.why_not.empty()) {
            ports.push_back(look(c.device, eal));
            continue;
        }
        Looked& looked = ports.emplace_back();
        looked.facts.named = c.device;
        looked.facts.error = fmt::format("{}; name it to show it ({})", c.why_not, port::list_of({c}));
    }
    return ports;
}

/// Fills in the facts of a port that is not opened. Opening would put an XDP program on the interface, which
/// resets the queues of some cards.
void fill_unopened(Looked& looked) {
    PortFacts& facts = looked.facts;
    const port::PreparedDevice& device = looked.planned.device;
    facts.netdev = device.netdev;
    facts.capabilities = device.capabilities;
    facts.remarks = device.remarks;
    facts.remarks.emplace_back("derived from the plan: `info` puts no XDP program on the interface");
    if (const auto netdev = port::netdev_facts(device.netdev)) {
        facts.mac = mac_text(netdev->mac);
        facts.address = netdev->address;
        facts.mtu = netdev->mtu;
        facts.link = netdev_link(*netdev);
    }
}

void open_all(std::vector<Looked>& ports, door::EalStart& eal) {
    std::vector<port::PlannedPort> planned;
    const unsigned cpu = runtime::allowed_cpus().front();
    runtime::EalMemory need{{runtime::node_of_cpu(port::this_machine().files, cpu), std::size_t{28} << 20}};
    for (const Looked& port : ports)
        if (port.facts.error.empty()) {
            planned.push_back(port.planned);
            const std::size_t bytes = port.planned.device.eal_bytes();
            need[runtime::eal_node(port::this_machine(), port.planned, cpu)] += bytes + bytes / 8;
        }
    if (planned.empty())
        return;
    const process::StopSignals signals;
    eal.prepare({.memory = need,
                 .lcores = fmt::format("0@{}", cpu),
                 .name = "dpdk-spead-info",
                 .bus = runtime::BusNeeds::of(planned)});
    eal.start();
    for (Looked& looked : ports) {
        if (!looked.facts.error.empty())
            continue;
        if (signals.came())
            throw Error("info", "interrupted");
        if (looked.planned.device.capabilities.steering == port::Steering::xdp_map) {
            fill_unopened(looked);
            continue;
        }
        try {
            fill(looked.facts, *port::Port::open(looked.planned), *looked.planned.driver);
        } catch (const Error& error) {
            looked.facts.error = error.what();
        }
    }
}

/// Describes the copies of payload of a lone lcore, on the last CPU of this process.
std::string copies() {
    const unsigned cpu = runtime::allowed_cpus().back();
    return runtime::describe_copies(port::this_machine().files, cpu, {cpu});
}

}  // namespace

int info(const InfoOptions& options, const std::vector<std::string>& eal_words) {
    if (options.formats) {
        if (options.json)
            tell(stdout, "{}\n", format_document().dump(2));
        else
            tell(stdout, "{}", format_list());
        return kSuccess;
    }
    if (options.drivers) {
        if (options.json)
            tell(stdout, "{}\n", driver_document(drivers::table()).dump(2));
        else
            tell(stdout, "{}", driver_table(drivers::table()));
        return kSuccess;
    }
    door::EalStart eal(runtime::EalOptions::parse(eal_words));
    std::vector<Looked> ports = ports_to_look_at(options, eal.options());
    open_all(ports, eal);
    if (options.json) {
        auto list = nlohmann::ordered_json::array();
        for (const Looked& port : ports)
            list.push_back(port_document(port.facts));
        nlohmann::ordered_json all{{"version", 1}, {"ports", list}};
        if (options.ports.empty()) {
            all["copies"] = copies();
            all["gpu"] = gpu_document();
        }
        tell(stdout, "{}\n", all.dump(2));
    } else {
        if (ports.empty())
            tell(stdout, "this machine has no Ethernet interface\n");
        for (const Looked& port : ports)
            tell(stdout, "{}{}", &port == &ports.front() ? "" : "\n", describe(port.facts));
        if (options.ports.empty())
            tell(stdout, "\ncopies of payload: {}\nGPU: {}\n", copies(), gpu_text());
    }
    std::erase_if(ports, [](const Looked& port) { return port.facts.error.empty(); });
    if (options.ports.empty() || ports.empty())
        return kSuccess;
    return std::all_of(ports.begin(), ports.end(), [](const Looked& port) { return port.usage; }) ? kUsage
                                                                                                  : kFailure;
}

}  // namespace spead::app
