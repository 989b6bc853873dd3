// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.hpp"

/// Which packets the device puts into which receive queue: one interface over rte_flow rules
/// (port/flow_rules.hpp) and the XDP program's map (drivers/xdp_rules.hpp). Where a port has neither, there
/// is one queue and the software classifier, which runs behind the others too.
namespace spead::port {

/// Packets of an endpoint go to a queue.
struct Rule {
    Endpoint endpoint;
    /// Receive queues of the port. Several: the device spreads the endpoint's senders over them (RSS over the
    /// source address); only where RuleTable::spreads().
    std::vector<std::uint16_t> queues;
    std::optional<std::uint16_t> vlan;  ///< only packets of this VLAN; none: tagged or not

    bool operator==(const Rule&) const = default;
};

/// A rule as the device has it.
struct RuleState {
    Rule rule;
    std::string text;  ///< as a person could type it elsewhere (testpmd's `flow create`), or the map's entry
    bool counted = false;
    std::optional<std::uint64_t> hits;  ///< where the device counts them; may be a second old
};

/// UDP packets to one endpoint that no rule took.
struct PassedPackets {
    Endpoint endpoint;  ///< address and port
    Ipv4 source;        ///< of the last of them
    std::uint64_t packets = 0;
};

/// The rules of one started port. Control world, one thread; Port makes it when it starts and clears it
/// before it stops. What throws throws spead::Error naming the rule and the reason, and has then changed
/// nothing.
class RuleTable {
  public:
    virtual ~RuleTable() = default;

    /// Throws when the endpoint has a rule already, or the device refuses it.
    virtual void add(const Rule& rule) = 0;
    /// IGMP and ARP go to the queue, too: an isolated device would keep them from the host that answers for
    /// the port. clear() undoes it. Throws when the device refuses.
    virtual void add_host_rules(std::uint16_t /*queue*/) {}
    /// Does nothing when there is no such rule. The device may deliver a few more packets that it has already
    /// queued.
    virtual void remove(const Endpoint& endpoint) = 0;
    /// Removes all rules, the last one first.
    virtual void clear() noexcept = 0;
    /// In the order in which they were added.
    virtual std::vector<RuleState> rules() const = 0;
    /// What somebody else has done that keeps the rules from working, for the user to read; empty while they
    /// hold. Cheap: asked a few times a second.
    virtual std::string out_of_force() const { return {}; }
    /// What went past the rules since they were made, as far as the device counts it: a bounded number of
    /// endpoints, those that came first.
    virtual std::vector<PassedPackets> passed() const { return {}; }
    /// Whether a rule may name several queues.
    virtual bool spreads() const noexcept { return false; }
};

}  // namespace spead::port
