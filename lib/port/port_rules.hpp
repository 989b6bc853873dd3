// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/endpoint.hpp"
#include "port/steering.hpp"

namespace spead::port {

/// Holds the rules of a port while it is started. Without a table, where only the software classifier steers,
/// there are none and changes do nothing. Internal to lib/port. Control code, one thread; throws as RuleTable
/// does.
class PortRules {
  public:
    /// Takes the table of a device that has started; null: only software classifies.
    void use(std::unique_ptr<RuleTable> table);
    /// Gives the table up, which clears its rules; before the device stops.
    void drop() noexcept { table_.reset(); }

    void add(const Rule& rule);
    void add_host_rules(std::uint16_t queue, bool ipv6);
    void use_ipv6();
    void remove(const Endpoint& endpoint);
    std::vector<RuleState> rules() const;
    std::vector<PassedPackets> passed() const;

    /// Returns RuleTable::out_of_force() when it says something for the first time in the life of the port;
    /// else an empty text.
    std::string first_out_of_force();

  private:
    std::unique_ptr<RuleTable> table_;
    bool reported_ = false;
};

}  // namespace spead::port
