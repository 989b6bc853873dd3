// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heap/record.hpp"
#include "heap/tickets.hpp"

namespace spead::heap::test {

/// Stands for an engine that copies payload in a window's place, batches at a time, whenever a test says. It
/// asserts that no memory is used again while a copy into it is still to come.
class LateEngine {
  public:
    Tickets tickets;

    /// Adds a copy to the open batch, with the address that it has now. `block` holds the bytes of the heap's
    /// memory.
    void add(const Record& r, std::size_t block, std::uint64_t offset,
             const std::vector<std::uint8_t>& bytes) {
        if (r.packets == 1)
            expect_free(r.base, block);
        expect_free(r.base + offset, bytes.size());
        pending_.emplace(r.base + offset, bytes.size());
        heaps_[r.base]++;
        open_.push_back({r.base, offset, bytes});
    }
    /// Closes the open batch, if it has copies.
    void close() {
        if (!open_.empty())
            closed_.push_back({tickets.close(), std::exchange(open_, {})});
    }
    /// Makes the copies of the oldest batches, of `most` or fewer.
    void work(std::size_t most) {
        std::uint64_t last = 0;
        for (; most != 0 && !closed_.empty(); most--) {
            for (const Copy& c : closed_.front().copies) {
                std::memcpy(c.base + c.offset, c.bytes.data(), c.bytes.size());
                pending_.erase(pending_.find(c.base + c.offset));
                if (--heaps_[c.base] == 0)
                    heaps_.erase(c.base);
            }
            last = closed_.front().number;
            closed_.pop_front();
        }
        if (last != 0)
            tickets.done(last);
    }
    void finish() {
        close();
        work(closed_.size());
    }

    /// Forgets the copies that are still to come: none of them will be made.
    void forget() {
        open_.clear();
        closed_.clear();
        pending_.clear();
        heaps_.clear();
    }

    std::size_t in_flight() const { return closed_.size(); }
    /// Returns whether a copy into the heap that begins at `base` is still to come.
    bool is_pending(const std::byte* base) const { return heaps_.count(base) != 0; }

  private:
    struct Copy {
        std::byte* base;
        std::uint64_t offset;
        std::vector<std::uint8_t> bytes;
    };
    struct Batch {
        std::uint64_t number;
        std::vector<Copy> copies;
    };

    void expect_free(const std::byte* from, std::size_t length) const {
        auto at = pending_.lower_bound(from);
        if (at != pending_.begin() && std::prev(at)->first + std::prev(at)->second > from)
            --at;
        if (at != pending_.end() && at->first < from + length)
            ADD_FAILURE() << "memory is used again while a copy into it is still to come";
    }

    std::vector<Copy> open_;
    std::deque<Batch> closed_;
    std::multimap<const std::byte*, std::size_t> pending_;  ///< bytes by address
    std::map<const std::byte*, std::size_t> heaps_;         ///< copies by the heap's first byte
};

}  // namespace spead::heap::test
