// SPDX-License-Identifier: BSD-3-Clause
#include "port/port_times.hpp"

#include <chrono>
#include <thread>
#include <time.h>

#include <fmt/core.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "base/error.hpp"
#include "port/device_calls.hpp"

namespace spead::port {

namespace {

/// Holds the time between the first two samples of a clock: long enough for a rate accurate to some 10^-5, as
/// reading takes microseconds at most.
constexpr auto kFirstStretch = std::chrono::milliseconds{20};

}  // namespace

void PortTimes::choose(const rte_eth_dev_info& info, Capabilities& capabilities) {
    if (request_.timestamps == UseDevice::never || device_.rx_queues == 0) {
        capabilities.rx_timestamps = RxTimestamps::none;
    }
    if (capabilities.rx_timestamps == RxTimestamps::device_clock) {
        if ((info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0) {
            capabilities.rx_offloads |= RTE_ETH_RX_OFFLOAD_TIMESTAMP;
        } else {
            capabilities.rx_timestamps = RxTimestamps::none;
        }
    }
    if (request_.timestamps == UseDevice::must && device_.rx_queues != 0 &&
        capabilities.rx_timestamps == RxTimestamps::none) {
        throw_error(where(request_),
                    "{} has no times of arrival (RTE_ETH_RX_OFFLOAD_TIMESTAMP); use `timestamps` \"auto\" or "
                    "\"software\"",
                    device_.name);
    }
    capabilities.send_on_time &= request_.send_on_time != UseDevice::never && device_.tx_queues != 0 &&
                                 (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP) != 0;
    if (capabilities.send_on_time) {
        capabilities.tx_offloads |= RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP;
    } else if (request_.send_on_time == UseDevice::must && device_.tx_queues != 0) {
        throw_error(where(request_),
                    "{} does not send packets at a given time (RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP; "
                    "ConnectX-6 Dx and later have it); use `pacer` \"auto\" or \"software\"",
                    device_.name);
    }
    if (capabilities.rx_timestamps != RxTimestamps::none) {
        arrivals_ = arrival_times(capabilities.rx_timestamps, clock_);
    }
    if (capabilities.send_on_time) {
        send_times_ = port::send_times(clock_);
    }
}

bool PortTimes::take_sample(std::uint16_t port_id, std::vector<std::string>& remarks) {
    DeviceClock::Sample sample;
    timespec now{};
    const std::uint64_t before = rte_rdtsc();
    const int error = device_calls().read_clock(port_id, sample.device);
    const std::uint64_t after = rte_rdtsc();
    clock_gettime(CLOCK_REALTIME, &now);
    if (error != 0) {
        if (!reported_) {
            reported_ = true;
            remarks.push_back(fmt::format(
                "{}: the clock of {} cannot be read ({}): its packet times are usable only if they are UTC "
                "(mlx5: REAL_TIME_CLOCK_ENABLE=1 in the firmware, or tx_pp=500), and it schedules nothing",
                where(request_), device_.name, reason_of(error)));
        }
        return false;
    }
    sample.cycles = before + (after - before) / 2;
    sample.utc =
        static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
    clock_.take(sample);
    return true;
}

void PortTimes::start(std::uint16_t port_id, std::vector<std::string>& remarks) {
    const bool stamps = arrivals_ && arrivals_->kind == RxTimestamps::device_clock;
    const bool schedules = send_times_.clock != nullptr;
    if (!stamps && !schedules) {
        return;
    }
    if (take_sample(port_id, remarks)) {
        std::this_thread::sleep_for(kFirstStretch);
        take_sample(port_id, remarks);
    }
    if (request_.send_on_time == UseDevice::must && !clock_.known()) {
        throw_error(where(request_),
                    "packets cannot be sent at a given time: the clock of {} cannot be read; use `pacer` "
                    "\"auto\" or \"software\"",
                    device_.name);
    }
    next_sample_ = rte_rdtsc() + rte_get_tsc_hz();
}

void PortTimes::follow(std::uint16_t port_id, std::vector<std::string>& remarks) {
    if (next_sample_ == 0 || rte_rdtsc() < next_sample_) {
        return;
    }
    take_sample(port_id, remarks);
    next_sample_ = rte_rdtsc() + rte_get_tsc_hz();
}

}  // namespace spead::port
