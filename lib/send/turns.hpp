// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "send/in_flight.hpp"

namespace spead::send {

/// Holds the heaps of the present group with packets left, in turn: a ring through their slots.
///
/// A heap enters and leaves the ring by its own links, so that nothing here names a heap by a number that
/// another heap may have later. A heap leaves before it may be popped.
class Turns {
  public:
    bool empty() const noexcept { return current_ == nullptr; }
    /// Returns whether there are two or more. Not when empty.
    bool several() const noexcept { return current_->next != current_; }
    /// Returns the heap whose turn it is. Not when empty.
    Slot& current() const noexcept { return *current_; }
    /// Returns the heap that has the turn kAhead turns later. Not when empty.
    const Slot& later() const noexcept {
        const Slot* slot = current_;
        for (unsigned i = 0; i < kAhead; i++)
            slot = slot->next;
        return *slot;
    }
    /// Gives the turn to the next one. Not when empty.
    void pass() noexcept { current_ = current_->next; }

    /// Adds the heap after all others. It is in no ring.
    void add(Slot& slot) noexcept {
        if (current_ == nullptr) {
            current_ = slot.next = slot.before = &slot;
            return;
        }
        slot.next = current_;
        slot.before = current_->before;
        slot.before->next = slot.next->before = &slot;
    }
    /// Removes the heap; if it had the turn, the next one gets it. Does nothing to a heap that is in no ring.
    void remove(Slot& slot) noexcept {
        if (slot.next == nullptr)
            return;
        slot.next->before = slot.before;
        slot.before->next = slot.next;
        if (current_ == &slot)
            current_ = slot.next == &slot ? nullptr : slot.next;
        slot.next = slot.before = nullptr;
    }

    /// Calls f(const Slot&) for each, from the current one on. `f` adds and removes none.
    template <typename F>
    void for_each(F&& f) const {
        if (empty())
            return;
        const Slot* slot = current_;
        do {
            f(*slot);
            slot = slot->next;
        } while (slot != current_);
    }

  private:
    static constexpr unsigned kAhead = 4;

    Slot* current_ = nullptr;
};

}  // namespace spead::send
