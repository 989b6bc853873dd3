// SPDX-License-Identifier: BSD-3-Clause
#include "port/port.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "gather/engine.hpp"
#include "port/port_state.hpp"
#include "wire/net.hpp"

namespace spead::port {

Port::Port(std::unique_ptr<State> state) : state_(std::move(state)) {}
Port::~Port() = default;

RxQueue Port::rx_queue(std::uint16_t i) const {
    State& s = *state_;
    if (i >= s.rx.size()) {
        throw_error(s.name, "receive queue {} does not exist; there are {}", i, s.rx.size());
    }
    RxQueue queue = bind_rx(s.rx[i]);
    queue.pool = s.device.capabilities.receives_own ? nullptr : rx_pool(i);
    queue.splits = s.split != nullptr;
    return queue.splits && s.device.split->by == Splitting::software ? s.split->cutting(i, queue) : queue;
}

TxQueue Port::tx_queue(std::uint16_t i) const {
    State& s = *state_;
    if (i >= s.tx.size()) {
        throw_error(s.name, "transmit queue {} does not exist; there are {}", i, s.tx.size());
    }
    return bind_tx(s.tx[i]);
}

rte_mempool* Port::rx_pool(std::uint16_t i) const {
    const State& s = *state_;
    if (i >= s.pools.size()) {
        throw_error(s.name, "receive queue {} has no pool; there are {}", i, s.pools.size());
    }
    return s.pools[i];
}

const Capabilities& Port::capabilities() const noexcept {
    return state_->capabilities;
}
const ArrivalTimes* Port::arrivals() const noexcept {
    return state_->times.arrivals();
}
const SendTimes& Port::send_times() const noexcept {
    return state_->times.send_times();
}
const MacAddress& Port::mac() const noexcept {
    return state_->identity.mac;
}
Ipv4 Port::source_address() const noexcept {
    return state_->identity.address;
}
Ipv6 Port::source_address6() const noexcept {
    return state_->identity.address6.value_or(wire::link_local_of(state_->identity.mac));
}
const std::string& Port::name() const noexcept {
    return state_->planned.request.name;
}
const std::string& Port::device_name() const noexcept {
    return state_->device.name;
}
const std::string& Port::devargs() const noexcept {
    return state_->device.devargs;
}
std::string Port::driver_name() const {
    return std::string{state_->planned.driver->name()};
}
const std::string& Port::netdev() const noexcept {
    return state_->device.netdev;
}
unsigned Port::if_index() const noexcept {
    return state_->identity.if_index;
}
std::uint16_t Port::port_id() const noexcept {
    return state_->identity.port_id;
}
rte_device* Port::device() const noexcept {
    return state_->identity.eal_device;
}
int Port::socket_id() const noexcept {
    return state_->identity.socket_id;
}
const QueueSizes& Port::rx_sizes() const noexcept {
    return state_->device.rx;
}
const QueueSizes& Port::tx_sizes() const noexcept {
    return state_->device.tx;
}
const std::vector<std::string>& Port::remarks() const noexcept {
    return state_->remarks;
}

std::string Port::sizes() const {
    const State& s = *state_;
    std::vector<std::string> parts;
    if (s.device.rx_pools > 0) {
        parts.push_back(fmt::format("receive {} x {}", s.device.rx_pools, to_string(s.device.rx)));
    }
    if (s.split != nullptr) {
        parts.push_back(fmt::format("packets cut after {} bytes, {} x {} mbufs x {} bytes of the engine `{}`",
                                    s.device.split->at, s.device.rx_pools, s.device.split->payload.mbufs,
                                    s.device.split->payload.data_room, s.planned.payload_engine->name()));
    }
    if (s.planned.request.tx_queues > 0) {
        parts.push_back(fmt::format("transmit {} x {} descriptors", s.planned.request.tx_queues,
                                    s.device.tx.descriptors));
    }
    if (s.device.outside_bytes > 0) {
        parts.push_back(fmt::format("rings outside EAL {:.1f} MiB",
                                    static_cast<double>(s.device.outside_bytes) / (1024 * 1024)));
    }
    return fmt::format("{} ({}): {}", s.planned.request.name, s.device.name, fmt::join(parts, "; "));
}

stats::NicSnapshot Port::nic() const {
    state_->update_nic();
    return state_->counts.nic();
}

bool Port::exhausted() const noexcept {
    const State& s = *state_;
    return s.capabilities.finite && !s.rx.empty() && std::ranges::all_of(s.rx, [](const RxState& state) {
               return std::ranges::all_of(state.parts, [](const RxPart& part) {
                   return part.remaining.load(std::memory_order_acquire) == 0;
               });
           });
}

std::vector<std::string> Port::source_problems() const {
    const State& s = *state_;
    std::vector<std::string> problems;
    for (const SourceFile& file : s.device.sources) {
        if (file.truncated) {
            problems.push_back(fmt::format(
                "port {}: its source {} is truncated: it ends inside record {}; copy or record it again",
                s.planned.request.name, file.path, file.packets + 1));
        }
    }
    for (const RxState& state : s.rx) {
        for (const RxPart& part : state.parts) {
            if (part.ended_early.load(std::memory_order_relaxed)) {
                const SourceFile& file = s.device.sources[part.queue];
                problems.push_back(
                    fmt::format("port {}: its source {} was truncated during the run: it ended before its {} "
                                "delivered; copy or record it again",
                                s.planned.request.name, file.path, counted_were(file.packets, "records")));
            }
        }
    }
    return problems;
}

std::string Port::output_problem() const {
    const State& s = *state_;
    const auto written =
        s.is.started ? s.counts.written_since_start(s.identity.port_id) : s.counts.kept_written();
    for (std::size_t q = 0; q < written.size(); ++q) {
        auto problem = s.planned.driver->output_problem(s.device, static_cast<std::uint16_t>(q),
                                                        written[q].packets, written[q].bytes);
        if (!problem.empty()) {
            return problem;
        }
    }
    return {};
}

void Port::verify_output() const {
    if (const auto problem = output_problem(); !problem.empty()) {
        throw Error(state_->name, problem);
    }
}

}  // namespace spead::port
