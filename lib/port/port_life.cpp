// SPDX-License-Identifier: BSD-3-Clause
/// Runs a port after it is open: starts it, follows its device and its peer, stops it, tears it down.
#include <memory>

#include <fmt/core.h>
#include <rte_dev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "port/buffer_loans.hpp"
#include "port/device_calls.hpp"
#include "port/flow_rules.hpp"
#include "port/link_guard.hpp"
#include "port/log_capture.hpp"
#include "port/netdev.hpp"
#include "port/port_state.hpp"

namespace spead::port {

namespace {

constexpr std::uint16_t kDrainBurst = 64;

}  // namespace

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
    counts.restart(identity.port_id);
}

bool Port::State::try_start(std::string& reason) {
    if (const auto why = peer.why_absent(name)) {
        reason = *why;
        return false;
    }
    rewind();
    LogCapture log;
    const int error = peer.in_order([this] { return device_calls().start(identity.port_id); });
    if (error != 0) {
        reason = fmt::format("{} ({})", reason_of(error), log.take_reason());
        return false;
    }
    if (planned.driver->complains()) {
        log.discard();
    }
    is.started = true;
    peer.set_awaited(false);
    times.start(identity.port_id, remarks);
    make_rules();
    return true;
}

/// Makes the rules. Devices take rules only once they run, and lose them when they stop.
void Port::State::make_rules() {
    if (device.rx_queues == 0) {
        return;
    }
    if (capabilities.steering == Steering::rte_flow) {
        rules.use(
            std::make_unique<FlowRules>(identity.port_id, name, identity.mac, capabilities.spreads_sources));
    } else {
        rules.use(planned.driver->make_rules(device));
    }
}

void Port::State::free_leftovers() {
    rte_mbuf* mbufs[kDrainBurst];
    for (std::uint16_t q = 0; q < device.rx_queues; ++q) {
        while (const std::uint16_t n = rte_eth_rx_burst(identity.port_id, q, mbufs, kDrainBurst)) {
            rte_pktmbuf_free_bulk(mbufs, n);
        }
    }
}

void Port::State::stop() {
    peer.set_awaited(false);
    if (!is.started) {
        return;
    }
    rules.drop();
    if (const auto left = peer.finish(); left != 0) {
        remarks.push_back(fmt::format("{}: the peer did not fetch the last {}", name,
                                      left == 1 ? "packet" : counted(left, "packets")));
    }
    if (capabilities.receives_own) {
        free_leftovers();
    }
    peer.release();
    for (const auto& state : rx) {
        for (const auto& part : state.parts) {
            if (part.ended_early.load(std::memory_order_relaxed)) {
                remarks.push_back(fmt::format("{}: {} ended before its {} delivered; it changed meanwhile",
                                              name, device.sources[part.queue].path,
                                              counted_were(device.sources[part.queue].packets, "records")));
            }
        }
    }
    counts.keep_written(identity.port_id);
    update_nic();
    is.started = false;
    if (const int error = peer.in_order([this] { return device_calls().stop(identity.port_id); });
        error != 0) {
        remarks.push_back(fmt::format("{}: EAL cannot stop {}: {}", name, device.name, reason_of(error)));
    }
}

