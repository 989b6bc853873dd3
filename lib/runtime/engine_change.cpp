// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_cycles.h>

#include "base/error.hpp"
#include "base/units.hpp"
#include "memory/mapping.hpp"
#include "runtime/descriptors.hpp"
#include "runtime/engine_state.hpp"
#include "runtime/lossless.hpp"

/// Streams that come, go, change and move while others receive. Lcores take new tables between two bursts;
/// nothing they own is touched by another thread.
namespace spead::runtime {

namespace {

/// Whoever asks for a change waits so long for what goes; a slow consumer's heaps go later.
constexpr auto kLeavePatience = std::chrono::seconds(2);

/// Streams and senders that are others afterwards, and the ports of these streams.
std::vector<std::string> names_of_changed(const Plan& before, const Plan& after, const Change& change) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < after.receives.size(); i++)
        if (change.receives[i].kind != Change::Kind::none) {
            names.push_back(after.receives[i].name);
            names.push_back(after.receives[i].port);
        }
    for (const std::size_t gone : change.removed)
        names.push_back(before.receives[gone].name);
    for (std::size_t i = 0; i < after.sends.size(); i++)
        if (const auto& s = change.sends[i].before; !s || before.sends[*s] != after.sends[i])
            names.push_back(after.sends[i].name);
    for (const std::size_t gone : change.removed_sends)
        names.push_back(before.sends[gone].name);
    return names;
}

}  // namespace

void Engine::reconfigure(const Plan& wanted) {
    State& s = *state_;
    if (!s.clock.started() || s.clock.stopped())
        throw_error("runtime", "nothing runs that could be changed");
    s.reconfigure(wanted);
}

void Engine::State::reconfigure(const Plan& asked) {
    lcores.need_answers();
    need_kept_descriptors("a change");
    Plan wanted = asked;
    const Change change =
        compare(plan, wanted, surroundings.drivers.empty() ? NewPorts::refused : NewPorts::welcome);
    open_new_ports(wanted);
    std::vector<std::vector<unsigned>> cpus;
    for (std::size_t i = 0; i < wanted.receives.size(); i++) {
        const ReceivePlan& r = wanted.receives[i];
        const Change::Receive& c = change.receives[i];
        if (c.before && c.kind == Change::Kind::parts && streams.current()[*c.before]->capture)
            throw_error(fmt::format("receive {}", r.name),
                        "it is being captured, which a change of its lcores or windows would cut; stop the "
                        "capture first");
        const bool placed = c.before && plan.receives[*c.before].port == r.port &&
                            plan.receives[*c.before].lcores == r.lcores;
        cpus.push_back(placed ? layout.stream_cpus[*c.before] : cpus_for(r));
        if (c.kind == Change::Kind::parts && r.enabled)
            check_room(r, cpus.back());
        if (c.kind == Change::Kind::parts && c.before)
            streams.check_users(*c.before);
    }
    check_lossless(wanted, change, cpus);
    for (const std::size_t gone : change.removed)
        if (streams.current()[gone]->capture)
            throw_error(fmt::format("receive {}", plan.receives[gone].name),
                        "it is being captured; stop the capture first");
    for (std::size_t i = 0; i < wanted.sends.size(); i++) {
        const auto& s = change.sends[i].before;
        if (s && wanted.sends[i].enabled && !senders.planned()[*s]->plan.enabled &&
            !senders.planned()[*s]->feeder->done())
            throw_error(fmt::format("send {}", wanted.sends[i].name),
                        "it has not finished what it was sending; try again when it has");
    }
    SenderSet::Fresh fresh = senders.make_new(wanted, change, interrupt_fd());
    (void)snapshots.take_detailed();
    const Plan before = plan;
    const std::vector<std::vector<unsigned>> cpus_before = layout.stream_cpus;
    try {
        move_to(wanted, change, cpus);
        senders.change(wanted, change, std::move(fresh), layout.control_cpus());
        for (const auto& w : lcores)
            set_idling(*w);
        launch_lcores();
    } catch (const std::exception&) {
        try {
            Plan back = before;
            plan.sends = back.sends;  // they are as they were
            const Change undo = compare(plan, back);
            move_to(back, undo, cpus_before);
        } catch (const std::exception& e) {
            problems.push_back(fmt::format("a change failed, and could not be undone: {}", e.what()));
            interrupted = true;
            lcores.end_soon();
        }
        throw;
    }
    plan = wanted;
    set_lcore_patience();
    snapshots.parts_changed(names_of_changed(before, wanted, change));
    const Clock::time_point end = Clock::now() + kLeavePatience;
    while (anything_leaves() && Clock::now() < end) {
        ports.serve_hosts();
        std::this_thread::sleep_for(kStep);
        streams.let_go();
        senders.let_go(surroundings.longest_finish);
    }
}

