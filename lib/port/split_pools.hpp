// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "memory/region.hpp"
#include "port/driver.hpp"
#include "port/port_io.hpp"
#include "port/region_registration.hpp"
#include "port/split_queue.hpp"

struct rte_device;
struct rte_mempool;

namespace spead::port {

/// Holds the pools of a port that cuts packets: for each receive queue one of data, in memory of the device
/// of its engine; and, where this program cuts, one of headers and the splitter. Control code.
///
/// Mbufs that never came back keep their pools and the device's memory allocated.
class SplitPools {
  public:
    /// Makes the pools; `planned` has a split and an engine. Throws Error.
    SplitPools(const PlannedPort& planned, int socket_id);
    ~SplitPools();
    SplitPools(const SplitPools&) = delete;
    SplitPools& operator=(const SplitPools&) = delete;

    /// Registers the device's memory with EAL and maps it for a card's DMA. Throws Error.
    void map(rte_device& device);
    /// Undoes that. The card's queues are gone, and the device is still there.
    void unmap() noexcept { registration_.reset(); }

    rte_mempool* payload(std::size_t queue) const noexcept { return payload_[queue]; }
    /// Returns a queue that cuts the packets of another one, which nobody polls besides. Valid as long as
    /// this.
    RxQueue cutting(std::size_t queue, const RxQueue& inner);
    /// Frees the pools, and adds a remark for each that lacks mbufs.
    void end(std::vector<std::string>& remarks);

  private:
    void make(const SplitSizes& sizes, int socket_id);

    const std::string name_;  ///< for errors
    const SplitSizes sizes_;
    const std::uint32_t longest_frame_;
    const std::shared_ptr<gather::Engine> engine_;
    std::shared_ptr<const memory::Region> memory_;
    std::ptrdiff_t to_view_ = 0;
    std::vector<rte_mempool*> payload_;
    std::vector<rte_mempool*> headers_;
    std::vector<std::unique_ptr<SplitQueue>> queues_;  ///< null: not asked for yet
    std::unique_ptr<RegionRegistration> registration_;
};

}  // namespace spead::port
