// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <string>

#include "runtime/gather_engines.hpp"
#include "runtime/layout.hpp"
#include "runtime/plan.hpp"
#include "runtime/port_set.hpp"
#include "runtime/receive_queues.hpp"
#include "runtime/sender_set.hpp"
#include "runtime/snapshots.hpp"

namespace spead::runtime {

/// Stops and starts ports while others run: on request, because their network interface has gone and come
/// back, or because nothing uses them any more. Streams and senders of the port wait meanwhile.
///
/// Main thread only. Lcores release a port's queues before it is stopped or closed. Waits end with the
/// lcores' patience (LcoreSet), with that of the ports' own hosts (PortSet), and with kGatherPatience.
class PortOutages {
  public:
    using Clock = std::chrono::steady_clock;

    /// Refers to the objects that it works on; all outlive it.
    struct Parts {
        const Plan& plan;      ///< the plan that runs
        const Layout& layout;  ///< of that plan
        PortSet& ports;
        LcoreSet& lcores;
        ReceiveQueues& queues;
        SenderSet& senders;
        Snapshots& snapshots;
        GatherEngines& engines;
    };

    explicit PortOutages(const Parts& parts) : of_(parts) {}

    /// Stops the port: leaves its groups and removes its rules. Throws Error when it does not run, or an
    /// lcore does not answer.
    void stop(const std::string& port);
    /// Starts the port again, with the present rules and groups of the plan. Throws Error when it runs, and
    /// when the device refuses: then it stays stopped.
    void start(const std::string& port);

    /// Closes the ports that no stream and no sender of the plan names, once those that are leaving have left
    /// and the network knows that groups are left. Their counts stay. Throws LcoreLost.
    void close_unused();
    /// Opens the closed ports again that the wanted plan uses. Throws Error: then they are closed.
    void open_used(const Plan& wanted);

    /// Accepts peers, and checks links, files and network interfaces a few times a second. Returns false when
    /// a port cannot go on because its file cannot be written. A port without its interface waits for it.
    /// Throws LcoreLost. Call it at every round.
    [[nodiscard]] bool watch();

  private:
    std::size_t index_of(const std::string& name) const;
    bool is_silent_on(std::size_t port) const;
    void take_off(std::size_t port);
    void put_on(std::size_t port);
    void shut(std::size_t port);
    void wait_for_engines(std::size_t port);
    void close(std::size_t port);
    bool is_unused(std::size_t port) const;
    bool has_to_tell(std::size_t port) const;
    void lose(std::size_t port, const std::string& netdev);
    void look_for(std::size_t port);
    void changed(std::size_t port);

    const Parts of_;
    Clock::time_point next_look_{};
};

}  // namespace spead::runtime