/// Lcores for a stream that is new on its port: those that it names, or the one that polls the port and has
/// the least to do.
std::vector<unsigned> Engine::State::cpus_for(const ReceivePlan& r) const {
    const std::size_t port = ports.index_of(r.port);
    const std::string where = fmt::format("receive {}", r.name);
    if (layout.ports[port].request.rx_queues == 0)
        throw_error(where,
                    "port {} was opened without a receive queue: start the program with a stream on it "
                    "([[receive]], which may say `enabled = false`)",
                    r.port);
    std::vector<unsigned> cpus;
    for (const unsigned cpu : r.lcores) {
        const auto found = std::find_if(lcores.begin(), lcores.end(),
                                        [cpu](const auto& w) { return w->layout->planned_cpu == cpu; });
        if (found == lcores.end()) {
            std::vector<unsigned> there;
            for (const auto& w : lcores)
                there.push_back(w->layout->planned_cpu);
            throw_error(where,
                        "no lcore runs on CPU {}, only on {}: name all that streams may use in `lcores` of "
                        "[runtime], with `live = true`",
                        cpu, fmt::join(there, ", "));
        }
        if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end())
            cpus.push_back(cpu);
    }
    if (!cpus.empty())
        return cpus;
    return {queues.least_busy(port).layout->planned_cpu};
}

void Engine::State::check_room(const ReceivePlan& r, const std::vector<unsigned>& cpus) const {
    const std::string where = fmt::format("receive {}", r.name);
    const port::PlannedPort& p = layout.ports[ports.index_of(r.port)];
    if (r.max_packet_size > p.request.max_rx_packet)
        throw_error(
            where,
            "packets of {} bytes (`max_packet_size`) do not fit: the buffers of port {} were made for "
            "{}",
            r.max_packet_size, r.port, p.request.max_rx_packet);
    std::size_t bookkeeping = 0;
    for (const unsigned cpu : cpus) {
        const Worker& w = lcores.on_cpu(cpu);
        if (r.memory == 0 && w.layout->heap_bytes == 0)
            throw_error(where,
                        "the lcore on CPU {} has no memory for heaps: it only sends. Name it in `lcores` "
                        "of [runtime], or another one in `lcores` of the stream",
                        cpu);
        if (r.memory == 0 && r.max_bytes > w.arena.largest())
            throw_error(where,
                        "heaps of {} (`max_bytes`) do not fit: the memory of the lcore on CPU {} is cut for "
                        "heaps of at most {}",
                        human_size(r.max_bytes), cpu, human_size(w.arena.largest()));
        if (w.loop->receiver().lanes().size() + 1 >= recv::RxAgent::kMaxLanes)
            throw_error(where, "the lcore on CPU {} has {} streams, and no room for more", cpu,
                        w.parts.size());
        bookkeeping += bookkeeping_bytes(r) + own_heap_bytes(r);
    }
    if (const std::size_t available = memory::available_memory(); available != 0 && bookkeeping > available)
        throw_error(where,
                    "its windows and queues{} need {}, and {} are available; lower `ring`, `max_live` "
                    "or `substreams`{}",
                    r.memory == 0 ? "" : ", and its heaps,", human_size(bookkeeping), human_size(available),
                    r.memory == 0 ? "" : ", or give it less memory");
}

