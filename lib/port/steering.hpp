// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.hpp"

/// Selects which packets the device puts into which receive queue: one interface over rte_flow rules
/// (port/flow_rules.hpp) and the XDP program's map (drivers/xdp_rules.hpp). Where a port has neither, there
/// is one queue and the software classifier, which runs behind the others too.
namespace spead::port {

/// Sends packets of an endpoint to a queue.
struct Rule {
    Endpoint endpoint;
    /// Lists receive queues of the port. Several: the device distributes the endpoint's senders over them
    /// (RSS over the source address); only if RuleTable::spreads().
    std::vector<std::uint16_t> queues;
    std::optional<std::uint16_t> vlan;  ///< only packets of this VLAN; none: tagged or not

    bool operator==(const Rule&) const = default;
};

/// Holds a rule of the device.
struct RuleState {
    Rule rule;
    std::string text;  ///< as a user could type it elsewhere (testpmd's `flow create`), or the map's entry
    bool counted = false;
    std::optional<std::uint64_t> hits;  ///< if the device counts them; may be a second old
};

/// Counts UDP packets to one endpoint without a rule.
struct PassedPackets {
    Endpoint endpoint;  ///< address and port
    IpAddress source;   ///< of the last of them
    std::uint64_t packets = 0;
};

/// Holds the rules of one started port. Control code, one thread; Port makes it when it starts and clears it
/// before it stops. Functions throw spead::Error naming the rule and the reason, and have then changed
/// nothing.
class RuleTable {
  public:
    virtual ~RuleTable() = default;

    /// Adds the rule. Throws when the endpoint has a rule already, or the device refuses it.
    virtual void add(const Rule& rule) = 0;
    /// Steers IGMP, ARP, MLD and NDP to the queue, too: an isolated device would keep them from the host that
    /// answers for the port. clear() undoes it. Throws when the device refuses; without `ipv6`, a refusal for
    /// MLD and NDP is passed over.
    virtual void add_host_rules(std::uint16_t /*queue*/, bool /*ipv6*/) {}
    /// Asks again for the rule for MLD and NDP if that was passed over, because the port uses IPv6 from now
    /// on. Throws when the device refuses.
    virtual void use_ipv6() {}
    /// Removes the rule. Does nothing when there is none. The device may deliver a few more packets that it
    /// has already queued.
    virtual void remove(const Endpoint& endpoint) = 0;
    /// Removes all rules, the last one first.
    virtual void clear() noexcept = 0;
    /// Returns the rules in the order in which they were added.
    virtual std::vector<RuleState> rules() const = 0;
    /// Returns why the rules do not work because of another program, for the user; empty while they do.
    /// Cheap: called a few times a second.
    virtual std::string out_of_force() const { return {}; }
    /// Returns packets that had no rule, as far as the device counts them: a limited number of endpoints, the
    /// first ones.
    virtual std::vector<PassedPackets> passed() const { return {}; }
    /// Returns whether a rule may name several queues.
    virtual bool spreads() const noexcept { return false; }
};

}  // namespace spead::port
