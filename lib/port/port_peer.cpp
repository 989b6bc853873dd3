// SPDX-License-Identifier: BSD-3-Clause
#include "port/port_peer.hpp"

#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "port/device_calls.hpp"

namespace spead::port {

namespace {

constexpr auto kFetchPatience = std::chrono::seconds{2};
constexpr auto kMeetPatience = std::chrono::seconds{1};

}  // namespace

void PortPeer::guard(std::uint16_t port_id, std::deque<RxState>& rx, std::deque<TxState>& tx) {
    port_id_ = port_id;
    gate_ = std::make_unique<Gate>(rx.size() + tx.size());
    std::size_t queue = 0;
    for (auto& state : rx) {
        state.gate = gate_.get();
        state.presence = &gate_->presence(queue++);
    }
    for (auto& state : tx) {
        state.gate = gate_.get();
        state.presence = &gate_->presence(queue++);
    }
    guard_ = std::make_unique<LinkGuard>(port_id, *gate_);
}

int PortPeer::in_order(const std::function<int()>& call) const {
    int result = 0;
    if (guard_) {
        guard_->run([&] { result = call(); });
    } else {
        result = call();
    }
    return result;
}

std::optional<std::string> PortPeer::why_absent(const std::string& port_name) {
    auto why = driver_.why_no_peer(device_);
    if (why && !why->empty() && !std::exchange(reported_, true)) {
        log_warning(LogType::port, "{}: {}", port_name, *why);
    }
    return why;
}

bool PortPeer::follow() {
    if (!guard_) {
        return true;
    }
    const auto connections = [this] { return driver_.connections(device_); };
    if (guard_->wants_watch()) {
        guard_->watch(connections);
    } else if (device_.connects_when_started && !link_is_up(port_id_) && connections().empty()) {
        guard_->release();
        (void)in_order([this] { return device_calls().stop(port_id_); });
        awaited_ = true;
        return false;
    }
    return true;
}

std::uint64_t PortPeer::finish() const {
    if (!guard_) {
        return 0;
    }
    if (device_.connects_when_started) {
        wait_until_met();
    }
    return wait_until_fetched();
}

void PortPeer::release() {
    if (guard_) {
        guard_->release();
    }
}

/// Waits until an outgoing connection is made or refused. If the client disconnects before the greeting,
/// net_memif's server ends its process: it closes a descriptor that EAL still watches.
void PortPeer::wait_until_met() const {
    const auto end = std::chrono::steady_clock::now() + kMeetPatience;
    while (!link_is_up(port_id_) && !driver_.connections(device_).empty() &&
           std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

std::uint64_t PortPeer::wait_until_fetched() const {
    auto left = driver_.unfetched(device_);
    auto last_progress = std::chrono::steady_clock::now();
    while (left != 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        const auto now = std::chrono::steady_clock::now();
        // The peer writes what this is read from: only becoming less is progress.
        if (const auto still = driver_.unfetched(device_); still < left) {
            left = still;
            last_progress = now;
        } else if (now - last_progress > kFetchPatience) {
            return left;
        }
    }
    return 0;
}

}  // namespace spead::port
