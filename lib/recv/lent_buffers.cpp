// SPDX-License-Identifier: BSD-3-Clause
#include "recv/lent_buffers.hpp"

#include <rte_mbuf.h>

namespace spead::recv {

bool LentBuffers::keep(const heap::Record& r, rte_mbuf* mbuf, const std::uint8_t* from, std::uint32_t offset,
                       std::uint32_t length) noexcept {
    if (!packets_.keep(r, mbuf, reinterpret_cast<const std::byte*>(from), offset, length))
        return false;
    // The agent frees its own reference with the burst.
    rte_mbuf_refcnt_update(mbuf, 1);
    return true;
}

void LentBuffers::free(void* const* mbufs, std::size_t count) {
    rte_pktmbuf_free_bulk(reinterpret_cast<rte_mbuf**>(const_cast<void**>(mbufs)),
                          static_cast<unsigned>(count));
}

}  // namespace spead::recv
