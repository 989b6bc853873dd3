// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/endpoint.hpp"
#include "base/mac.hpp"
#include "port/driver.hpp"
#include "port/port.hpp"
#include "runtime/plan.hpp"
#include "send/sender.hpp"

/// Finds the MAC addresses for a sender's unicast endpoints.
namespace spead::runtime {

/// Holds a unicast destination of a sender whose MAC address is resolved, now and during the run.
struct NextHop {
    std::uint32_t substream = 0;
    IpAddress address;
    MacAddress mac{};  ///< in use by the sender; zero: none yet
};

/// Holds the next hops of one sender, and selects those to look at, in turn.
class NextHops {
  public:
    NextHops() = default;
    explicit NextHops(std::vector<NextHop> hops) : hops_(std::move(hops)) {}

    bool empty() const noexcept { return hops_.empty(); }
    std::vector<NextHop>& all() noexcept { return hops_; }
    const std::vector<NextHop>& all() const noexcept { return hops_; }

    /// Returns the hops whose turn it is: `most` of them, or all if there are fewer. They stay the same until
    /// note_looked_at().
    std::vector<NextHop*> due(std::size_t most) {
        std::vector<NextHop*> due;
        for (std::size_t i = 0; i < std::min(most, hops_.size()); i++)
            due.push_back(&hops_[(first_due_ + i) % hops_.size()]);
        return due;
    }
    /// Notes that the first `n` due hops have been looked at. There is at least one hop.
    void note_looked_at(std::size_t n) noexcept { first_due_ = (first_due_ + n) % hops_.size(); }

  private:
    std::vector<NextHop> hops_;
    std::size_t first_due_ = 0;
};

/// Returns the kernel's interface whose addresses, routes and neighbours are those of the port's packets:
/// that of its VLAN, if there is one, or else the port's own. Empty: none.
std::string kernel_side(const port::Port& port, std::optional<std::uint16_t> vlan);

/// Returns whether the sender has unicast endpoints without MAC addresses in the plan.
bool needs_next_hops(const SendPlan& plan);

/// Checks before the port is open (`--check`). Throws UsageError when there are unicast endpoints, no
/// SendPlan::dst_mac, and no way to resolve their MAC addresses: neither the kernel on a network interface of
/// its own nor our ARP host.
void check_next_hops(const SendPlan& plan, const port::PlannedPort& port);

/// Fills in the MAC addresses that `config` still lacks, from the kernel's neighbour table, and returns their
/// destinations. Waits some seconds at most for replies (port/neighbours.hpp). Where our own ARP host
/// resolves them, once the port is started, fills in zeros. Throws Error with what was tried and the option
/// that helps.
std::vector<NextHop> find_next_hops(const port::Port& port, send::SenderConfig& config,
                                    int interrupt_fd = -1);

}  // namespace spead::runtime
