// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "base/byte_order.hpp"
#include "base/endpoint.hpp"
#include "base/mac.hpp"
#include "drivers/table.hpp"
#include "port/device_calls.hpp"
#include "port/driver.hpp"

/// Stands in for a card, for tests of features that only a card has.
namespace spead::port::test {

/// Writes down the calls in their order and keeps rules as a card would; the device underneath is real.
class Card : public DeviceCalls {
  public:
    struct Seen {
        std::string text;
        std::uint64_t hits = 0;
    };

    std::vector<std::string> calls;
    std::map<std::uintptr_t, Seen> rules;  ///< by number, which is the handle too
    std::set<rte_flow_action_type> lacks;
    unsigned validations = 0;
    bool isolates = true;
    bool maps = true;   ///< memory that DPDK has not made
    bool keep = false;  ///< destroys no rule
    int refuse = 0;     ///< error number for every rule
    bool ipv6 = true;   ///< has rules of IPv6
    const char* message = nullptr;

    bool stamps = false;                       ///< has RTE_ETH_RX_OFFLOAD_TIMESTAMP
    bool schedules = false;                    ///< has RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP
    bool has_clock = true;                     ///< that can be read; a third of the lcores' ticks
    std::uint64_t rx_asked = 0, tx_asked = 0;  ///< offloads of the last configure

    int info(std::uint16_t port, rte_eth_dev_info& info) override {
        const int result = DeviceCalls::info(port, info);
        info.rx_offload_capa |= stamps ? RTE_ETH_RX_OFFLOAD_TIMESTAMP : 0;
        info.tx_offload_capa |= schedules ? RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP : 0;
        return result;
    }
    int configure(std::uint16_t port, std::uint16_t rx, std::uint16_t tx, const rte_eth_conf& conf) override {
        calls.push_back(fmt::format("configure {} {}", rx, tx));
        rx_asked = conf.rxmode.offloads;
        tx_asked = conf.txmode.offloads;
        rte_eth_conf plain = conf;
        plain.rxmode.offloads &= ~RTE_ETH_RX_OFFLOAD_TIMESTAMP;
        plain.txmode.offloads &= ~RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP;
        return DeviceCalls::configure(port, rx, tx, plain);
    }
    int read_clock(std::uint16_t, std::uint64_t& ticks) override {
        ticks = rte_rdtsc() / 3;
        return has_clock ? 0 : -ENOTSUP;
    }
    int start(std::uint16_t port) override {
        calls.emplace_back("start");
        running_ = true;
        return DeviceCalls::start(port);
    }
    int stop(std::uint16_t port) override {
        calls.emplace_back("stop");
        running_ = false;
        return DeviceCalls::stop(port);
    }
    int close(std::uint16_t port) override {
        calls.emplace_back("close");
        return DeviceCalls::close(port);
    }

