// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

namespace spead::heap {

/// Numbers batches of payload copies, and knows which of them have been made. A packet's copy belongs to the
/// batch that is open when the packet is placed. Batches are closed, and done, in order: by an RX lcore that
/// copies, at each batch's end; by an engine that copies for it, later.
///
/// Belongs to one lcore, whose windows may share it if they share the engine.
class Tickets {
  public:
    /// Holds the number of a batch, modulo 2^16: that of the last copy into a heap.
    using Ticket = std::uint16_t;

    /// Returns the ticket of a copy that is still to be made.
    Ticket take() noexcept {
        last_ = open_;
        return static_cast<Ticket>(open_);
    }
    /// Returns the ticket of the latest copy; the copies before have tickets up to it.
    Ticket last() const noexcept { return static_cast<Ticket>(last_); }
    /// Returns the ticket of a heap without copies.
    Ticket none() const noexcept { return static_cast<Ticket>(done_); }

    /// Returns whether a copy of that ticket may be still to come. Never misses one. After 65536 batches an
    /// old ticket may look like one of those in flight: its heap then waits for that batch, too.
    bool is_out(Ticket ticket) const noexcept {
        const auto before = static_cast<Ticket>(ticket - static_cast<Ticket>(done_) - 1);
        return before < last_ - done_;
    }
    /// Returns whether any copy is still to come.
    bool any_out() const noexcept { return last_ != done_; }

    /// Closes the open batch. Returns its number, for done().
    std::uint64_t close() noexcept { return open_++; }
    /// Notes that the copies of all batches up to `number`, a closed one, have been made.
    void done(std::uint64_t number) noexcept {
        done_ = std::max(done_, number);
        last_ = std::max(last_, done_);
    }
    /// Closes the open batch, and notes that all copies have been made.
    void all_done() noexcept { done_ = last_ = open_++; }

    /// Notes that no more copies will be made, by an engine that has failed, and does not write any more.
    /// Those that are out never will be. No batch is closed after this.
    void fail() noexcept { failed_ = true; }
    bool failed() const noexcept { return failed_; }

  private:
    std::uint64_t open_ = 1;
    std::uint64_t last_ = 0;  ///< batch of the latest copy; not less than done_
    std::uint64_t done_ = 0;
    bool failed_ = false;
};

}  // namespace spead::heap
