// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace spead::heap {

/// Holds the keys of heaps that have left the window, oldest first, with the time they left; bounded. The
/// window removes the oldest when it is full or has expired.
class History {
  public:
    struct Entry {
        std::uint64_t key;
        std::uint64_t time;  ///< ticks
    };

    explicit History(std::size_t capacity) : entries_(capacity == 0 ? 1 : capacity) {}

    bool empty() const noexcept { return count_ == 0; }
    bool full() const noexcept { return count_ == entries_.size(); }
    std::size_t size() const noexcept { return count_; }
    const Entry& oldest() const noexcept { return entries_[first_]; }

    /// Returns whether the key is among the `most` latest ones.
    bool is_recent(std::uint64_t key, std::size_t most) const noexcept {
        for (std::size_t i = 1; i <= std::min(count_, most); i++)
            if (entries_[(first_ + count_ - i) % entries_.size()].key == key)
                return true;
        return false;
    }

    void forget_oldest() noexcept {
        first_ = first_ + 1 == entries_.size() ? 0 : first_ + 1;
        count_--;
    }

    /// Adds a key. Not when full.
    void remember(std::uint64_t key, std::uint64_t time) noexcept {
        std::size_t at = first_ + count_;
        if (at >= entries_.size())
            at -= entries_.size();
        entries_[at] = {key, time};
        count_++;
    }

  private:
    std::vector<Entry> entries_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

}  // namespace spead::heap
