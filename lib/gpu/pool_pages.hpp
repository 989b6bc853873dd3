// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <rte_mempool.h>

namespace spead::gpu {

/// Returns the pages of all `pools`, in the order of addresses. Pages of neighbours come as one stretch. So
/// the driver can register packets where a port receives them (RegisteredPackets). Control code only.
std::vector<std::span<std::byte>> pages_of(std::span<rte_mempool* const> pools);

}  // namespace spead::gpu
