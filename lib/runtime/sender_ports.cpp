// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/units.hpp"
#include "memory/mapping.hpp"
#include "port/netdev.hpp"
#include "runtime/next_hops.hpp"
#include "runtime/sender_set.hpp"

/// Connects senders and ports: the queue of a sender, and the handling of stopped, detached and restarted
/// ports.
namespace spead::runtime {

/// Returns a transmit queue for a sender that is added while others send: a free one, or one that its lcore
/// already has. A sender without a named lcore goes to the least loaded one.
SenderSet::Outlet SenderSet::outlet_for(const SendPlan& s, const Fresh& fresh) const {
    const std::size_t port = ports_.index_of(s.port);
    if (!ports_[port].is_on())
        throw_error(where_of(s), "port {} {}", s.port,
                    ports_[port].is_detached() ? "waits for its network interface; add it when that is back"
                                               : "is stopped; start it first");
    const auto there_are = static_cast<std::size_t>(ports_[port].planned().request.tx_queues) -
                           (ports_[port].host() ? std::size_t{1} : std::size_t{0});
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
    std::vector<SendStream*> there = all();
    for (const auto& one : fresh)
        if (one)
            there.push_back(one.get());
    for (const SendStream* const one : there)
        if (one->port == port)
            use[one->queue] = {one->worker, use[one->queue].senders + 1};

    const auto load = [&there](const Worker& w) {
        return w.lanes.size() +
               static_cast<std::size_t>(
                   std::count_if(there.begin(), there.end(), [&w](auto* one) { return one->worker == &w; }));
    };
    Outlet best;
    bool runs = false;
    for (const auto& w : lcores_) {
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
    for (const auto& w : lcores_)
        if (!runs || std::any_of(use.begin(), use.end(), [&w](const Use& u) { return u.owner == w.get(); }))
            cpus.push_back(w->layout->planned_cpu);
    if (!runs)
        throw_error(where_of(s),
                    "no lcore runs on CPU {}, only on {}: list all CPUs for senders in `lcores` of "
                    "[runtime], with `live = true`",
                    *s.lcore, fmt::join(cpus, ", "));
    throw_error(where_of(s),
                "the transmit queues of port {} belong to the lcores on CPU {}: name one of these in "
                "`lcore` (--lcore), or leave it out",
                s.port, fmt::join(cpus, ", "));
}

namespace {

/// Refuses packets that the port's network interface would lose. Its MTU of now counts: only senders of the
/// program's start raise it.
void check_mtu(const SendPlan& s, const std::string& netdev) {
    const auto facts = netdev.empty() ? std::nullopt : port::netdev_facts(netdev);
    const std::uint32_t headers = header_bytes(s);
    if (!facts || packet_size(s) + headers <= facts->mtu)
        return;
    throw_error(
        where_of(s),
        "packets of {} bytes and {} of IP and UDP headers do not fit the MTU {} of {}; give packets of "
        "at most {} (`max_packet_size`, --max-packet-size), or run `ip link set {} mtu {}` first",
        packet_size(s), headers, facts->mtu, netdev, facts->mtu - std::min(headers, facts->mtu), netdev,
        packet_size(s) + headers);
}

}  // namespace

void SenderSet::check_room(const SendPlan& s) const {
    const std::uint64_t payload = (std::uint64_t{s.max_heaps} + 1) * s.heap_size;
    if (const std::size_t available = memory::available_memory(); available != 0 && payload > available)
        throw_error(where_of(s),
                    "its heaps in flight need {} ((`max_heaps` {} + 1) x {}), and {} are available",
                    human_size(payload), s.max_heaps, human_size(s.heap_size), human_size(available));
    const std::size_t port = ports_.index_of(s.port);
    check_mtu(s, ports_[port].planned().device.netdev);
    check_next_hops(s, ports_[port].planned());
    if (ports_[port].host() && needs_next_hops(s) && ports_[port].planned().request.rx_queues == 0)
        throw_error(
            where_of(s),
            "replies with MAC addresses (ARP, NDP) cannot be received on port {}, which was opened without a "
            "receive queue; give the MAC address with `dst_mac` (--dst-mac)",
            s.port);
}

/// Maps the sender's memory for its port. Ports that copy do not need that, and their devices may refuse it
/// (mlx4).
void SenderSet::map_payload(SendStream& s) {
    const port::Port& port = ports_[s.port].device();
    if (!port.capabilities().tx_external_buffer || s.plan.zero_copy == ZeroCopySetting::never)
        return;
    auto registration = std::make_unique<PayloadRegistration>(port);
    for (const memory::Region& region : s.heap_source->regions())
        registration->add(region);
    for (const memory::Region& region : shared_)
        registration->add(region);
    s.registration = std::move(registration);
}

bool SenderSet::gets_back(const SendPlan& send) const {
    return ports_[send.port].device().capabilities().receives_own;
}

std::vector<memory::Region> SenderSet::regions_that_return() const {
    std::vector<memory::Region> found;
    for (const SendStream* const s : all())
        if (gets_back(s->plan))
            for (const memory::Region& region : s->heap_source->regions())
                found.push_back(region);
    if (!found.empty())
        found.insert(found.end(), shared_.begin(), shared_.end());
    std::erase_if(found, [](const memory::Region& region) { return !region.cpu_accessible(); });
    return found;
}

void SenderSet::add_region(const memory::Region& region) {
    regions_.add(region);
    std::vector<PayloadRegistration*> done;
    try {
        for (SendStream* const s : all())
            if (s->registration) {
                s->registration->add(region);
                done.push_back(s->registration.get());
            }
        shared_.push_back(region);
    } catch (...) {
        for (PayloadRegistration* const one : done)
            one->remove(region.base);
        regions_.remove(region.base);
        throw;
    }
}

void SenderSet::remove_region(const std::byte* base) {
    regions_.remove(base);
    std::erase_if(shared_, [base](const memory::Region& one) { return one.base == base; });
    for (SendStream* const s : all())
        if (s->registration)
            s->registration->remove(base);
}

/// Takes the port from its senders. Its packets come back when it stops; senders wait, and give up heaps with
/// a timeout.
void SenderSet::take_off(std::size_t port) {
    for (SendStream* const s : all())
        if (s->port == port)
            lcores_.ask(
                *s->worker,
                [](send::Sender* sender, port::ImpairedQueue* impaired) {
                    sender->set_queue({});
                    if (impaired != nullptr) {
                        impaired->set_inner({});
                        impaired->give_up();
                    }
                },
                s->sender.get(), s->impaired.get());
}

void SenderSet::put_on(std::size_t port) {
    for (SendStream* const s : all())
        if (s->port == port)
            connect(*s);
}

void SenderSet::unmap(std::size_t port) {
    for (SendStream* const s : all())
        if (s->port == port)
            s->registration.reset();
}

bool SenderSet::map(std::size_t port) {
    bool any = false;
    for (SendStream* const s : all()) {
        if (s->port != port)
            continue;
        any = true;
        map_payload(*s);
        if (LinkHost* const host = ports_[port].host(); host != nullptr)
            for (const NextHop& hop : s->hops.all())
                host->resolve(hop.address);
    }
    return any;
}

/// Connects the sender to its running port, which may be another device than before.
void SenderSet::connect(SendStream& s) {
    const port::Port& port = ports_[s.port].device();
    s.source = source_of(s.plan, ports_[s.port], s.source);
    const port::SendTimes times = s.plan.pacer != Offload::software ? port.send_times() : port::SendTimes{};
    const port::TxQueue queue = port.tx_queue(s.queue);
    lcores_.ask(
        *s.worker,
        [](send::Sender* sender, port::ImpairedQueue* impaired, const port::TxQueue& to,
           const port::SendTimes& by, MacAddress mac, IpAddress from) {
            if (impaired != nullptr)
                impaired->set_inner(to);
            sender->set_port(impaired != nullptr ? impaired->queue() : to, by, mac, from);
        },
        s.sender.get(), s.impaired.get(), queue, times, port.mac(), s.source);
}

void SenderSet::watch(double now, EventReporter& events) {
    for (const auto& s : planned_) {
        const LivePort& port = ports_[s->port];
        const SendHealth::Look look{s->plan.enabled && port.is_on() && !s->worker->lost, s->stuck,
                                    s->counts.outages, port.plan().name,
                                    s->counts.outages == 0 ? std::string() : suspects_of(*s)};
        for (const stats::LastEvent& event : s->health.update(now, look))
            events.report(s->plan.name, event);
    }
}

std::string SenderSet::suspects_of(const SendStream& s) const {
    const port::Port& p = ports_[s.port].device();
    return runtime::suspects_of({p.link_up(), p.capabilities().receives_own, p.capabilities().needs_peer,
                                 packet_size(s.plan), header_bytes(s.plan), ports_[s.port].stalled_engine()});
}

}  // namespace spead::runtime
