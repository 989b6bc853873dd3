// SPDX-License-Identifier: BSD-3-Clause
#include "port/timestamps.hpp"

#include <time.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "base/error.hpp"

namespace spead::port {

namespace {

bool is_about_now(std::uint64_t nanoseconds) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const auto utc =
        static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
    return DeviceClock::are_close(nanoseconds, utc);
}

[[noreturn]] void no_room() {
    throw_error("EAL",
                "mbufs have no room for timestamps: {}; use `timestamps = \"software\"` and `pacer = "
                "\"software\"`",
                rte_strerror(rte_errno));
}

}  // namespace

std::uint64_t arrival_of(const rte_mbuf& mbuf, const ArrivalTimes& times) noexcept {
    if ((mbuf.ol_flags & times.flag) == 0)
        return 0;
    const std::uint64_t time = *RTE_MBUF_DYNFIELD(&mbuf, times.offset, const rte_mbuf_timestamp_t*);
    switch (times.kind) {
        case RxTimestamps::microseconds:
            return time * 1000;
        case RxTimestamps::device_clock:
            if (times.clock->known()) [[likely]]
                return times.clock->is_utc() ? time : times.clock->utc_of(time);
            return is_about_now(time) ? time : 0;
        case RxTimestamps::none:
            break;
    }
    return 0;
}

void send_at(rte_mbuf& mbuf, std::uint64_t cycles, const SendTimes& times) noexcept {
    *RTE_MBUF_DYNFIELD(&mbuf, times.offset, rte_mbuf_timestamp_t*) = times.clock->device_of(cycles);
    mbuf.ol_flags |= times.flag;
}

ArrivalTimes arrival_times(RxTimestamps kind, const DeviceClock& clock) {
    ArrivalTimes times{kind, -1, 0, &clock};
    if (rte_mbuf_dyn_rx_timestamp_register(&times.offset, &times.flag) != 0)
        no_room();
    return times;
}

SendTimes send_times(const DeviceClock& clock) {
    SendTimes times{-1, 0, &clock};
    if (rte_mbuf_dyn_tx_timestamp_register(&times.offset, &times.flag) != 0)
        no_room();
    return times;
}

}  // namespace spead::port