void Port::State::tear_down() noexcept {
    try {
        stop();
        if (is.opened) {
            if (!rx.empty() || !tx.empty()) {
                update_nic();
            }
            is.opened = false;
            // Two calls: events that came together with the first are handled before the second.
            (void)peer.in_order([this] {
                planned.driver->closing(device);
                return 0;
            });
            if (const int error = peer.in_order([this] { return device_calls().close(identity.port_id); });
                error != 0) {
                remarks.push_back(
                    fmt::format("{}: EAL cannot close {}: {}", name, device.name, reason_of(error)));
            }
        }
        peer.end_guard();
        if (split != nullptr) {
            split->unmap();
        }
        if (is.attached) {
            is.attached = false;
            if (const int error =
                    identity.eal_device == nullptr ? -ENODEV : rte_dev_remove(identity.eal_device);
                error != 0) {
                remarks.push_back(
                    fmt::format("{}: EAL cannot remove {}: {}", name, device.name, reason_of(error)));
            }
            identity.eal_device = nullptr;
        }
        // Before the pools: sockets that the PMD forgot to close share their memory with the kernel
        // (net_af_xdp).
        if (is.applied) {
            is.applied = false;
            planned.driver->released(device);
            device.held.reset();
        }
        for (rte_mempool* pool : pools) {
            if (planned.loans != nullptr && planned.loans->keep(pool, device.rx_kept)) {
                continue;
            }
            if (const unsigned missing = rte_mempool_in_use_count(pool); missing > device.rx_kept) {
                remarks.push_back(fmt::format("{}: {} not returned to the pool, which stays allocated", name,
                                              counted_were(missing, "mbufs")));
            } else {
                rte_mempool_free(pool);
            }
        }
        pools.clear();
        if (split != nullptr) {
            split->end(remarks);
            split.reset();
        }
        if (is.claimed) {
            give_up_claim();
        }
    } catch (const std::exception&) {
        // Only an allocation for a remark can fail here, and there is no one left to tell.
    }
}

void Port::State::update_nic() {
    if (is.opened) {
        counts.update(identity.port_id);
    }
}

void Port::start() {
    State& s = *state_;
    if (s.is.started || s.peer.is_awaited()) {
        return;
    }
    if (!s.is.opened) {
        throw_error(s.name, "the port is closed");
    }
    std::string reason;
    if (s.try_start(reason)) {
        return;
    }
    if (!s.capabilities.needs_peer) {
        throw_error(s.name, "EAL cannot start {}: {}", s.device.name, reason);
    }
    s.peer.set_awaited(true);
}

void Port::add_rule(const Rule& rule) {
    State& s = *state_;
    if (!s.is.started) {
        throw_error(s.name, "a rule for {} can only be added while the port is started",
                    to_string(rule.endpoint));
    }
    s.rules.add(rule);
}

void Port::add_host_rules(std::uint16_t queue) {
    if (state_->capabilities.isolation) {
        state_->rules.add_host_rules(queue, state_->planned.request.ipv6);
    }
}

void Port::use_ipv6() {
    state_->rules.use_ipv6();
    state_->planned.request.ipv6 = true;
}

void Port::remove_rule(const Endpoint& endpoint) {
    state_->rules.remove(endpoint);
}

std::vector<RuleState> Port::rules() const {
    return state_->rules.rules();
}

std::vector<PassedPackets> Port::passed() const {
    return state_->rules.passed();
}

void Port::stop() {
    state_->stop();
}

void Port::close() noexcept {
    state_->tear_down();
}

bool Port::started() const noexcept {
    return state_->is.started;
}

bool Port::poll_link() {
    State& s = *state_;
    if (s.peer.is_awaited()) {
        std::string reason;
        s.try_start(reason);
    }
    if (s.is.started) {
        s.times.follow(s.identity.port_id, s.remarks);
    }
    if (s.is.started && !s.peer.follow()) {
        s.is.started = false;
    }
    if (s.is.started) {
        if (const std::string text = s.rules.first_out_of_force(); !text.empty()) {
            log_warning(LogType::port, "{}: {}", s.name, text);
        }
    }
    return link_up();
}

bool Port::link_up() const {
    const State& s = *state_;
    if (!s.is.started) {
        return false;
    }
    if (!s.device.netdev.empty()) {
        const auto facts = netdev_facts(s.device.netdev);
        return facts && facts->up && facts->running;
    }
    return !s.peer.keeps_out() && link_is_up(s.identity.port_id);
}

std::string Port::missing_netdev() const {
    const State& s = *state_;
    const std::string& netdev = s.device.netdev.empty() ? s.device.peer_netdev : s.device.netdev;
    if (netdev.empty()) {
        return {};
    }
    const auto facts = netdev_facts(netdev);
    return facts && facts->index == s.identity.if_index ? std::string() : netdev;
}

}  // namespace spead::port
