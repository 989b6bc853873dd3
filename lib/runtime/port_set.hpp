// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "runtime/live_port.hpp"
#include "runtime/paths.hpp"
#include "runtime/queue_assignment.hpp"

namespace spead::runtime {

/// Holds the ports of a run in the order of the plan, with their rules and groups as a whole.
///
/// Main thread only. Every wait in it ends after kHostPatience without progress.
class PortSet {
  public:
    /// Holds endpoints by the index of their port; sorted.
    using Groups = std::vector<std::vector<Endpoint>>;

    /// Opens the ports; `plans` and `planned` are in the same order. Throws Error as Port::open does.
    void open(const std::vector<PortPlan>& plans, const std::vector<port::PlannedPort>& planned);
    /// Starts the devices. Throws Error.
    void start();
    /// Calls LivePort::note_fetched() of all ports.
    void note_fetched();
    /// Opens and starts one more port while the others run. Throws Error; then the port is not added.
    void add(const PortPlan& plan, const port::PlannedPort& planned);

    std::size_t size() const noexcept { return ports_.size(); }
    LivePort& operator[](std::size_t i) const noexcept { return *ports_[i]; }
    LivePort& operator[](const std::string& name) const noexcept { return *ports_[index_of(name)]; }
    /// Returns size() if no port has this name.
    std::size_t index_of(const std::string& name) const noexcept;
    /// Returns the endpoints of the streams, by port.
    Groups groups_of(const std::vector<ReceivePlan>& receives) const;

    /// Adds rules to ports that are on. Throws Error.
    void add_rules(const std::vector<PortRule>& wanted);
    /// Removes the rules that are not in `wanted`.
    void remove_rules_but(const std::vector<PortRule>& wanted);
    std::vector<std::vector<stats::RuleSnapshot>> rules() const;
    void remember_rules();

    /// Joins groups on the ports that are on. The kernel reports on ports whose interface it still sees. On
    /// others our own host does, and the join is waited for. If a port refuses one, none of its new groups is
    /// joined: throws Error. `interrupt_fd`: -1, or a descriptor that ends the wait.
    void join(const Groups& wanted, int interrupt_fd);
    void leave_groups_but(const Groups& wanted);
    /// Leaves all groups, and waits until our own hosts have reported that.
    void leave_groups();

    /// Steps our own hosts.
    void serve_hosts();
    /// Accepts peers on ports that have one.
    void poll_peers();

    /// Appends the ports' remarks and problems at the end of a run.
    void report_end(std::vector<std::string>& problems, std::vector<std::string>& remarks) const;

    LogLimiter& link_news() noexcept { return link_news_; }

  private:
    void wait_for_joins(LinkHost& host, int interrupt_fd);

    std::vector<std::unique_ptr<LivePort>> ports_;
    /// Limits log messages: other processes can connect and disconnect a peer as often as they like.
    LogLimiter link_news_;
};

/// Returns whether the ports of all paths of the stream lose nothing by waiting.
inline bool is_lossless(const PortSet& ports, const ReceivePlan& r) {
    return all_paths(
        r, [&ports](const std::string& port) { return ports[port].device().capabilities().lossless; });
}
/// Returns whether the ports of all paths of the stream have no more packets.
inline bool is_exhausted(const PortSet& ports, const ReceivePlan& r) {
    return all_paths(r, [&ports](const std::string& port) { return ports[port].device().exhausted(); });
}

}  // namespace spead::runtime
