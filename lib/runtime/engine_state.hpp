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
#include "runtime/event_command.hpp"
#include "runtime/lcore_set.hpp"
#include "runtime/port_set.hpp"
#include "runtime/receive_queues.hpp"
#include "runtime/sender_set.hpp"
#include "runtime/stream.hpp"
#include "runtime/stream_health.hpp"
#include "runtime/waits.hpp"
#include "stats/finding_log.hpp"

/// What an Engine owns, in the order in which it may be destroyed (backwards). Private to
/// lib/runtime/engine*.cpp.
namespace spead::runtime {

using Clock = std::chrono::steady_clock;

struct Engine::State {
    State(const Plan& p, const Layout& l, const Surroundings& s);
    void set_lcore_patience();

    void make_workers();
    std::unique_ptr<Part> make_part(const Stream& stream, const ReceivePlan& r, Worker& worker);
    void make_parts(std::size_t receive);
    void install(Stream& stream, std::unique_ptr<Part> part);
    void deal_memory(Worker& worker, bool with_leaving);
    std::pair<PollMode, std::uint32_t> idling_of(const Worker& worker) const;
    void set_idling(Worker& worker);

    void reconfigure(const Plan& wanted);
    void check_room(const ReceivePlan& r, const std::vector<unsigned>& cpus) const;
    void check_lossless(const Plan& wanted, const Change& change,
                        const std::vector<std::vector<unsigned>>& cpus) const;
    std::vector<unsigned> cpus_for(const ReceivePlan& r) const;
    Dealing deal(const Plan& wanted, const std::vector<std::vector<unsigned>>& cpus) const;
    void move_to(const Plan& wanted, const Change& change, const std::vector<std::vector<unsigned>>& cpus);
    void keep_places(Stream& stream, const std::vector<Endpoint>& endpoints);
    PortSet::Groups groups_of(const Plan& wanted) const;
    void leave_parts();
    void leave_parts(Stream& stream);
    bool leave(Stream& stream, Leaving& leaving);
    void fold(Stream& stream, const Part& part);
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
    void mark_silent(stats::Snapshot& snap) const;
    void look_at(Worker& w, LcoreLook::Depth depth);
    std::unique_ptr<LcoreLook> look_of(Worker& w, LcoreLook::Depth depth);
    void keep(Worker& w, std::unique_ptr<LcoreLook> look);

    void start_planned_capture(std::size_t stream);
    double elapsed() const;
    stats::Snapshot take_snapshot(LcoreLook::Depth depth = LcoreLook::Depth::counts);
    static void add_buffers(stats::PortSnapshot& s, const port::Port& p, const stats::PeakRecord& taken);
    void keep_peaks(Worker& w, double at_s) const;
    void forget_peaks_kept();
    stats::Snapshot detailed_snapshot();
    void tell_absences(stats::Snapshot& snap);
    void look_for_absences(const stats::Snapshot& snap);
    void parts_changed(const std::vector<std::string>& names);
    void port_changed(std::size_t port);
    void add_details(stats::Snapshot& snap);
    stats::Snapshot shown(stats::Snapshot snap) const;
    void watch_streams(const stats::Snapshot& now);
    void watch_sends(double now);
    static bool is_stalled(const Stream& stream);
    void tell(const std::string& stream, const stats::LastEvent& event);
    void watch_sinks();
    void look_at_sink(Stream& stream, Sink& sink);
    bool sinks_over() const;
    void add_last_events(stats::Snapshot& snap) const;
    void add_health(stats::Snapshot& snap) const;
    bool is_received(std::uint32_t number) const;
    stats::LcoreSnapshot share_of(const Worker& w) const;
    EndFacts end_facts(const stats::Snapshot& now);
    bool ports_failed();
    bool all_stopped() const;
    Reason run(const std::function<void(const stats::Snapshot&)>& tick);
    void share_stops();
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
    void let_go_of_consumers();
    void tell_what_was_lost();
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
    std::vector<std::string> problems;
    memory::RegionTable regions;
    PortSet ports;  ///< as plan.ports
    LcoreSet lcores;
    ReceiveQueues queues{lcores, ports};
    std::vector<std::unique_ptr<Stream>> streams;          ///< as plan.receives
    std::vector<std::unique_ptr<Stream>> removed_streams;  ///< with parts that still leave
    stats::StreamSnapshot removed;                         ///< what streams that are no more have counted
    std::uint32_t last_number = 0;                         ///< of a stream
    SenderSet senders{lcores, ports, regions, surroundings.make_producer, problems};
    Consumers consumers;
    CaptureSet captures{lcores, problems};
    bool started = false;
    bool starting = true;  ///< launch() has not come to its end
    bool stopped = false;
    bool stopping = false;  ///< stop() is at work
    bool interrupted = false;
    int run_interrupt_fd = -1;  ///< of run(); -1: none
    EndConditions ends;
    Executor* executor = nullptr;  ///< posts what others want done
    bool told_of_consumers = false;
    std::vector<std::string> remarks;
    Clock::time_point begin{};
    double duration = 0;  ///< fixed when stopped
    /// Of streams that are watched, or were, by number; `removed` gets what those counted that are no more.
    std::map<std::uint32_t, StreamHealth> health;
    double last_watch = 0;  ///< seconds of the run when they were last watched
    std::optional<EventCommand> event_command;
    std::optional<stats::Snapshot> base;  ///< of when the counters were cleared
    stats::FindingLog finding_log;
    std::map<std::uint32_t, std::vector<std::string>> unowned;  ///< by stream's number; likewise
    Clock::time_point next_look_at_absences{};
    LogLimiter lcore_news;
    Clock::time_point next_look_at_ports{};
};

}  // namespace spead::runtime
