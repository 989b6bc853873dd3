// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_cycles.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "memory/mapping.hpp"
#include "port/neighbours.hpp"
#include "runtime/engine_state.hpp"
#include "runtime/next_hops.hpp"

/// The senders of a run: made at its start or while others send, changed, removed.
namespace spead::runtime {

namespace {

std::string where_of(const SendPlan& s) {
    return fmt::format("send {}", s.name);
}

}  // namespace

bool SendStream::let_go_of_packets() noexcept {
    if (!impaired)
        return true;
    impaired->flush();
    return impaired->empty();
}

/// Those that leave, too.
std::vector<SendStream*> Engine::State::all_sends() const {
    std::vector<SendStream*> all;
    for (const auto* const list : {&sends, &leaving_sends})
        for (const auto& s : *list)
            all.push_back(s.get());
    return all;
}

std::vector<SendStream*> Engine::State::sends_on(const Worker& worker) const {
    std::vector<SendStream*> there = all_sends();
    std::erase_if(there, [&worker](const SendStream* s) { return s->worker != &worker; });
    return there;
}

void Engine::State::make_senders() {
    for (std::size_t i = 0; i < plan.sends.size(); i++) {
        Outlet outlet;
        for (const auto& w : lcores)
            if (const auto& there = w->layout->sends; std::find(there.begin(), there.end(), i) != there.end())
                outlet.worker = w.get();
        for (std::size_t before = 0; before < i; before++)
            outlet.queue =
                static_cast<std::uint16_t>(outlet.queue + (plan.sends[before].port == plan.sends[i].port));
        attach(*sends.emplace_back(make_send(plan.sends[i], outlet)));
    }
}

/// Not known to its lcore yet.
std::unique_ptr<SendStream> Engine::State::make_send(const SendPlan& s, Outlet outlet) {
    auto made = std::make_unique<SendStream>();
    made->number = ++last_send_number;
    made->plan = s;
    made->port = ports.index_of(s.port);
    made->worker = outlet.worker;
    made->queue = outlet.queue;
    const port::Port& port = ports[made->port].device();
    send::SenderConfig config = sender_config(s, layout.ports[made->port]);
    made->hops = find_next_hops(port, config, interrupt_fd());
    config.source_mac = port.mac();
    if (s.timeout > 0)
        config.timeout_ticks =
            static_cast<std::uint64_t>(std::max(1.0, s.timeout * static_cast<double>(rte_get_tsc_hz())));
    const Ipv4 address = plan.ports[made->port].address;
    config.source_ip = address.value != 0 ? address : port.source_address();
    config.capabilities = port.capabilities();
    config.tx_descriptors = port.tx_sizes().descriptors;
    config.queue = port.tx_queue(outlet.queue);
    if (!s.impair.empty()) {
        port::ImpairedQueue::Setup setup = impaired_setup(s, layout.ports[made->port]);
        setup.hz = static_cast<double>(rte_get_tsc_hz());
        setup.numa = port.socket_id();
        made->impaired = std::make_unique<port::ImpairedQueue>(setup, where_of(s));
        made->impaired->set_inner(config.queue);
        config.queue = made->impaired->queue();
        log_warning(LogType::runtime, "{}: what it sends is impaired on purpose: {}", where_of(s), s.impair);
    }
    if (s.pacer != Doer::software)
        config.send_times = port.send_times();
    config.regions = &regions;
    config.numa = port.socket_id();
    made->sender = std::make_unique<send::Sender>(std::move(config));
    if (surroundings.make_producer)
        made->feeder = surroundings.make_producer(s, *made->sender, regions);
    else
        made->feeder = std::make_unique<Feeder>(s, *made->sender, regions);
    map_payload(*made);
    return made;
}

/// Ports that copy never see this memory, and their devices may refuse to map it (mlx4).
void Engine::State::map_payload(SendStream& s) {
    const port::Port& port = ports[s.port].device();
    if (!port.capabilities().tx_external_buffer || s.plan.zero_copy == ZeroCopy::never)
        return;
    const memory::Mapping& payload = s.feeder->mapping();
    s.registration = std::make_unique<port::RegionRegistration>(payload.base(), payload.length());
    s.registration->map(port);
}

void Engine::State::attach(SendStream& s) {
    lcores.ask(
        *s.worker,
        [](LcoreLoop* loop, send::Sender* sender, port::ImpairedQueue* impaired) {
            loop->add_sender(*sender);
            if (impaired != nullptr)
                loop->add_impaired(*impaired);
        },
        s.worker->loop.get(), s.sender.get(), s.impaired.get());
}

/// A transmit queue for a sender that comes while others send: one that is free, or one that its lcore has
/// already. A sender that names no lcore goes to the one with the least to do.
Engine::State::Outlet Engine::State::outlet_for(const SendPlan& s,
                                                const std::vector<std::unique_ptr<SendStream>>& fresh) const {
    const std::size_t port = ports.index_of(s.port);
    if (!ports[port].is_on())
        throw_error(where_of(s), "port {} {}", s.port,
                    ports[port].is_away() ? "waits for its network interface; add it when that is back"
                                          : "is stopped; start it first");
    const auto there_are = static_cast<std::size_t>(layout.ports[port].request.tx_queues) -
                           (ports[port].host() ? std::size_t{1} : std::size_t{0});
    if (there_are == 0)
        throw_error(where_of(s),
                    "port {} was opened without a transmit queue: start the program with a sender on it "
                    "([[send]], which may say `enabled = false`)",
                    s.port);
    struct Use {
        Worker* owner = nullptr;
        std::size_t senders = 0;
    };
    std::vector<Use> use(there_are);
    std::vector<SendStream*> there = all_sends();
    for (const auto& one : fresh)
        if (one)
            there.push_back(one.get());
    for (const SendStream* const one : there)
        if (one->port == port)
            use[one->queue] = {one->worker, use[one->queue].senders + 1};

    const auto load = [&there](const Worker& w) {
        return w.parts.size() +
               static_cast<std::size_t>(
                   std::count_if(there.begin(), there.end(), [&w](auto* one) { return one->worker == &w; }));
    };
    Outlet best;
    bool runs = false;
    for (const auto& w : lcores) {
        if (s.lcore && w->layout->planned_cpu != *s.lcore)
            continue;
        runs = true;
        std::optional<std::uint16_t> queue;
        for (std::size_t q = 0; q < there_are; q++)
            if ((use[q].senders == 0 || use[q].owner == w.get()) &&
                (!queue || use[q].senders < use[*queue].senders))
                queue = static_cast<std::uint16_t>(q);
        if (queue && !w->lost && (best.worker == nullptr || load(*w) < load(*best.worker)))
            best = {w.get(), *queue};
    }
    if (best.worker != nullptr)
        return best;
    std::vector<unsigned> cpus;
    for (const auto& w : lcores)
        if (!runs || std::any_of(use.begin(), use.end(), [&w](const Use& u) { return u.owner == w.get(); }))
            cpus.push_back(w->layout->planned_cpu);
    if (!runs)
        throw_error(
            where_of(s),
            "no lcore runs on CPU {}, only on {}: name all that may be used in `lcores` of [runtime], "
            "with `live = true`",
            *s.lcore, fmt::join(cpus, ", "));
    throw_error(
        where_of(s),
        "the transmit queues of port {} belong to the lcores on CPU {}: name one of them, or none, in "
        "`lcore`",
        s.port, fmt::join(cpus, ", "));
}

void Engine::State::check_room(const SendPlan& s) const {
    const std::uint64_t payload = (std::uint64_t{s.max_heaps} + 1) * s.heap_size;
    if (const std::size_t available = memory::available_memory(); available != 0 && payload > available)
        throw_error(where_of(s),
                    "its heaps in flight need {} ((`max_heaps` {} + 1) x {}), and {} are available",
                    human_size(payload), s.max_heaps, human_size(s.heap_size), human_size(available));
    const std::size_t port = ports.index_of(s.port);
    if (ports[port].host() && needs_next_hops(s) &&
        std::none_of(queues.begin(), queues.end(), [port](const Queue& q) { return q.port == port; }))
        throw_error(where_of(s),
                    "nobody would hear the answer to ARP requests on port {}, which was opened without a "
                    "receive queue; give the MAC address with `dst_mac`",
                    s.port);
}

/// Senders of the wanted plan that do not run yet, at their places; no lcore knows them. Throws Error, and
/// nothing has changed, when there is no room or no next hop.
std::vector<std::unique_ptr<SendStream>> Engine::State::make_new_sends(const Plan& wanted,
                                                                       const Change& change) {
    std::vector<std::unique_ptr<SendStream>> fresh(wanted.sends.size());
    for (std::size_t i = 0; i < fresh.size(); i++) {
        if (change.sends[i].before)
            continue;
        const SendPlan& s = wanted.sends[i];
        const Outlet outlet = outlet_for(s, fresh);
        check_room(s);
        fresh[i] = make_send(s, outlet);
        resolve_next_hops(*fresh[i], Clock::now() + port::kNeighbourPatience);
    }
    return fresh;
}

void Engine::State::retune(SendStream& s, const SendPlan& to) {
    lcores.ask(
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

/// What can fail, starting, comes first; then all senders are as they were, and new ones on their way out.
void Engine::State::change_sends(const Plan& wanted, const Change& change,
                                 std::vector<std::unique_ptr<SendStream>> fresh) {
    const std::vector<unsigned> control = layout.control_cpus();
    std::vector<SendStream*> begun;
    try {
        for (std::size_t i = 0; i < wanted.sends.size(); i++) {
            const SendPlan& to = wanted.sends[i];
            const bool is_new = !change.sends[i].before;
            SendStream& s = is_new ? *fresh[i] : *sends[*change.sends[i].before];
            if (is_new)
                attach(s);
            else
                retune(s, to);
            if (to.enabled && (is_new || !s.plan.enabled)) {
                s.feeder->start(control, to.heaps);
                begun.push_back(&s);
            }
        }
    } catch (const std::exception&) {
        for (SendStream* const s : begun)
            s->feeder->request_stop();
        // First of all: their lcores may know them.
        for (auto& s : fresh)
            if (s)
                leaving_sends.push_back(std::move(s));
        for (const auto& s : sends)
            retune(*s, s->plan);
        throw;
    }
    std::vector<std::unique_ptr<SendStream>> now;
    for (std::size_t i = 0; i < wanted.sends.size(); i++) {
        const auto& before = change.sends[i].before;
        SendStream& s = *now.emplace_back(before ? std::move(sends[*before]) : std::move(fresh[i]));
        if (!wanted.sends[i].enabled && s.plan.enabled)
            s.feeder->request_stop();
        s.plan = wanted.sends[i];
    }
    for (const std::size_t gone : change.removed_sends) {
        sends[gone]->feeder->request_stop();
        leaving_sends.push_back(std::move(sends[gone]));
    }
    sends = std::move(now);
    for (const auto& w : lcores)
        set_idling(*w);
}

/// Lets go of senders whose heaps are done and whose buffers the driver has given back.
void Engine::State::leave_sends() {
    std::erase_if(leaving_sends, [this](const auto& s) { return leave(*s); });
}

bool Engine::State::leave(SendStream& s) {
    if (s.worker->lost || s.worker->watch.silent())
        return false;
    if (!s.feeder->done()) {
        if (!ports[s.port].is_on())
            s.feeder->abandon();
        else
            cut_if_too_long(s);
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
        lcores.try_ask(*s.worker, let_go, s.worker->loop.get(), s.sender.get(), s.impaired.get());
    if (!last)
        return false;
    s.counts = last->look.counts;
    s.stuck = last->look.stuck;
    if (!last->back)
        return false;
    s.feeder->join();
    if (const std::string failure = s.feeder->failure(); !failure.empty())
        problems.push_back(failure);
    gone_sends[s.port].add(s.counts);
    return true;
}

/// From what their lcores counted when they last answered.
void Engine::State::add_sends(stats::Snapshot& snap) const {
    const auto add_to_port = [&snap](std::size_t port, const stats::SendCounters& counts) {
        stats::PortSnapshot& p = snap.ports[port];
        p.tx_packets += counts.packets;
        p.tx_bytes += counts.frame_bytes;
        p.tx_active.add(counts.active);
        p.tx_dropped += counts.dropped;
    };
    for (const auto& s : sends) {
        stats::SendSnapshot& one = snap.sends.emplace_back();
        one.name = s->plan.name;
        one.number = s->number;
        one.endpoints = s->plan.endpoint_texts;
        one.counters = s->counts;
        one.control_heaps = s->counts.control_heaps;
        one.impair = s->plan.impair;
        // After the run nobody makes heaps any more.
        const bool done = !s->feeder || s->feeder->done();
        one.state = !s->plan.enabled          ? "stopped"
                    : !ports[s->port].is_on() ? "waiting"
                    : done                    ? stats::kSendDone
                                              : "sending";
        add_send_health(*s, one);
        add_to_port(s->port, s->counts);
    }
    const auto add_removed = [&](std::size_t port, const stats::SendCounters& counts) {
        stats::SendSnapshot one;
        one.counters = counts;
        one.control_heaps = counts.control_heaps;
        snap.removed_sends.add(one);
        add_to_port(port, counts);
    };
    for (const auto& s : leaving_sends)
        add_removed(s->port, s->counts);
    for (std::size_t port = 0; port < gone_sends.size(); port++)
        add_removed(port, gone_sends[port]);
}

}  // namespace spead::runtime
