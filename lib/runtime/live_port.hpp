// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/endpoint.hpp"
#include "base/log.hpp"
#include "port/membership.hpp"
#include "port/port.hpp"
#include "runtime/link_host.hpp"
#include "runtime/link_watch.hpp"
#include "runtime/plan.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Holds one port of the run with its rules, its groups, its own host, and its history while its
/// network interface is detached.
///
/// Main thread only. A port is *on* while lcores may use its queues, *off* while it is stopped or *detached*.
/// The caller takes the queues from the lcores before it stops or closes the device. A port that is *closed*
/// is off, too: nothing uses it, and its device is closed until something does.
class LivePort {
  public:
    /// Opens the device, which is off until it is started. Throws Error as Port::open does.
    LivePort(const PortPlan& plan, const port::PlannedPort& planned);
    LivePort(LivePort&&) = delete;

    const PortPlan& plan() const noexcept { return plan_; }
    const port::PlannedPort& planned() const noexcept { return planned_; }
    /// Returns how many packets each of its receive queues holds.
    std::uint32_t rx_packets() const noexcept;
    /// Returns the device; another one after reopen().
    port::Port& device() const noexcept { return *device_; }
    /// Returns our own host; null where the kernel answers, or no host does. Another one after
    /// renew_host().
    LinkHost* host() const noexcept { return host_.get(); }

    bool is_on() const noexcept { return !is_.off; }
    bool is_detached() const noexcept { return outage_.netdev.has_value(); }
    bool is_closed() const noexcept { return is_.closed; }
    /// Returns the network interface that the port waits for; only while it is detached.
    const std::string& detached_netdev() const { return outage_.netdev.value(); }
    std::uint64_t times_detached() const noexcept { return outage_.times; }
    std::uint64_t links_lost() const noexcept { return link_.losses(); }

    /// Notes which engine leaves packets of the port in its receive queues, because it stands still; empty:
    /// none.
    void note_engine(const std::string& engine) { engine_ = engine; }
    const std::string& stalled_engine() const noexcept { return engine_; }

    /// Marks the port as off, leaves its groups and removes its rules. The rules of a detached device are
    /// gone already.
    void take_off();
    /// Marks the port as on.
    void put_on() noexcept { is_.off = false; }

    /// Starts the device. Until note_fetched(), packets come that no lcore fetches. Throws Error.
    void start();
    /// Notes that lcores fetch the port's packets: those that it has missed since its start had come before.
    void note_fetched();

    /// Marks the port as detached and logs that. The caller then takes it off and closes it.
    void lose(const std::string& netdev);
    /// Keeps the counts of the device, which has been closed.
    void keep_counts();
    /// Marks the port as closed; the caller has taken it off and closed the device.
    void note_closed();
    /// Opens and starts the device again. Returns false when its network interface is missing or down. Throws
    /// Error.
    bool reopen();
    /// Marks the port as detached again, since it could not be put on. Logs the reason unless it is the same
    /// as before. Returns true when the device is open; then the caller closes it.
    bool give_up_reopening(const std::string& netdev, const std::string& why);
    /// Frees pools of closed devices whose buffers are all back. Call it in rounds in which the lcores
    /// answer.
    void sweep_loans();
    /// Starts a new host, which knows no groups and neighbours. The former one lives until
    /// forget_former_host(): lcores may write into its rings.
    void renew_host();
    void forget_former_host() noexcept { former_host_.reset(); }

    /// Adds the rule unless the device has it. Throws Error.
    void add_rule(const port::Rule& rule);
    /// Removes the rules that are not in `wanted`.
    void remove_rules_but(const std::vector<port::Rule>& wanted);
    std::vector<stats::RuleSnapshot> rules() const;
    /// Makes snapshots show the present rules from now on.
    void remember_rules() { last_rules_ = rules(); }

    /// Returns the endpoints of `wanted`, which is sorted, that are not joined.
    std::vector<Endpoint> not_joined(const std::vector<Endpoint>& wanted) const;
    /// Lets the kernel join groups, on ports whose membership it reports. If one is refused, none stays
    /// joined: throws Error. `interrupt_fd`: as KernelMembership::join_all().
    void join_by_kernel(const std::vector<Endpoint>& groups, int interrupt_fd);
    /// Notes that the groups are joined.
    void note_joined(const std::vector<Endpoint>& groups);
    /// Leaves the groups that are not in `wanted`, which is sorted.
    void leave_groups_but(const std::vector<Endpoint>& wanted);
    /// Lets the kernel leave all groups.
    void leave_by_kernel() noexcept { membership_.reset(); }

    struct Look {
        std::string gone;     ///< the network interface, if it has disappeared
        bool failed = false;  ///< a file cannot be written
    };
    /// Checks the link of a port that is on, and logs changes within `limit`.
    Look look(LogLimiter& limit);
    /// Returns whether its link, or its peer, was there at the last look.
    bool link_up() const noexcept { return link_.up() && peer_.up(); }

    /// Asks the device which packets for other destinations pass it, most like `wanted` first; for
    /// show_passed().
    void look_for_passed(const std::vector<Endpoint>& wanted);
    void forget_passed() noexcept { passed_.clear(); }
    void show_passed(stats::PortSnapshot& to) const { to.passed = passed_; }

    /// Returns the device's own counters (rte_eth_xstats), by name.
    std::vector<std::pair<std::string, std::uint64_t>> xstats() const;
    /// Returns what its devices could not write or read of their files, a sentence each.
    std::vector<std::string> problems() const;
    /// Returns the port's part of a snapshot, without the counts of lcores and of the device.
    stats::PortSnapshot snapshot() const;
    /// Returns the counts of its devices.
    stats::NicSnapshot nic() const;

  private:
    const PortPlan plan_;
    const port::PlannedPort planned_;
    // Hosts give mbufs back when the device is closed: they are destroyed after it.
    std::unique_ptr<LinkHost> former_host_;
    std::unique_ptr<LinkHost> host_;
    std::unique_ptr<port::Port> device_;
    std::unique_ptr<port::KernelMembership> membership_;  ///< null where not used
    std::vector<port::Rule> rules_;                       ///< installed on the device
    std::vector<Endpoint> groups_;                        ///< joined; sorted
    struct Flags {
        bool off = false;
        bool closed = false;
        bool host_is_former = false;  ///< between reopen() and renew_host()
    };
    Flags is_;
    struct Outage {
        std::optional<std::string> netdev;  ///< the one that is waited for
        std::uint64_t times = 0;            ///< so far
        std::string refusal;                ///< why the port could not be opened again
    };
    Outage outage_;
    struct Earlier {
        stats::NicSnapshot nic;         ///< of earlier devices
        std::uint64_t host_frames = 0;  ///< of earlier hosts
        std::vector<std::string> problems;
    };
    Earlier earlier_;
    LinkWatch link_;
    PeerWatch peer_;
    std::vector<stats::PassedSnapshot> passed_;
    std::vector<stats::RuleSnapshot> last_rules_;
    stats::PortSettings settings_;  ///< of the planned device
    std::string engine_;            ///< that stands still
    std::uint64_t missed_at_start_ = 0;
    std::optional<std::uint64_t> missed_before_start_;  ///< none: lcores fetch
};

}  // namespace spead::runtime
