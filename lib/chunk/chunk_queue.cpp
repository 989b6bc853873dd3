// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/chunk_queue.hpp"

#include <rte_ring.h>

#include "base/error.hpp"
#include "chunk/chunk_ring.hpp"

namespace spead::chunk {

namespace {

constexpr const char* kQueueName = "chunk queue";

std::size_t checked(std::size_t most) {
    if (most == 0 || most > ChunkQueue::kMost)
        throw_usage(kQueueName, "it has room for {} chunks; give 1 to {}", most, ChunkQueue::kMost);
    return most;
}

}  // namespace

ChunkQueue::ChunkQueue(std::size_t most)
    : most_(checked(most)),
      ring_(make_own_ring(kQueueName, "loose chunks", ChunkRing::kMaxChunks,
                          RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ)) {
    // A user who sleeps before he asks is woken, too.
    data_.arm();
}

ChunkQueue::Put ChunkQueue::put(Chunk& chunk) noexcept {
    {
        const std::lock_guard lock(putting_);
        if (stopped())
            return Put::stopped;
        if (full()) {
            // A stream that was about to signal may make it readable once without room.
            space_.clear();
            space_.arm();
            // Its wake-up may have been what was cleared.
            if (stopped())
                return Put::stopped;
            if (full())
                return Put::full;
        }
        if (!push(chunk))
            return Put::full;
        if (!full())
            space_.announce();  // another one may sleep
    }
    wake();
    return Put::done;
}

Chunk* ChunkQueue::take() noexcept {
    for (bool armed = false;; armed = true) {
        if (Chunk* const chunk = open(); chunk != nullptr) {
            chunk->holder.store(Holder::user, std::memory_order_relaxed);
            // Another user may sleep, too.
            if (size() != 0)
                data_.announce();
            // The end's wake-up may have been what was cleared.
            if (armed && stopped())
                data_.wake();
            return chunk;
        }
        if (armed)
            break;
        data_.clear();
        data_.arm();
    }
    if (stopped())
        data_.wake();
    return nullptr;
}

bool ChunkQueue::stop() noexcept {
    if (stopped_.exchange(true, std::memory_order_acq_rel))
        return false;
    data_.wake();
    space_.wake();
    return true;
}

bool ChunkQueue::remove_producer() noexcept {
    std::size_t now = producers_.load(std::memory_order_relaxed);
    while (now != 0 && !producers_.compare_exchange_weak(now, now - 1, std::memory_order_acq_rel)) {
    }
    return now == 1 && stop();
}

std::size_t ChunkQueue::size() const noexcept {
    return rte_ring_count(ring_.get());
}

Chunk* ChunkQueue::open() noexcept {
    void* entry = nullptr;
    if (rte_ring_mc_rts_dequeue_bulk(ring_.get(), &entry, 1, nullptr) == 0)
        return nullptr;
    space_.announce();
    return static_cast<Chunk*>(entry);
}

bool ChunkQueue::push(Chunk& chunk) noexcept {
    chunk.holder.store(Holder::data, std::memory_order_relaxed);
    void* const entry = &chunk;
    return rte_ring_mp_rts_enqueue_bulk(ring_.get(), &entry, 1, nullptr) != 0;
}

}  // namespace spead::chunk
