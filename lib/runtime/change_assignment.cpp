// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/change_assignment.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "memory/mapping.hpp"
#include "runtime/layout_ports.hpp"
#include "runtime/lossless.hpp"
#include "runtime/paths.hpp"

namespace spead::runtime {

namespace {

/// Checks that the lcore which puts a port's fragments together gets all of them. Throws UsageError.
void check_reassembling_lcore(const PortPlan& p, const std::vector<StreamOnPort>& streams) {
    std::vector<unsigned> cpus;
    for (const StreamOnPort& s : streams)
        if (!s.endpoints.empty())
            for (const unsigned cpu : s.cpus)
                add_once(cpus, cpu);
    if (p.reassemble && cpus.size() > 1)
        throw_usage(
            fmt::format("port {}", p.name),
            "`reassemble` needs all of the port's streams on one lcore, because the fragments of a packet "
            "have to meet, and they would be on CPUs {}; change the `lcores` of all at once (SIGHUP, or the "
            "API's configuration), or stop the other streams until they have moved, too",
            fmt::join(cpus, ", "));
}

}  // namespace

ChangeAssignment::Cpus ChangeAssignment::cpus_of(const Plan& wanted, const Change& change) const {
    Cpus cpus;
    for (std::size_t i = 0; i < wanted.receives.size(); i++) {
        const ReceivePlan& r = wanted.receives[i];
        const Change::Receive& c = change.receives[i];
        const bool placed = c.before && of_.plan.receives[*c.before].port == r.port &&
                            of_.plan.receives[*c.before].paths == r.paths &&
                            of_.plan.receives[*c.before].lcores == r.lcores;
        cpus.push_back(placed ? of_.layout.stream_cpus[*c.before] : cpus_for(r));
        if (c.kind == Change::Kind::lanes && r.enabled)
            check_room(r, cpus.back());
    }
    check_lossless(wanted, change, cpus);
    return cpus;
}

/// Returns the lcores for a stream that is new on its port: those that it names, or the least loaded one that
/// polls the port.
std::vector<unsigned> ChangeAssignment::cpus_for(const ReceivePlan& r) const {
    const std::string where = fmt::format("receive {}", r.name);
    for_each_path(r, [&](std::size_t, const std::string& port, const auto&) {
        if (of_.layout.ports[of_.ports.index_of(port)].request.rx_queues == 0)
            throw_error(where,
                        "port {} was opened without a receive queue: start the program with a stream on it "
                        "([[receive]], which may say `enabled = false`)",
                        port);
    });
    std::vector<unsigned> cpus;
    for (const unsigned cpu : r.lcores) {
        const auto found = std::find_if(of_.lcores.begin(), of_.lcores.end(),
                                        [cpu](const auto& w) { return w->layout->planned_cpu == cpu; });
        if (found == of_.lcores.end()) {
            std::vector<unsigned> there;
            for (const auto& w : of_.lcores)
                there.push_back(w->layout->planned_cpu);
            throw_error(where,
                        "no lcore runs on CPU {}, only on {}: list all CPUs for streams in `lcores` of "
                        "[runtime], with `live = true`",
                        cpu, fmt::join(there, ", "));
        }
        if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end())
            cpus.push_back(cpu);
    }
    if (!cpus.empty())
        return cpus;
    return {of_.queues.least_busy(of_.ports.index_of(r.port)).layout->planned_cpu};
}

