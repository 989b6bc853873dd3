// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "port/capabilities.hpp"
#include "port/device_clock.hpp"

struct rte_mbuf;

namespace spead::port {

/// Says where a port's driver writes arrival times, and how to read them. The place in the mbuf is EAL's
/// (rte_mbuf_dyn_rx_timestamp_register), one for all ports.
struct ArrivalTimes {
    RxTimestamps kind = RxTimestamps::none;
    int offset = -1;
    std::uint64_t flag = 0;
    const DeviceClock* clock = nullptr;  ///< of a device_clock
};

/// Returns the packet's arrival by its port in nanoseconds since 1970; 0: unknown. Any thread.
///
/// A device clock that is in UTC itself is used as it is, also while it cannot be read; others are converted,
/// once they are known.
std::uint64_t arrival_of(const rte_mbuf& mbuf, const ArrivalTimes& times) noexcept;

/// Says where send times are written, for a port that schedules.
struct SendTimes {
    int offset = -1;
    std::uint64_t flag = 0;
    const DeviceClock* clock = nullptr;  ///< null: the port does not schedule
};

/// Asks the port to send the packet when the lcores' cycle counter reaches `cycles`; the clock is known.
void send_at(rte_mbuf& mbuf, std::uint64_t cycles, const SendTimes& times) noexcept;

/// Takes the places from EAL; the same at every call. Control code. Throws Error when mbufs have no room.
ArrivalTimes arrival_times(RxTimestamps kind, const DeviceClock& clock);
SendTimes send_times(const DeviceClock& clock);

}  // namespace spead::port
