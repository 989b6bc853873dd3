// SPDX-License-Identifier: BSD-3-Clause
#include "heap/heap_queue.hpp"

#include <algorithm>
#include <array>
#include <poll.h>

#include <rte_ring.h>

#include "heap/lent_packets.hpp"

namespace spead::heap {

static_assert(sizeof(HeapHandle) == 2 * sizeof(void*));

HeapQueue::HeapQueue(std::size_t heaps, std::size_t records)
    : queue_(make_own_ring("heap queue", "heaps", heaps, RING_F_SP_ENQ | RING_F_MC_RTS_DEQ)),
      back_(make_own_ring("heap queue", "records", records, RING_F_MP_RTS_ENQ | RING_F_SC_DEQ)),
      capacity_(heaps) {}

HeapQueue::~HeapQueue() = default;

HeapHandle HeapQueue::try_pop() {
    void* record = nullptr;
    if (rte_ring_mc_rts_dequeue_bulk(queue_.get(), &record, 1, nullptr) == 0)
        return {};
    taken_.fetch_add(1, std::memory_order_release);
    return {this, static_cast<Record*>(record)};
}

std::size_t HeapQueue::pop_burst(std::span<HeapHandle> out) {
    std::size_t total = 0;
    while (total < out.size()) {
        std::array<void*, 64> records;
        const auto want = static_cast<unsigned>(std::min(records.size(), out.size() - total));
        const unsigned n = rte_ring_mc_rts_dequeue_burst(queue_.get(), records.data(), want, nullptr);
        for (unsigned i = 0; i < n; i++) {
            out[total + i].reset();
            out[total + i].queue_ = this;
            out[total + i].record_ = static_cast<Record*>(records[i]);
        }
        total += n;
        if (n < want)
            break;
    }
    if (total != 0)
        taken_.fetch_add(total, std::memory_order_release);
    return total;
}

void HeapQueue::release_burst(std::span<HeapHandle> heaps) {
    std::array<void*, 64> records;
    for (std::size_t at = 0; at < heaps.size();) {
        unsigned n = 0;
        for (; at < heaps.size() && n < records.size(); at++)
            if (heaps[at])
                records[n++] = std::exchange(heaps[at].record_, nullptr);
        rte_ring_mp_rts_enqueue_bulk(back_.get(), records.data(), n, nullptr);
    }
}

void HeapQueue::give_back(Record* record) noexcept {
    rte_ring_mp_rts_enqueue_bulk(back_.get(), reinterpret_cast<void**>(&record), 1, nullptr);
}

bool HeapQueue::empty() const noexcept {
    return rte_ring_empty(queue_.get()) != 0;
}

std::size_t HeapQueue::size() const noexcept {
    return rte_ring_count(queue_.get());
}

std::size_t HeapQueue::held() const noexcept {
    // The ring's position counts, modulo 2^32, what has ever been given back. What is given back was taken.
    __rte_ring_rts_poscnt tail;
    tail.raw = __atomic_load_n(&back_->rts_prod.tail.raw, __ATOMIC_ACQUIRE);
    const std::uint32_t back = tail.val.pos;
    return static_cast<std::uint32_t>(taken()) - back;
}

bool HeapQueue::arm() {
    event_.arm();
    if (empty())
        return true;
    event_.withdraw();
    return false;
}

void HeapQueue::disarm() {
    event_.clear();
}

bool HeapQueue::wait(int timeout_ms) {
    if (!arm())
        return true;
    if (!closed()) {
        pollfd p{event_fd(), POLLIN, 0};
        poll(&p, 1, timeout_ms);
    }
    disarm();
    return !empty();
}

void HeapQueue::wake_consumers() noexcept {
    event_.wake();
}

void HeapQueue::close() noexcept {
    closed_.store(true, std::memory_order_release);
    wake_consumers();
}

std::size_t HeapQueue::push(Record* const* records, std::size_t count) noexcept {
    unsigned free = 0;
    const unsigned pushed = rte_ring_sp_enqueue_burst(queue_.get(), reinterpret_cast<void* const*>(records),
                                                      static_cast<unsigned>(count), &free);
    most_queued_ = std::max(most_queued_, capacity_ - free);
    return pushed;
}

Record* HeapQueue::take_oldest() noexcept {
    const rte_ring* const ring = queue_.get();
    if (__atomic_load_n(&ring->rts_cons.head.val.pos, __ATOMIC_RELAXED) !=
        __atomic_load_n(&ring->rts_cons.tail.val.pos, __ATOMIC_RELAXED))
        return nullptr;
    void* record = nullptr;
    rte_ring_mc_rts_dequeue_bulk(queue_.get(), &record, 1, nullptr);
    return static_cast<Record*>(record);
}

std::size_t HeapQueue::reclaim(Record** out, std::size_t max) noexcept {
    return rte_ring_sc_dequeue_burst(back_.get(), reinterpret_cast<void**>(out), static_cast<unsigned>(max),
                                     nullptr);
}

void HeapHandle::give_back() noexcept {
    queue_->give_back(std::exchange(record_, nullptr));
}

std::span<const std::byte> HeapHandle::payload() const noexcept {
    if (queue_->lent_ != nullptr) [[unlikely]]
        return queue_->lent_->gather(*record_, size());
    return {record_->base, size()};
}

std::vector<Segment> HeapHandle::segments() const {
    if (queue_->lent_ != nullptr)
        return queue_->lent_->segments(*record_);
    std::vector<Segment> all;
    const auto add = [&](std::uint64_t begin, std::uint64_t end) {
        if (begin != end)
            all.push_back({begin, {record_->base + begin, static_cast<std::size_t>(end - begin)}});
    };
    add(0, record_->coverage.prefix());
    for (const Range& range : record_->coverage.ranges())
        add(range.begin, range.end);
    return all;
}

std::vector<Range> HeapHandle::missing() const {
    std::vector<Range> holes;
    const Coverage& c = record_->coverage;
    auto at = static_cast<std::uint32_t>(c.prefix());
    for (const Range& r : c.ranges()) {
        holes.push_back({at, r.begin});
        at = r.end;
    }
    const auto end = static_cast<std::uint32_t>(size());
    if (at < end)
        holes.push_back({at, end});
    return holes;
}

}  // namespace spead::heap
