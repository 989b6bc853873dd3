// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/sender_set.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_cycles.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "memory/mapping.hpp"
#include "port/neighbours.hpp"
#include "port/netdev.hpp"
#include "runtime/next_hops.hpp"
#include "runtime/stored_heap_source.hpp"

namespace spead::runtime {

namespace {

Lockstep::Side side_of(const SendPlan& s) noexcept {
    return s.copy_of.empty() ? Lockstep::original : Lockstep::copy;
}

/// Adds a removed sender's impairments to those of others, as a report tells them.
void add_impair(std::string& all, const std::string& one) {
    if (!one.empty())
        all = all.empty() || all == one ? one : "several ways";
}

/// Returns the longest time from one heap to the next at the sender's rate, an hour at most; 0: unlimited.
/// After a burst, the pacer waits for as long as its bytes take.
Lockstep::Clock::duration time_of_heap(const SendPlan& s) {
    if (s.rate <= 0)
        return {};
    const auto bytes = static_cast<double>(std::max(s.heap_size, s.burst_size));
    const std::chrono::duration<double> time(std::min(3600.0, bytes / s.rate));
    return std::chrono::duration_cast<Lockstep::Clock::duration>(time);
}

/// Says that the sender is about to start, or is not, for the one of the other path.
void announce(const SendStream& s, bool starts) noexcept {
    if (s.lockstep)
        s.lockstep->announce(side_of(s.plan), starts);
}

}  // namespace

std::string where_of(const SendPlan& s) {
    return fmt::format("send {}", s.name);
}

bool SendStream::let_go_of_packets() noexcept {
    if (!impaired)
        return true;
    impaired->flush();
    return impaired->empty();
}

std::vector<SendStream*> SenderSet::all() const {
    std::vector<SendStream*> all;
    for (const auto* const list : {&planned_, &leaving_})
        for (const auto& s : *list)
            all.push_back(s.get());
    return all;
}

std::vector<SendStream*> SenderSet::on(const Worker& worker) const {
    std::vector<SendStream*> there = all();
    std::erase_if(there, [&worker](const SendStream* s) { return s->worker != &worker; });
    return there;
}

bool SenderSet::done() const {
    const std::vector<SendStream*> all = this->all();
    return std::all_of(all.begin(), all.end(), [](SendStream* s) {
        return s->worker->lost || (s->heap_source->done() && s->let_go_of_packets());
    });
}

bool SenderSet::failed() const {
    return std::any_of(planned_.begin(), planned_.end(),
                       [](const auto& s) { return !s->heap_source->failure().empty(); });
}

void SenderSet::make(const std::vector<SendPlan>& plans, int interrupt_fd) {
    gone_.resize(ports_.size());
    for (std::size_t i = 0; i < plans.size(); i++) {
        Outlet outlet;
        for (const auto& w : lcores_)
            if (const auto& there = w->layout->sends; std::find(there.begin(), there.end(), i) != there.end())
                outlet.worker = w.get();
        for (std::size_t before = 0; before < i; before++)
            outlet.queue = static_cast<std::uint16_t>(outlet.queue + (plans[before].port == plans[i].port));
        attach(*planned_.emplace_back(make_one(plans[i], outlet, interrupt_fd)));
    }
}

/// Makes a sender that its lcore does not know yet.
std::unique_ptr<SendStream> SenderSet::make_one(const SendPlan& s, Outlet outlet, int interrupt_fd) {
    auto made = std::make_unique<SendStream>();
    made->number = ++last_number_;
    made->plan = s;
    made->port = ports_.index_of(s.port);
    made->worker = outlet.worker;
    made->queue = outlet.queue;
    const port::Port& port = ports_[made->port].device();
    send::SenderConfig config = sender_config(s, ports_[made->port].planned());
    made->hops = NextHops(find_next_hops(port, config, interrupt_fd));
    config.source_mac = port.mac();
    if (s.timeout > 0)
        config.timeout_ticks =
            static_cast<std::uint64_t>(std::max(1.0, s.timeout * static_cast<double>(rte_get_tsc_hz())));
    config.source_ip = made->source = source_of(s, ports_[made->port], {});
    config.capabilities = port.capabilities();
    config.tx_descriptors = port.tx_sizes().descriptors;
    config.queue = port.tx_queue(outlet.queue);
    if (!s.impair.empty()) {
        port::ImpairedQueue::Setup setup = impaired_setup(s, ports_[made->port].planned());
        setup.hz = static_cast<double>(rte_get_tsc_hz());
        setup.numa = port.socket_id();
        made->impaired = std::make_unique<port::ImpairedQueue>(setup, where_of(s));
        made->impaired->set_inner(config.queue);
        config.queue = made->impaired->queue();
        log_warning(LogType::runtime, "{}: its packets are impaired on purpose: {}", where_of(s), s.impair);
    }
    if (s.pacer != Offload::software)
        config.send_times = port.send_times();
    config.regions = &regions_;
    config.numa = port.socket_id();
    made->sender = std::make_unique<send::Sender>(std::move(config));
    if (make_heap_source_)
        made->heap_source = make_heap_source_(s, *made->sender, regions_);
    else
        add_heap_source(*made);
    map_payload(*made);
    return made;
}

/// Makes the heap source that the plan asks for, in step with that of the other path.
void SenderSet::add_heap_source(SendStream& made) {
    const SendPlan& s = made.plan;
    std::unique_ptr<SubmittingSource> source;
    if (!s.from.empty())
        source = std::make_unique<StoredHeapSource>(s, *made.sender, regions_);
    else
        source = std::make_unique<HeapGenerator>(s, *made.sender, regions_);
    std::weak_ptr<Lockstep>& known = locksteps_[s.copy_of.empty() ? s.name : s.copy_of];
    made.lockstep = known.lock();
    if (!made.lockstep)
        known = made.lockstep = std::make_shared<Lockstep>(s.max_heaps);
    made.lockstep->expect(side_of(s), time_of_heap(s));
    if (!s.copy_of.empty())
        made.lockstep->pair();
    source->keep_step(made.lockstep, side_of(s), made.left_out);
    made.heap_source = std::move(source);
}

void SenderSet::attach(SendStream& s) {
    lcores_.ask(
        *s.worker,
        [](LcoreLoop* loop, send::Sender* sender, port::ImpairedQueue* impaired) {
            loop->add_sender(*sender);
            if (impaired != nullptr)
                loop->add_impaired(*impaired);
        },
        s.worker->loop.get(), s.sender.get(), s.impaired.get());
}

SenderSet::Fresh SenderSet::make_new(const Plan& wanted, const Change& change, int interrupt_fd) {
    Fresh fresh(wanted.sends.size());
    for (std::size_t i = 0; i < fresh.size(); i++) {
        if (change.sends[i].before)
            continue;
        const SendPlan& s = wanted.sends[i];
        const Outlet outlet = outlet_for(s, fresh);
        check_room(s);
        fresh[i] = make_one(s, outlet, interrupt_fd);
        resolve_next_hops(*fresh[i], Clock::now() + port::kNeighbourPatience, interrupt_fd);
    }
    return fresh;
}

void SenderSet::retune(SendStream& s, const SendPlan& to) {
    if (s.lockstep)
        s.lockstep->expect(side_of(to), time_of_heap(to));
    lcores_.ask(
        *s.worker,
        [](send::Sender* sender, double rate, std::uint64_t burst_size, double burst_rate_ratio,
           std::uint8_t ttl, std::uint8_t dscp) {
            send::Pacing pacing = sender->pacing();
            pacing.rate = rate;
            pacing.burst_size = burst_size;
            pacing.burst_rate_ratio = burst_rate_ratio;
            sender->set_pacing(pacing);
            sender->set_ttl_dscp(ttl, dscp);
        },
        s.sender.get(), to.rate, to.burst_size, to.burst_rate_ratio, to.ttl, to.dscp);
}

/// Changes the senders. Starting, which can fail, comes first; after a failure all senders are as before, and
/// new ones are being removed.
void SenderSet::change(const Plan& wanted, const Change& change, Fresh fresh,
                       const std::vector<unsigned>& control) {
    std::vector<SendStream*> begun;
    for (std::size_t i = 0; i < wanted.sends.size(); i++) {
        const auto& before = change.sends[i].before;
        announce(before ? *planned_[*before] : *fresh[i],
                 wanted.sends[i].enabled && !(before && planned_[*before]->plan.enabled));
    }
    try {
        for (std::size_t i = 0; i < wanted.sends.size(); i++) {
            const SendPlan& to = wanted.sends[i];
            const bool is_new = !change.sends[i].before;
            SendStream& s = is_new ? *fresh[i] : *planned_[*change.sends[i].before];
            if (is_new)
                attach(s);
            else
                retune(s, to);
            if (to.enabled && (is_new || !s.plan.enabled)) {
                s.heap_source->start(control, to.heaps);
                begun.push_back(&s);
            }
        }
    } catch (...) {
        for (SendStream* const s : begun)
            s->heap_source->request_stop();
        for (SendStream* const s : all())
            announce(*s, false);
        // First of all: their lcores may know them.
        for (auto& s : fresh)
            if (s)
                leaving_.push_back(std::move(s));
        for (const auto& s : planned_)
            retune(*s, s->plan);
        throw;
    }
    std::vector<std::unique_ptr<SendStream>> now;
    for (std::size_t i = 0; i < wanted.sends.size(); i++) {
        const auto& before = change.sends[i].before;
        SendStream& s = *now.emplace_back(before ? std::move(planned_[*before]) : std::move(fresh[i]));
        if (!wanted.sends[i].enabled && s.plan.enabled)
            s.heap_source->request_stop();
        s.plan = wanted.sends[i];
    }
    for (const std::size_t gone : change.removed_sends) {
        planned_[gone]->heap_source->request_stop();
        locksteps_.erase(planned_[gone]->plan.name);
        leaving_.push_back(std::move(planned_[gone]));
    }
    planned_ = std::move(now);
}

void SenderSet::start(const std::vector<unsigned>& control, int interrupt_fd) {
    const Clock::time_point answered = Clock::now() + port::kNeighbourPatience;
    for (const auto& s : planned_)
        resolve_next_hops(*s, answered, interrupt_fd);
    for (const auto& s : planned_)
        announce(*s, s->plan.enabled);
    for (const auto& s : planned_)
        if (s->plan.enabled)
            s->heap_source->start(control, s->plan.heaps);
}

/// Returns whether every other lcore agrees that all buffers are back. A receiver on a ring frees them on its
/// own lcore, and DPDK counts a buffer before its place in that lcore's cache is written. Between two bursts
/// the lcore is not in the middle of that.
bool SenderSet::others_agree(const SendStream& s) {
    const auto back = [](const send::Sender* sender) { return sender->mbufs_out() == 0; };
    return std::all_of(lcores_.begin(), lcores_.end(), [&](const auto& w) {
        return w.get() == s.worker ||
               (!is_silent(*w) && lcores_.try_ask(*w, back, &std::as_const(*s.sender)).value_or(false));
    });
}

/// Destroys senders whose heaps are done and whose buffers the driver has given back.
void SenderSet::let_go(Clock::duration longest_finish) {
    std::erase_if(leaving_, [&](const auto& s) { return let_go(*s, longest_finish); });
}

bool SenderSet::let_go(SendStream& s, Clock::duration longest_finish) {
    if (is_silent(*s.worker))
        return false;
    if (!s.heap_source->done()) {
        if (!ports_[s.port].is_on())
            s.heap_source->abandon();
        else
            cut_if_too_long(s, longest_finish);
        return false;
    }
    struct Last {
        bool back;  ///< all its buffers
        LcoreLook::OfSend look;
    };
    const auto let_go = [](LcoreLoop* loop, send::Sender* sender, port::ImpairedQueue* impaired) {
        bool back = sender->release() == 0;
        if (impaired != nullptr) {
            impaired->flush();
            back = back && impaired->empty() && impaired->out() == 0;
        }
        if (back) {
            loop->remove_sender(*sender);
            if (impaired != nullptr)
                loop->remove_impaired(*impaired);
        }
        Last last{back, {nullptr, sender, impaired, {}, false}};
        last.look.take();
        return last;
    };
    const auto last =
        lcores_.try_ask(*s.worker, let_go, s.worker->loop.get(), s.sender.get(), s.impaired.get());
    if (!last)
        return false;
    s.counts = last->look.counts;
    s.stuck = last->look.stuck;
    if (!last->back || !others_agree(s))
        return false;
    s.heap_source->join();
    if (const std::string failure = s.heap_source->failure(); !failure.empty())
        problems_.push_back(failure);
    gone_[s.port].add(s.counts);
    gone_left_out_ += s.left_out.load(std::memory_order_relaxed);
    add_impair(gone_impair_, s.plan.impair);
    return true;
}

/// Finishes heaps in flight if that takes no longer than the longest finish at their rate; else only those
/// that were begun, if that is short enough; else none. The stop heaps are sent in any case.
void SenderSet::cut_if_too_long(SendStream& s, Clock::duration longest_finish) {
    const double longest = std::chrono::duration<double>(longest_finish).count();
    const SendPlan& p = s.plan;
    if (p.rate <= 0 || s.cut == send::Cut::begun || s.heap_source->done())
        return;
    const send::Backlog left = backlog(s);
    const auto time = [&p](std::uint64_t packets) {
        return static_cast<double>(packets) * packet_size(p) / p.rate;
    };
    // A heap may have begun between the look and the first cut: then the next look widens it.
    if (time(left.begun) > longest)
        cut(s, send::Cut::begun);
    else if (s.cut == send::Cut::nothing && time(left.all) > longest)
        cut(s, send::Cut::waiting);
}

void SenderSet::cut(SendStream& s, send::Cut cut) {
    s.cut = cut;
    s.sender->request_cut(cut);
}

send::Backlog SenderSet::backlog(SendStream& s) {
    return lcores_
        .try_ask(
            *s.worker, [](send::Sender* sender) { return sender->backlog(); }, s.sender.get())
        .value_or(send::Backlog{});
}

send::DummyResult SenderSet::dummy(const std::string& name, std::uint32_t packets) {
    const auto found = std::find_if(planned_.begin(), planned_.end(),
                                    [&name](const auto& s) { return s->plan.name == name; });
    if (found == planned_.end())
        throw_error("send", "there is no sender `{}`", name);
    lcores_.need_answers();
    return lcores_.ask(
        *(*found)->worker, [](send::Sender* sender, std::uint32_t n) { return sender->dummy(n); },
        (*found)->sender.get(), packets);
}

/// Adds the counts of the lcores' last answers.
void SenderSet::add_to(stats::Snapshot& snap) const {
    const auto add_to_port = [&snap](std::size_t port, const stats::SendCounters& counts) {
        stats::PortSnapshot& p = snap.ports[port];
        p.tx_packets += counts.packets;
        p.tx_bytes += counts.frame_bytes;
        p.tx_active.add(counts.active);
        p.tx_dropped += counts.dropped;
    };
    for (const auto& s : planned_) {
        stats::SendSnapshot& one = snap.sends.emplace_back();
        one.name = s->plan.name;
        one.number = s->number;
        one.endpoints = s->plan.endpoint_texts;
        one.counters = s->counts;
        one.control_heaps = s->counts.control_heaps;
        one.left_out = s->left_out.load(std::memory_order_relaxed);
        one.impair = s->plan.impair;
        one.settings = {s->plan.rate, s->plan.timeout};
        // After the run no heaps are made.
        const bool done = !s->heap_source || s->heap_source->done();
        one.state = !s->plan.enabled           ? "stopped"
                    : !ports_[s->port].is_on() ? "waiting"
                    : done                     ? stats::kSendDone
                                               : "sending";
        one.port = ports_[s->port].plan().name;
        one.health = s->health.state();
        one.suspects = s->health.suspects();
        one.events = s->health.events();
        one.last_event = s->health.last_event();
        add_to_port(s->port, s->counts);
    }
    const auto add_removed = [&](std::size_t port, const stats::SendCounters& counts) {
        stats::SendSnapshot one;
        one.counters = counts;
        one.control_heaps = counts.control_heaps;
        snap.removed_sends.add(one);
        add_to_port(port, counts);
    };
    snap.removed_sends.impair = gone_impair_;
    for (const auto& s : leaving_) {
        add_impair(snap.removed_sends.impair, s->plan.impair);
        add_removed(s->port, s->counts);
        snap.removed_sends.left_out += s->left_out.load(std::memory_order_relaxed);
    }
    snap.removed_sends.left_out += gone_left_out_;
    for (std::size_t port = 0; port < gone_.size(); port++)
        add_removed(port, gone_[port]);
}

}  // namespace spead::runtime
