// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "port/capabilities.hpp"
#include "port/device_clock.hpp"
#include "port/driver.hpp"
#include "port/timestamps.hpp"

struct rte_eth_dev_info;

namespace spead::port {

/// Holds the times of a port: where packets have their arrival times, how to send them at a time, and the
/// samples of the port's own clock. Internal to lib/port.
///
/// Control code, one thread. Lcores read through arrivals() and send_times(), which stay where they are as
/// long as the object lives.
class PortTimes {
  public:
    /// Keeps references to both, which must outlive it.
    PortTimes(const PortRequest& request, const PreparedDevice& device)
        : request_(request), device_(device) {}
    PortTimes(const PortTimes&) = delete;
    PortTimes& operator=(const PortTimes&) = delete;

    /// Masks the family's declaration in `capabilities` with the request and the device's report, and adds
    /// the offloads that the rest needs; before configure. Throws Error when the device lacks times that the
    /// request demands, or mbufs have no room for them.
    void choose(const rte_eth_dev_info& info, Capabilities& capabilities);

    /// Starts the clock, if the chosen times need it; the device runs. Waits 20 ms between two samples. Adds
    /// a remark, once, when the clock cannot be read. Throws Error when the request demands send times and
    /// the clock is not known.
    void start(std::uint16_t port_id, std::vector<std::string>& remarks);
    /// Takes a sample, once a second, of a clock that was started. Cheap.
    void follow(std::uint16_t port_id, std::vector<std::string>& remarks);

    /// Returns where packets have their arrival times; null if these were not chosen.
    const ArrivalTimes* arrivals() const noexcept { return arrivals_ ? &*arrivals_ : nullptr; }
    /// Returns how to send packets at a time; without a clock if that was not chosen.
    const SendTimes& send_times() const noexcept { return send_times_; }

  private:
    bool take_sample(std::uint16_t port_id, std::vector<std::string>& remarks);

    const PortRequest& request_;
    const PreparedDevice& device_;
    DeviceClock clock_;  ///< sampled once started, where times of the device are used
    std::optional<ArrivalTimes> arrivals_;
    SendTimes send_times_;
    std::uint64_t next_sample_ = 0;  ///< cycles; 0: the clock is not sampled
    bool reported_ = false;          ///< the clock cannot be read
};

}  // namespace spead::port
