// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <rte_mempool.h>

#include "gpu/registered.hpp"

namespace spead::gpu {

/// Returns the pages of all `pools`, in the order of addresses. Pages of neighbours come as one stretch.
std::vector<std::span<std::byte>> pages_of(std::span<rte_mempool* const> pools);

/// Registers the memory of packet pools with the driver while it lives, so that kernels read packets where a
/// port received them. Needs no other pool than the usual one, and no other port. Control code only.
class RegisteredPools {
  public:
    /// Registers the pages of all `pools`, which outlive this object. Pages that two of them share are
    /// registered once; so pools of one registration belong together. Throws Error, also for a GPU that has
    /// other addresses for registered memory than the CPU: lists of packets hold the CPU's.
    RegisteredPools(const ContextPointer& context, std::span<rte_mempool* const> pools);

    /// Returns the number of stretches of memory that were registered.
    std::size_t stretches() const noexcept { return registered_.size(); }

  private:
    std::vector<std::unique_ptr<Registered>> registered_;
};

}  // namespace spead::gpu