void ChangeAssignment::check_room(const ReceivePlan& r, const std::vector<unsigned>& cpus) const {
    const std::string where = fmt::format("receive {}", r.name);
    // Buffers are rounded up, which often leaves room for the longer headers of IPv6.
    const std::uint32_t needed = payload_in_ipv4(r);
    const auto room = [](std::uint32_t payload) { return port::data_room_of(port::rx_frame_of(payload)); };
    for_each_path(r, [&](std::size_t, const std::string& port, const auto&) {
        const port::PlannedPort& p = of_.layout.ports[of_.ports.index_of(port)];
        if (needed > p.request.max_rx_packet && room(needed) > room(p.request.max_rx_packet))
            throw_error(
                where,
                "packets of {} bytes (`max_packet_size`) do not fit: the buffers of port {} were made for "
                "{}",
                r.max_packet_size, port, p.request.max_rx_packet - (needed - r.max_packet_size));
    });
    std::size_t bookkeeping = 0;
    const bool shares = shares_heap_memory(r);
    for (const unsigned cpu : cpus) {
        const Worker& w = of_.lcores.on_cpu(cpu);
        if (shares && w.layout->heap_bytes == 0)
            throw_error(where,
                        "the lcore on CPU {} has no memory for heaps: it only sends. Name it in `lcores` "
                        "of [runtime], or another one in `lcores` of the stream",
                        cpu);
        if (shares && r.max_bytes > w.arena.largest())
            throw_error(where,
                        "heaps of {} (`max_bytes`) do not fit: the memory of the lcore on CPU {} is divided "
                        "for heaps of at most {}; lower `max_bytes`",
                        human_size(r.max_bytes), cpu, human_size(w.arena.largest()));
        if (w.loop->receiver().lanes().size() + 1 >= recv::RxAgent::kMaxLanes)
            throw_error(where, "the lcore on CPU {} has {} streams, which is the limit; name another CPU",
                        cpu, w.lanes.size());
        bookkeeping += bookkeeping_bytes(r) + own_host_bytes(r);
    }
    const std::size_t available = memory::available_memory();
    if (const ChunkBytes chunks = chunk_bytes(r);
        available != 0 && chunks.sum() + bookkeeping > available && chunks.sum() > bookkeeping)
        throw_error(where,
                    "its {} {} {} ({} of payload + {} for presence and extra values), and {} are "
                    "available; lower their number (`chunk.chunks`, --chunks) or their size "
                    "(`chunk.placement`)",
                    counted(r.chunk->chunks, "chunks"), word_for(r.chunk->chunks, "needs", "need"),
                    human_size(chunks.sum()), human_size(chunks.payload), human_size(chunks.books),
                    human_size(available));
    if (available != 0 && bookkeeping > available)
        throw_error(where,
                    "its windows and queues{} need {}, and {} are available; lower `queue_depth`, `max_live` "
                    "or `substreams`{}",
                    r.own_memory() == 0 ? "" : ", and its heaps,", human_size(bookkeeping),
                    human_size(available), r.own_memory() == 0 ? "" : ", or give it less memory");
}

/// Checks that streams that are added or changed leave enough memory for lossless streams.
void ChangeAssignment::check_lossless(const Plan& wanted, const Change& change, const Cpus& cpus) const {
    if (std::none_of(change.receives.begin(), change.receives.end(),
                     [](const Change::Receive& c) { return c.kind == Change::Kind::lanes; }))
        return;
    for (const auto& w : of_.lcores) {
        std::size_t sharing = 0;
        std::vector<const ReceivePlan*> waiting;
        for (std::size_t i = 0; i < wanted.receives.size(); i++) {
            const ReceivePlan& r = wanted.receives[i];
            // Chunks are no heaps in the lcore's memory.
            if (!r.enabled || r.chunk ||
                std::find(cpus[i].begin(), cpus[i].end(), w->layout->planned_cpu) == cpus[i].end())
                continue;
            const bool lossless = is_lossless(of_.ports, r);
            const bool waits = lossless && waits_for_consumer(r, lossless);
            if (r.own_memory() != 0) {
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

QueueAssignment ChangeAssignment::queues_of(const Plan& wanted, const Cpus& cpus) const {
    QueueAssignment to;
    to.port_cpus = of_.layout.port_cpus;
    to.stream_cpus = cpus;
    for (std::size_t p = 0; p < of_.ports.size(); p++) {
        const std::vector<StreamOnPort> here = streams_on(wanted, wanted.ports[p].name, cpus);
        for (const StreamOnPort& s : here)
            for (const unsigned cpu : s.cpus)
                add_once(to.port_cpus[p], cpu);
        check_reassembling_lcore(wanted.ports[p], here);
        if (to.port_cpus[p].empty())
            continue;
        const port::PortRequest& request = of_.layout.ports[p].request;
        const PortAssignment s = assign_queues(p, of_.ports[p].device().capabilities(), to.port_cpus[p],
                                               request.rx_queues, here, request.vlan);
        to.queues.insert(to.queues.end(), s.queues.begin(), s.queues.end());
        to.rules.insert(to.rules.end(), s.rules.begin(), s.rules.end());
    }
    // Queues that are polled for replies only (senders' of_.ports) get no streams.
    for (const QueueLayout& q : of_.layout.queues)
        if (std::none_of(to.queues.begin(), to.queues.end(), [&q](const QueueLayout& other) {
                return other.port == q.port && other.queue == q.queue;
            }))
            to.queues.push_back(q);
    std::stable_sort(to.queues.begin(), to.queues.end(), [](const QueueLayout& a, const QueueLayout& b) {
        return std::pair(a.port, a.queue) < std::pair(b.port, b.queue);
    });
    return to;
}

}  // namespace spead::runtime
