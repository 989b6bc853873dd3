// SPDX-License-Identifier: BSD-3-Clause
#include "base/own_ring.hpp"

#include <bit>
#include <cstdlib>

#include <rte_ring.h>

#include "base/error.hpp"

namespace spead {

void FreeOwnRing::operator()(rte_ring* ring) const noexcept {
    std::free(ring);
}

OwnRing make_own_ring(const std::string& where, const char* name, std::size_t entries, unsigned flags) {
    if (entries == 0 || entries >= RTE_RING_SZ_MASK)
        throw_error(where, "{} entries are too {}", entries, entries == 0 ? "few" : "many");
    const auto count = static_cast<unsigned>(entries);
    const ssize_t bytes = rte_ring_get_memsize(std::bit_ceil(count + 1));
    if (bytes < 0)
        throw_error(where, "{} entries are too many", entries);
    const std::size_t rounded = (static_cast<std::size_t>(bytes) + 63) / 64 * 64;
    OwnRing ring(static_cast<rte_ring*>(std::aligned_alloc(64, rounded)));
    if (!ring)
        throw_error(where, "no memory for {} entries", entries);
    if (rte_ring_init(ring.get(), name, count, flags | RING_F_EXACT_SZ) != 0)
        throw_error(where, "cannot make a ring of {} entries", entries);
    // Relaxed tail sync with no limit to the distance of head and tail.
    rte_ring_set_cons_htd_max(ring.get(), count);
    rte_ring_set_prod_htd_max(ring.get(), count);
    return ring;
}

}  // namespace spead
