// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/waiting_time.hpp"
#include "capture/capture.hpp"
#include "memory/arena.hpp"
#include "memory/region.hpp"
#include "port/impaired_queue.hpp"
#include "port/port.hpp"
#include "port/region_registration.hpp"
#include "recv/distributor.hpp"
#include "runtime/change.hpp"
#include "runtime/consumers.hpp"
#include "runtime/details.hpp"
#include "runtime/engine.hpp"
#include "runtime/event_command.hpp"
#include "runtime/feeder.hpp"
#include "runtime/lcore_look.hpp"
#include "runtime/lcore_loop.hpp"
#include "runtime/lcore_watch.hpp"
#include "runtime/next_hops.hpp"
#include "runtime/port_set.hpp"
#include "runtime/send_health.hpp"
#include "runtime/sink.hpp"
#include "runtime/stream_health.hpp"
#include "stats/finding_log.hpp"
#include "stats/peak.hpp"

/// What an Engine owns, in the order in which it may be destroyed (backwards). Private to
/// lib/runtime/engine*.cpp.
namespace spead::runtime {

using Clock = std::chrono::steady_clock;

/// How long the main thread sleeps before it looks again at what it waits for.
inline constexpr std::chrono::milliseconds kStep{1};

/// A round of the main thread that took longer was none of waiting: see WaitingTime.
inline constexpr std::chrono::milliseconds kLongestRound{100};

struct Part;

/// An lcore has not answered for as long as the run waits for one: the run ends.
class LcoreLost : public Error {
  public:
    using Error::Error;
};

/// One worker lcore with what it owns.
struct Worker {
    explicit Worker(const WorkerLayout& l) : layout(&l), watch(l.lcore, l.cpu) {}

    const WorkerLayout* layout;
    memory::Arena arena;
    std::optional<heap::Shares> shares;  ///< of arena
    std::vector<Part*> parts;            ///< what the lcore has of streams
    /// Where packets come from: queues of ports, and lcores that pass theirs on. None is removed.
    std::vector<std::unique_ptr<recv::Source>> sources;
    std::vector<std::size_t> source_ports;  ///< index of each source's port
    std::unique_ptr<LcoreLoop> loop;
    LcoreWatch watch;
    bool launched = false;
    bool lost = false;  ///< its lcore has not answered for too long, and is not asked again

