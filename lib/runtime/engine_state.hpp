// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/arena.hpp"
#include "memory/region.hpp"
#include "port/membership.hpp"
#include "port/port.hpp"
#include "port/region_registration.hpp"
#include "recv/distributor.hpp"
#include "runtime/consumers.hpp"
#include "runtime/engine.hpp"
#include "runtime/feeder.hpp"
#include "runtime/lcore_loop.hpp"
#include "runtime/link_host.hpp"
#include "runtime/link_watch.hpp"
#include "runtime/next_hops.hpp"
#include "runtime/sink.hpp"

/// What an Engine owns, in the order in which it may be destroyed (backwards). Private to
/// lib/runtime/engine*.cpp.
namespace spead::runtime {

using Clock = std::chrono::steady_clock;

/// One worker lcore with what it owns.
struct Worker {
    const WorkerLayout* layout = nullptr;
    memory::Arena arena;
    std::optional<heap::Shares> shares;                   ///< of arena
    std::vector<std::unique_ptr<recv::SpeadLane>> lanes;  ///< as layout->receives
    /// Where packets come from: queues of ports, and lcores that pass theirs on.
    std::vector<std::unique_ptr<recv::Source>> sources;
    std::vector<std::size_t> source_ports;  ///< index of each source's port
    std::unique_ptr<LcoreLoop> loop;
    bool launched = false;
    bool lost = false;  ///< its lcore did not answer, and is not asked again

    /// What the lcore counted when it last answered.
    struct Counts {
        std::vector<stats::StreamCounters> streams;  ///< as lanes
        std::vector<std::uint64_t> taken;            ///< as lanes: heaps that consumers took
        std::vector<stats::RxCounters> ports;        ///< as sources
        std::vector<stats::SendCounters> sends;      ///< as layout->sends
    };
    Counts counts;
};

/// One receive queue of a port in use.
struct Queue {
    const QueueLayout* layout = nullptr;
    std::unique_ptr<recv::Distributor> distributor;  ///< null where one lcore has all of it
    struct Reader {
        recv::Source* source;
        std::size_t share;  ///< 0: the lcore that polls the queue; i+1: the distributor's i-th other
    };
    std::vector<Reader> readers;
};

struct Stream {
    /// Its share on one lcore.
    struct Part {
        recv::SpeadLane* lane;
        Worker* worker;
        std::size_t feed;  ///< its number among the consumers'
    };
    std::unique_ptr<Sink> sink;
    std::vector<Part> parts;
    bool blocked = false;  ///< waits for its consumer, when look() last looked
    bool stopped = false;  ///< by a stop item, on all lcores; only of streams that have several
};

struct SendStream {
    std::unique_ptr<send::Sender> sender;
    std::unique_ptr<Feeder> feeder;
    Worker* worker = nullptr;
    std::size_t port = 0;
    std::vector<NextHop> hops;
    std::size_t next_hop = 0;            ///< whose turn it is to be looked for
    send::Cut cut = send::Cut::nothing;  ///< heaps were given up so that the run can end
    std::uint64_t unfinished = 0;        ///< how many, then
};

struct Engine::State {
    State(const Plan& p, const Layout& l, const Surroundings& s)
        : plan(p), layout(l), surroundings(s), consumers(p.end.heaps) {}

    void open_ports();
    void make_workers();
    void make_streams(Worker& worker);
    void make_queues();
    recv::Source& make_source(const QueueLayout& queue, Worker& worker);
    void connect_queues();
    void arm_interrupts();
    std::string why_no_interrupts(const Worker& worker) const;
    void add_rules();
    void make_senders(Worker& worker);
    void launch();
    void make_hosts();
    void serve_hosts();
    void join_with_own_host(LinkHost& host, const ReceivePlan& r);
    void leave_with_own_hosts();
    void resolve_next_hops();
    void follow_next_hops();
    void follow_next_hops(SendStream& s);
    void join_groups();
    void leave_groups();
    std::size_t port_index(const std::string& name) const;

    /// Has the worker's lcore run `function` between two bursts; see Mailbox::call. False: it does not
    /// answer.
    template <typename Function>
    bool ask(Worker& w, Function&& function) {
        if (w.lost)
            return false;
        if (w.loop->mailbox().call(function) == Mailbox::Answer::done)
            return true;
        lose(w);
        return false;
    }
    void lose(Worker& w);
    bool any_lost() const;

    stats::Snapshot take_snapshot();
    stats::LcoreSnapshot share_of(const Worker& w) const;
    std::vector<std::vector<stats::RuleSnapshot>> rules_now() const;
    void remember_rules();
    std::optional<Reason> ended(const stats::Snapshot& now);
    bool ports_failed();
    bool all_stopped();
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
    void finish_sends();
    void cut_what_takes_too_long();
    void cut(SendStream& s, send::Cut cut);
    void give_up(SendStream& s, Waited why, std::uint64_t left);
    send::Backlog backlog(SendStream& s);
    const std::string& name_of(const SendStream& s) const;
    void settle_receives();
    std::size_t packets_between_lcores() const;
    void flush_receives();
    void end_consumers();
    void stop_lcores();
    void stop_ports();
    void carry_out(void (State::*step)()) noexcept;

    Plan plan;      ///< as it is now
    Layout layout;  ///< of it
    const Surroundings surroundings;
    memory::RegionTable regions;
    std::vector<std::unique_ptr<LinkHost>> hosts;  ///< as ports; null where the kernel answers, or nobody
    std::vector<std::unique_ptr<port::Port>> ports;
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<Queue> queues;      ///< as layout.queues
    std::vector<Stream> streams;    ///< as plan.receives
    std::vector<SendStream> sends;  ///< as plan.sends
    std::vector<std::unique_ptr<port::RegionRegistration>> registrations;
    std::vector<std::unique_ptr<port::KernelMembership>> memberships;
    Consumers consumers;
    std::vector<std::string> problems;
    bool started = false;
    bool stopped = false;
    bool interrupted = false;
    Executor* executor = nullptr;  ///< posts what others want done
    bool told_of_consumers = false;
    std::vector<std::string> remarks;
    Clock::time_point begin{};
    double duration = 0;  ///< fixed when stopped
    std::uint64_t last_progress = 0;
    Clock::time_point last_change{};                           ///< of last_progress
    std::vector<std::vector<stats::RuleSnapshot>> last_rules;  ///< as ports, once the run is over
    std::vector<LinkWatch> links;                              ///< as ports
    std::vector<PeerWatch> peers;                              ///< as ports
    Clock::time_point next_look_at_ports{};
    Clock::time_point next_look_at_hops{};
};

}  // namespace spead::runtime
