// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

struct rte_mempool;

namespace spead::port {

/// Counts the receive buffers of a port that heaps may keep instead of being copied, and keeps the pools of
/// its closed devices while such heaps exist. A port has it for its whole life, with several devices in turn.
/// Lanes share it. Control code and users' threads: every function locks.
class BufferLoans {
  public:
    /// Makes it for a port each of whose pools has `most` buffers for that.
    explicit BufferLoans(std::uint32_t most) : most_(most) {}
    /// Frees the pools. Those that still lack buffers stay allocated.
    ~BufferLoans();
    BufferLoans(const BufferLoans&) = delete;
    BufferLoans& operator=(const BufferLoans&) = delete;

    /// Takes over the pool of a device that has been closed, if buffers may be lent. Returns false, and
    /// leaves it to the caller, if not. `may_lack`: buffers that the device keeps for ever.
    bool keep(rte_mempool* pool, std::uint32_t may_lack);
    /// Frees the pools that had all their buffers at the last call, too. Every lcore that may free buffers
    /// has answered in between: a buffer counts as back a moment before its lcore is done with it.
    void sweep();

    std::uint32_t most() const noexcept { return most_; }
    /// Returns how many buffers lanes may keep at present.
    std::uint32_t shared_out() const;
    std::size_t pools_kept() const;

  private:
    friend class BufferShare;
    struct Kept {
        rte_mempool* pool;
        std::uint32_t may_lack;
        bool was_whole = false;
        bool whole() const noexcept;
    };
    std::uint32_t take(std::uint32_t wanted);
    void give_back(std::uint32_t buffers) noexcept;

    const std::uint32_t most_;
    mutable std::mutex mutex_;
    // Guarded.
    std::uint32_t shared_out_ = 0;
    std::vector<Kept> kept_;
};

/// Holds one lane's part of a port's BufferLoans, which it keeps alive. Its owner has freed its buffers
/// before it is shrunk or destroyed, and no lcore is about to free one.
class BufferShare {
  public:
    BufferShare() = default;
    /// Takes up to `wanted` buffers of what is left; none of a port without loans (null).
    BufferShare(std::shared_ptr<BufferLoans> loans, std::uint32_t wanted)
        : loans_(std::move(loans)), size_(loans_ ? loans_->take(wanted) : 0) {}
    BufferShare(BufferShare&& other) noexcept
        : loans_(std::move(other.loans_)), size_(std::exchange(other.size_, 0)) {}
    BufferShare& operator=(BufferShare&& other) noexcept {
        std::swap(loans_, other.loans_);
        std::swap(size_, other.size_);
        return *this;
    }
    BufferShare(const BufferShare&) = delete;
    BufferShare& operator=(const BufferShare&) = delete;
    ~BufferShare() { shrink(0); }

    std::uint32_t size() const noexcept { return size_; }
    /// Takes more, as far as others have given some back. Returns whether it has; `to` is the wanted size.
    bool grow(std::uint32_t to) {
        const std::uint32_t more = loans_ && to > size_ ? loans_->take(to - size_) : 0;
        size_ += more;
        return more != 0;
    }
    /// Gives the rest back; `to` is at most size().
    void shrink(std::uint32_t to) noexcept {
        if (to < size_)
            loans_->give_back(std::exchange(size_, to) - to);
    }

  private:
    std::shared_ptr<BufferLoans> loans_;
    std::uint32_t size_ = 0;
};

}  // namespace spead::port
