// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "memory/region.hpp"
#include "port/region_registration.hpp"
#include "runtime/sender_set.hpp"

namespace spead::runtime {

/// Keeps memory registered with EAL, and with the ports of all senders, present and future, that can send
/// from it without a copy.
///
/// Main thread only. Outlives every heap in flight from the memory, and ends before the senders do.
class SendableRegion {
  public:
    /// Throws Error when EAL or a device refuses the memory; then nothing has changed.
    SendableRegion(SenderSet& senders, const memory::Region& region)
        : senders_(senders), base_(region.base), known_to_eal_(region.base, region.length) {
        senders_.add_region(region);
    }
    ~SendableRegion() { senders_.remove_region(base_); }
    SendableRegion(const SendableRegion&) = delete;
    SendableRegion& operator=(const SendableRegion&) = delete;

  private:
    SenderSet& senders_;
    const std::byte* base_;
    port::RegionRegistration known_to_eal_;
};

}  // namespace spead::runtime
