// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gather/batch.hpp"

namespace spead::gather {

/// Carries the batches of one RX lcore to the thread of its engine, and tells the lcore how far that is.
///
/// Batches are used in turn, in a ring of a fixed size: opened and submitted in the order of their numbers,
/// and done in that order. So their numbers are all that the two threads exchange, and nothing here waits,
/// locks or allocates. The lcore calls the lcore side, one thread of the engine the engine side.
///
/// State: `running`, then `failed` (optional), then `ended`, and never back. After `failed` no more batch is
/// done; the engine may still read packets and write heaps for those that it has. After `ended` it does
/// neither. So memory of an unfinished batch may be used again only after `ended`. If an engine stands still
/// and never ends, that memory and the packets stay allocated as long as the process.
class Channel {
  public:
    enum class State : std::uint8_t { running, failed, ended };

    /// Limits the batches of a channel.
    static constexpr std::size_t kMaxBatches = 1024;

    /// Makes a channel with so many batches, 2 to kMaxBatches. Control code. May throw std::bad_alloc.
    explicit Channel(std::size_t batches);

    /// Returns the memory of all batches: whole pages.
    std::span<const Batch> batches() const noexcept { return {batches_.get(), count_}; }

    // Lcore side.

    /// Returns how many batches can be opened now.
    std::size_t free_batches() const noexcept { return count_ - (opened_ - reclaimed_); }
    /// Opens the next batch, empty and with its number. At least one is free. At most one is open.
    Batch& open() noexcept {
        Batch& b = at(++opened_);
        b.clear();
        b.number = opened_;
        return b;
    }
    /// Gives the open batch to the engine, which owns it until it is done.
    void submit(const Batch& b) noexcept { submitted_.store(b.number, std::memory_order_release); }
    /// Returns the number of the last batch that is done; 0: none. The batches up to it are in
    /// their heaps, as Engine::fetch() and the engine's device see them.
    std::uint64_t done() const noexcept { return done_.load(std::memory_order_acquire); }
    /// Returns the oldest batch that is done and not yet free again; null: none. The lcore takes what the
    /// batch keeps, and calls free_oldest().
    Batch* oldest_done() noexcept { return reclaimed_ < done() ? &at(reclaimed_ + 1) : nullptr; }
    /// Returns the oldest batch that has been submitted, or was open when the engine failed, done or not;
    /// null: none. For use after `ended`.
    Batch* oldest() noexcept { return reclaimed_ < opened_ ? &at(reclaimed_ + 1) : nullptr; }
    void free_oldest() noexcept { reclaimed_++; }

    // Engine side.

    /// Returns the next submitted batch, each once, in order; null: none now.
    const Batch* take() noexcept {
        if (taken_ == submitted_.load(std::memory_order_acquire))
            return nullptr;
        return &at(++taken_);
    }
    /// Says that all batches up to that number are done, all of them taken. Not after fail().
    void finish(std::uint64_t number) noexcept { done_.store(number, std::memory_order_release); }
    /// Says that no more batch will be done. `what`: a sentence for the user. Only the first one counts. May
    /// throw std::bad_alloc.
    void fail(const std::string& what);
    /// Says that the engine reads no packet and writes no heap of this channel any more.
    void end() noexcept { state_.store(State::ended, std::memory_order_release); }

    // Any thread.

    State state() const noexcept { return state_.load(std::memory_order_acquire); }
    /// Returns why the engine has failed; empty: it has not.
    std::string failure() const { return failed_.load(std::memory_order_acquire) ? failure_ : std::string(); }
    bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    /// Returns the batches that have been submitted and are not done, a moment ago.
    std::uint64_t in_flight() const noexcept {
        const std::uint64_t done_before = done();
        return submitted_.load(std::memory_order_acquire) - done_before;
    }

  private:
    Batch& at(std::uint64_t number) const noexcept { return batches_[number % count_]; }

    const std::size_t count_;
    const std::unique_ptr<Batch[]> batches_;
    // The lcore's.
    alignas(64) std::uint64_t opened_ = 0;
    std::uint64_t reclaimed_ = 0;
    std::atomic<std::uint64_t> submitted_{0};  ///< by the lcore
    // The engine's.
    alignas(64) std::atomic<std::uint64_t> done_{0};
    std::atomic<State> state_{State::running};
    std::atomic<bool> failed_{false};
    std::uint64_t taken_ = 0;
    std::string failure_;  ///< constant once failed_
};

}  // namespace spead::gather