    /// What the lcore counted when it last answered.
    struct Counts {
        std::vector<stats::RxCounters> ports;  ///< as sources
        stats::LcoreCounters lcore;
        std::vector<SourceDetails> sources;  ///< as sources
    };
    Counts counts;
    stats::PeakRecord longest_loop;
    std::vector<stats::PeakRecord> buffers_taken;  ///< as sources; of the queue's pool
    std::unique_ptr<LcoreLook> spare;              ///< memory for the next look
    /// Packets of streams that it no longer has, by the stream's number, and of streams that are no more.
    std::map<std::uint32_t, std::uint64_t> past;
    std::uint64_t removed = 0;
};

/// A stream's share on one lcore.
struct Part {
    std::unique_ptr<recv::SpeadLane> lane;
    Worker* worker = nullptr;
    std::uint16_t slot = 0;  ///< by which the lcore's classifiers name the lane
    Consumers::Feed* feed = nullptr;
    std::shared_ptr<Sink> sink;
    /// What the lcore counted when it last answered.
    stats::StreamCounters counts;
    Consumers::Done done;  ///< heaps that its sink was given
    LaneDetails details;
    stats::PeakRecord queued;          ///< heaps in its hand-over queue
    stats::PeakRecord memory_used;     ///< bytes
    capture::TapCounters tap_counts;   ///< of the capture that runs
    bool blocked = false;              ///< waits for its consumer
    bool stopped = false;              ///< by a stop item
    std::vector<std::uint64_t> stops;  ///< stop items by place; only where the run may end by them
};

/// A part on its way out: no packet comes to it any more.
struct Leaving {
    std::unique_ptr<Part> part;
    enum class Step : std::uint8_t { flush, consume, reclaim } step = Step::flush;
};

/// One receive queue of a port in use.
struct Queue {
    std::size_t port = 0;
    std::uint16_t queue = 0;
    Worker* worker = nullptr;                        ///< whose lcore polls it
    std::unique_ptr<recv::Distributor> distributor;  ///< null where one lcore has had all of it so far
    struct Reader {
        recv::Source* source;
        Worker* worker;
        std::size_t share;  ///< 0: the lcore that polls the queue; i+1: the distributor's i-th other
    };
    std::vector<Reader> readers;
};

struct Stream {
    std::uint32_t number = 0;  ///< no other stream of the run has it
    std::string name;
    std::shared_ptr<Sink> sink;
    std::vector<std::unique_ptr<Part>> parts;
    std::vector<Leaving> leaving;
    /// Place of each endpoint in the lanes' tables: kept while others come and go.
    std::vector<Endpoint> places;
    std::vector<Endpoint> in_use;                         ///< of places: what its packets come for
    std::vector<std::shared_ptr<Sink>> old_sinks;         ///< that leaving parts still have
    stats::StreamSnapshot past;                           ///< what parts that it no longer has have counted
    std::vector<stats::EndpointCounters> past_endpoints;  ///< as places; likewise
    stats::EndpointCounters former;                       ///< of endpoints that have no place any more
    stats::StreamTimes past_times;
    std::unique_ptr<capture::Capture> capture;  ///< its taps are on the parts' lanes, as parts
    std::uint64_t capture_number = 0;           ///< of the captures of the run
    bool blocked = false;                       ///< waits for its consumer, when look() last looked
    bool stopped = false;  ///< by a stop item, on all lcores; only of streams that have several
    std::optional<stats::LastEvent> last_event;  ///< of its sink or its lcores

    std::vector<const Part*> all_parts() const;  ///< those that leave, too
    /// No packet comes to its parts any more.
    void send_parts_away();
    /// Parts that leave keep the former sink.
    void send_sink_away(std::shared_ptr<Sink> successor);
};

/// A capture that was stopped, while its threads still write.
struct EndingCapture {
    std::uint64_t number = 0;
    std::string stream;
    bool former = false;  ///< the stream was removed since
    std::unique_ptr<capture::Capture> capture;
};

struct SendStream {
    std::uint32_t number = 0;  ///< no other sender of the run has it
    SendPlan plan;             ///< as it is carried out
    std::unique_ptr<send::Sender> sender;
    std::unique_ptr<Producer> feeder;
    std::unique_ptr<port::RegionRegistration> registration;  ///< of its payload; null where ports copy
    std::unique_ptr<port::ImpairedQueue> impaired;           ///< through which it sends; usually null
    Worker* worker = nullptr;
    std::size_t port = 0;
    std::uint16_t queue = 0;     ///< of the port; other senders of the lcore may share it
    stats::SendCounters counts;  ///< when its lcore last answered
    bool stuck = false;          ///< likewise
    SendHealth health;
    std::vector<NextHop> hops;
    std::size_t next_hop = 0;            ///< whose turn it is to be looked for
    send::Cut cut = send::Cut::nothing;  ///< heaps were given up so that the run can end
    std::uint64_t unfinished = 0;        ///< how many, then

    /// Nothing of its packets is held back any more; what is, is to go now. Any thread.
    bool let_go_of_packets() noexcept;
};

struct Engine::State {
    State(const Plan& p, const Layout& l, const Surroundings& s)
        : plan(p), layout(l), surroundings(s), consumers(p.end.heaps) {}

