// SPDX-License-Identifier: BSD-3-Clause
#include "port/flow_rules.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "base/ipv6_bytes.hpp"
#include "wire/net.hpp"

namespace spead::port {

namespace {

/// Holds an exact mask. DPDK hides its default masks from C++, and they would match every field.
constexpr rte_be32_t kAllBits32 = 0xFFFFFFFF;
constexpr rte_be16_t kAllBits16 = 0xFFFF;
constexpr rte_be16_t kVlanIdBits = byte_swap(std::uint16_t{0x0FFF});

MacAddress destination_mac(const IpAddress& address, const MacAddress& own) {
    if (!address.is_multicast())
        return own;
    return wire::multicast_mac_of(address);
}

/// Holds a rule in rte_flow's form. The pattern and the actions point into the object, which must not move.
class FlowTexts {
  public:
    FlowTexts(const Rule& rule, const MacAddress& mac, bool count) : queues_(rule.queues) {
        const MacAddress destination = destination_mac(rule.endpoint.address, mac);
        std::copy(destination.begin(), destination.end(), spec_.eth.hdr.dst_addr.addr_bytes);
        std::fill_n(mask_.eth.hdr.dst_addr.addr_bytes, RTE_ETHER_ADDR_LEN, std::uint8_t{0xFF});
        spec_.vlan.hdr.vlan_tci = byte_swap(rule.vlan.value_or(0));
        mask_.vlan.hdr.vlan_tci = kVlanIdBits;
        set_addresses(rule.endpoint);
        spec_.udp.hdr.dst_port = byte_swap(rule.endpoint.port);
        mask_.udp.hdr.dst_port = kAllBits16;

        item(RTE_FLOW_ITEM_TYPE_ETH, &spec_.eth, &mask_.eth);
        if (rule.vlan) {
            item(RTE_FLOW_ITEM_TYPE_VLAN, &spec_.vlan, &mask_.vlan);
        }
        if (rule.endpoint.address.is_v4())
            item(RTE_FLOW_ITEM_TYPE_IPV4, &spec_.ip, &mask_.ip);
        else
            item(RTE_FLOW_ITEM_TYPE_IPV6, &spec_.ip6, &mask_.ip6);
        item(RTE_FLOW_ITEM_TYPE_UDP, &spec_.udp, &mask_.udp);
        item(RTE_FLOW_ITEM_TYPE_END, nullptr, nullptr);

        if (count) {
            action(RTE_FLOW_ACTION_TYPE_COUNT, &count_);
        }
        if (queues_.size() == 1) {
            queue_.index = queues_.front();
            action(RTE_FLOW_ACTION_TYPE_QUEUE, &queue_);
        } else {
            rss_.func = RTE_ETH_HASH_FUNCTION_DEFAULT;
            rss_.types = (rule.endpoint.address.is_v4() ? RTE_ETH_RSS_IPV4 : RTE_ETH_RSS_IPV6) |
                         RTE_ETH_RSS_L3_SRC_ONLY;
            rss_.queue_num = static_cast<std::uint32_t>(queues_.size());
            rss_.queue = queues_.data();
            action(RTE_FLOW_ACTION_TYPE_RSS, &rss_);
        }
        action(RTE_FLOW_ACTION_TYPE_END, nullptr);
    }
    FlowTexts(const FlowTexts&) = delete;
    FlowTexts& operator=(const FlowTexts&) = delete;

    const rte_flow_item* pattern() const { return pattern_.data(); }
    const rte_flow_action* actions() const { return actions_.data(); }

  private:
    void set_addresses(const Endpoint& endpoint) {
        if (endpoint.address.is_v6()) {
            store_ipv6(&spec_.ip6.hdr.dst_addr, endpoint.address.v6());
            std::memset(&mask_.ip6.hdr.dst_addr, 0xFF, sizeof mask_.ip6.hdr.dst_addr);
            if (endpoint.has_source()) {
                store_ipv6(&spec_.ip6.hdr.src_addr, endpoint.source.v6());
                std::memset(&mask_.ip6.hdr.src_addr, 0xFF, sizeof mask_.ip6.hdr.src_addr);
            }
            return;
        }
        spec_.ip.hdr.dst_addr = byte_swap(endpoint.address.v4().value);
        mask_.ip.hdr.dst_addr = kAllBits32;
        if (endpoint.has_source()) {
            spec_.ip.hdr.src_addr = byte_swap(endpoint.source.v4().value);
            mask_.ip.hdr.src_addr = kAllBits32;
        }
    }
    void item(rte_flow_item_type type, const void* spec, const void* mask) {
        pattern_[items_++] = {type, spec, nullptr, mask};
    }
    void action(rte_flow_action_type type, const void* conf) { actions_[action_count_++] = {type, conf}; }

