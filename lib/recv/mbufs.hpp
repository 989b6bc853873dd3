// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_prefetch.h>

#include "heap/record.hpp"
#include "port/timestamps.hpp"
#include "recv/prefetched.hpp"

/// Handles mbufs on the RX lcore: prefetches, gathers and frees them. Internal to lib/recv; on the lcore
/// only.
namespace spead::recv {

inline std::uint8_t* frame_of(rte_mbuf* m) {
    return rte_pktmbuf_mtod(m, std::uint8_t*);
}

/// Prefetches the mbuf, and its second line if freeing reads the pool there.
inline void prefetch_mbuf(rte_mbuf* m, bool second) {
    rte_prefetch0(m);
    if (second)
        rte_mbuf_prefetch_part2(m);
}

inline constexpr std::size_t kHeaderBytes = 192;  ///< of a frame that prefetch_header() prefetches

inline void prefetch_header(rte_mbuf* m) {
    const std::uint8_t* const frame = frame_of(m);
    for (std::size_t at = 0; at < kHeaderBytes; at += RTE_CACHE_LINE_SIZE)
        rte_prefetch0(frame + at);
}

/// Prefetches a payload of the packet, if it is short, into the second-level cache: it is copied after those
/// before it in its batch. What prefetch_header() has prefetched is left out.
inline void prefetch_copied(rte_mbuf& m, const std::uint8_t* payload, std::uint32_t length) {
    // Fewer bytes came with the headers.
    if (length - 1 - RTE_CACHE_LINE_SIZE >= kPrefetchedPayload - RTE_CACHE_LINE_SIZE)
        return;
    const std::uint8_t* const fetched = frame_of(&m) + kHeaderBytes;
    const std::uint8_t* from = payload - reinterpret_cast<std::uintptr_t>(payload) % RTE_CACHE_LINE_SIZE;
    if (static_cast<std::size_t>(fetched - payload) < kHeaderBytes)
        from = fetched;
    for (; from < payload + length; from += RTE_CACHE_LINE_SIZE)
        rte_prefetch1(from);
}

/// Frees a burst like rte_pktmbuf_free_bulk, inline for the usual case: single segments of one pool, which is
/// `own` if that is not null. At most `kMost`.
template <std::size_t kMost>
void free_burst(rte_mbuf** mbufs, std::uint16_t count, rte_mempool* own) {
    std::array<void*, kMost> free;
    rte_mempool* pool = own;
    unsigned n = 0;
    for (std::uint16_t i = 0; i < count; i++) {
        rte_mbuf* m = mbufs[i];
        if (m->nb_segs != 1) [[unlikely]] {
            rte_pktmbuf_free(m);
            continue;
        }
        // As its pool wants it back, without a look at its second line.
        if (own != nullptr && pool == own && rte_mbuf_refcnt_read(m) == 1 && RTE_MBUF_DIRECT(m)) [[likely]] {
            free[n++] = m;
            continue;
        }
        m = rte_pktmbuf_prefree_seg(m);
        if (m == nullptr) [[unlikely]]
            continue;
        if (m->pool != pool) [[unlikely]] {
            if (n != 0)
                rte_mempool_put_bulk(pool, free.data(), n);
            pool = m->pool;
            n = 0;
        }
        free[n++] = m;
    }
    if (n != 0)
        rte_mempool_put_bulk(pool, free.data(), n);
}

/// Returns the mbufs in the pool itself and in this lcore's cache; the few in other lcores' caches are
/// missing.
inline std::uint32_t free_mbufs(rte_mempool& pool) {
    const rte_mempool_cache* const cache = rte_mempool_default_cache(&pool, rte_lcore_id());
    return rte_mempool_get_ops(pool.ops_index)->get_count(&pool) + (cache == nullptr ? 0 : cache->len);
}

/// Copies the first `length` bytes of a chain, which has at least that many.
inline void gather(const rte_mbuf* m, std::uint8_t* to, std::size_t length) {
    while (length != 0) {
        const std::size_t n = std::min<std::size_t>(length, m->data_len);
        std::memcpy(to, rte_pktmbuf_mtod(m, const std::uint8_t*), n);
        to += n;
        length -= n;
        m = m->next;
    }
}

/// Returns the `length` bytes from `at` on, if they lie in the first segment, or begin the second one, as a
/// payload behind its headers does. Returns null otherwise.
inline const std::uint8_t* in_one_piece(const rte_mbuf* m, std::size_t at, std::size_t length) {
    if (at + length <= m->data_len) [[likely]]
        return rte_pktmbuf_mtod_offset(m, const std::uint8_t*, at);
    return at == m->data_len && length <= m->next->data_len ? rte_pktmbuf_mtod(m->next, const std::uint8_t*)
                                                            : nullptr;
}

/// Notes the arrival time of a packet whose payload goes into the heap. Packets may overtake each other.
[[gnu::noinline]] inline void note_arrival(heap::Record& record, const rte_mbuf& mbuf,
                                           const port::ArrivalTimes& times) noexcept {
    const std::uint64_t time = port::arrival_of(mbuf, times);
    if (time == 0)
        return;
    record.first_time = record.first_time == 0 ? time : std::min(record.first_time, time);
    record.last_time = std::max(record.last_time, time);
}

}  // namespace spead::recv
