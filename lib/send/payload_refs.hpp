// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <rte_mbuf.h>

namespace spead::send {

/// Counts the mbufs that point at one heap's memory.
///
/// DPDK counts the users of an external buffer in 16 bits and adds to that count in steps of int16_t, so
/// references are taken in batches: the count starts at kBatch, all of it ours, and giving one to an mbuf
/// costs nothing. The unused rest of a batch is given back at once in the end; until then it also keeps the
/// batch from ending while more mbufs will be attached. A heap that needs more than a batch continues with
/// the other one, if its mbufs have come back.
///
/// Owned by the sending lcore; any thread may free mbufs.
class PayloadRefs {
  public:
    static constexpr std::uint16_t kBatch = 32767;

    /// Initialises the counts. Call it once, at the object's final address.
    void initialise() noexcept {
        for (Batch& batch : batches_) {
            batch.info.free_cb = &released;
            batch.info.fcb_opaque = &batch;
        }
    }

    /// Returns the shared info for the next `n` <= kBatch mbufs, or null while both batches are out (try
    /// again later). `last`: no more will follow, which saves a heap of one packet all atomic additions.
    rte_mbuf_ext_shared_info* reserve(std::uint16_t n, bool last = false) noexcept {
        if (left_ >= n) [[likely]]
            return &batches_[current_].info;
        if (drained()) {  // a heap begins with the first batch, and most need no other
            current_ = 1;
            second_ = false;
        } else {
            second_ = true;
        }
        Batch& other = batches_[current_ ^ 1];
        if (other.out.load(std::memory_order_acquire))
            return nullptr;
        close();
        current_ ^= 1;
        left_ = last ? n : kBatch;
        rte_mbuf_ext_refcnt_set(&other.info, left_);
        other.out.store(true, std::memory_order_relaxed);
        return &other.info;
    }

    /// Returns the shared info of a heap's only mbuf, which is attached to it at once. No other function but
    /// only_drained is called before that is true.
    rte_mbuf_ext_shared_info* only() noexcept {
        rte_mbuf_ext_refcnt_set(&batches_[0].info, 1);
        batches_[0].out.store(true, std::memory_order_relaxed);
        return &batches_[0].info;
    }
    /// Returns what drained() does, if at most only() was called since it was true last. Reads one cache
    /// line.
    bool only_drained() const noexcept { return !batches_[0].out.load(std::memory_order_acquire); }

    /// Notes that `n` of the reserved mbufs were attached.
    void attached(std::uint16_t n) noexcept { left_ = static_cast<std::uint16_t>(left_ - n); }

    /// Notes that no more mbufs will be attached (until the next reserve).
    void close() noexcept {
        Batch& batch = batches_[current_];
        if (left_ != 0 && rte_mbuf_ext_refcnt_update(&batch.info, static_cast<std::int16_t>(-left_)) == 0)
            released(nullptr, &batch);
        left_ = 0;
    }

    /// Returns, after close, whether every mbuf has been freed. Its readers' accesses happened before.
    bool drained() const noexcept {
        return !batches_[0].out.load(std::memory_order_acquire) &&
               (!second_ || !batches_[1].out.load(std::memory_order_acquire));
    }

  private:
    /// Has a cache line of its own, because other threads write it.
    struct alignas(64) Batch {
        rte_mbuf_ext_shared_info info{};
        std::atomic<bool> out{false};
    };

    static void released(void*, void* batch) {
        static_cast<Batch*>(batch)->out.store(false, std::memory_order_release);
    }

    std::array<Batch, 2> batches_;
    std::uint16_t left_ = 0;  ///< references of the current batch without an mbuf
    std::uint8_t current_ = 0;
    bool second_ = false;  ///< the second batch may be out
};

}  // namespace spead::send
