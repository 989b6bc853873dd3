// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/queue_assignment.hpp"

#include <algorithm>

#include "runtime/paths.hpp"

namespace spead::runtime {

namespace {

/// Assigns a queue of the port to each of the stream's lcores. Lcores without a queue work behind the others
/// in turn.
class Places {
  public:
    Places(std::span<const unsigned> cpus, std::uint16_t queues) : cpus_(cpus), queues_(queues) {}

    std::uint16_t queue_of(unsigned cpu) const {
        const auto at = static_cast<std::size_t>(std::ranges::find(cpus_, cpu) - cpus_.begin());
        return static_cast<std::uint16_t>(at % queues_);
    }

    /// Returns the stream's queues, in the order of its lcores, none twice.
    std::vector<std::uint16_t> queues_of(const StreamOnPort& stream) const {
        std::vector<std::uint16_t> own;
        for (const unsigned cpu : stream.cpus) {
            if (const std::uint16_t q = queue_of(cpu); std::ranges::find(own, q) == own.end())
                own.push_back(q);
        }
        return own;
    }

    /// Returns the stream's lcores at or behind a queue; where there is none, one of the others in turn.
    std::vector<unsigned> behind(const StreamOnPort& stream, std::uint16_t queue) const {
        std::vector<unsigned> there;
        std::ranges::copy_if(stream.cpus, std::back_inserter(there),
                             [&](unsigned cpu) { return queue_of(cpu) == queue; });
        if (there.empty())
            there.push_back(stream.cpus[queue % stream.cpus.size()]);
        return there;
    }

  private:
    std::span<const unsigned> cpus_;
    std::uint16_t queues_;
};

/// Returns the queue of the endpoint's address and port, if one of the rules has given it one. A unicast
/// address belongs to one socket, whatever the sources; of a group each queue has a socket.
std::optional<std::uint16_t> queue_of_socket(const Endpoint& endpoint, const std::vector<PortRule>& rules) {
    const auto same = std::ranges::find_if(rules, [&endpoint](const PortRule& other) {
        const Endpoint& e = other.rule.endpoint;
        return !endpoint.address.is_multicast() && e.address == endpoint.address && e.port == endpoint.port;
    });
    return same == rules.end() ? std::nullopt : std::optional(same->rule.queues.front());
}

/// Returns the lcores of an endpoint of a stream with two paths: a function of the stream alone. Lcores
/// beyond the number of endpoints help the others out.
std::vector<unsigned> cpus_of_twin(const StreamOnPort& stream, std::size_t endpoint) {
    const std::size_t used = std::min(stream.endpoints.size(), stream.cpus.size());
    std::vector<unsigned> cpus;
    for (std::size_t k = endpoint % used; k < stream.cpus.size(); k += used)
        cpus.push_back(stream.cpus[k]);
    return cpus;
}

/// Steers an endpoint of a stream with two paths to the queue of its first lcore.
std::uint16_t assign_twin(const StreamOnPort& stream, std::size_t endpoint, const Places& places,
                          bool by_socket, PortAssignment& out) {
    std::vector<unsigned> cpus = cpus_of_twin(stream, endpoint);
    std::uint16_t q = places.queue_of(cpus.front());
    if (by_socket)
        q = queue_of_socket(stream.endpoints[endpoint], out.rules).value_or(q);
    out.queues[q].deliveries.push_back(
        {stream.receive, static_cast<std::uint16_t>(endpoint), std::move(cpus), stream.path});
    return q;
}

void assign_by_rules(const StreamOnPort& stream, const Places& places, const port::Capabilities& capabilities,
                     port::Rule rule, std::size_t port, PortAssignment& out) {
    const std::vector<std::uint16_t> own = places.queues_of(stream);
    const std::size_t endpoints = stream.endpoints.size();
    const std::size_t used = std::min(endpoints, own.size());
    for (std::size_t e = 0; e < endpoints; e++) {
        const auto number = static_cast<std::uint16_t>(e);
        rule.endpoint = stream.endpoints[e];
        if (stream.has_two_paths) {
            rule.queues = {
                assign_twin(stream, e, places, capabilities.steering == port::Steering::sockets, out)};
        } else if (capabilities.spreads_sources && endpoints < own.size()) {
            rule.queues = own;
            for (const std::uint16_t q : own)
                out.queues[q].deliveries.push_back(
                    {stream.receive, number, places.behind(stream, q), stream.path});
        } else {
            std::uint16_t q = own[e % used];
            if (capabilities.steering == port::Steering::sockets)
                q = queue_of_socket(rule.endpoint, out.rules).value_or(q);
            rule.queues = {q};
            // Lcores behind queues without an endpoint of their own help out.
            std::vector<unsigned> cpus;
            for (std::size_t k = e % used; k < own.size(); k += used)
                std::ranges::copy(places.behind(stream, own[k]), std::back_inserter(cpus));
            out.queues[q].deliveries.push_back({stream.receive, number, std::move(cpus), stream.path});
        }
        out.rules.push_back({port, rule});
    }
}

}  // namespace

std::vector<StreamOnPort> streams_on(const Plan& plan, const std::string& port,
                                     std::span<const std::vector<unsigned>> cpus) {
    std::vector<StreamOnPort> all;
    for (std::size_t i = 0; i < plan.receives.size(); i++) {
        const ReceivePlan& r = plan.receives[i];
        for_each_path(
            r, [&](std::size_t path, const std::string& of, const std::vector<Endpoint>& endpoints) {
                if (of == port)
                    all.push_back(
                        {i, r.enabled ? std::span<const Endpoint>(endpoints) : std::span<const Endpoint>(),
                         cpus[i], static_cast<std::uint8_t>(path), has_two_paths(r)});
            });
    }
    return all;
}

void add_once(std::vector<unsigned>& cpus, unsigned cpu) {
    if (std::ranges::find(cpus, cpu) == cpus.end())
        cpus.push_back(cpu);
}

PortAssignment assign_queues(std::size_t port, const port::Capabilities& capabilities,
                             std::span<const unsigned> cpus, std::uint16_t queues,
                             std::span<const StreamOnPort> streams, std::optional<std::uint16_t> vlan) {
    PortAssignment out;
    for (std::uint16_t q = 0; q < queues; q++)
        out.queues.push_back({port, q, cpus[q], {}});
    const Places places(cpus, queues);
    for (const StreamOnPort& stream : streams) {
        port::Rule rule;
        rule.vlan = vlan;
        if (port::steers_by_queue(capabilities.steering)) {
            assign_by_rules(stream, places, capabilities, rule, port, out);
            continue;
        }
        for (std::uint16_t q = 0; q < queues; q++)
            rule.queues.push_back(q);
        for (std::size_t e = 0; e < stream.endpoints.size(); e++) {
            for (std::uint16_t q = 0; q < queues; q++)
                out.queues[q].deliveries.push_back(
                    {stream.receive, static_cast<std::uint16_t>(e),
                     stream.has_two_paths ? cpus_of_twin(stream, e) : places.behind(stream, q), stream.path});
            rule.endpoint = stream.endpoints[e];
            if (capabilities.steering != port::Steering::software)
                out.rules.push_back({port, rule});
        }
    }
    for (const QueueLayout& q : out.queues)
        for (const Delivery& d : q.deliveries)
            out.by_heap_count |= d.cpus.size() > 1 || d.cpus.front() != q.cpu;
    return out;
}

}  // namespace spead::runtime
