// SPDX-License-Identifier: BSD-3-Clause
#include "port/rx_pool.hpp"

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_memzone.h>

namespace spead::port {

namespace {

static_assert(kObjectHeader == RTE_ALIGN_CEIL(sizeof(rte_mempool_objhdr), RTE_MEMPOOL_ALIGN));

void free_zone(rte_mempool_memhdr*, void* zone) {
    rte_memzone_free(static_cast<const rte_memzone*>(zone));
}

/// Fills the pool from one memzone. Returns 0, or a negative errno.
int populate(rte_mempool* pool, const std::string& name, std::uint32_t slot) {
    const std::size_t bytes = std::size_t{pool->size} * slot;
    const rte_memzone* zone =
        rte_memzone_reserve_aligned((name + "_umem").c_str(), bytes, pool->socket_id, 0, kPage);
    if (zone == nullptr) {
        return -rte_errno;
    }
    const int added = rte_mempool_populate_iova(pool, static_cast<char*>(zone->addr), RTE_BAD_IOVA, bytes,
                                                free_zone, const_cast<rte_memzone*>(zone));
    if (added <= 0) {
        rte_memzone_free(zone);
        return added == 0 ? -ENOBUFS : added;
    }
    return static_cast<unsigned>(added) == pool->size ? 0 : -ENOBUFS;
}

}  // namespace

rte_mempool* make_rx_pool(const std::string& name, const QueueSizes& sizes, std::uint32_t slot,
                          int socket_id) {
    const auto data_room = static_cast<std::uint16_t>(sizes.data_room);
    if (slot == 0) {
        return rte_pktmbuf_pool_create(name.c_str(), sizes.mbufs, sizes.cache, 0, data_room, socket_id);
    }
    // Spreading objects over memory channels pads them.
    constexpr unsigned flags = RTE_MEMPOOL_F_NO_SPREAD | RTE_MEMPOOL_F_NO_IOVA_CONTIG;
    const std::uint32_t element = kMbufHeader + data_room;
    if (rte_mempool_calc_obj_size(element, flags, nullptr) != slot) {
        rte_errno = EINVAL;
        return nullptr;
    }
    rte_mempool* pool = rte_mempool_create_empty(name.c_str(), sizes.mbufs, element, sizes.cache,
                                                 sizeof(rte_pktmbuf_pool_private), socket_id, flags);
    if (pool == nullptr) {
        return nullptr;
    }
    rte_pktmbuf_pool_private room{};
    room.mbuf_data_room_size = data_room;
    int error = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), nullptr);
    if (error == 0) {
        rte_pktmbuf_pool_init(pool, &room);
        error = populate(pool, name, slot);
    }
    if (error != 0) {
        rte_mempool_free(pool);
        rte_errno = -error;
        return nullptr;
    }
    rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
    return pool;
}

}  // namespace spead::port
