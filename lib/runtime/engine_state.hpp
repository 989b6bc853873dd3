// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "memory/region.hpp"
#include "runtime/capture_set.hpp"
#include "runtime/change.hpp"
#include "runtime/consumers.hpp"
#include "runtime/end_conditions.hpp"
#include "runtime/engine.hpp"
#include "runtime/event_reporter.hpp"
#include "runtime/health_monitor.hpp"
#include "runtime/lcore_set.hpp"
#include "runtime/port_set.hpp"
#include "runtime/receive_queues.hpp"
#include "runtime/sender_set.hpp"
#include "runtime/snapshots.hpp"
#include "runtime/stream_set.hpp"
#include "runtime/waits.hpp"

/// What an Engine owns, in the order in which it may be destroyed (backwards). Private to
/// lib/runtime/engine*.cpp.
namespace spead::runtime {

using Clock = std::chrono::steady_clock;

struct Engine::State {
    State(const Plan& p, const Layout& l, const Surroundings& s);
    void set_lcore_patience();

    void make_workers();
    std::pair<PollMode, std::uint32_t> idling_of(const Worker& worker) const;
    void set_idling(Worker& worker);

    void reconfigure(const Plan& wanted);
    void check_room(const ReceivePlan& r, const std::vector<unsigned>& cpus) const;
    void check_lossless(const Plan& wanted, const Change& change,
                        const std::vector<std::vector<unsigned>>& cpus) const;
    std::vector<unsigned> cpus_for(const ReceivePlan& r) const;
    Dealing deal(const Plan& wanted, const std::vector<std::vector<unsigned>>& cpus) const;
    void move_to(const Plan& wanted, const Change& change, const std::vector<std::vector<unsigned>>& cpus);
    PortSet::Groups groups_of(const Plan& wanted) const;
    std::vector<unsigned> cpus_of_new_port(const Plan& wanted, const PortPlan& port) const;
    void open_new_ports(const Plan& wanted);
    void launch_lcores();
    bool anything_leaves() const;

    void launch();
    /// Of a start that can be given up; a run that is interrupted ends in order.
    int interrupt_fd() const { return starting ? surroundings.interrupt_fd : -1; }
    std::size_t running_port(const std::string& name) const;
    void take_off(std::size_t port);
    void put_on(std::size_t port);
    void shut(std::size_t port);
    void lose_port(std::size_t port, const std::string& netdev);
    void look_for(std::size_t port);

    bool is_silent_on(std::size_t port) const;
    void report_silence(const Worker& w, bool silent);

    void start_planned_capture(std::size_t stream);
    void port_changed(std::size_t port);
    bool sinks_over() const;
    EndFacts end_facts(const stats::Snapshot& now);
    bool ports_failed();
    Reason run(const std::function<void(const stats::Snapshot&)>& tick);
    bool everything_received(const stats::Snapshot& now) const;

    /// What moves at the end of a run, and what holds it up.
    struct Look {
        std::uint64_t sent = 0;      ///< packets
        std::uint64_t received = 0;  ///< packets of streams
        std::uint64_t finished = 0;  ///< heaps, by the consumers that streams wait for
        bool pacing = false;         ///< a sender waits for its time
        bool blocked = false;        ///< a stream waits for its consumer
    };
    enum class Waited : std::uint8_t { done, stuck, consumer, too_long };

    Look look();
    Waited wait_for(const std::function<bool()>& step, std::uint64_t Look::*progress,
                    Clock::duration patience, Clock::duration longest = Clock::duration::max());
    std::string blocked_streams() const;
    std::string consumer_stuck() const;
    void finish_sends();
    void give_up(SendStream& s, Waited why, std::uint64_t left);
    void settle_receives();
    void flush_receives();
    void end_consumers();
    void end_filters();
    void stop_ports();
    void carry_out(const std::function<void()>& step) noexcept;

    Plan plan;      ///< as it is now
    Layout layout;  ///< of it
    const Surroundings surroundings;
    RunClock clock;
    std::vector<std::string> problems;
    memory::RegionTable regions;
    PortSet ports;  ///< as plan.ports
    LcoreSet lcores;
    EventReporter events;
    ReceiveQueues queues{lcores, ports};
    SenderSet senders{lcores, ports, regions, surroundings.make_producer, problems};
    Consumers consumers;
    StreamSet streams;
    CaptureSet captures{lcores, problems};
    bool starting = true;   ///< launch() has not come to its end
    bool stopping = false;  ///< stop() is at work, or was
    bool ended = false;     ///< lcores have ended
    bool interrupted = false;
    int run_interrupt_fd = -1;  ///< of run(); -1: none
    EndConditions ends;
    Executor* executor = nullptr;  ///< posts what others want done
    bool told_of_consumers = false;
    std::vector<std::string> remarks;
    HealthMonitor health{events};
    LcoreCounts counts{plan, clock, lcores, ports, senders};
    Snapshots snapshots{{plan, clock, ports, lcores, streams, senders, captures, health},
                        counts,
                        surroundings.by_configuration};
    Clock::time_point next_look_at_ports{};
};

}  // namespace spead::runtime
