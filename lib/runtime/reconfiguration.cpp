// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/reconfiguration.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "runtime/descriptors.hpp"
#include "runtime/paths.hpp"
#include "runtime/waits.hpp"

namespace spead::runtime {

namespace {

/// Limits how long a change waits for removed streams; a slow consumer's heaps are finished later.
constexpr auto kLeavePatience = std::chrono::seconds(2);

/// Returns the names of changed streams and senders, and of the ports of these streams.
std::vector<std::string> names_of_changed(const Plan& before, const Plan& after, const Change& change) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < after.receives.size(); i++)
        if (change.receives[i].kind != Change::Kind::none) {
            names.push_back(after.receives[i].name);
            for_each_path(after.receives[i],
                          [&](std::size_t, const std::string& port, const auto&) { names.push_back(port); });
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

void Reconfiguration::carry_out(const Plan& asked) {
    of_.lcores.need_answers();
    need_kept_descriptors("a change");
    Plan wanted = asked;
    const Change change =
        compare(of_.plan, wanted, of_.opening.possible() ? NewPorts::welcome : NewPorts::refused);
    of_.opening.open_new(wanted);
    of_.outages.open_used(wanted);
    check(wanted, change);
    const ChangeAssignment::Cpus cpus = assignment_.cpus_of(wanted, change);
    // The steps that are most likely to fail come before anything has changed. New windows and queues are
    // made by a step, when lcores know the plan.
    SenderSet::Fresh senders = of_.senders.make_new(wanted, change, kNoInterrupt);
    (void)of_.snapshots.take_detailed();
    StreamSet::Fresh streams = of_.streams.make_fresh(wanted.receives, change);
    of_.engines.register_packets(of_.senders.regions_that_return());

    // With the new ports: they stay.
    const Target before{of_.plan, of_.layout};
    const Target to{wanted, assignment_.queues_of(wanted, cpus)};
    ChangeSteps steps;
    add_steps(steps, before, to, change, streams);
    steps.add(
        [&] {
            of_.senders.change(wanted, change, std::move(senders), of_.layout.control_cpus());
            set_idling();
            of_.lcores.launch();
        },
        {});
    try {
        steps.carry_out();
    } catch (...) {
        if (!steps.undo_failure().empty()) {
            of_.problems.push_back(
                fmt::format("a change failed, and could not be undone: {}", steps.undo_failure()));
            failed_ = true;
        }
        throw;
    }
    of_.streams.serve_chunks();
    of_.snapshots.parts_changed(names_of_changed(before.plan, wanted, change));
    wait_for_leaving();
    close_unused_ports();
}

void Reconfiguration::close_unused_ports() {
    if (of_.opening.possible() && !of_.engines.know_memory() && !of_.streams.any_leaving())
        of_.outages.close_unused();
}

/// Throws Error for changes that are not possible now.
void Reconfiguration::check(const Plan& wanted, const Change& change) const {
    const bool known =
        of_.engines.know_memory() || std::ranges::any_of(wanted.receives, [](const ReceivePlan& r) {
            return r.enabled && r.engine == HeapEngine::cuda;
        });
    const auto gets_back = [&](const SendPlan& s) { return of_.senders.gets_back(s); };
    if (known && wanted.sends != of_.plan.sends &&
        (std::ranges::any_of(of_.plan.sends, gets_back) || std::ranges::any_of(wanted.sends, gets_back)))
        throw_error("engine cuda",
                    "senders cannot change while it runs and packets of a sender come back on its port "
                    "(net_ring): the GPU knows their memory; start the program anew with these senders");
    for (std::size_t p = 0; p < of_.ports.size(); p++)
        for (const ReceivePlan& r : wanted.receives)
            if (receives_on(r, of_.ports[p].plan().name))
                of_.engines.check_memory(of_.ports[p].planned(), r.engine);
    for (std::size_t i = 0; i < wanted.receives.size(); i++) {
        const Change::Receive& c = change.receives[i];
        if (c.kind == Change::Kind::lanes && wanted.receives[i].enabled)
            of_.engines.need_moving(wanted.receives[i].engine);
        if (c.before && c.kind == Change::Kind::lanes && of_.streams.current()[*c.before]->capture)
            throw_error(fmt::format("receive {}", wanted.receives[i].name),
                        "it has a capture, which a change of its lcores or windows would interrupt; stop the "
                        "capture first");
        if (c.before && c.kind == Change::Kind::lanes)
            of_.streams.check_users(*c.before);
    }
    for (const std::size_t gone : change.removed)
        if (of_.streams.current()[gone]->capture)
            throw_error(fmt::format("receive {}", of_.plan.receives[gone].name),
                        "it has a capture; stop the capture first");
    for (std::size_t i = 0; i < wanted.sends.size(); i++) {
        const auto& s = change.sends[i].before;
        if (s && wanted.sends[i].enabled && !of_.senders.planned()[*s]->plan.enabled &&
            !of_.senders.planned()[*s]->heap_source->done())
            throw_error(where_of(wanted.sends[i]),
                        "it has not finished its heaps in flight; try again later");
    }
}

/// Adds the steps of streams. First unused groups are left and their rules removed. Then lcores get the new
/// streams, and after that the tables that name them. Rules and groups of new streams come last. The undo of
/// a step is the step of the way back. So the undos, the last one first, are a change to the former state.
void Reconfiguration::add_steps(ChangeSteps& steps, const Target& before, const Target& wanted,
                                const Change& change, StreamSet::Fresh& fresh) {
    const auto leave_but = [this](const Target& to) {
        of_.ports.leave_groups_but(of_.ports.groups_of(to.plan.receives));
    };
    const auto join = [this](const Target& to) {
        of_.ports.join(of_.ports.groups_of(to.plan.receives), kNoInterrupt);
    };
    steps.add([&, leave_but] { leave_but(wanted); }, [&, join] { join(before); });
    steps.add([&] { of_.ports.remove_rules_but(wanted.queues.rules); },
              [&] { of_.ports.add_rules(before.queues.rules); });
    steps.add([&] { move_streams(wanted, change, std::move(fresh)); }, [&] { move_back(before); });
    steps.add([&] { of_.ports.add_rules(wanted.queues.rules); },
              [&] { of_.ports.remove_rules_but(before.queues.rules); });
    steps.add([&, join] { join(wanted); }, [&, leave_but] { leave_but(before); });
    steps.add([&] { start_captures(change); }, [&] { stop_captures(change); });
}

/// Gives lcores and consumers the streams, and the run its new plan. From then on former lanes are being
/// removed.
void Reconfiguration::move_streams(const Target& to, const Change& change, StreamSet::Fresh fresh) {
    for (const std::size_t gone : change.removed)
        of_.captures.stream_removed(of_.plan.receives[gone].name);
    of_.streams.exchange(change, std::move(fresh.streams));
    of_.plan = to.plan;
    of_.lcores.set_patience(of_.plan.runtime.lcore_timeout, patience_.lcore);
    static_cast<QueueAssignment&>(of_.layout) = to.queues;

    of_.streams.renew(of_.plan.receives, of_.layout.queues, change, std::move(fresh));
    of_.queues.deliver(of_.layout.queues, {of_.plan, of_.streams.current()});
    of_.ports.note_fetched();
    for (const auto& w : of_.lcores)
        of_.streams.reserve_memory(*w, false);
    set_idling();
}

/// Restores the former plan, at whichever step the change has failed.
void Reconfiguration::move_back(const Target& before) {
    Target back = before;
    of_.plan.sends = back.plan.sends;  // they are as they were
    const Change undo = compare(of_.plan, back.plan);
    move_streams(back, undo, of_.streams.make_fresh(back.plan.receives, undo));
}

void Reconfiguration::start_captures(const Change& change) {
    for (std::size_t i = 0; i < change.receives.size(); i++)
        if (change.receives[i].kind == Change::Kind::lanes)
            of_.captures.start_planned(*of_.streams.current()[i], of_.plan.receives[i],
                                       of_.layout.control_cpus());
}

/// Takes back the captures that start_captures() has started: no other stream with changed lanes is captured.
void Reconfiguration::stop_captures(const Change& change) {
    for (std::size_t i = 0; i < change.receives.size(); i++)
        if (Stream& s = *of_.streams.current()[i];
            change.receives[i].kind == Change::Kind::lanes && s.capture)
            of_.captures.take_back(s);
}

void Reconfiguration::set_idling() {
    for (const auto& w : of_.lcores)
        of_.idling.set(*w, idle_wish(*w, of_.streams.current(), of_.plan.receives));
}

void Reconfiguration::wait_for_leaving() {
    const Clock::time_point end = Clock::now() + kLeavePatience;
    while ((of_.streams.any_leaving() || of_.senders.any_leaving()) && Clock::now() < end) {
        of_.ports.serve_hosts();
        std::this_thread::sleep_for(kStep);
        of_.streams.let_go();
        of_.senders.let_go(patience_.longest_finish);
    }
}

}  // namespace spead::runtime
