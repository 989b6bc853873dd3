// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string>

struct rte_ring;

namespace spead {

struct FreeOwnRing {
    void operator()(rte_ring* ring) const noexcept;
};
/// Owns an rte_ring in memory of its own, not in a memzone: it works without EAL, and is not limited by EAL's
/// memory.
using OwnRing = std::unique_ptr<rte_ring, FreeOwnRing>;

/// Makes a ring with room for exactly `entries`. `flags`: those of rte_ring_create, for the sides. In the
/// mode RTS no thread ever waits for one that was descheduled in the middle of its turn. Throws Error, with
/// `where`.
OwnRing make_own_ring(const std::string& where, const char* name, std::size_t entries, unsigned flags);

}  // namespace spead
