// SPDX-License-Identifier: BSD-3-Clause
#include "port/rx_pool.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_memzone.h>

namespace spead::port {

namespace {

constexpr std::uint32_t kSlot = 4096;

QueueSizes sizes(std::uint32_t mbufs, std::uint32_t data_room) {
    QueueSizes s;
    s.mbufs = mbufs;
    s.data_room = data_room;
    s.cache = mbufs > 500 ? 128 : 0;
    return s;
}

std::vector<std::uintptr_t> mbufs_of(rte_mempool* pool) {
    std::vector<std::uintptr_t> all;
    rte_mempool_obj_iter(
        pool,
        [](rte_mempool*, void* list, void* mbuf, unsigned) {
            static_cast<std::vector<std::uintptr_t>*>(list)->push_back(
                reinterpret_cast<std::uintptr_t>(mbuf));
        },
        &all);
    std::ranges::sort(all);
    return all;
}

TEST(RxPool, SlotsLieInOnePieceWithoutGaps) {
    rte_mempool* pool = make_rx_pool("slots", sizes(2944, slot_data_room(kSlot)), kSlot, SOCKET_ID_ANY);
    ASSERT_NE(pool, nullptr);
    EXPECT_EQ(pool->nb_mem_chunks, 1U);
    EXPECT_EQ(rte_mempool_calc_obj_size(pool->elt_size, pool->flags, nullptr), kSlot);
    const auto all = mbufs_of(pool);
    ASSERT_EQ(all.size(), 2944U);
    for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(all[i] - pool->header_size, all[0] - pool->header_size + i * kSlot);
    }
    EXPECT_EQ((all[0] - pool->header_size) % 4096, 0U);
    rte_mempool_free(pool);
}

TEST(RxPool, SlotsHoldMbufsReadyForUse) {
    rte_mempool* pool = make_rx_pool("ready", sizes(63, slot_data_room(kSlot)), kSlot, SOCKET_ID_ANY);
    ASSERT_NE(pool, nullptr);
    rte_mbuf* m = rte_pktmbuf_alloc(pool);
    ASSERT_NE(m, nullptr);
    EXPECT_EQ(rte_pktmbuf_data_room_size(pool), slot_data_room(kSlot));
    EXPECT_EQ(m->buf_len, slot_data_room(kSlot));
    EXPECT_EQ(rte_pktmbuf_headroom(m), kHeadroom);
    EXPECT_EQ(rte_mbuf_refcnt_read(m), 1);
    rte_pktmbuf_free(m);
    EXPECT_TRUE(rte_mempool_full(pool));
    rte_mempool_free(pool);
}

TEST(RxPool, ItsMemoryIsGivenBack) {
    rte_malloc_socket_stats before{};
    rte_malloc_socket_stats after{};
    rte_malloc_get_socket_stats(0, &before);
    for (int i = 0; i < 3; ++i) {
        rte_mempool* pool = make_rx_pool("again", sizes(1000, slot_data_room(kSlot)), kSlot, SOCKET_ID_ANY);
        ASSERT_NE(pool, nullptr);
        EXPECT_NE(rte_memzone_lookup("again_umem"), nullptr);
        rte_mempool_free(pool);
    }
    EXPECT_EQ(rte_memzone_lookup("again_umem"), nullptr);
    rte_malloc_get_socket_stats(0, &after);
    EXPECT_EQ(after.heap_allocsz_bytes, before.heap_allocsz_bytes);
}

TEST(RxPool, WhatItTakesIsWhatThePlanSays) {
    rte_malloc_socket_stats before{};
    rte_malloc_socket_stats after{};
    rte_malloc_get_socket_stats(0, &before);
    rte_mempool* pool = make_rx_pool("sum", sizes(2944, slot_data_room(kSlot)), kSlot, SOCKET_ID_ANY);
    ASSERT_NE(pool, nullptr);
    rte_malloc_get_socket_stats(0, &after);
    const std::size_t taken = after.heap_allocsz_bytes - before.heap_allocsz_bytes;
    EXPECT_LE(taken, slot_pool_bytes(2944, kSlot));
    EXPECT_GE(taken, std::size_t{2944} * kSlot);
    rte_mempool_free(pool);
}

TEST(RxPool, ADataRoomThatDoesNotFillTheSlotIsRefused) {
    EXPECT_EQ(make_rx_pool("short", sizes(63, slot_data_room(kSlot) - 64), kSlot, SOCKET_ID_ANY), nullptr);
    EXPECT_EQ(rte_errno, EINVAL);
}

TEST(RxPool, WithoutMemoryThereIsNone) {
    EXPECT_EQ(make_rx_pool("huge", sizes(1U << 20, slot_data_room(kSlot)), kSlot, SOCKET_ID_ANY), nullptr);
    EXPECT_EQ(rte_errno, ENOMEM);
    EXPECT_EQ(rte_mempool_lookup("huge"), nullptr);
}

TEST(RxPool, WithoutSlotsItIsAnOrdinaryPool) {
    rte_mempool* pool = make_rx_pool("plain", sizes(511, 2176), 0, SOCKET_ID_ANY);
    ASSERT_NE(pool, nullptr);
    EXPECT_EQ(rte_pktmbuf_data_room_size(pool), 2176);
    rte_mempool_free(pool);
}

}  // namespace

}  // namespace spead::port
