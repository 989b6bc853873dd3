// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "memory/region.hpp"
#include "runtime/change.hpp"
#include "runtime/event_reporter.hpp"
#include "runtime/heap_source.hpp"
#include "runtime/lcore_set.hpp"
#include "runtime/plan.hpp"
#include "runtime/port_set.hpp"
#include "runtime/send_stream.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Holds the senders of a run. They are made at its start or later, changed, and removed once their heaps are
/// done and the driver has given their buffers back.
///
/// Main thread only. Senders are made before anything has changed. They are started, which can fail, before
/// any other is touched. Waits end at a deadline that the caller gives, or with the lcores' patience
/// (LcoreSet).
class SenderSet {
  public:
    using Clock = std::chrono::steady_clock;
    using Fresh = std::vector<std::unique_ptr<SendStream>>;
    /// Makes the heap source of a sender; null: a HeapGenerator.
    using MakeHeapSource =
        std::function<std::unique_ptr<HeapSource>(const SendPlan&, send::Sender&, memory::RegionTable&)>;

    /// Refers to all of them; they outlive the set. A sender that failed is a problem of the run.
    SenderSet(LcoreSet& lcores, PortSet& ports, memory::RegionTable& regions, MakeHeapSource make_heap_source,
              std::vector<std::string>& problems)
        : lcores_(lcores),
          ports_(ports),
          regions_(regions),
          make_heap_source_(std::move(make_heap_source)),
          problems_(problems) {}

    /// Makes the senders of a run that begins. `interrupt_fd` ends waits for neighbours; -1: none. Throws
    /// Error.
    void make(const std::vector<SendPlan>& plans, int interrupt_fd);
    /// Starts the enabled senders, once their destinations have answered ARP. Their threads run on the CPUs
    /// `control`. Throws Error.
    void start(const std::vector<unsigned>& control, int interrupt_fd);

    /// Notes that a port was opened.
    void note_ports() { gone_.resize(ports_.size()); }

    /// Returns the senders of the plan, in its order.
    const std::vector<std::unique_ptr<SendStream>>& planned() const noexcept { return planned_; }
    /// Returns all senders, with the removed ones that are not done yet.
    std::vector<SendStream*> all() const;
    std::vector<SendStream*> on(const Worker& worker) const;
    bool any_leaving() const noexcept { return !leaving_.empty(); }
    /// Returns whether all heaps are made and sent, except those of lost lcores.
    bool done() const;
    /// Returns whether the heap source of a sender has failed.
    bool failed() const;

    /// Makes the senders of the wanted plan that do not run yet, at their indices; no lcore knows them.
    /// Throws Error, and nothing has changed, when there is no room or no next hop.
    Fresh make_new(const Plan& wanted, const Change& change, int interrupt_fd);
    /// Changes the senders to the plan. Throws Error: then all are as before, and new ones are being removed.
    void change(const Plan& wanted, const Change& change, Fresh fresh, const std::vector<unsigned>& control);
    /// Maps the region for the ports of present and future senders, as far as they can. Throws Error, and
    /// nothing has changed, when RegionTable::add, EAL or a device refuses it.
    void add_region(const memory::Region& region);
    /// Removes the region; no heap in flight refers to it. Throws Error when no region starts at `base`.
    void remove_region(const std::byte* base);

    /// Returns whether packets come back on the sender's port, and may still refer to the sender's memory.
    bool gets_back(const SendPlan& send) const;
    /// Returns the memory of this machine that received packets may refer to: that of senders whose packets
    /// come back.
    std::vector<memory::Region> regions_that_return() const;

    /// Destroys removed senders that are done. `longest_finish`: as cut_if_too_long().
    void let_go(Clock::duration longest_finish);

    /// Gives up heaps in flight that would take longer than `longest_finish` at their rate; first those that
    /// have not begun. The stop heaps are sent in any case.
    void cut_if_too_long(SendStream& s, Clock::duration longest_finish);
    static void cut(SendStream& s, send::Cut cut);
    send::Backlog backlog(SendStream& s);
    /// Calls send::Sender::dummy on the lcore of the sender of that name. Throws Error.
    send::DummyResult dummy(const std::string& name, std::uint32_t packets);

    /// Takes the port's queues from the lcores; heaps wait.
    void take_off(std::size_t port);
    /// Connects the senders to the restarted port; it may be another device than before.
    void put_on(std::size_t port);
    /// Unmaps the payload memory from a port whose interface has disappeared.
    void unmap(std::size_t port);
    /// Maps it again on the new device, and resolves the next hops. Returns false when the port has no
    /// senders.
    bool map(std::size_t port);

    /// Follows the MAC addresses of destinations, and the addresses of interfaces that packets come from. On
    /// ports that the kernel sees, once a second.
    void follow_addresses();
    LogLimiter& hop_news() noexcept { return hop_news_; }

    /// Adds the senders with the counts of their lcores' last answers; after the ports.
    void add_to(stats::Snapshot& snap) const;
    /// Reports senders whose port takes no packets, by the counts of a snapshot; `now` counts from the start.
    void watch(double now, EventReporter& events);
    /// Returns the likely causes why the port takes no packets, as a clause.
    std::string suspects_of(const SendStream& s) const;

  private:
    /// Returns the source address of a sender's packets. `now`: the present one; unspecified: none.
    static IpAddress source_of(const SendPlan& s, const LivePort& port, const IpAddress& now);

    /// Names the lcore and queue through which a sender's packets leave.
    struct Outlet {
        Worker* worker = nullptr;
        std::uint16_t queue = 0;
    };

    void add_heap_source(SendStream& made);
    std::unique_ptr<SendStream> make_one(const SendPlan& s, Outlet outlet, int interrupt_fd);
    Outlet outlet_for(const SendPlan& s, const Fresh& fresh) const;
    void check_room(const SendPlan& s) const;
    void attach(SendStream& s);
    void retune(SendStream& s, const SendPlan& to);
    bool let_go(SendStream& s, Clock::duration longest_finish);
    bool others_agree(const SendStream& s);
    void map_payload(SendStream& s);
    void connect(SendStream& s);
    void resolve_next_hops(SendStream& s, Clock::time_point end, int interrupt_fd);
    void follow_next_hops(SendStream& s);
    void follow_source(SendStream& s);

    LcoreSet& lcores_;
    PortSet& ports_;
    memory::RegionTable& regions_;
    std::vector<memory::Region> shared_;  ///< of add_region
    MakeHeapSource make_heap_source_;
    std::vector<std::string>& problems_;
    std::map<std::string, std::weak_ptr<Lockstep>> locksteps_;  ///< by the originals' names
    std::vector<std::unique_ptr<SendStream>> planned_;
    std::vector<std::unique_ptr<SendStream>> leaving_;
    std::vector<stats::SendCounters> gone_;  ///< in the order of ports: of removed senders
    std::uint64_t gone_left_out_ = 0;        ///< of removed senders
    std::string gone_impair_;                ///< impairments of removed senders; empty: none
    std::uint32_t last_number_ = 0;
    /// Limits log messages: other hosts can forge ARP replies as often as they like.
    LogLimiter hop_news_;
    Clock::time_point next_look_{};  ///< at the kernel's addresses
};

}  // namespace spead::runtime