    int flow_isolate(std::uint16_t, bool set, rte_flow_error&) override {
        calls.emplace_back(set ? "isolate" : "share");
        return isolates ? 0 : -ENOTSUP;
    }
    int flow_validate(std::uint16_t, const rte_flow_attr&, const rte_flow_item* pattern,
                      const rte_flow_action* actions, rte_flow_error& error) override {
        ++validations;
        for (const rte_flow_item* i = pattern; i->type != RTE_FLOW_ITEM_TYPE_END; ++i) {
            if (i->type == RTE_FLOW_ITEM_TYPE_IPV6 && !ipv6) {
                return rte_flow_error_set(&error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, i, "no IPv6");
            }
        }
        for (const rte_flow_action* a = actions; a->type != RTE_FLOW_ACTION_TYPE_END; ++a) {
            if (lacks.contains(a->type)) {
                return rte_flow_error_set(&error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, a,
                                          "action not supported");
            }
        }
        return refuse == 0 ? 0
                           : rte_flow_error_set(&error, refuse, RTE_FLOW_ERROR_TYPE_HANDLE, nullptr, message);
    }
    rte_flow* flow_create(std::uint16_t, const rte_flow_attr& attr, const rte_flow_item* pattern,
                          const rte_flow_action* actions, rte_flow_error&) override {
        const std::uintptr_t number = ++count_;
        calls.push_back(fmt::format("create {}", number));
        rules[number] = {text_of(attr, pattern, actions)};
        return reinterpret_cast<rte_flow*>(number);
    }
    int flow_destroy(std::uint16_t, rte_flow* flow, rte_flow_error&) override {
        if (keep) {
            return -EBUSY;
        }
        const auto number = reinterpret_cast<std::uintptr_t>(flow);
        calls.push_back(fmt::format("destroy {}", number));
        return rules.erase(number) == 1 ? 0 : -ENOENT;
    }
    int flow_query(std::uint16_t, rte_flow* flow, const rte_flow_action& action, void* data,
                   rte_flow_error&) override {
        if (action.type != RTE_FLOW_ACTION_TYPE_COUNT) {
            return -EINVAL;
        }
        auto& counts = *static_cast<rte_flow_query_count*>(data);
        counts.hits_set = 1;
        counts.hits = rules.at(reinterpret_cast<std::uintptr_t>(flow)).hits;
        return 0;
    }

    int extmem_register(void* base, std::size_t length, std::size_t page) override {
        calls.emplace_back("register");
        return DeviceCalls::extmem_register(base, length, page);
    }
    int extmem_unregister(void* base, std::size_t length) override {
        calls.emplace_back("unregister");
        return DeviceCalls::extmem_unregister(base, length);
    }
    int dma_map(rte_device* device, void* base, std::uint64_t iova, std::size_t length) override {
        calls.emplace_back("map");
        if (!maps) {
            rte_errno = ENOTSUP;
            return -1;
        }
        return DeviceCalls::dma_map(device, base, iova, length);
    }
    int dma_unmap(rte_device* device, void* base, std::uint64_t iova, std::size_t length) override {
        calls.emplace_back("unmap");
        return DeviceCalls::dma_unmap(device, base, iova, length);
    }

    bool running() const { return running_; }

  private:
    static std::string mac(const rte_ether_addr& a) {
        MacAddress m;
        std::copy_n(a.addr_bytes, m.size(), m.begin());
        return mac_text(m);
    }
    static std::string ip(rte_be32_t a) { return to_string(Ipv4{byte_swap(a)}); }

    static std::string text_of(const rte_flow_attr& attr, const rte_flow_item* pattern,
                               const rte_flow_action* actions) {
        std::string text =
            fmt::format("{}group {} priority {}", attr.ingress != 0 ? "ingress " : "",
                        static_cast<unsigned>(attr.group), static_cast<unsigned>(attr.priority));
        for (const rte_flow_item* i = pattern; i->type != RTE_FLOW_ITEM_TYPE_END; ++i) {
            text += item_text(*i);
        }
        for (const rte_flow_action* a = actions; a->type != RTE_FLOW_ACTION_TYPE_END; ++a) {
            text += action_text(*a);
        }
        return text;
    }

