// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/live_port.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <net/if.h>
#include <string>
#include <string_view>
#include <utility>

#include <rte_ethdev.h>

#include "base/error.hpp"
#include "base/setting_limits.hpp"
#include "memory/mapping.hpp"
#include "port/buffer_loans.hpp"
#include "port/device_string.hpp"
#include "port/machine.hpp"
#include "port/netdev.hpp"
#include "port/split_sizes.hpp"

namespace spead::runtime {

namespace {

/// Holds how many times as large a buffer is tried for a longer queue.
constexpr std::size_t kLargeFactor = 8;

/// Makes the kernel's membership. The kernel's reports carry the tag of the interface that it joins on.
std::unique_ptr<port::KernelMembership> membership_of(const port::Port& p,
                                                      std::optional<std::uint16_t> vlan) {
    if (!vlan)
        return std::make_unique<port::KernelMembership>(p.if_index(), p.netdev());
    const std::string name = port::vlan_netdev(p.netdev(), *vlan);
    const auto facts = name.empty() ? std::nullopt : port::netdev_facts(name);
    if (!facts)
        throw_error(p.name(),
                    "groups in VLAN {0} are joined on the kernel's interface for it, which {1} lacks: run "
                    "`ip link add link {1} name {1}.{0} type vlan id {0}` and `ip link set {1}.{0} up`",
                    *vlan, p.netdev());
    return std::make_unique<port::KernelMembership>(facts->index, name);
}

std::unique_ptr<LinkHost> host_of(const port::Port& p, const port::PlannedPort& planned,
                                  const PortPlan& plan) {
    if (p.capabilities().membership != port::Membership::own_host)
        return nullptr;
    auto host = std::make_unique<LinkHost>(p, static_cast<std::uint16_t>(planned.request.tx_queues - 1),
                                           LinkHost::Addresses{plan.address, plan.address6}, plan.vlan);
    if (planned.request.ipv6)
        host->use_ipv6();
    return host;
}

/// Returns how similar a packet is to one that an endpoint waits for: by its group, else by its port.
int likeness(const port::PassedPackets& passed, const std::vector<Endpoint>& wanted) {
    int best = 0;
    for (const Endpoint& e : wanted)
        best = std::max(best, e.address == passed.endpoint.address ? 2
                              : e.port == passed.endpoint.port     ? 1
                                                                   : 0);
    return best;
}

/// Returns what a device could not write or read of its files.
std::vector<std::string> problems_of(const port::Port& device) {
    std::vector<std::string> all;
    if (std::string problem = device.output_problem(); !problem.empty())
        all.push_back(std::move(problem));
    for (std::string& problem : device.source_problems())
        all.push_back(std::move(problem));
    return all;
}

void add(stats::NicSnapshot& to, const stats::NicSnapshot& more) {
    to.missed += more.missed;
    to.no_mbuf += more.no_mbuf;
    to.errors += more.errors;
    to.send_errors += more.send_errors;
}

/// Returns whether the machine has the memory for a larger device in place of the planned one.
bool has_memory(const port::PlannedPort& planned, const port::PreparedDevice& larger) {
    return larger.eal_bytes() + larger.outside_bytes <=
           planned.device.eal_bytes() + planned.device.outside_bytes + memory::available_memory() / 2;
}

/// Finds the longer queue of a device string that fixes its length (net_af_packet). Returns whether it does.
bool find_longer_device(const port::PlannedPort& planned, stats::PortSettings& s) {
    constexpr std::string_view kLength = "framecnt";
    constexpr std::uint64_t kMost = std::uint64_t{1} << 20;
    port::PortRequest request = planned.request;
    port::DeviceString device = port::DeviceString::parse(request.device, port::where(request));
    const auto length = device.number(kLength, 1, kMost);
    if (!length || request.exists || 2 * *length > kMost)
        return length.has_value();
    device.set(kLength, std::to_string(2 * *length));
    request.device = device.text();
    const port::PreparedDevice longer = planned.driver->plan(request);
    if (longer.rx.descriptors <= planned.device.rx.descriptors || !has_memory(planned, longer) ||
        longer.outside_bytes > port::lockable_bytes())
        return true;
    s.longer_device = request.device;
    s.larger_queue = port::queued_packets(longer.rx.descriptors, longer.split);
    return true;
}

/// Finds a larger `buffer_size` that gives the port a longer receive queue, and that the next start accepts.
void find_larger(const port::PlannedPort& planned, stats::PortSettings& s) {
    if (find_longer_device(planned, s))
        return;
    port::PortRequest request = planned.request;
    while (request.buffer_size != 0 && 2 * request.buffer_size <= kMostBuffer) {
        request.buffer_size *= 2;
        const port::PreparedDevice larger = planned.driver->plan(request);
        if (!has_memory(planned, larger))
            return;
        if (larger.rx.descriptors > planned.device.rx.descriptors) {
            s.larger_buffer = request.buffer_size;
            s.larger_queue = port::queued_packets(larger.rx.descriptors, larger.split);
            return;
        }
        // Above some size a driver has its longest queue.
        if (request.buffer_size > kLargeFactor * planned.request.buffer_size)
            return;
    }
}

/// Returns the bytes that the kernel grants a socket which is made now.
std::uint64_t socket_buffer_for(std::uint64_t wanted) {
    const std::uint64_t limit = port::socket_buffer_limit();
    return limit == 0 ? wanted : std::min(wanted, limit);
}

/// Returns the name of an interface that a user named, perhaps by an address; empty: there is none.
std::string interface_of(const std::string& text) {
    if (text.empty() || if_nametoindex(text.c_str()) != 0)
        return text;
    try {
        return port::netdev_of(parse_ip(text));
    } catch (const Error&) {
        return {};
    }
}

stats::PortSettings settings_of(const port::PlannedPort& planned, const std::string& netdev) {
    stats::PortSettings s;
    s.interface = netdev;
    s.buffer_size = planned.request.buffer_size;
    s.reassemble_datagrams = planned.request.reassembled_datagrams;
    s.split = planned.request.split;
    if (planned.device.capabilities.steering == port::Steering::sockets) {
        // The sockets have one, and their device is none.
        s.interface = interface_of(
            port::DeviceString::parse(planned.request.device, s.interface).find("iface").value_or(""));
        s.socket_buffer = socket_buffer_for(s.buffer_size);
    } else if (planned.request.rx_queues != 0 && !planned.device.capabilities.lossless) {
        try {
            find_larger(planned, s);
        } catch (const Error&) {
            // The device cannot be planned while it is open, so that nothing larger is known.
        }
    }
    return s;
}

}  // namespace

LivePort::LivePort(const PortPlan& plan, const port::PlannedPort& planned)
    : plan_(plan),
      planned_(planned),
      device_(port::Port::open(planned_)),
      settings_(settings_of(planned_, device_->netdev())) {
    host_ = host_of(*device_, planned_, plan_);
}

void LivePort::start() {
    missed_before_start_ = nic().missed;
    device_->start();
}

void LivePort::note_fetched() {
    if (!missed_before_start_ || is_.closed || outage_.netdev)
        return;
    const std::uint64_t missed = nic().missed;
    missed_at_start_ += missed - std::min(missed, *missed_before_start_);
    missed_before_start_.reset();
}

void LivePort::take_off() {
    is_.off = true;
    membership_.reset();
    // A host of the former device, which is gone, has nothing to send with.
    if (host_ && !is_.host_is_former) {
        for (const Endpoint& group : groups_)
            host_->leave(group);
        host_->serve(LinkHost::Clock::now());
    }
    groups_.clear();
    if (!outage_.netdev)
        for (const port::Rule& rule : rules_)
            device_->remove_rule(rule.endpoint);
    rules_.clear();
}

void LivePort::lose(const std::string& netdev) {
    log_error(LogType::runtime,
              "port {}: its network interface {} has disappeared (removed, renamed or moved to another "
              "namespace); waiting for it to come back",
              plan_.name, netdev);
    outage_.netdev = netdev;
    outage_.times++;
}

void LivePort::keep_counts() {
    add(earlier_.nic, device_->nic());
}

void LivePort::note_closed() {
    is_.closed = true;
    // From now on its files are the user's.
    for (std::string& problem : problems_of(*device_))
        if (std::find(earlier_.problems.begin(), earlier_.problems.end(), problem) == earlier_.problems.end())
            earlier_.problems.push_back(std::move(problem));
}

std::vector<std::string> LivePort::problems() const {
    std::vector<std::string> all = earlier_.problems;
    if (!is_.closed)
        for (std::string& problem : problems_of(*device_))
            all.push_back(std::move(problem));
    return all;
}

bool LivePort::reopen() {
    // One that the device makes itself (net_tap) is made anew.
    if (outage_.netdev && !planned_.device.netdev.empty()) {
        const auto facts = port::netdev_facts(*outage_.netdev);
        if (!facts || !facts->up)
            return false;
    }
    std::unique_ptr<port::Port> again = port::Port::open(planned_);
    again->start();
    device_ = std::move(again);
    missed_before_start_ = earlier_.nic.missed;
    is_.host_is_former = host_ != nullptr;
    outage_.netdev.reset();
    is_.closed = false;
    return true;
}

bool LivePort::give_up_reopening(const std::string& netdev, const std::string& why) {
    // Logged once: the obstacle may last.
    if (std::exchange(outage_.refusal, why) != why)
        log_error(LogType::runtime, "port {}: it cannot be opened again: {}", plan_.name, why);
    if (outage_.netdev)
        return false;
    outage_.netdev = netdev;
    return true;
}

void LivePort::sweep_loans() {
    if (planned_.loans)
        planned_.loans->sweep();
}

void LivePort::renew_host() {
    if (!host_)
        return;
    former_host_ = std::exchange(host_, host_of(*device_, planned_, plan_));
    earlier_.host_frames += former_host_->sent();
    is_.host_is_former = false;
}

void LivePort::add_rule(const port::Rule& rule) {
    if (std::find(rules_.begin(), rules_.end(), rule) != rules_.end())
        return;
    device_->add_rule(rule);
    rules_.push_back(rule);
    // It may have made a socket, after the machine's limit was changed.
    if (settings_.socket_buffer != 0)
        settings_.socket_buffer = socket_buffer_for(settings_.buffer_size);
}

void LivePort::remove_rules_but(const std::vector<port::Rule>& wanted) {
    // One at a time: when a removal fails, those before it have been made, and can be undone.
    for (auto rule = rules_.begin(); rule != rules_.end();) {
        if (std::find(wanted.begin(), wanted.end(), *rule) != wanted.end()) {
            ++rule;
            continue;
        }
        device_->remove_rule(rule->endpoint);
        rule = rules_.erase(rule);
    }
}

std::vector<stats::RuleSnapshot> LivePort::rules() const {
    std::vector<stats::RuleSnapshot> all;
    for (const port::RuleState& r : device_->rules())
        all.push_back({to_string(r.rule.endpoint), r.rule.queues, r.text, r.hits});
    return all;
}

std::vector<Endpoint> LivePort::not_joined(const std::vector<Endpoint>& wanted) const {
    std::vector<Endpoint> fresh;
    std::set_difference(wanted.begin(), wanted.end(), groups_.begin(), groups_.end(),
                        std::back_inserter(fresh));
    return fresh;
}

void LivePort::join_by_kernel(const std::vector<Endpoint>& groups, int interrupt_fd) {
    if (device_->capabilities().membership != port::Membership::kernel_socket)
        return;
    if (!membership_)
        membership_ = membership_of(*device_, plan_.vlan);
    try {
        for (const Endpoint& e : groups)
            membership_->want(e);
        membership_->join_all(interrupt_fd);
    } catch (...) {
        for (const Endpoint& e : groups)
            membership_->leave(e);
        throw;
    }
}

void LivePort::note_joined(const std::vector<Endpoint>& groups) {
    groups_.insert(groups_.end(), groups.begin(), groups.end());
    std::sort(groups_.begin(), groups_.end());
}

void LivePort::leave_groups_but(const std::vector<Endpoint>& wanted) {
    std::erase_if(groups_, [&](const Endpoint& group) {
        if (std::binary_search(wanted.begin(), wanted.end(), group))
            return false;
        if (host_)
            host_->leave(group);
        if (membership_)
            membership_->leave(group);
        return true;
    });
}

LivePort::Look LivePort::look(LogLimiter& limit) {
    Look found;
    found.gone = device_->missing_netdev();
    if (!found.gone.empty())
        return found;
    // The exact failure is known when the port is stopped.
    found.failed = !device_->output_problem().empty();
    const std::string& name = device_->name();
    if (device_->capabilities().needs_peer) {
        if (peer_.update(device_->link_up()))
            log_limited(limit, LogType::runtime, LogLevel::notice,
                        "port {}: no process is at the other end; waiting", name);
        return found;
    }
    const LinkWatch::News news = link_.update(device_->poll_link());
    if (news != LinkWatch::News::none)
        log_limited(limit, LogType::runtime, LogLevel::notice, "port {}: its link is {}", name,
                    news == LinkWatch::News::lost ? "down" : "up again");
    return found;
}

void LivePort::look_for_passed(const std::vector<Endpoint>& wanted) {
    std::vector<port::PassedPackets> all = device_->passed();
    std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
        return std::pair(likeness(a, wanted), a.packets) > std::pair(likeness(b, wanted), b.packets);
    });
    all.resize(std::min(all.size(), stats::PortSnapshot::kPassed));
    for (const port::PassedPackets& one : all)
        passed_.push_back({to_string(one.endpoint), to_string(one.source), one.packets});
}

