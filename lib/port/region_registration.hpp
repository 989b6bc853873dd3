// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/memory_kind.hpp"

struct rte_device;

/// Registers memory that the library did not allocate with EAL and devices.
namespace spead::port {

class Port;

/// Holds the whole pages around a region, and the page size to register them with.
struct RegisteredPages {
    std::uintptr_t base = 0;
    std::size_t length = 0;  ///< bytes, a multiple of page_size
    std::size_t page_size = 0;

    auto operator<=>(const RegisteredPages&) const = default;
};

/// Returns the 4 KiB pages around [base, base + length). EAL keeps a record per page, so large aligned
/// regions are cut into the largest of 1 GiB, 2 MiB and 4 KiB that divides both base and length; the actual
/// page size does not matter.
///
/// Memory of a GPU has pages of 64 KiB at least, and shares none with other memory: a GPU gives its memory
/// out in larger pieces.
RegisteredPages pages_around(const void* base, std::size_t length,
                             memory::MemoryKind kind = memory::MemoryKind::host) noexcept;

/// Registers the user's memory, of this machine or of a GPU, with EAL (rte_extmem_register) and maps it for
/// DMA on the devices of ports (rte_dev_dma_map), so that external-buffer mbufs can refer to it. The
/// destructor undoes that in reverse order.
///
/// Control code, one thread. The caller refuses overlapping regions (memory::RegionTable); regions that share
/// their first or last page are fine here. It outlives every mbuf that refers to the region, and must end
/// before its ports close.
class RegionRegistration {
  public:
    /// Registers the memory. Throws Error with the address, the length and the reason: empty region, EAL's
    /// table full (about 120 regions), memory of a GPU in too many small pages. Reads none of it.
    RegionRegistration(void* base, std::size_t length, memory::MemoryKind kind = memory::MemoryKind::host);
    ~RegionRegistration();
    RegionRegistration(const RegionRegistration&) = delete;
    RegionRegistration& operator=(const RegionRegistration&) = delete;

    /// Maps it for DMA on the port's device. Throws Error when the device refuses.
    void map(const Port& port);
    /// Does the same for a device that is being opened; `name`: the port's, for errors.
    void map(rte_device& device, const std::string& name);

    const RegisteredPages& pages() const noexcept { return pages_; }

  private:
    RegisteredPages pages_;
    memory::MemoryKind kind_;
    std::vector<rte_device*> devices_;
};

}  // namespace spead::port
