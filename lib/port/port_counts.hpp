// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "port/driver.hpp"
#include "stats/snapshot.hpp"

namespace spead::port {

/// Keeps the device's own counts of a port, and those of the packets that its transmit queues have written to
/// files. Internal to lib/port. Control code, one thread.
class PortCounts {
  public:
    /// Counts one transmit queue.
    struct Written {
        std::uint64_t packets = 0;
        std::uint64_t bytes = 0;
    };

    /// Keeps references to both, which must outlive it.
    PortCounts(const Driver& driver, const PreparedDevice& device) : driver_(driver), device_(device) {}

    /// Reads the device's counts. Keeps the last ones if it has none now.
    void update(std::uint16_t port_id);
    /// Returns the counts as last read.
    const stats::NicSnapshot& nic() const noexcept { return nic_; }

    /// Counts written packets from zero; before every start.
    void restart(std::uint16_t port_id);
    /// Keeps the present written_since_start(); before the device stops.
    void keep_written(std::uint16_t port_id);
    /// Returns the packets written since restart(), by queue; empty if nothing is written to files or the
    /// device does not tell. At most RTE_ETHDEV_QUEUE_STAT_CNTRS queues are counted.
    std::vector<Written> written_since_start(std::uint16_t port_id) const;
    /// Returns what keep_written() has kept; empty since restart().
    const std::vector<Written>& kept_written() const noexcept { return kept_; }

  private:
    std::vector<Written> read_written(std::uint16_t port_id) const;

    const Driver& driver_;
    const PreparedDevice& device_;
    stats::NicSnapshot nic_;
    std::uint64_t kernel_missed_ = 0;
    std::vector<Written> at_start_;
    std::vector<Written> kept_;
};

}  // namespace spead::port
