// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "runtime/capture_set.hpp"
#include "runtime/consumers.hpp"
#include "runtime/end_wait.hpp"
#include "runtime/gather_engines.hpp"
#include "runtime/lcore_counts.hpp"
#include "runtime/receive_queues.hpp"
#include "runtime/run_notes.hpp"
#include "runtime/sender_set.hpp"
#include "runtime/snapshots.hpp"
#include "runtime/stream_set.hpp"

namespace spead::runtime {

/// Ends a run in order: senders finish while receivers still poll (external buffers come back that way),
/// groups are left, streams flush, consumers drain, lcores are joined, ports stopped and closed.
///
/// Main thread only. Every wait ends with one of the patiences, or with the lcores' (LcoreSet). If a step
/// fails, the error is noted and the next ones are still taken.
class Shutdown {
  public:
    using Clock = std::chrono::steady_clock;

    /// Refers to the objects that it ends; all outlive it.
    struct Parts {
        const Plan& plan;
        RunClock& clock;
        PortSet& ports;
        LcoreSet& lcores;
        ReceiveQueues& queues;
        SenderSet& senders;
        Consumers& consumers;
        StreamSet& streams;
        CaptureSet& captures;
        LcoreCounts& counts;
        Snapshots& snapshots;
        RunNotes& notes;
        GatherEngines& engines;
    };
    /// Limits the waits for others, as the engine's hooks do.
    struct Patience {
        Clock::duration port{};
        Clock::duration consumer{};
        Clock::duration holder{};
        Clock::duration longest_finish{};
    };

    Shutdown(const Parts& parts, const Patience& patience) : of_(parts), patience_(patience) {}

    /// Ends a started run, up to its ports. `interrupted`: the user does not want to wait for ports that take
    /// no packets, so heaps that these delay are no problem.
    void end_run(bool interrupted) noexcept;
    /// Stops and closes the ports, unless a lost lcore may still be inside one.
    void end_ports() noexcept;
    /// Waits for the lcores to end; once more after end_run() has lost some.
    void stop_lcores() noexcept;

  private:
    EndProgress look();
    void serve();
    EndWait::Result wait_for(const std::function<bool()>& step, const EndWait::Limits& limits);
    std::string blocked_streams() const;
    std::string consumer_stuck() const;
    void finish_sends(bool interrupted);
    void finish_send(SendStream& s, EndWait::Result waited, bool interrupted);
    void give_up(SendStream& s, EndWait::Result why, std::uint64_t left, bool interrupted);
    void settle_receives();
    void finish_gathering();
    void give_up_engines();
    void flush_receives();
    void end_consumers();
    void end_chunks();
    void end_filters();
    void end_engines();
    void stop_ports();
    void carry_out(const std::function<void()>& step) noexcept;

    const Parts of_;
    const Patience patience_;
    bool reported_consumers_ = false;
};

}  // namespace spead::runtime