    struct Headers {
        rte_flow_item_eth eth{};
        rte_flow_item_vlan vlan{};
        rte_flow_item_ipv4 ip{};
        rte_flow_item_ipv6 ip6{};
        rte_flow_item_udp udp{};
    };
    Headers spec_;
    Headers mask_;
    rte_flow_action_count count_{};
    rte_flow_action_queue queue_{};
    rte_flow_action_rss rss_{};
    const std::vector<std::uint16_t>& queues_;
    std::array<rte_flow_item, 5> pattern_{};
    std::array<rte_flow_action, 3> actions_{};
    std::size_t items_ = 0;
    std::size_t action_count_ = 0;
};

rte_flow_attr ingress() {
    rte_flow_attr attributes{};
    attributes.ingress = 1;
    return attributes;
}

bool unsupported(int number) {
    return number == ENOTSUP || number == ENOSYS;
}

std::string remedy(int number) {
    switch (number) {
        case EPERM:
        case EACCES:
            return "; run as root, or `setcap cap_net_raw,cap_net_admin+ep` on the program";
        case ENOSPC:
        case ENOMEM:
            return "; the device has no room for more rules: receive fewer endpoints on this port";
        case EEXIST:
            return "; another program, or an earlier one that was killed, has such a rule";
        default:
            return "; try the rule at the prompt of dpdk-testpmd";
    }
}

}  // namespace

std::string FlowRules::testpmd_text(std::uint16_t port_id, const Rule& rule, const MacAddress& mac,
                                    bool count) {
    std::string text = fmt::format("flow create {} ingress pattern eth dst is {} /", port_id,
                                   mac_text(destination_mac(rule.endpoint.address, mac)));
    if (rule.vlan) {
        text += fmt::format(" vlan vid is {} /", *rule.vlan);
    }
    const std::string_view ip = rule.endpoint.address.is_v4() ? "ipv4" : "ipv6";
    text += fmt::format(" {} dst is {}", ip, to_string(rule.endpoint.address));
    if (rule.endpoint.has_source()) {
        text += fmt::format(" src is {}", to_string(rule.endpoint.source));
    }
    text += fmt::format(" / udp dst is {} / end actions", rule.endpoint.port);
    if (count) {
        text += " count /";
    }
    if (rule.queues.size() == 1) {
        text += fmt::format(" queue index {}", rule.queues.front());
    } else {
        text += fmt::format(" rss types {} l3-src-only end queues {} end", ip, fmt::join(rule.queues, " "));
    }
    return text + " / end";
}

rte_flow* FlowRules::create(const Rule& rule, bool count, rte_flow_error& error) const {
    const FlowTexts texts(rule, mac_, count);
    error = {};
    if (const int result =
            device_calls().flow_validate(port_id_, ingress(), texts.pattern(), texts.actions(), error);
        result != 0) {
        rte_errno = -result;
        return nullptr;
    }
    return device_calls().flow_create(port_id_, ingress(), texts.pattern(), texts.actions(), error);
}

void FlowRules::refuse(const Rule& rule, bool count, const rte_flow_error& error, int number) const {
    throw_error(where_, "the device refuses the rule for {}: {} ({}): {}{}", to_string(rule.endpoint),
                error.message == nullptr ? "no reason given" : error.message, rte_strerror(number),
                testpmd_text(port_id_, rule, mac_, count), remedy(number));
}

void FlowRules::add(const Rule& rule) {
    if (std::ranges::any_of(entries_, [&](const Entry& e) { return e.rule.endpoint == rule.endpoint; })) {
        throw_error(where_, "{} already has a rule", to_string(rule.endpoint));
    }
    if (rule.queues.empty() || (rule.queues.size() > 1 && !spreads_)) {
        throw_error(where_,
                    "the rule for {} names {} queues, and this device supports one queue for an endpoint",
                    to_string(rule.endpoint), rule.queues.size());
    }
    if (rule.endpoint.address.is_v6()) {
        use_ipv6();
    }
    bool count = counts_;
    rte_flow_error error{};
    rte_flow* flow = create(rule, count, error);
    if (flow == nullptr && count && unsupported(rte_errno)) {
        count = false;
        flow = create(rule, count, error);
    }
    if (flow == nullptr) {
        refuse(rule, count, error, rte_errno);
    }
    counts_ = count;
    entries_.push_back({rule, flow, count});
}

/// Describes the packets that a host of the program answers.
struct FlowRules::HostProtocol {
    const char* name;
    std::uint16_t ether_type;
    std::uint8_t ip_protocol;  ///< 0: ignored
};

constexpr FlowRules::HostProtocol FlowRules::kMldAndNdp{"MLD and NDP", wire::kEtherTypeIpv6,
                                                        wire::kProtocolIcmp6};

/// Makes a rule for the port's own host. Returns false when it is not `needed`, and the device refuses it.
bool FlowRules::add_host_rule(const HostProtocol& protocol, bool needed) {
    rte_flow_item_eth eth{};
    rte_flow_item_eth eth_mask{};
    eth.hdr.ether_type = byte_swap(protocol.ether_type);
    eth_mask.hdr.ether_type = kAllBits16;
    rte_flow_item_ipv4 ip{};
    rte_flow_item_ipv4 ip_mask{};
    ip.hdr.next_proto_id = protocol.ip_protocol;
    ip_mask.hdr.next_proto_id = 0xFF;
    rte_flow_item_ipv6 ip6{};
    rte_flow_item_ipv6 ip6_mask{};
    ip6.hdr.proto = protocol.ip_protocol;
    ip6_mask.hdr.proto = 0xFF;
    const rte_flow_item end{RTE_FLOW_ITEM_TYPE_END, nullptr, nullptr, nullptr};
    const rte_flow_item network = protocol.ether_type == wire::kEtherTypeIpv6
                                      ? rte_flow_item{RTE_FLOW_ITEM_TYPE_IPV6, &ip6, nullptr, &ip6_mask}
                                      : rte_flow_item{RTE_FLOW_ITEM_TYPE_IPV4, &ip, nullptr, &ip_mask};
    const std::array pattern{rte_flow_item{RTE_FLOW_ITEM_TYPE_ETH, &eth, nullptr, &eth_mask},
                             protocol.ip_protocol == 0 ? end : network, end};
    const rte_flow_action_queue to{host_queue_};
    const std::array actions{rte_flow_action{RTE_FLOW_ACTION_TYPE_QUEUE, &to},
                             rte_flow_action{RTE_FLOW_ACTION_TYPE_END, nullptr}};
    rte_flow_error error{};
    int number = -device_calls().flow_validate(port_id_, ingress(), pattern.data(), actions.data(), error);
    rte_flow* flow = nullptr;
    if (number == 0) {
        flow = device_calls().flow_create(port_id_, ingress(), pattern.data(), actions.data(), error);
        number = rte_errno;
    }
    if (flow != nullptr) {
        host_flows_.push_back(flow);
        return true;
    }
    if (needed) {
        throw_error(where_, "the device refuses the rule for {}, which the program answers itself: {} ({}){}",
                    protocol.name, error.message == nullptr ? "no reason given" : error.message,
                    rte_strerror(number), remedy(number));
    }
    return false;
}

void FlowRules::add_host_rules(std::uint16_t queue, bool ipv6) {
    host_queue_ = queue;
    (void)add_host_rule({"ARP", wire::kEtherTypeArp, 0}, true);
    (void)add_host_rule({"IGMP", wire::kEtherTypeIpv4, wire::kProtocolIgmp}, true);
    lacks_ipv6_host_ = !add_host_rule(kMldAndNdp, ipv6);
}

void FlowRules::use_ipv6() {
    if (lacks_ipv6_host_) {
        lacks_ipv6_host_ = !add_host_rule(kMldAndNdp, true);
    }
}

void FlowRules::remove(const Endpoint& endpoint) {
    const auto entry =
        std::ranges::find_if(entries_, [&](const Entry& e) { return e.rule.endpoint == endpoint; });
    if (entry == entries_.end()) {
        return;
    }
    rte_flow_error error{};
    if (const int result = device_calls().flow_destroy(port_id_, entry->flow, error); result != 0) {
        throw_error(where_, "the device cannot remove the rule for {}: {} ({})", to_string(endpoint),
                    error.message == nullptr ? "no reason given" : error.message, rte_strerror(-result));
    }
    entries_.erase(entry);
}

void FlowRules::clear() noexcept {
    while (!entries_.empty()) {
        rte_flow_error error{};
        (void)device_calls().flow_destroy(port_id_, entries_.back().flow, error);
        entries_.pop_back();
    }
    for (; !host_flows_.empty(); host_flows_.pop_back()) {
        rte_flow_error error{};
        (void)device_calls().flow_destroy(port_id_, host_flows_.back(), error);
    }
    lacks_ipv6_host_ = false;
}

std::vector<RuleState> FlowRules::rules() const {
    std::vector<RuleState> states;
    for (const Entry& e : entries_) {
        RuleState state{e.rule, testpmd_text(port_id_, e.rule, mac_, e.counted), e.counted, {}};
        if (e.counted) {
            rte_flow_error error{};
            rte_flow_query_count counts{};
            const rte_flow_action_count conf{};
            const rte_flow_action action{RTE_FLOW_ACTION_TYPE_COUNT, &conf};
            if (device_calls().flow_query(port_id_, e.flow, action, &counts, error) == 0 &&
                counts.hits_set != 0) {
                state.hits = counts.hits;
            }
        }
        states.push_back(std::move(state));
    }
    return states;
}

}  // namespace spead::port
