// SPDX-License-Identifier: BSD-3-Clause
#include "port/port_rules.hpp"

#include <utility>

namespace spead::port {

void PortRules::use(std::unique_ptr<RuleTable> table) {
    table_ = std::move(table);
}

void PortRules::add(const Rule& rule) {
    if (table_) {
        table_->add(rule);
    }
}

void PortRules::add_host_rules(std::uint16_t queue, bool ipv6) {
    if (table_) {
        table_->add_host_rules(queue, ipv6);
    }
}

void PortRules::use_ipv6() {
    if (table_) {
        table_->use_ipv6();
    }
}

void PortRules::remove(const Endpoint& endpoint) {
    if (table_) {
        table_->remove(endpoint);
    }
}

std::vector<RuleState> PortRules::rules() const {
    return table_ ? table_->rules() : std::vector<RuleState>{};
}

std::vector<PassedPackets> PortRules::passed() const {
    return table_ ? table_->passed() : std::vector<PassedPackets>{};
}

std::string PortRules::first_out_of_force() {
    if (!table_ || reported_) {
        return {};
    }
    std::string text = table_->out_of_force();
    reported_ = !text.empty();
    return text;
}

}  // namespace spead::port
