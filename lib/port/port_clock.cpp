// SPDX-License-Identifier: BSD-3-Clause
/// Handles a port's own clock, for arrival times and send times.
#include <chrono>
#include <thread>
#include <time.h>

#include <fmt/core.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "base/error.hpp"
#include "port/device_calls.hpp"
#include "port/port_state.hpp"

namespace spead::port {

namespace {

/// Holds the time between the first two samples of a clock: long enough for a rate accurate to some 10^-5, as
/// reading takes microseconds at most.
constexpr auto kFirstStretch = std::chrono::milliseconds{20};

}  // namespace

/// Masks the family's declaration with the device's report; before configure.
void Port::State::choose_times(const rte_eth_dev_info& info) {
    const PortRequest& asked = planned.request;
    if (asked.timestamps == UseDevice::never || device.rx_queues == 0) {
        capabilities.rx_timestamps = RxTimestamps::none;
    }
    if (capabilities.rx_timestamps == RxTimestamps::device_clock) {
        if ((info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0) {
            capabilities.rx_offloads |= RTE_ETH_RX_OFFLOAD_TIMESTAMP;
        } else {
            capabilities.rx_timestamps = RxTimestamps::none;
        }
    }
    if (asked.timestamps == UseDevice::must && device.rx_queues != 0 &&
        capabilities.rx_timestamps == RxTimestamps::none) {
        throw_error(name,
                    "{} has no times of arrival (RTE_ETH_RX_OFFLOAD_TIMESTAMP); use `timestamps` \"auto\" or "
                    "\"software\"",
                    device.name);
    }
    capabilities.send_on_time &= asked.send_on_time != UseDevice::never && device.tx_queues != 0 &&
                                 (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP) != 0;
    if (capabilities.send_on_time) {
        capabilities.tx_offloads |= RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP;
    } else if (asked.send_on_time == UseDevice::must && device.tx_queues != 0) {
        throw_error(name,
                    "{} does not send packets at a given time (RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP; "
                    "ConnectX-6 Dx and later have it); use `pacer` \"auto\" or \"software\"",
                    device.name);
    }
    if (capabilities.rx_timestamps != RxTimestamps::none) {
        arrivals = arrival_times(capabilities.rx_timestamps, clock);
    }
    if (capabilities.send_on_time) {
        send_times = port::send_times(clock);
    }
}

bool Port::State::sample_clock() {
    DeviceClock::Sample sample;
    timespec now{};
    const std::uint64_t before = rte_rdtsc();
    const int error = device_calls().read_clock(port_id, sample.device);
    const std::uint64_t after = rte_rdtsc();
    clock_gettime(CLOCK_REALTIME, &now);
    if (error != 0) {
        if (!reported_clock) {
            reported_clock = true;
            remarks.push_back(fmt::format(
                "{}: the clock of {} cannot be read ({}): its packet times are usable only if they are UTC "
                "(mlx5: REAL_TIME_CLOCK_ENABLE=1 in the firmware, or tx_pp=500), and it schedules nothing",
                name, device.name, reason_of(error)));
        }
        return false;
    }
    sample.cycles = before + (after - before) / 2;
    sample.utc =
        static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
    clock.take(sample);
    return true;
}

/// Starts the clock; the device runs.
void Port::State::start_clock() {
    if (capabilities.rx_timestamps != RxTimestamps::device_clock && !capabilities.send_on_time) {
        return;
    }
    if (sample_clock()) {
        std::this_thread::sleep_for(kFirstStretch);
        sample_clock();
    }
    if (planned.request.send_on_time == UseDevice::must && !clock.known()) {
        throw_error(name,
                    "packets cannot be sent at a given time: the clock of {} cannot be read; use `pacer` "
                    "\"auto\" or \"software\"",
                    device.name);
    }
    next_clock_sample = rte_rdtsc() + rte_get_tsc_hz();
}

void Port::State::follow_clock() {
    if (next_clock_sample == 0 || rte_rdtsc() < next_clock_sample) {
        return;
    }
    sample_clock();
    next_clock_sample = rte_rdtsc() + rte_get_tsc_hz();
}

}  // namespace spead::port
