// SPDX-License-Identifier: BSD-3-Clause
/// Runs a port after it is open: starts it, follows a peer, stops it, tears it down.
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <rte_dev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "port/device_calls.hpp"
#include "port/flow_rules.hpp"
#include "port/log_capture.hpp"
#include "port/netdev.hpp"
#include "port/port_state.hpp"

namespace spead::port {

namespace {

constexpr std::uint16_t kDrainBurst = 64;
constexpr auto kFetchPatience = std::chrono::seconds{2};
constexpr auto kMeetPatience = std::chrono::seconds{1};

}  // namespace

/// Makes calls into the device that must not overlap with a peer's disconnect.
int Port::State::in_order(const std::function<int()>& call) const {
    int result = 0;
    if (guard) {
        guard->run([&] { result = call(); });
    } else {
        result = call();
    }
    return result;
}

bool Port::State::device_link() const {
    rte_eth_link link{};
    return rte_eth_link_get_nowait(port_id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

/// Opens the gate when the peer has come, and connects again when it has gone or has refused us.
void Port::State::follow_peer() {
    const auto connections = [this] { return planned.driver->connections(device); };
    if (guard->wants_watch()) {
        guard->watch(connections);
    } else if (device.connects_when_started && !device_link() && connections().empty()) {
        guard->release();
        (void)in_order([this] { return device_calls().stop(port_id); });
        started = false;
        waiting = true;
    }
}

/// Resets the files: net_pcap reads and writes them from the beginning at every start.
void Port::State::rewind() {
    for (auto& state : rx) {
        for (auto& part : state.parts) {
            if (state.finite) {
                part.ended_early.store(false, std::memory_order_relaxed);
                part.remaining.store(device.sources[part.queue].packets, std::memory_order_release);
            }
        }
    }
    written_at_start = count_written();
    written.clear();
}

bool Port::State::try_start(std::string& reason) {
    if (const auto why = planned.driver->why_no_peer(device)) {
        if (!why->empty() && !std::exchange(reported_peer, true)) {
            log_warning(LogType::port, "{}: {}", name, *why);
        }
        reason = *why;
        return false;
    }
    rewind();
    LogCapture log;
    const int error = in_order([this] { return device_calls().start(port_id); });
    if (error != 0) {
        reason = fmt::format("{} ({})", reason_of(error), log.take_reason());
        return false;
    }
    if (planned.driver->complains()) {
        log.discard();
    }
    started = true;
    waiting = false;
    start_clock();
    make_rules();
    return true;
}

/// Makes the rules. Devices take rules only once they run, and lose them when they stop.
void Port::State::make_rules() {
    if (device.rx_queues == 0) {
        return;
    }
    if (capabilities.steering == Steering::rte_flow) {
        rules = std::make_unique<FlowRules>(port_id, name, mac, capabilities.spreads_sources);
    } else {
        rules = planned.driver->make_rules(device);
    }
}

/// Reports once when the rules no longer work.
void Port::State::watch_rules() {
    if (!rules || reported_rules) {
        return;
    }
    if (const std::string text = rules->out_of_force(); !text.empty()) {
        reported_rules = true;
        log_warning(LogType::port, "{}: {}", name, text);
    }
}

void Port::State::free_leftovers() {
    rte_mbuf* mbufs[kDrainBurst];
    for (std::uint16_t q = 0; q < device.rx_queues; ++q) {
        while (const std::uint16_t n = rte_eth_rx_burst(port_id, q, mbufs, kDrainBurst)) {
            rte_pktmbuf_free_bulk(mbufs, n);
        }
    }
}

/// Waits until an outgoing connection is made or refused. If the client disconnects before the greeting,
/// net_memif's server ends its process: it closes a descriptor that EAL still watches.
void Port::State::wait_until_met() {
    const auto end = std::chrono::steady_clock::now() + kMeetPatience;
    while (!device_link() && !planned.driver->connections(device).empty() &&
           std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

void Port::State::wait_until_fetched() {
    auto left = planned.driver->unfetched(device);
    auto last_progress = std::chrono::steady_clock::now();
    while (left != 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        const auto now = std::chrono::steady_clock::now();
        // The peer writes what this is read from: only becoming less is progress.
        if (const auto still = planned.driver->unfetched(device); still < left) {
            left = still;
            last_progress = now;
        } else if (now - last_progress > kFetchPatience) {
            remarks.push_back(fmt::format("{}: the peer did not fetch the last {} packets", name, left));
            return;
        }
    }
}

void Port::State::stop() {
    waiting = false;
    if (!started) {
        return;
    }
    rules.reset();
    if (guard && device.connects_when_started) {
        wait_until_met();
    }
    if (capabilities.needs_peer) {
        wait_until_fetched();
    }
    if (capabilities.receives_own) {
        free_leftovers();
    }
    if (guard) {
        guard->release();
    }
    for (const auto& state : rx) {
        for (const auto& part : state.parts) {
            if (part.ended_early.load(std::memory_order_relaxed)) {
                remarks.push_back(
                    fmt::format("{}: {} ended before its {} records were delivered; it changed meanwhile",
                                name, device.sources[part.queue].path, device.sources[part.queue].packets));
            }
        }
    }
    written = written_now();
    update_nic();
    started = false;
    if (const int error = in_order([this] { return device_calls().stop(port_id); }); error != 0) {
        remarks.push_back(fmt::format("{}: EAL cannot stop {}: {}", name, device.name, reason_of(error)));
    }
}

void Port::State::tear_down() noexcept {
    try {
        stop();
        if (opened) {
            if (!rx.empty() || !tx.empty()) {
                update_nic();
            }
            opened = false;
            // Two calls: events that came together with the first are handled before the second.
            (void)in_order([this] {
                planned.driver->closing(device);
                return 0;
            });
            if (const int error = in_order([this] { return device_calls().close(port_id); }); error != 0) {
                remarks.push_back(
                    fmt::format("{}: EAL cannot close {}: {}", name, device.name, reason_of(error)));
            }
        }
        guard.reset();
        if (attached) {
            attached = false;
            if (const int error = eal_device == nullptr ? -ENODEV : rte_dev_remove(eal_device); error != 0) {
                remarks.push_back(
                    fmt::format("{}: EAL cannot remove {}: {}", name, device.name, reason_of(error)));
            }
            eal_device = nullptr;
        }
        // Before the pools: sockets that the PMD forgot to close share their memory with the kernel
        // (net_af_xdp).
        if (applied) {
            applied = false;
            planned.driver->released(device);
            device.held.reset();
        }
        for (rte_mempool* pool : pools) {
            if (const unsigned missing = rte_mempool_in_use_count(pool); missing > device.rx_kept) {
                remarks.push_back(fmt::format(
                    "{}: {} mbufs were not returned to their pool, which stays allocated", name, missing));
            } else {
                rte_mempool_free(pool);
            }
        }
        pools.clear();
        if (claimed) {
            give_up_claim();
        }
    } catch (const std::exception&) {
        // Only an allocation for a remark can fail here, and there is no one left to tell.
    }
}

void Port::State::update_nic() const {
    rte_eth_stats stats{};
    if (!opened || rte_eth_stats_get(port_id, &stats) != 0) {
        return;
    }
    kernel_missed += planned.driver->take_missed(device);
    nic.missed = stats.imissed + kernel_missed;
    nic.no_mbuf = stats.rx_nombuf;
    nic.errors = stats.ierrors + stats.oerrors;
    nic.send_errors = stats.oerrors;
}

std::vector<Port::State::Written> Port::State::count_written() const {
    std::vector<Written> counts;
    rte_eth_stats stats{};
    if (device.outputs.empty() || rte_eth_stats_get(port_id, &stats) != 0) {
        return counts;
    }
    for (std::uint16_t q = 0; q < device.tx_queues && q < RTE_ETHDEV_QUEUE_STAT_CNTRS; ++q) {
        counts.push_back({stats.q_opackets[q], stats.q_obytes[q]});
    }
    return counts;
}

std::vector<Port::State::Written> Port::State::written_now() const {
    std::vector<Written> counts = count_written();
    for (std::size_t q = 0; q < counts.size() && q < written_at_start.size(); ++q) {
        counts[q].packets -= written_at_start[q].packets;
        counts[q].bytes -= written_at_start[q].bytes;
    }
    return counts;
}

void Port::start() {
    State& s = *state_;
    if (s.started || s.waiting) {
        return;
    }
    if (!s.opened) {
        throw_error(s.name, "the port is closed");
    }
    std::string reason;
    if (s.try_start(reason)) {
        return;
    }
    if (!s.capabilities.needs_peer) {
        throw_error(s.name, "EAL cannot start {}: {}", s.device.name, reason);
    }
    s.waiting = true;
}

void Port::add_rule(const Rule& rule) {
    State& s = *state_;
    if (!s.started) {
        throw_error(s.name, "a rule for {} can only be added while the port is started",
                    to_string(rule.endpoint));
    }
    if (s.rules) {
        s.rules->add(rule);
    }
}

void Port::add_host_rules(std::uint16_t queue) {
    if (state_->rules && state_->capabilities.isolation) {
        state_->rules->add_host_rules(queue);
    }
}

void Port::remove_rule(const Endpoint& endpoint) {
    if (state_->rules) {
        state_->rules->remove(endpoint);
    }
}

std::vector<RuleState> Port::rules() const {
    return state_->rules ? state_->rules->rules() : std::vector<RuleState>{};
}

std::vector<PassedPackets> Port::passed() const {
    return state_->rules ? state_->rules->passed() : std::vector<PassedPackets>{};
}

void Port::stop() {
    state_->stop();
}

void Port::close() noexcept {
    state_->tear_down();
}

bool Port::started() const noexcept {
    return state_->started;
}

bool Port::poll_link() {
    State& s = *state_;
    if (s.waiting) {
        std::string reason;
        s.try_start(reason);
    }
    if (s.started) {
        s.follow_clock();
    }
    if (s.started && s.guard) {
        s.follow_peer();
    }
    if (s.started) {
        s.watch_rules();
    }
    return link_up();
}

bool Port::link_up() const {
    const State& s = *state_;
    if (!s.started) {
        return false;
    }
    if (!s.device.netdev.empty()) {
        const auto facts = netdev_facts(s.device.netdev);
        return facts && facts->up && facts->running;
    }
    if (s.gate && !s.gate->is_open()) {
        return false;
    }
    return s.device_link();
}

std::string Port::missing_netdev() const {
    const State& s = *state_;
    const std::string& netdev = s.device.netdev.empty() ? s.device.peer_netdev : s.device.netdev;
    if (netdev.empty()) {
        return {};
    }
    const auto facts = netdev_facts(netdev);
    return facts && facts->index == s.if_index ? std::string() : netdev;
}

}  // namespace spead::port
