// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "runtime/descriptors.hpp"
#include "runtime/engine_state.hpp"

/// Ports that stop and start while others run: asked for, or because their network interface has gone and
/// come back.
namespace spead::runtime {

void Engine::stop_port(const std::string& port) {
    State& s = *state_;
    const std::size_t i = s.running_port(port);
    s.lcores.need_answers();
    need_kept_descriptors("stopping a port");
    if (s.ports[i].is_away())
        throw_error(fmt::format("port {}", port), "its network interface has gone; there is nothing to stop");
    if (!s.ports[i].device().started())
        throw_error(fmt::format("port {}", port), "it is stopped already");
    (void)s.snapshots.take_detailed();
    s.take_off(i);
    s.ports[i].device().stop();
    s.port_changed(i);
}

void Engine::start_port(const std::string& port) {
    State& s = *state_;
    const std::size_t i = s.running_port(port);
    s.lcores.need_answers();
    need_kept_descriptors("starting a port");
    if (s.ports[i].is_away())
        throw_error(fmt::format("port {}", port),
                    "its network interface has gone; it is started when that comes back");
    if (s.ports[i].device().started())
        throw_error(fmt::format("port {}", port), "it runs already");
    s.ports[i].device().start();
    try {
        s.put_on(i);
    } catch (const LcoreLost&) {
        throw;  // its lcores cannot be asked to let go of it again
    } catch (const std::exception&) {
        s.take_off(i);
        s.ports[i].device().stop();
        throw;
    }
    s.port_changed(i);
}

/// The port and its streams begin anew.
void Engine::State::port_changed(std::size_t port) {
    std::vector<std::string> names{plan.ports[port].name};
    for (const ReceivePlan& r : plan.receives)
        if (r.port == plan.ports[port].name)
            names.push_back(r.name);
    snapshots.parts_changed(names);
}

std::size_t Engine::State::running_port(const std::string& name) const {
    if (!clock.started() || clock.stopped())
        throw_error("runtime", "nothing runs that could be changed");
    const std::size_t i = ports.index_of(name);
    if (i == ports.size())
        throw_error("port", "there is no port `{}`", name);
    return i;
}

/// No lcore touches the port's queues from now on; its groups are left and its rules are gone. Streams wait.
/// Throws LcoreLost: then an lcore may still be inside the port, which must not be stopped.
void Engine::State::take_off(std::size_t port) {
    ports[port].take_off();
    queues.take_off(port);
    senders.take_off(port);
}

/// The port is started: its queues are polled again, with the rules and groups of the plan as it is now.
void Engine::State::put_on(std::size_t port) {
    queues.put_on(port);
    senders.put_on(port);
    ports[port].put_on();
    queues.add_host_rules(port);
    ports.add_rules(layout.rules);
    ports.join(groups_of(plan), interrupt_fd());
}

void Engine::State::lose_port(std::size_t port, const std::string& netdev) {
    ports[port].lose(netdev);
    shut(port);
    ports[port].keep_counts();
}

/// Closes a port whose interface has gone. What senders had given it is theirs again.
void Engine::State::shut(std::size_t port) {
    take_off(port);
    ports[port].device().stop();
    senders.unmap(port);
    ports[port].device().close();
}

/// Opens the port again once its interface is there and up.
void Engine::State::look_for(std::size_t port) {
    const std::string netdev = ports[port].away();
    try {
        need_kept_descriptors("opening a port");
        if (!ports[port].reopen())
            return;
        queues.renew_host(port);
        const bool sends_there = senders.map(port);
        put_on(port);
        port_changed(port);
        const bool receives = std::any_of(plan.receives.begin(), plan.receives.end(),
                                          [&](const auto& r) { return r.port == plan.ports[port].name; });
        log_notice(LogType::runtime, "port {}: its network interface {} is back, and it {} again",
                   ports[port].device().name(), netdev,
                   !sends_there ? "receives"
                   : receives   ? "receives and sends"
                                : "sends");
    } catch (const LcoreLost&) {
        throw;
    } catch (const std::exception& e) {
        if (ports[port].give_up_reopening(netdev, e.what()))
            shut(port);
    }
}

}  // namespace spead::runtime