std::uint32_t LivePort::rx_packets() const noexcept {
    return port::queued_packets(device_->rx_sizes().descriptors, planned_.device.split);
}

stats::PortSnapshot LivePort::snapshot() const {
    stats::PortSnapshot s;
    s.name = device_->name();
    s.driver = device_->driver_name();
    s.steering = port::name_of(device_->capabilities().steering);
    s.state = is_.closed ? "closed" : outage_.netdev ? "detached" : is_.off ? "stopped" : "running";
    s.rx_descriptors = rx_packets();
    s.reassembly_places = planned_.request.reassembled_datagrams;
    s.joins_groups = device_->capabilities().membership != port::Membership::none;
    if (host_)
        s.tx_host_frames = earlier_.host_frames + host_->sent();
    s.rules = last_rules_;
    s.settings = settings_;
    s.missed_at_start = missed_at_start_;
    return s;
}

stats::NicSnapshot LivePort::nic() const {
    if (is_.closed || outage_.netdev)
        return earlier_.nic;
    stats::NicSnapshot counts = device_->nic();
    add(counts, earlier_.nic);
    return counts;
}

std::vector<std::pair<std::string, std::uint64_t>> LivePort::xstats() const {
    if (!device_->capabilities().counts_packets)
        return {};
    const std::uint16_t id = device_->port_id();
    const int count = rte_eth_xstats_get_names(id, nullptr, 0);
    if (count <= 0)
        return {};
    std::vector<rte_eth_xstat_name> names(static_cast<std::size_t>(count));
    std::vector<rte_eth_xstat> values(names.size());
    if (rte_eth_xstats_get_names(id, names.data(), static_cast<unsigned>(count)) != count ||
        rte_eth_xstats_get(id, values.data(), static_cast<unsigned>(count)) != count)
        return {};
    std::vector<std::pair<std::string, std::uint64_t>> all;
    for (const rte_eth_xstat& value : values)
        if (value.id < names.size())
            all.emplace_back(names[value.id].name, value.value);
    return all;
}

}  // namespace spead::runtime