    void make_workers();
    std::unique_ptr<Part> make_part(const Stream& stream, const ReceivePlan& r, Worker& worker);
    void make_parts(std::size_t receive);
    void install(Stream& stream, std::unique_ptr<Part> part);
    void deal_memory(Worker& worker, bool with_leaving);
    Queue::Reader& reader(Queue& queue, Worker& worker);
    void connect(Queue& queue, const Queue::Reader& reader);
    void make_queues();
    void connect_queues();
    void switch_queue(Queue& queue, const QueueLayout& to);
    recv::SourceTables tables_of(const Queue::Reader& reader, const QueueLayout& queue) const;
    recv::Distributor::Table distribution(const Queue& queue, const QueueLayout& layout) const;
    const Part* part_on(std::size_t receive, const Worker& worker) const;
    void arm_interrupts();
    std::string why_no_interrupts(const Worker& worker) const;
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
    /// Where a sender's packets leave.
    struct Outlet {
        Worker* worker = nullptr;
        std::uint16_t queue = 0;
    };
    Outlet outlet_for(const SendPlan& s, const std::vector<std::unique_ptr<SendStream>>& fresh) const;
    void check_room(const SendPlan& s) const;
    std::unique_ptr<SendStream> make_send(const SendPlan& s, Outlet outlet);
    std::vector<std::unique_ptr<SendStream>> make_new_sends(const Plan& wanted, const Change& change);
    void map_payload(SendStream& s);
    void attach(SendStream& s);
    void retune(SendStream& s, const SendPlan& to);
    void change_sends(const Plan& wanted, const Change& change,
                      std::vector<std::unique_ptr<SendStream>> fresh);
    void leave_sends();
    bool leave(SendStream& s);
    std::vector<SendStream*> all_sends() const;
    std::vector<SendStream*> sends_on(const Worker& worker) const;
    void add_sends(stats::Snapshot& snap) const;
    void leave_parts();
    void leave_parts(Stream& stream);
    bool leave(Stream& stream, Leaving& leaving);
    void fold(Stream& stream, const Part& part);
    bool anything_leaves() const;

    void make_senders();
    void launch();
    /// Of a start that can be given up; a run that is interrupted ends in order.
    int interrupt_fd() const { return starting ? surroundings.interrupt_fd : -1; }
    void resolve_next_hops(SendStream& s, Clock::time_point end);
    void follow_next_hops();
    void follow_next_hops(SendStream& s);
    void add_host_rules();
    std::size_t running_port(const std::string& name) const;
    void take_off(std::size_t port);
    void put_on(std::size_t port);
    void connect(SendStream& s);
    void stop_waiting(Worker& worker);
    void shut(std::size_t port);
    void renew_host(std::size_t port);
    void lose_port(std::size_t port, const std::string& netdev);
    void look_for(std::size_t port);

    /// Has the worker's lcore run `function(arguments...)` between two bursts (see LcoreCall) and returns
    /// what that returns. None: the lcore has not answered for as long as the run waits for one; the function
    /// may still run. Whatever the lcore gets belongs to this state before it is asked: from then on the
    /// lcore may have it.
    template <typename Function, typename... Arguments>
    [[nodiscard]] auto try_ask(Worker& w, Function function, Arguments... arguments) {
        using Call = LcoreCall<Function, Arguments...>;
        std::optional<typename Call::Result> result;
        if (const auto job = have_done(w, std::make_unique<Call>(function, std::move(arguments)...)))
            result.emplace(static_cast<Call&>(*job).take_result());
        return result;
    }
    /// The same for what must be done: throws LcoreLost.
    template <typename Function, typename... Arguments>
    auto ask(Worker& w, Function function, Arguments... arguments) {
        auto result = try_ask(w, function, std::move(arguments)...);
        if (!result)
            throw_lost(w);
        return std::move(*result);
    }
    std::unique_ptr<LcoreJob> have_done(Worker& w, std::unique_ptr<LcoreJob> job);
    bool is_clear(Worker& w);
    bool keep_waiting(Worker& w);
    void heard(Worker& w);
    Clock::duration lcore_patience() const;
    bool told_to_end() const;
    void lose(Worker& w);
    [[noreturn]] void throw_lost(const Worker& w) const;
    bool any_lost() const;
    bool any_silent() const;
    void need_answers() const;
    bool is_silent_on(std::size_t port) const;
    void tell_of(const Worker& w, bool silent);
    void mark_silent(stats::Snapshot& snap) const;
    void look_at(Worker& w, LcoreLook::Depth depth);
    std::unique_ptr<LcoreLook> look_of(Worker& w, LcoreLook::Depth depth);
    void keep(Worker& w, std::unique_ptr<LcoreLook> look);

