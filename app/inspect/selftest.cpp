// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/selftest.hpp"

#include <optional>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "app/exit_status.hpp"
#include "app/inspect/gpu_send.hpp"
#include "app/inspect/gpu_steps.hpp"
#include "app/inspect/port_look.hpp"
#include "app/inspect/selftest_steps.hpp"
#include "app/inspect/split_steps.hpp"
#include "base/error.hpp"
#include "base/tell.hpp"
#include "drivers/table.hpp"
#include "process/stop_signals.hpp"
#include "runtime/numa.hpp"
#include "spead/eal_start.hpp"

namespace spead::app {

namespace {

/// Holds the EAL memory of the test's sender, beside the port's.
constexpr std::size_t kOwnBytes = std::size_t{32} << 20;

/// Plans the port, with its packets cut after `split` bytes; 0: whole.
port::PlannedPort plan_port(const SelftestOptions& options, const runtime::EalOptions& eal,
                            std::uint32_t split = 0) {
    port::PortRequest request;
    request.name = options.port;
    request.device = options.port;
    request.rx_queues = 2;
    request.fewer_queues_do = true;
    request.interrupts = true;
    request.max_rx_packet = request.max_tx_packet = 1000;
    request.split = split;
    return port::plan_ports({&request, 1}, drivers::table(), eal.devices, port::this_machine(),
                            [](const port::Driver& driver, port::PortRequest& one) {
                                one.tx_queues = driver.declared().receives_only ? 0 : 1;
                            })
        .front();
}

Endpoint destination_of(const SelftestOptions& options) {
    const std::vector<Endpoint> all = parse_endpoints(options.destination);
    if (all.size() != 1 || !all.front().address.is_multicast() || all.front().has_source())
        throw_usage("--to",
                    "`{}` is not one multicast group with a port, as in 239.255.77.77:9 or [ff15::77]:9",
                    options.destination);
    return all.front();
}

/// Tries all steps with whole packets. Ends after the step in which one of the signals came.
Findings try_whole(const SelftestOptions& options, const port::PlannedPort& planned,
                   const Endpoint& destination, PortFacts& facts, const process::StopSignals& signals) {
    Findings found;
    const auto go_on = [&signals] {
        if (signals.came())
            throw Error("interrupted; the other steps were not run");
    };
    std::unique_ptr<port::Port> port;
    try {
        port = port::Port::open(planned);
        fill(facts, *port, *planned.driver);
        found.push_back({Verdict::ok, "open", port->sizes(), {}});
        port->start();
        found.push_back(
            {Verdict::ok, "start", port->capabilities().isolation ? "isolated" : "not isolated", {}});
        go_on();
        append(found, try_rules(*port));
        go_on();
        append(found, try_memory(*port));
        go_on();
        append(found, try_queues(*port));
        go_on();
        port->stop();
        port->start();
        found.push_back({Verdict::ok, "stop and start again", "any number of times", {}});
        go_on();
        if (options.gpu) {
            append(found, try_gpu_send(*port, destination));
            go_on();
        }
        append(found, try_sending(*port, destination));
        port->close();
        for (const std::string& remark : port->remarks())
            found.push_back({Verdict::warn, "remark", remark, {}});
    } catch (const Error& error) {
        found.push_back({Verdict::fail, port ? "port" : "open", error.what(), {}});
    }
    return found;
}

/// Tries to receive packets in two parts, if the driver's cards cut them.
Findings try_cut(const SelftestOptions& options, const port::PlannedPort& planned,
                 const Endpoint& destination, const runtime::EalOptions& eal) {
    if (planned.driver->declared().splitting != port::Splitting::card)
        return {{Verdict::ok, "split", "not tried: no card that cuts packets is behind this driver", {}}};
    Findings found;
    const Finding plan = finding_of("split", [&] {
        found = try_gpu_split(plan_port(options, eal, kTriedSplit), destination);
        return std::string("planned");
    });
    return plan.verdict == Verdict::ok ? found : Findings{plan};
}

/// Prints the findings, behind the facts of a port if there is one. Returns the exit status.
int report(const SelftestOptions& options, const Findings& found, const PortFacts* facts) {
    if (options.json) {
        nlohmann::ordered_json document = findings_document(found);
        if (facts != nullptr)
            document["port"] = port_document(*facts);
        tell(stdout, "{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    } else if (facts != nullptr) {
        tell(stdout, "{}\n{}", describe(*facts), describe(found));
    } else {
        tell(stdout, "{}", describe(found));
    }
    return any_failed(found) ? kFailure : kSuccess;
}

}  // namespace

int selftest(const SelftestOptions& options, const std::vector<std::string>& eal_words) {
    Findings found;
    if (options.gpu)
        found = try_gpu();
    if (options.port.empty())
        return report(options, found, nullptr);
    const Endpoint destination = destination_of(options);
    door::EalStart eal(runtime::EalOptions::parse(eal_words));
    const port::PlannedPort planned = plan_port(options, eal.options());
    PortFacts facts;
    facts.named = options.port;
    facts.family = planned.driver->name();
    facts.device = planned.device.devargs;
    // Ports are opened one after the other. A queue that is cut has two pools, each no larger.
    const std::size_t bytes = (options.gpu ? 2 : 1) * planned.device.eal_bytes() + kOwnBytes;
    const unsigned cpu = runtime::allowed_cpus().front();
    process::StopSignals signals;
    eal.prepare({.memory = {{runtime::eal_node(port::this_machine(), planned, cpu), bytes + bytes / 8}},
                 .lcores = fmt::format("0@{}", cpu),
                 .name = "dpdk-spead-selftest",
                 .bus = runtime::BusNeeds::of({&planned, 1})});
    eal.start();
    append(found, try_whole(options, planned, destination, facts, signals));
    if (options.gpu && !signals.came())
        append(found, try_cut(options, planned, destination, eal.options()));
    signals.give_back();
    return report(options, found, &facts);
}

}  // namespace spead::app