    static std::string item_text(const rte_flow_item& i) {
        switch (i.type) {
            case RTE_FLOW_ITEM_TYPE_ETH: {
                const auto& spec = *static_cast<const rte_flow_item_eth*>(i.spec);
                const auto& mask = *static_cast<const rte_flow_item_eth*>(i.mask);
                return fmt::format(" eth dst {}/{} type {:x}/{:x}", mac(spec.hdr.dst_addr),
                                   mac(mask.hdr.dst_addr),
                                   byte_swap(static_cast<std::uint16_t>(spec.hdr.ether_type)),
                                   byte_swap(static_cast<std::uint16_t>(mask.hdr.ether_type)));
            }
            case RTE_FLOW_ITEM_TYPE_VLAN: {
                const auto& spec = *static_cast<const rte_flow_item_vlan*>(i.spec);
                const auto& mask = *static_cast<const rte_flow_item_vlan*>(i.mask);
                return fmt::format(" vlan {}/{:x}", byte_swap(static_cast<std::uint16_t>(spec.hdr.vlan_tci)),
                                   byte_swap(static_cast<std::uint16_t>(mask.hdr.vlan_tci)));
            }
            case RTE_FLOW_ITEM_TYPE_IPV4: {
                const auto& spec = *static_cast<const rte_flow_item_ipv4*>(i.spec);
                const auto& mask = *static_cast<const rte_flow_item_ipv4*>(i.mask);
                return fmt::format(
                    " ipv4 dst {}/{:x} src {}/{:x}{}", ip(spec.hdr.dst_addr), mask.hdr.dst_addr,
                    ip(spec.hdr.src_addr), mask.hdr.src_addr,
                    fmt::format(" proto {}/{:x}", spec.hdr.next_proto_id, mask.hdr.next_proto_id));
            }
            case RTE_FLOW_ITEM_TYPE_IPV6: {
                const auto& spec = *static_cast<const rte_flow_item_ipv6*>(i.spec);
                const auto& mask = *static_cast<const rte_flow_item_ipv6*>(i.mask);
                return fmt::format(" ipv6 proto {}/{:x}", spec.hdr.proto, mask.hdr.proto);
            }
            case RTE_FLOW_ITEM_TYPE_UDP: {
                const auto& spec = *static_cast<const rte_flow_item_udp*>(i.spec);
                const auto& mask = *static_cast<const rte_flow_item_udp*>(i.mask);
                return fmt::format(
                    " udp dst {}/{:x} src {}/{:x}", byte_swap(static_cast<std::uint16_t>(spec.hdr.dst_port)),
                    mask.hdr.dst_port, byte_swap(static_cast<std::uint16_t>(spec.hdr.src_port)),
                    mask.hdr.src_port);
            }
            default:
                return fmt::format(" item {}", static_cast<int>(i.type));
        }
    }

    static std::string action_text(const rte_flow_action& a) {
        switch (a.type) {
            case RTE_FLOW_ACTION_TYPE_COUNT:
                return " count";
            case RTE_FLOW_ACTION_TYPE_QUEUE:
                return fmt::format(" queue {}", static_cast<const rte_flow_action_queue*>(a.conf)->index);
            case RTE_FLOW_ACTION_TYPE_RSS: {
                const auto& rss = *static_cast<const rte_flow_action_rss*>(a.conf);
                std::string text = " rss";
                for (const std::uint16_t q : std::span(rss.queue, rss.queue_num)) {
                    text += fmt::format(" {}", q);
                }
                return text + ((rss.types & RTE_ETH_RSS_L3_SRC_ONLY) != 0 ? " by source" : "");
            }
            default:
                return fmt::format(" action {}", static_cast<int>(a.type));
        }
    }

    std::uintptr_t count_ = 0;
    bool running_ = false;
};

/// Drives net_null and net_ring devices, and declares a card's capabilities for them.
class CardDriver final : public Driver {
  public:
    explicit CardDriver(const Driver& real) : real_(real) {}

    std::string_view name() const override { return real_.name(); }
    bool complains() const override { return real_.complains(); }
    Capabilities declared() const override { return as_card(real_.declared()); }
    PreparedDevice plan(const PortRequest& request) const override {
        PreparedDevice plan = real_.plan(request);
        plan.capabilities = as_card(plan.capabilities);
        return plan;
    }

  private:
    static Capabilities as_card(Capabilities c) {
        c.steering = Steering::rte_flow;
        c.isolation = true;
        c.spreads_sources = true;
        c.rx_timestamps = RxTimestamps::device_clock;
        c.send_on_time = true;
        return c;
    }

    const Driver& real_;
};

inline std::span<const Driver* const> card_table() {
    static const CardDriver null(drivers::null());
    static const CardDriver ring(drivers::ring());
    static const std::array<const Driver*, 2> table{&null, &ring};
    return table;
}

}  // namespace spead::port::test