    void start_capture(std::size_t stream, const capture::Options& options);
    bool stop_capture(std::size_t stream);
    void stop_captures();
    void end_captures_in_time();
    void collect_captures();
    void collect(const EndingCapture& ending);
    std::vector<stats::CaptureSnapshot> written_captures() const;
    void add_taken(std::vector<stats::CaptureSnapshot>& captures) const;
    bool captures_over() const;
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
    std::string suspects_of(const SendStream& s) const;
    void add_send_health(const SendStream& s, stats::SendSnapshot& to) const;
    static bool is_stalled(const Stream& stream);
    void tell(const std::string& stream, const stats::LastEvent& event);
    void watch_sinks();
    void look_at_sink(Stream& stream, Sink& sink);
    bool sinks_over() const;
    void add_last_events(stats::Snapshot& snap) const;
    void add_health(stats::Snapshot& snap) const;
    bool is_received(std::uint32_t number) const;
    stats::LcoreSnapshot share_of(const Worker& w) const;
    std::optional<Reason> ended(const stats::Snapshot& now);
    bool ports_failed();
    bool all_stopped() const;
    Reason run(const std::function<void(const stats::Snapshot&)>& tick);
    void share_stops();
    bool everything_received(const stats::Snapshot& now) const;
    bool sends_done() const;

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
    void cut_if_too_long(SendStream& s);
    void cut(SendStream& s, send::Cut cut);
    void give_up(SendStream& s, Waited why, std::uint64_t left);
    send::Backlog backlog(SendStream& s);
    void settle_receives();
    std::size_t packets_between_lcores() const;
    void flush_receives();
    void end_consumers();
    void stop_lcores();
    void end_filters();
    void stop_ports();
    void carry_out(const std::function<void()>& step) noexcept;

    Plan plan;      ///< as it is now
    Layout layout;  ///< of it
    const Surroundings surroundings;
    memory::RegionTable regions;
    PortSet ports;  ///< as plan.ports
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<Queue> queues;                               ///< as layout.queues
    std::vector<std::unique_ptr<Stream>> streams;            ///< as plan.receives
    std::vector<std::unique_ptr<Stream>> removed_streams;    ///< with parts that still leave
    stats::StreamSnapshot removed;                           ///< what streams that are no more have counted
    std::uint32_t last_number = 0;                           ///< of a stream
    std::vector<std::unique_ptr<SendStream>> sends;          ///< as plan.sends
    std::vector<std::unique_ptr<SendStream>> leaving_sends;  ///< removed, and not done yet
    std::vector<stats::SendCounters> gone_sends;             ///< as ports: of senders that are no more
    std::uint32_t last_send_number = 0;
    Consumers consumers;
    std::vector<stats::CaptureSnapshot> past_captures;
    std::vector<EndingCapture> ending_captures;
    std::uint64_t last_capture = 0;  ///< number of a capture
    std::vector<std::string> problems;
    bool started = false;
    bool starting = true;    ///< launch() has not come to its end
    bool connected = false;  ///< ports run, and lcores poll their queues
    bool stopped = false;
    bool stopping = false;  ///< stop() is at work
    bool interrupted = false;
    int run_interrupt_fd = -1;     ///< of run(); -1: none
    bool stays = false;            ///< ends neither with its sources nor with its senders
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
    std::uint64_t last_progress = 0;
    WaitingTime unchanged{kLongestRound};  ///< since last_progress changed
    // Strangers can have these happen as often as they like: forged ARP replies.
    LogLimiter hop_news;
    LogLimiter lcore_news;
    Clock::time_point next_told_of_waiting{};
    Clock::time_point next_look_at_ports{};
    Clock::time_point next_look_at_hops{};
};

}  // namespace spead::runtime
