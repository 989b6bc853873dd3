// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/port_outages.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "runtime/descriptors.hpp"
#include "runtime/paths.hpp"
#include "runtime/receivers.hpp"
#include "runtime/waits.hpp"

namespace spead::runtime {

namespace {

/// Holds the interval at which the kernel is asked for links and files.
constexpr auto kLookAtPorts = std::chrono::milliseconds(200);

bool is_used_by(const Plan& plan, const std::string& port) {
    return std::any_of(plan.receives.begin(), plan.receives.end(),
                       [&port](const ReceivePlan& r) { return receives_on(r, port); }) ||
           std::any_of(plan.sends.begin(), plan.sends.end(),
                       [&port](const SendPlan& s) { return s.port == port; });
}

}  // namespace

void PortOutages::stop(const std::string& port) {
    const std::size_t i = index_of(port);
    LivePort& p = of_.ports[i];
    of_.lcores.need_answers();
    need_kept_descriptors("stopping a port");
    if (p.is_detached())
        throw_error(fmt::format("port {}", port),
                    "its network interface has disappeared; it cannot be stopped");
    if (!p.device().started())
        throw_error(fmt::format("port {}", port), "it is stopped already");
    (void)of_.snapshots.take_detailed();
    take_off(i);
    p.device().stop();
    changed(i);
}

void PortOutages::start(const std::string& port) {
    const std::size_t i = index_of(port);
    LivePort& p = of_.ports[i];
    of_.lcores.need_answers();
    need_kept_descriptors("starting a port");
    if (p.is_detached())
        throw_error(fmt::format("port {}", port),
                    "its network interface has disappeared; it starts when the interface is back");
    if (p.is_closed())
        throw_error(fmt::format("port {}", port), "it is closed; a stream or sender that uses it opens it");
    if (p.device().started())
        throw_error(fmt::format("port {}", port), "it runs already");
    p.start();
    try {
        put_on(i);
    } catch (const LcoreLost&) {
        throw;  // its lcores cannot be asked to let go of it again
    } catch (...) {
        take_off(i);
        p.device().stop();
        throw;
    }
    changed(i);
}

std::size_t PortOutages::index_of(const std::string& name) const {
    const std::size_t i = of_.ports.index_of(name);
    if (i == of_.ports.size())
        throw_error("port", "there is no port `{}`", name);
    return i;
}

/// Notes that the port and its streams begin anew.
void PortOutages::changed(std::size_t port) {
    std::vector<std::string> names{of_.plan.ports[port].name};
    for (const ReceivePlan& r : of_.plan.receives)
        if (receives_on(r, of_.plan.ports[port].name))
            names.push_back(r.name);
    of_.snapshots.parts_changed(names);
}

/// Takes the port's queues from the lcores, leaves its groups and removes its rules. Streams wait. Throws
/// LcoreLost: then an lcore may still be inside the port, which must not be stopped.
void PortOutages::take_off(std::size_t port) {
    of_.ports[port].take_off();
    of_.queues.take_off(port);
    of_.senders.take_off(port);
}

/// Polls the queues of the started port again, with the present rules and groups of the plan.
void PortOutages::put_on(std::size_t port) {
    of_.queues.put_on(port);
    of_.ports[port].note_fetched();
    of_.senders.put_on(port);
    of_.ports[port].put_on();
    of_.queues.add_host_rules(port);
    of_.ports.add_rules(of_.layout.rules);
    of_.ports.join(of_.ports.groups_of(of_.plan.receives), kNoInterrupt);
}

void PortOutages::lose(std::size_t port, const std::string& netdev) {
    of_.ports[port].lose(netdev);
    shut(port);
    of_.ports[port].keep_counts();
}

/// Waits until the engines have moved the packets that they have from lcores: those of the port lie in its
/// pools, which go with its device. Its pool is kept if one takes too long.
void PortOutages::wait_for_engines(std::size_t port) {
    if (!of_.engines.any())
        return;
    ask_receivers(of_.lcores, [](recv::RxAgent* receiver) {
        receiver->mark_gathering();
        return true;
    });
    if (!engines_finish(
            of_.lcores, [](recv::RxAgent* receiver) { return receiver->is_past_gathering(); }, [] {}))
        log_warning(LogType::runtime,
                    "port {}: an engine has not moved its last packets for {} s; their pool stays allocated",
                    of_.ports[port].plan().name, kGatherPatience.count());
}

/// Closes a port whose interface has disappeared. Packets that senders had given it are theirs again.
void PortOutages::shut(std::size_t port) {
    take_off(port);
    wait_for_engines(port);
    of_.ports[port].device().stop();
    of_.senders.unmap(port);
    of_.ports[port].device().close();
}

/// Returns whether the port is on and nothing uses it.
bool PortOutages::is_unused(std::size_t port) const {
    const std::vector<SendStream*> senders = of_.senders.all();
    return of_.ports[port].is_on() && !is_used_by(of_.plan, of_.plan.ports[port].name) &&
           std::none_of(senders.begin(), senders.end(),
                        [port](const SendStream* s) { return s->port == port; });
}

/// Returns whether its own host has not announced yet that groups are left.
bool PortOutages::has_to_tell(std::size_t port) const {
    const LinkHost* const host = of_.ports[port].host();
    return host != nullptr && !host->idle();
}

void PortOutages::close_unused() {
    for (std::size_t i = 0; i < of_.ports.size(); i++)
        if (is_unused(i) && !has_to_tell(i) && !is_silent_on(i))
            close(i);
}

void PortOutages::close(std::size_t port) {
    (void)of_.snapshots.take_detailed();
    shut(port);
    of_.ports[port].keep_counts();
    of_.ports[port].note_closed();
    changed(port);
    log_info(LogType::runtime, "port {}: it is closed, since no stream and no sender uses it",
             of_.ports[port].plan().name);
}

void PortOutages::open_used(const Plan& wanted) {
    for (std::size_t i = 0; i < of_.ports.size(); i++) {
        if (!of_.ports[i].is_closed() || !is_used_by(wanted, of_.plan.ports[i].name))
            continue;
        need_kept_descriptors("opening a port");
        of_.ports[i].reopen();
        try {
            of_.engines.register_packets(of_.senders.regions_that_return());
            of_.queues.renew_host(i);
            put_on(i);
        } catch (const LcoreLost&) {
            throw;  // its lcores cannot be asked to let go of it again
        } catch (const std::exception&) {
            close(i);
            throw;
        }
        changed(i);
    }
}

/// Opens the port again once its interface exists and is up.
void PortOutages::look_for(std::size_t port) {
    const std::string netdev = of_.ports[port].detached_netdev();
    try {
        need_kept_descriptors("opening a port");
        if (!of_.ports[port].reopen())
            return;
        of_.engines.register_packets(of_.senders.regions_that_return());
        of_.queues.renew_host(port);
        const bool sends_there = of_.senders.map(port);
        put_on(port);
        changed(port);
        const bool receives =
            std::any_of(of_.plan.receives.begin(), of_.plan.receives.end(),
                        [&](const auto& r) { return receives_on(r, of_.plan.ports[port].name); });
        log_notice(LogType::runtime, "port {}: its network interface {} is back, and it {} again",
                   of_.ports[port].device().name(), netdev,
                   !sends_there ? "receives"
                   : receives   ? "receives and sends"
                                : "sends");
    } catch (const LcoreLost&) {
        throw;
    } catch (const std::exception& e) {
        if (of_.ports[port].give_up_reopening(netdev, e.what()))
            shut(port);
    }
}

/// Returns whether an lcore that polls the port or sends on it is silent.
bool PortOutages::is_silent_on(std::size_t port) const {
    const std::vector<SendStream*> all = of_.senders.all();
    return of_.queues.is_silent_on(port) || std::any_of(all.begin(), all.end(), [port](const SendStream* s) {
               return s->port == port && is_silent(*s->worker);
           });
}

bool PortOutages::watch() {
    // Peers come and go; they are let in at once, and it is not for us to say that theirs have ended.
    of_.ports.poll_peers();
    const Clock::time_point time = Clock::now();
    if (time < next_look_)
        return true;
    next_look_ = time + kLookAtPorts;
    log_settled(of_.ports.link_news(), LogType::runtime, LogLevel::notice, "links");
    log_settled(of_.senders.hop_news(), LogType::runtime, LogLevel::notice, "next hops");
    bool failed = false;
    for (std::size_t i = 0; i < of_.ports.size(); i++) {
        // A silent lcore may be inside the port.
        if (is_silent_on(i))
            continue;
        of_.ports[i].sweep_loans();
        if (of_.ports[i].is_detached())
            look_for(i);
        if (!of_.ports[i].is_on())
            continue;
        const LivePort::Look look = of_.ports[i].look(of_.ports.link_news());
        failed |= look.failed;
        if (!look.gone.empty())
            lose(i, look.gone);
    }
    return !failed;
}

}  // namespace spead::runtime
