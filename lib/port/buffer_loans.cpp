// SPDX-License-Identifier: BSD-3-Clause
#include "port/buffer_loans.hpp"

#include <algorithm>

#include <rte_mempool.h>

#include "base/log.hpp"

namespace spead::port {

bool BufferLoans::Kept::whole() const noexcept {
    return rte_mempool_in_use_count(pool) <= may_lack;
}

BufferLoans::~BufferLoans() {
    for (const Kept& one : kept_)
        if (one.whole())
            rte_mempool_free(one.pool);
        else
            log_warning(LogType::port,
                        "{} of {} lent buffers were not returned; their memory stays allocated",
                        rte_mempool_in_use_count(one.pool), one.pool->size);
}

bool BufferLoans::keep(rte_mempool* pool, std::uint32_t may_lack) {
    const std::lock_guard lock(mutex_);
    if (shared_out_ == 0)
        return false;
    kept_.push_back({pool, may_lack});
    return true;
}

void BufferLoans::sweep() {
    const std::lock_guard lock(mutex_);
    std::erase_if(kept_, [](Kept& one) {
        if (!one.whole())
            return false;
        if (!std::exchange(one.was_whole, true))
            return false;
        rte_mempool_free(one.pool);
        return true;
    });
}

std::uint32_t BufferLoans::shared_out() const {
    const std::lock_guard lock(mutex_);
    return shared_out_;
}

std::size_t BufferLoans::pools_kept() const {
    const std::lock_guard lock(mutex_);
    return kept_.size();
}

std::uint32_t BufferLoans::take(std::uint32_t wanted) {
    const std::lock_guard lock(mutex_);
    const std::uint32_t taken = std::min(wanted, most_ - shared_out_);
    shared_out_ += taken;
    return taken;
}

/// Frees the kept pools with the last buffer: no lane uses them any more.
void BufferLoans::give_back(std::uint32_t buffers) noexcept {
    const std::lock_guard lock(mutex_);
    shared_out_ -= buffers;
    if (shared_out_ != 0)
        return;
    std::erase_if(kept_, [](const Kept& one) {
        const bool whole = one.whole();
        if (whole)
            rte_mempool_free(one.pool);
        return whole;
    });
}

}  // namespace spead::port
