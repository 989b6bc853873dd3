// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/layout_ports.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "recv/distributor.hpp"
#include "runtime/layout.hpp"
#include "runtime/link_host.hpp"
#include "runtime/next_hops.hpp"
#include "runtime/paths.hpp"

namespace spead::runtime {

namespace {

/// Adds queues for our own host: a transmit queue, and a receive queue for the replies to a
/// sender's requests.
void add_host_queues(const Plan& plan, const port::Driver& driver, port::PortRequest& request) {
    if (driver.declared().membership != port::Membership::own_host)
        return;
    request.tx_queues++;
    request.max_tx_packet = std::max(request.max_tx_packet, LinkHost::kMaxPacket);
    const bool asks = std::any_of(plan.sends.begin(), plan.sends.end(), [&request](const SendPlan& s) {
        return s.port == request.name && needs_next_hops(s);
    });
    if (asks && request.rx_queues == 0) {
        request.rx_queues = 1;
        request.max_rx_packet = LinkHost::kMaxPacket;
    }
}

/// Adds a transmit queue for later senders to a port without senders, if that has no side effects. Some
/// devices make a file per queue, and some peers need the same number of queues.
void add_spare_transmit_queue(const Plan& plan, const port::Driver& driver, port::PortRequest& request) {
    const port::Capabilities c = driver.declared();
    if (plan.runtime.live && request.tx_queues == 0 && !c.finite && !c.needs_peer && !c.receives_only)
        request.tx_queues = 1;
}

/// Holds the number of lcores without a queue of their own that a port has buffers for. If more of them are
/// busy at once, the port may run out of buffers and miss packets.
constexpr std::size_t kMostHolders = 8;

/// Returns the request for a port whose streams run on these CPUs.
port::PortRequest request_of(const Plan& plan, const PortPlan& p, const std::vector<unsigned>& cpus) {
    port::PortRequest request;
    request.name = p.name;
    request.device = p.device;
    request.mtu = p.mtu;
    request.vlan = p.vlan;
    request.timestamps = use_of(p.timestamps);
    check_reassembly(p, cpus);
    if (p.split != 0 && payload_engine(plan, p.name) == HeapEngine::none)
        throw_usage(fmt::format("port {}", p.name),
                    "`split` is {}, and no stream of the port has `gather`, whose engine has the memory for "
                    "payload; give it to all of its streams (--heap-memory), or leave out `split` (--split)",
                    p.split);
    request.reassembled_datagrams = p.reassemble && !cpus.empty() ? p.reassemble_datagrams : 0;
    request.split = cpus.empty() ? 0 : p.split;
    request.max_rx_packet = 0;
    request.rx_queues = static_cast<std::uint16_t>(cpus.size());
    request.fewer_queues_do = true;
    // Every lcore that a stream may move to can hold packets of a queue that another one polls.
    std::vector<unsigned> holders = cpus;
    if (plan.runtime.live && !holders.empty())
        for (const unsigned cpu : plan.runtime.lcores)
            add_once(holders, cpu);
    if (holders.size() > 1)
        request.held_mbufs += static_cast<std::uint32_t>(std::min(holders.size() - 1, kMostHolders)) *
                              recv::Distributor::kRingEntries;
    if (plan.runtime.live && !holders.empty()) {
        request.max_rx_packet = ReceivePlan{}.max_packet_size;
        request.buffer_size = ReceivePlan{}.buffer_size;
    }
    for (const ReceivePlan& r : plan.receives)
        if (receives_on(r, p.name)) {
            request.interrupts |= r.poll == PollMode::interrupt;
            // Each queue may bring all that the stream's filters hold, wherever they run.
            request.held_mbufs +=
                r.held_buffers * static_cast<std::uint32_t>(std::max<std::size_t>(1, r.lcores.size()));
            request.lent_mbufs +=
                r.lend * static_cast<std::uint32_t>(std::max<std::size_t>(1, r.lcores.size()));
            request.max_rx_packet = std::max(request.max_rx_packet, payload_in_ipv4(r));
            request.ipv6 |= payload_in_ipv4(r) != r.max_packet_size;
            request.buffer_size = std::max<std::size_t>(request.buffer_size, r.buffer_size);
        }
    request.gathered_mbufs = gathered_mbufs(plan, p.name, cpus);
    for (const SendPlan& s : plan.sends)
        if (s.port == p.name) {
            request.tx_queues++;
            request.max_tx_packet = std::max(request.max_tx_packet, payload_in_ipv4(s));
            request.ipv6 |= is_ipv6(s);
            request.send_on_time = std::max(request.send_on_time, use_of(s.pacer));
        }
    return request;
}

}  // namespace

HeapEngine payload_engine(const Plan& plan, const std::string& port) {
    for (const ReceivePlan& r : plan.receives)
        if (receives_on(r, port) && r.engine != HeapEngine::none)
            return r.engine;
    return HeapEngine::none;
}

void check_reassembly(const PortPlan& p, const std::vector<unsigned>& cpus) {
    if (p.reassemble && cpus.size() > 1)
        throw_usage(fmt::format("port {}", p.name),
                    "`reassemble` (--reassemble) needs all of the port's streams on one lcore, because the "
                    "fragments of a "
                    "packet have to meet, and they are on CPUs {}; give them one CPU in `lcores` (--lcores), "
                    "or ports of "
                    "their own",
                    fmt::join(cpus, ", "));
}

std::uint32_t gathered_mbufs(const Plan& plan, const std::string& port, const std::vector<unsigned>& cpus) {
    std::set<std::pair<HeapEngine, unsigned>> users;
    for (const ReceivePlan& r : plan.receives) {
        if (!receives_on(r, port) || r.engine == HeapEngine::none)
            continue;
        // Streams that name no lcore share the port's first one.
        if (r.lcores.empty() && !cpus.empty())
            users.emplace(r.engine, cpus.front());
        for (const unsigned cpu : r.lcores)
            users.emplace(r.engine, cpu);
    }
    return static_cast<std::uint32_t>(users.size()) * kGatheredPackets;
}

bool has_own_host(const port::PlannedPort& p) {
    return p.device.capabilities.membership == port::Membership::own_host;
}

/// Returns the memory of the largest later sender: one like those of the plan, or the default one.
std::size_t spare_sender_bytes(const Plan& plan, const port::PlannedPort& port) {
    const std::uint16_t queues = port.request.tx_queues;
    if (!plan.runtime.live || queues == 0 || (has_own_host(port) && queues == 1))
        return 0;
    std::size_t largest = send::Sender::memory_need(sender_config(SendPlan{}, port)).bytes;
    for (const SendPlan& s : plan.sends)
        if (s.port == port.request.name)
            largest = std::max(largest, send::Sender::memory_need(sender_config(s, port)).bytes);
    return largest;
}

std::vector<port::PlannedPort> plan_ports(const Plan& plan, std::size_t first,
                                          std::span<const std::vector<unsigned>> cpus,
                                          std::span<const std::string> eal_devices,
                                          std::span<const port::Driver* const> drivers,
                                          const port::Machine& machine, std::span<const std::string> in_use) {
    std::vector<port::PortRequest> requests;
    for (std::size_t i = first; i < plan.ports.size(); i++)
        requests.push_back(request_of(plan, plan.ports[i], cpus[i]));
    return port::plan_ports(
        requests, drivers, eal_devices, machine,
        [&plan](const port::Driver& driver, port::PortRequest& r) {
            add_spare_transmit_queue(plan, driver, r);
            add_host_queues(plan, driver, r);
        },
        in_use);
}

}  // namespace spead::runtime
