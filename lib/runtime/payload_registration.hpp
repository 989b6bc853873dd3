// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "memory/region.hpp"
#include "port/port.hpp"
#include "port/region_registration.hpp"

namespace spead::runtime {

/// Registers the memory that one sender may send from with its port's device. Regions that several senders
/// have are registered and mapped once (port::RegionRegistration).
///
/// Main thread only. Outlives the mbufs that refer to the regions, and ends before the port closes.
class PayloadRegistration {
  public:
    /// Refers to the port, which outlives the object.
    explicit PayloadRegistration(const port::Port& port) noexcept : port_(port) {}

    /// Registers a region; not memory of a GPU for a port that never sends from that. Throws Error when EAL
    /// or the device refuses it; then nothing has changed.
    void add(const memory::Region& region) {
        if (!region.cpu_accessible() && !port_.capabilities().tx_device_memory)
            return;
        auto one = std::make_unique<port::RegionRegistration>(region.base, region.length, region.kind);
        one->map(port_);
        regions_.insert_or_assign(region.base, std::move(one));
    }
    void remove(const std::byte* base) noexcept { regions_.erase(base); }

  private:
    const port::Port& port_;
    std::map<const std::byte*, std::unique_ptr<port::RegionRegistration>> regions_;
};

}  // namespace spead::runtime
