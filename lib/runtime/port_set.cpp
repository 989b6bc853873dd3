// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/port_set.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/interruptible.hpp"
#include "runtime/waits.hpp"

namespace spead::runtime {

namespace {

/// Limits the wait for our own hosts. Reports are sent within a few steps, unless the queue does not take
/// them.
constexpr auto kHostPatience = std::chrono::milliseconds(500);

}  // namespace

void PortSet::open(const std::vector<PortPlan>& plans, const std::vector<port::PlannedPort>& planned) {
    for (std::size_t i = 0; i < planned.size(); i++)
        ports_.push_back(std::make_unique<LivePort>(plans[i], planned[i]));
}

void PortSet::start() {
    for (const auto& p : ports_)
        p->start();
}

void PortSet::note_fetched() {
    for (const auto& p : ports_)
        p->note_fetched();
}

void PortSet::add(const PortPlan& plan, const port::PlannedPort& planned) {
    auto port = std::make_unique<LivePort>(plan, planned);
    port->start();
    ports_.push_back(std::move(port));
}

std::size_t PortSet::index_of(const std::string& name) const noexcept {
    const auto found =
        std::find_if(ports_.begin(), ports_.end(), [&](const auto& p) { return p->plan().name == name; });
    return static_cast<std::size_t>(found - ports_.begin());
}

PortSet::Groups PortSet::groups_of(const std::vector<ReceivePlan>& receives) const {
    Groups all(size());
    for (const ReceivePlan& r : receives)
        if (r.enabled)
            for_each_path(r,
                          [&](std::size_t, const std::string& port, const std::vector<Endpoint>& endpoints) {
                              std::vector<Endpoint>& here = all[index_of(port)];
                              here.insert(here.end(), endpoints.begin(), endpoints.end());
                          });
    for (std::vector<Endpoint>& here : all)
        std::sort(here.begin(), here.end());
    return all;
}

void PortSet::add_rules(const std::vector<PortRule>& wanted) {
    for (const PortRule& r : wanted)
        if (ports_[r.port]->is_on())
            ports_[r.port]->add_rule(r.rule);
}

void PortSet::remove_rules_but(const std::vector<PortRule>& wanted) {
    for (std::size_t i = 0; i < ports_.size(); i++) {
        std::vector<port::Rule> here;
        for (const PortRule& r : wanted)
            if (r.port == i)
                here.push_back(r.rule);
        ports_[i]->remove_rules_but(here);
    }
}

std::vector<std::vector<stats::RuleSnapshot>> PortSet::rules() const {
    std::vector<std::vector<stats::RuleSnapshot>> all;
    for (const auto& p : ports_)
        all.push_back(p->rules());
    return all;
}

void PortSet::remember_rules() {
    for (const auto& p : ports_)
        p->remember_rules();
}

void PortSet::join(const Groups& wanted, int interrupt_fd) {
    for (std::size_t i = 0; i < ports_.size(); i++) {
        LivePort& p = *ports_[i];
        const std::vector<Endpoint> fresh = p.not_joined(wanted[i]);
        if (fresh.empty() || !p.is_on())
            continue;
        if (p.host() != nullptr) {
            for (const Endpoint& e : fresh)
                p.host()->want(e);
            wait_for_joins(*p.host(), interrupt_fd);
        }
        p.join_by_kernel(fresh, interrupt_fd);
        p.note_joined(fresh);
    }
}

/// Waits for joins by our own host, as for the kernel's: they are sent at a limited rate. If the port takes
/// no frames just now, the rest follows during the run.
void PortSet::wait_for_joins(LinkHost& host, int interrupt_fd) {
    std::size_t left = host.pending();
    LinkHost::Clock::time_point end = LinkHost::Clock::now() + kHostPatience;
    for (serve_hosts(); host.pending() != 0 && LinkHost::Clock::now() < end; serve_hosts()) {
        if (host.pending() != left) {
            left = host.pending();
            end = LinkHost::Clock::now() + kHostPatience;
        }
        wait_interruptibly(interrupt_fd, kStep, "our own host", "groups were joined");
    }
}

void PortSet::leave_groups_but(const Groups& wanted) {
    for (std::size_t i = 0; i < ports_.size(); i++)
        ports_[i]->leave_groups_but(wanted[i]);
}

void PortSet::leave_groups() {
    for (const auto& p : ports_) {
        p->leave_by_kernel();
        if (p->host() != nullptr)
            p->host()->leave_all();
    }
    const auto all_reported = [this] {
        return std::all_of(ports_.begin(), ports_.end(),
                           [](const auto& p) { return p->host() == nullptr || p->host()->idle(); });
    };
    const LinkHost::Clock::time_point end = LinkHost::Clock::now() + kHostPatience;
    for (serve_hosts(); !all_reported() && LinkHost::Clock::now() < end; serve_hosts())
        std::this_thread::sleep_for(kStep);
}

void PortSet::serve_hosts() {
    const LinkHost::Clock::time_point now = LinkHost::Clock::now();
    for (const auto& p : ports_)
        if (p->host() != nullptr && p->device().started())
            p->host()->serve(now);
}

void PortSet::poll_peers() {
    for (const auto& p : ports_)
        if (p->device().capabilities().needs_peer && !p->is_closed())
            p->device().poll_link();
}

void PortSet::report_end(std::vector<std::string>& problems, std::vector<std::string>& remarks) const {
    for (const auto& p : ports_)
        for (std::string& problem : p->problems())
            problems.push_back(std::move(problem));
    for (const auto& p : ports_) {
        const std::string& name = p->plan().name;
        if (p->links_lost() > 1)
            remarks.push_back(
                fmt::format("port {}: its link was lost {}", name, counted(p->links_lost(), "times")));
        if (p->is_detached())
            problems.push_back(
                fmt::format("port {}: its network interface {} has disappeared and has not come back", name,
                            p->detached_netdev()));
        else if (p->times_detached() != 0)
            remarks.push_back(fmt::format("port {}: its network interface was detached {}", name,
                                          counted(p->times_detached(), "times")));
    }
}

}  // namespace spead::runtime
