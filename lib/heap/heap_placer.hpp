// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/outcome.hpp"
#include "heap/packet_view.hpp"
#include "heap/record.hpp"

namespace spead::heap {

/// Says where the payload of heaps goes, in place of a window's own memory: into buffers that others fill,
/// too, for example. A window asks at a heap's start and end only, and gives ended heaps to no queue. Belongs
/// to the window's lcore; no function allocates, locks, throws or waits.
class HeapPlacer {
  public:
    struct Answer {
        /// Holds `placed`, or the outcome of the packet that is refused; Window::kWait: ask again.
        PacketOutcome outcome = PacketOutcome::placed;
        /// Says whether the later packets of a refused heap have that outcome, too. Otherwise the placer is
        /// asked for each of them, and the heap may begin with one of them.
        bool for_all = true;
        std::byte* base = nullptr;  ///< of a placed heap: room for `length` bytes
        std::uint64_t length = 0;   ///< of the heap
    };

    /// Decides about a heap that begins. `record` is the number that it has until end().
    virtual Answer begin(const PacketView& view, std::uint32_t record) noexcept = 0;
    /// Takes notice of a heap that has ended. All copies into it have been made.
    virtual void end(const Record& r, std::uint32_t record) noexcept = 0;

  protected:
    HeapPlacer() = default;
    HeapPlacer(const HeapPlacer&) = default;
    HeapPlacer& operator=(const HeapPlacer&) = default;
    ~HeapPlacer() = default;
};

}  // namespace spead::heap
