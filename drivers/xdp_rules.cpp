// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/xdp_rules.hpp"

#include <algorithm>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "base/ipv6_bytes.hpp"
#include "drivers/xdp/steer.h"
#include "drivers/xdp_program.hpp"

namespace spead::drivers {

namespace {

/// Stores an address as it is in a packet. No source is 0.0.0.0, and so all zero.
void store(std::uint32_t (&to)[4], const IpAddress& address) {
    if (address.is_v4()) {
        to[0] = byte_swap(address.v4().value);
    } else {
        store_ipv6(to, address.v6());
    }
}

IpAddress load(const std::uint32_t (&from)[4], unsigned version) {
    return version == 6 ? IpAddress(load_ipv6(from)) : IpAddress(byte_swap(from[0]));
}

SteerKey key_of(const Endpoint& endpoint) {
    SteerKey key{};
    store(key.address, endpoint.address);
    store(key.source, endpoint.source);
    key.port = byte_swap(endpoint.port);
    key.version = endpoint.address.is_v4() ? 4 : 6;
    return key;
}

std::string text_of(const port::Rule& rule) {
    return fmt::format("map {}: {}{} -> the socket of its receive queue", STEER_ENDPOINTS,
                       to_string(rule.endpoint), rule.vlan ? fmt::format(" vlan {}", *rule.vlan) : "");
}

class XdpRules final : public port::RuleTable {
  public:
    explicit XdpRules(std::string netdev)
        : netdev_(std::move(netdev)),
          cpus_(cpu_count()),
          map_(open_map(netdev_, STEER_ENDPOINTS)),
          passed_(open_map(netdev_, STEER_PASSED)),
          program_(attached_program(netdev_).value_or(AttachedProgram{}).id) {
        forget_passed();
    }
    ~XdpRules() override {
        clear();
        ::close(map_);
        ::close(passed_);
    }
    XdpRules(const XdpRules&) = delete;
    XdpRules& operator=(const XdpRules&) = delete;

    void add(const port::Rule& rule) override;
    void remove(const Endpoint& endpoint) override;
    void clear() noexcept override;
    std::vector<port::RuleState> rules() const override;
    std::string out_of_force() const override;
    std::vector<port::PassedPackets> passed() const override;
    /// Returns true: every rule serves all queues.
    bool spreads() const noexcept override { return true; }

  private:
    static std::size_t cpu_count() {
        const int count = libbpf_num_possible_cpus();
        if (count <= 0) {
            throw_error("XDP program", "cannot find the number of CPUs: {}", std::strerror(-count));
        }
        return static_cast<std::size_t>(count);
    }
    std::vector<SteerKey> passed_keys() const;
    void forget_passed() noexcept;

    std::string netdev_;
    std::size_t cpus_;  ///< a value of the map is one per possible CPU
    int map_;
    int passed_;             ///< map
    std::uint32_t program_;  ///< id
    std::vector<port::Rule> rules_;
};

void XdpRules::add(const port::Rule& rule) {
    if (rule.vlan && *rule.vlan > 4094) {
        throw_usage(netdev_, "rule for {}: VLAN {} is above 4094", to_string(rule.endpoint), *rule.vlan);
    }
    SteerValue value{};
    value.vlan = rule.vlan.value_or(STEER_ANY_VLAN);
    const std::vector<SteerValue> values(cpus_, value);
    const SteerKey key = key_of(rule.endpoint);
    rules_.reserve(rules_.size() + 1);
    if (bpf_map_update_elem(map_, &key, values.data(), BPF_NOEXIST) == 0) {
        rules_.push_back(rule);
        return;
    }
    switch (errno) {
        case EEXIST:
            throw_error(netdev_, "{} already has a rule of the XDP program", to_string(rule.endpoint));
        case E2BIG:
            throw_error(
                netdev_,
                "no rule for {}: the XDP program holds at most {} endpoints; receive fewer on this port",
                to_string(rule.endpoint), STEER_MAX_ENDPOINTS);
        default:
            throw_error(netdev_, "the XDP program takes no rule for {}: {}", to_string(rule.endpoint),
                        std::strerror(errno));
    }
}

void XdpRules::remove(const Endpoint& endpoint) {
    const auto rule = std::ranges::find(rules_, endpoint, &port::Rule::endpoint);
    if (rule == rules_.end()) {
        return;
    }
    const SteerKey key = key_of(endpoint);
    if (bpf_map_delete_elem(map_, &key) != 0 && errno != ENOENT) {
        throw_error(netdev_, "the XDP program keeps its rule for {}: {}", to_string(endpoint),
                    std::strerror(errno));
    }
    rules_.erase(rule);
}

void XdpRules::clear() noexcept {
    for (; !rules_.empty(); rules_.pop_back()) {
        const SteerKey key = key_of(rules_.back().endpoint);
        (void)bpf_map_delete_elem(map_, &key);
    }
}

std::string XdpRules::out_of_force() const {
    const std::string now = instead_of_program(netdev_, program_);
    return now.empty() ? std::string{}
                       : fmt::format(
                             "our XDP program on {} has been replaced by {}: this port receives no more "
                             "packets; end the program that replaced it, then run this anew",
                             netdev_, now);
}

std::vector<SteerKey> XdpRules::passed_keys() const {
    std::vector<SteerKey> keys;
    SteerKey key{};
    const SteerKey* before = nullptr;
    // An entry never goes, but a map may be walked anew when one comes.
    while (keys.size() < STEER_MAX_PASSED && bpf_map_get_next_key(passed_, before, &key) == 0) {
        keys.push_back(key);
        before = &key;
    }
    return keys;
}

/// Clears the counts: the program may have passed packets before it had rules.
void XdpRules::forget_passed() noexcept {
    for (const SteerKey& key : passed_keys()) {
        (void)bpf_map_delete_elem(passed_, &key);
    }
}

std::vector<port::PassedPackets> XdpRules::passed() const {
    std::vector<port::PassedPackets> all;
    std::vector<SteerPassed> values(cpus_);
    for (const SteerKey& key : passed_keys()) {
        if (bpf_map_lookup_elem(passed_, &key, values.data()) != 0) {
            continue;
        }
        port::PassedPackets one;
        one.endpoint.address = load(key.address, key.version);
        one.endpoint.port = byte_swap(key.port);
        std::uint64_t most = 0;
        for (const SteerPassed& value : values) {
            one.packets += value.packets;
            if (value.packets > most) {
                most = value.packets;
                one.source = load(value.source, key.version);
            }
        }
        all.push_back(one);
    }
    return all;
}

std::vector<port::RuleState> XdpRules::rules() const {
    const std::string now = instead_of_program(netdev_, program_);
    std::vector<port::RuleState> states;
    std::vector<SteerValue> values(cpus_);
    for (const port::Rule& rule : rules_) {
        port::RuleState state;
        state.rule = rule;
        state.text = text_of(rule) + (now.empty() ? "" : fmt::format(", not in force: {} replaced it", now));
        const SteerKey key = key_of(rule.endpoint);
        if (bpf_map_lookup_elem(map_, &key, values.data()) == 0) {
            state.counted = true;
            state.hits = 0;
            for (const SteerValue& value : values) {
                *state.hits += value.hits;
            }
        }
        states.push_back(std::move(state));
    }
    return states;
}

}  // namespace

std::unique_ptr<port::RuleTable> make_xdp_rules(const std::string& netdev) {
    return std::make_unique<XdpRules>(netdev);
}

}  // namespace spead::drivers
