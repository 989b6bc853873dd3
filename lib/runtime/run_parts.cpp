// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/run_parts.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_cycles.h>

#include "base/error.hpp"
#include "port/machine.hpp"
#include "runtime/copy_limits.hpp"
#include "runtime/engine.hpp"
#include "runtime/idling.hpp"
#include "runtime/paths.hpp"
#include "runtime/sendable_region.hpp"
#include "stats/engine_findings.hpp"

namespace spead::runtime {

namespace {

/// Holds the packet size from which the longest sleep of an idle lcore is computed.
constexpr std::uint32_t kTypicalPacket = 1024;
constexpr std::uint64_t kTypicalLink = 10'000'000'000;

/// Makes the chunks of a stream that fills those of a user.
std::shared_ptr<StreamChunks> fill_chunks_of_user(const ReceivePlan& r, const UserChunks::Use& use,
                                                  std::shared_ptr<ChunkSink> sink) {
    if (!use.chunks)
        throw_error(fmt::format("receive {}", r.name),
                    "no user takes its chunks; make the stream as a ChunkStream");
    if (r.chunk->by_callback != static_cast<bool>(use.make_callback))
        throw_error(
            fmt::format("receive {}", r.name),
            "its plan and its user disagree about a place callback; make the stream as a ChunkStream");
    return std::make_shared<StreamChunks>(r, use, std::move(sink));
}

memory::StoresRule of_this_machine(unsigned cpu, const std::vector<unsigned>& lcores) {
    return stores_rule(port::this_machine().files, cpu, lcores);
}

}  // namespace

RunParts::RunParts(const Plan& p, const Layout& l, const EngineHooks& s)
    : plan(p),
      layout(l),
      lcores(notes.problems,
             {[this](const Worker& w, bool silent) { report_silence(w, silent); }, s.on_wait}),
      events(p.runtime.name, p.runtime.on_event, {s.on_event, s.on_lcore, s.on_engine}),
      senders(lcores, ports, regions, s.make_heap_source, notes.problems),
      consumers(p.end.heaps),
      engines(l.control_cpus(), [this](HeapEngine engine, bool stalled,
                                       const EngineWatch& watch) { report_stall(engine, stalled, watch); }),
      streams(lcores, ports, consumers, events,
              {s.make_sink,
               [this, make = s.make_chunk_sink, users = s.user_chunks](
                   const ReceivePlan& r, std::uint32_t number, std::shared_ptr<Sink>& sink) {
                   std::shared_ptr<ChunkSink> made = make(r);
                   sink = made;
                   if (r.sink.kind == SinkKind::user || r.chunk->by_callback)
                       return fill_chunks_of_user(r, users ? users(r.name) : UserChunks::Use(),
                                                  std::move(made));
                   return std::make_shared<StreamChunks>(
                       r, number, std::move(made), layout.control_cpus(),
                       [this](const memory::Region& region) {
                           return std::make_shared<const SendableRegion>(senders, region);
                       },
                       r.engine == HeapEngine::none ? nullptr : engines.engine(r.engine));
               },
               s.make_filter, s.user_queues, s.make_stores ? s.make_stores : of_this_machine, &engines},
              notes.problems) {
    if (s.rest_unused_lcores)
        lcores.launch_only([this](const Worker& w) {
            return !w.lanes.empty() || !w.sources.empty() || !senders.on(w).empty();
        });
    lcores.set_patience(plan.runtime.lcore_timeout, s.lcore_patience);
}

void RunParts::make(int interrupt_fd) {
    for (port::PlannedPort& port : layout.ports)
        engines.give_memory(plan, port);
    ports.open(plan.ports, layout.ports);
    for (const WorkerLayout& w : layout.workers) {
        Worker& worker = lcores.add(w);
        std::uint32_t sleep = 1000;
        for (const QueueLayout& q : layout.queues)
            if (q.cpu == w.planned_cpu ||
                std::any_of(w.receives.begin(), w.receives.end(), [&](std::size_t i) {
                    return receives_on(plan.receives[i], plan.ports[q.port].name);
                }))
                sleep = std::min(sleep,
                                 longest_sleep_us(ports[q.port].rx_packets(), kTypicalPacket, kTypicalLink));
        worker.loop =
            std::make_unique<LcoreLoop>(IdlePolicy(PollMode::adaptive, ReceivePlan{}.max_poll, sleep,
                                                   static_cast<double>(rte_get_tsc_hz()) / 1e6),
                                        layout.shares_cpus);
        if (w.heap_bytes != 0) {
            worker.arena = memory::Arena(w.heap_bytes, w.largest_heap);
            worker.reservations.emplace(worker.arena.capacity());
        }
    }
    senders.make(plan.sends, interrupt_fd);
    queues.make(layout.queues);
    streams.make(plan.receives, layout.queues);
    queues.deliver(layout.queues, {plan, streams.current()});
    engines.register_packets(senders.regions_that_return());
    for (const auto& w : lcores) {
        const IdleWish wish = idle_wish(*w, streams.current(), plan.receives);
        w->loop->set_mode(wish.mode);
        w->loop->set_max_poll(wish.max_poll);
    }
    for (std::size_t i = 0; i < plan.receives.size(); i++)
        captures.start_planned(*streams.current()[i], plan.receives[i], layout.control_cpus());
}

void RunParts::launch(int interrupt_fd) {
    clock.start();
    ports.start();
    queues.connect();
    queues.arm_interrupts([this](const Worker& w) { return !senders.on(w).empty(); });
    lcores.launch();
    note_fetched();

    const std::vector<unsigned> control = layout.control_cpus();
    consumers.start(static_cast<unsigned>(control.size()), control, plan.runtime.live);
    queues.add_host_rules();
    ports.add_rules(layout.rules);
    ports.join(ports.groups_of(plan.receives), interrupt_fd);
    senders.start(control, interrupt_fd);
}

/// Waits until each lcore polls, and notes the packets that its ports have missed before.
void RunParts::note_fetched() {
    for (const auto& w : lcores)
        static_cast<void>(lcores.try_ask(
            *w, [](const LcoreLoop*) { return true; }, &std::as_const(*w->loop)));
    ports.note_fetched();
}

/// Reports that the lcore is silent, or answers again: its streams stop, or go on.
void RunParts::report_silence(const Worker& w, bool silent) {
    const double now = clock.seconds();
    const std::string what = silent ? w.watch.sentence() : w.watch.end_sentence();
    std::vector<std::string> names = streams.note_silence(w, silent, now, what);
    for (const SendStream* const s : senders.on(w))
        names.push_back(s->plan.name);
    const std::string text =
        silent && !names.empty()
            ? fmt::format("{}; {} stand{} still", what, fmt::join(names, ", "), names.size() == 1 ? "s" : "")
            : what;
    events.report({w.layout->lcore, w.layout->cpu, silent, text, now});
}

/// Reports that the engine stands still, or does so no longer: its streams stop, or go on.
void RunParts::report_stall(HeapEngine engine, bool stalled, const EngineWatch& watch) {
    const double now = clock.seconds();
    const std::vector<std::size_t> waiting = streams.waiting_for(engine, plan.receives);
    stats::EngineSnapshot e = watch.snapshot();
    for (const std::size_t i : waiting)
        e.streams.push_back(plan.receives[i].name);
    const std::string text = stalled ? e.stall() : watch.end_sentence();
    streams.note_stall(waiting, stalled, now, text);
    events.report(EventReporter::EngineEvent{
        e.name, stalled, stalled ? fmt::format("{}; {}", text, stats::mend_engine(e.name).front()) : text,
        now});
}

void RunParts::watch_engines() {
    if (!engines.any())
        return;
    engines.watch();
    streams.look_for_engines(plan.receives);
    for (std::size_t i = 0; i < ports.size(); i++)
        ports[i].note_engine({});
    for (const auto& [engine, watch] : engines.watches())
        if (watch.may_stand_still())
            for (const std::size_t i : streams.waiting_for(engine, plan.receives))
                for_each_path(plan.receives[i], [&, name = watch.snapshot().name](
                                                    std::size_t, const std::string& port, const auto&) {
                    ports[port].note_engine(name);
                });
}

std::vector<std::string> RunParts::remarks() const {
    std::vector<std::string> all = notes.remarks;
    // Remarks from before the ports were open are among the layout's.
    for (std::size_t i = 0; i < ports.size(); i++)
        for (const std::string& remark : ports[i].device().remarks())
            if (const auto& known = layout.ports[i].device.remarks;
                std::find(known.begin(), known.end(), remark) == known.end())
                all.push_back(remark);
    return all;
}

}  // namespace spead::runtime
