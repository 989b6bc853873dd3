// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "port/capabilities.hpp"
#include "port/steering.hpp"
#include "runtime/plan.hpp"

namespace spead::runtime {

/// Sends one endpoint's packets from a receive queue to these lcores: to one, or, by heap count, to several.
struct Delivery {
    std::size_t receive = 0;     ///< index into Plan::receives
    std::uint16_t endpoint = 0;  ///< index into its endpoints
    std::vector<unsigned> cpus;  ///< of the lcores, not empty; may include the queue's own
    std::uint8_t path = 0;       ///< of the stream, whose endpoint it is

    bool operator==(const Delivery&) const = default;
};

/// Describes one receive queue of a port.
struct QueueLayout {
    std::size_t port = 0;  ///< index into Plan::ports
    std::uint16_t queue = 0;
    unsigned cpu = 0;  ///< of the lcore that polls it
    std::vector<Delivery> deliveries;

    bool operator==(const QueueLayout&) const = default;
};

struct PortRule {
    std::size_t port = 0;
    port::Rule rule;

    bool operator==(const PortRule&) const = default;
};

/// Describes a stream that receives from the port, with its possible lcores.
struct StreamOnPort {
    std::size_t receive = 0;
    std::span<const Endpoint> endpoints;
    std::vector<unsigned> cpus;  ///< in the order of the plan, not empty, none twice
    std::uint8_t path = 0;
    bool has_two_paths = false;
};

/// Returns the plan's streams on the port, in the plan's order, with two paths there twice; disabled ones
/// have no endpoints. `cpus` is in the order of Plan::receives. The plan outlives the result.
std::vector<StreamOnPort> streams_on(const Plan& plan, const std::string& port,
                                     std::span<const std::vector<unsigned>> cpus);

void add_once(std::vector<unsigned>& cpus, unsigned cpu);

struct PortAssignment {
    std::vector<QueueLayout> queues;
    std::vector<PortRule> rules;
    bool by_heap_count = false;  ///< some lcores work behind others' queues
};

/// Assigns the queues and lcores of one port to its streams.
///
/// `cpus`: of all lcores of the port's streams, none twice; the first `queues` of them poll a queue each.
/// Where rules are exact (rte_flow, sockets), a stream's endpoints are assigned to its lcores' queues. Where
/// they are sockets, all sources of a unicast address and port share the queue of the first. If the device
/// can, an endpoint with several lcores of its own is distributed over them by source. Elsewhere any packet
/// may come from any queue. Lcores without a queue of their own work behind one: heaps are distributed to
/// them by heap count. A heap is never split, as long as its packets have one destination and one source. If
/// a stream has two paths, each endpoint has the same lcores on both of them, whatever queues brought it: its
/// heap is one.
PortAssignment assign_queues(std::size_t port, const port::Capabilities& capabilities,
                             std::span<const unsigned> cpus, std::uint16_t queues,
                             std::span<const StreamOnPort> streams, std::optional<std::uint16_t> vlan);

}  // namespace spead::runtime
