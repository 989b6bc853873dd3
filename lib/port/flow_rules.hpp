// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "base/mac.hpp"
#include "port/device_calls.hpp"
#include "port/steering.hpp"

namespace spead::port {

/// Steers by rte_flow rules: exact matches of Ethernet destination, [VLAN,] IPv4 destination [and source],
/// UDP destination port, to one queue or several, with COUNT if the device has it. No MARK: software compares
/// the headers anyway, and that finds the stream.
///
/// All rules are in group 0 at priority 0, because they are exact and disjoint. mlx5's kernel side moves
/// multicast rules of group 0 to a priority of its own (linux mlx5_ib, _get_flow_table), which then does not
/// matter. A device that refuses COUNT is not asked for it again. Each rule is validated before it is
/// created.
class FlowRules final : public RuleTable {
  public:
    /// Takes `where`, the start of error messages, and `mac`, the port's own, with which unicast endpoints
    /// are matched. `spreads`: the device has RSS rules over IPv4 addresses.
    FlowRules(std::uint16_t port_id, std::string where, const MacAddress& mac, bool spreads)
        : port_id_(port_id), where_(std::move(where)), mac_(mac), spreads_(spreads) {}
    ~FlowRules() override { clear(); }
    FlowRules(const FlowRules&) = delete;
    FlowRules& operator=(const FlowRules&) = delete;

    void add(const Rule& rule) override;
    void add_host_rules(std::uint16_t queue, bool ipv6) override;
    void use_ipv6() override;
    void remove(const Endpoint& endpoint) override;
    void clear() noexcept override;
    std::vector<RuleState> rules() const override;
    bool spreads() const noexcept override { return spreads_; }

    /// Returns the rule in the words of testpmd's prompt.
    static std::string testpmd_text(std::uint16_t port_id, const Rule& rule, const MacAddress& mac,
                                    bool count);

  private:
    struct Entry {
        Rule rule;
        rte_flow* flow = nullptr;
        bool counted = false;
    };

    struct HostProtocol;
    static const HostProtocol kMldAndNdp;

    bool add_host_rule(const HostProtocol& protocol, bool needed);
    rte_flow* create(const Rule& rule, bool count, rte_flow_error& error) const;
    [[noreturn]] void refuse(const Rule& rule, bool count, const rte_flow_error& error, int number) const;

    std::uint16_t port_id_;
    std::string where_;
    MacAddress mac_;
    bool spreads_;
    bool counts_ = true;  ///< until the device refuses
    std::vector<Entry> entries_;
    std::vector<rte_flow*> host_flows_;
    std::uint16_t host_queue_ = 0;
    bool lacks_ipv6_host_ = false;  ///< a host of the port answers, and the device refused the rule
};

}  // namespace spead::port