/// Streams that come or change must leave room for what may not be lost.
void Engine::State::check_lossless(const Plan& wanted, const Change& change,
                                   const std::vector<std::vector<unsigned>>& cpus) const {
    if (std::none_of(change.receives.begin(), change.receives.end(),
                     [](const Change::Receive& c) { return c.kind == Change::Kind::parts; }))
        return;
    for (const auto& w : lcores) {
        std::size_t sharing = 0;
        std::vector<const ReceivePlan*> waiting;
        for (std::size_t i = 0; i < wanted.receives.size(); i++) {
            const ReceivePlan& r = wanted.receives[i];
            if (!r.enabled ||
                std::find(cpus[i].begin(), cpus[i].end(), w->layout->planned_cpu) == cpus[i].end())
                continue;
            const bool lossless = ports[r.port].device().capabilities().lossless;
            const bool waits = lossless && waits_for_consumer(r, lossless);
            if (r.memory != 0) {
                const ReceivePlan* const one = &r;
                if (const std::string why = why_not_lossless(own_memory(r, waits, one)); !why.empty())
                    throw UsageError(why);
                continue;
            }
            sharing++;
            if (waits)
                waiting.push_back(&r);
        }
        if (const std::string why =
                why_not_lossless({w->arena.capacity(), w->layout->largest_heap, sharing, waiting});
            !why.empty())
            throw UsageError(why);
    }
}

/// The same ports, queues and lcores, dealt anew. What does not change is dealt as before.
Dealing Engine::State::deal(const Plan& wanted, const std::vector<std::vector<unsigned>>& cpus) const {
    Dealing to;
    to.port_cpus = layout.port_cpus;
    to.stream_cpus = cpus;
    for (std::size_t p = 0; p < ports.size(); p++) {
        const std::vector<StreamOnPort> here = streams_on(wanted, wanted.ports[p].name, cpus);
        for (const StreamOnPort& s : here)
            for (const unsigned cpu : s.cpus)
                add_once(to.port_cpus[p], cpu);
        if (to.port_cpus[p].empty())
            continue;
        const port::PortRequest& request = layout.ports[p].request;
        const Spread s = spread(p, ports[p].device().capabilities(), to.port_cpus[p], request.rx_queues, here,
                                request.vlan);
        to.queues.insert(to.queues.end(), s.queues.begin(), s.queues.end());
        to.rules.insert(to.rules.end(), s.rules.begin(), s.rules.end());
    }
    // Queues that are polled for answers only (senders' ports) are dealt to nobody.
    for (const QueueLayout& q : layout.queues)
        if (std::none_of(to.queues.begin(), to.queues.end(), [&q](const QueueLayout& other) {
                return other.port == q.port && other.queue == q.queue;
            }))
            to.queues.push_back(q);
    std::stable_sort(to.queues.begin(), to.queues.end(), [](const QueueLayout& a, const QueueLayout& b) {
        return std::pair(a.port, a.queue) < std::pair(b.port, b.queue);
    });
    return to;
}

/// Groups that nobody wants are left and their rules removed; lcores get the new streams, then the tables
/// that name them; then rules and groups for what is new. Old parts are on their way out from then on.
void Engine::State::move_to(const Plan& wanted, const Change& change,
                            const std::vector<std::vector<unsigned>>& cpus) {
    // Sinks are what most often cannot be made: before anything has changed. New windows and queues are made
    // further down, when lcores know the plan; a failure there is undone like that of a port.
    StreamSet::Fresh fresh = streams.make_fresh(wanted.receives, change);
    Dealing to = deal(wanted, cpus);

    ports.leave_groups_but(groups_of(wanted));
    ports.remove_rules_but(to.rules);

    for (const std::size_t gone : change.removed)
        captures.stream_removed(plan.receives[gone].name);
    streams.exchange(change, std::move(fresh.streams));
    plan = wanted;
    set_lcore_patience();
    static_cast<Dealing&>(layout) = std::move(to);

    streams.renew(plan.receives, layout.queues, change, std::move(fresh));
    queues.deliver(layout.queues, {plan, streams.current()});
    for (const auto& w : lcores) {
        streams.deal_memory(*w, false);
        set_idling(*w);
    }
    ports.add_rules(layout.rules);
    ports.join(groups_of(plan), interrupt_fd());
    for (std::size_t i = 0; i < plan.receives.size(); i++)
        if (change.receives[i].kind == Change::Kind::parts)
            start_planned_capture(i);
}

bool Engine::State::anything_leaves() const {
    return streams.any_leaving() || senders.any_leaving();
}

}  // namespace spead::runtime
