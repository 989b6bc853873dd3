// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "send/in_flight.hpp"

namespace spead::send {

/// The heaps of the group that is being sent which have packets left, in turn: a ring through their slots.
///
/// A heap is in it by its own links and leaves it by them, so that nothing here names a heap by a number that
/// another heap may have by then. A heap leaves before it may be popped.
class Turns {
  public:
    bool empty() const noexcept { return current_ == nullptr; }
    /// Whether there are two or more. Not when empty.
    bool several() const noexcept { return current_->next != current_; }
    /// The heap whose turn it is. Not when empty.
    Slot& current() const noexcept { return *current_; }
    /// Makes it the next one's turn. Not when empty.
    void pass() noexcept { current_ = current_->next; }

    /// The heap's turn comes after those of all others. It is in no ring.
    void add(Slot& slot) noexcept {
        if (current_ == nullptr) {
            current_ = slot.next = slot.before = &slot;
            return;
        }
        slot.next = current_;
        slot.before = current_->before;
        slot.before->next = slot.next->before = &slot;
    }
    /// If it was the heap's turn, it is the next one's. Does nothing to a heap that is in no ring.
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
    Slot* current_ = nullptr;
};

}  // namespace spead::send
