// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace spead::heap {

/// Maps a heap count to the state of that heap, with one lookup per packet. Robin Hood hashing with linear
/// probing, at most half full, sized once. Four neighbouring counts share a cache line, since senders count
/// up. A per-process secret scatters the lines, so that strides do not cluster and a sender cannot choose
/// counts that collide.
class KeyTable {
  public:
    enum class State : std::uint8_t {
        empty,
        live,      ///< `record` is its place in the record pool
        done,      ///< complete and handed over
        given_up,  ///< handed over incomplete
        refused,   ///< there was no room for it, or `record` is the outcome of its packets
    };

    struct Entry {
        std::uint64_t key;
        std::uint32_t record;
        State state;
    };

    /// Reserves room for `keys` keys at once. Control code.
    KeyTable(std::size_t keys, std::uint64_t secret);
    KeyTable(const KeyTable&) = delete;
    KeyTable& operator=(const KeyTable&) = delete;

    /// Returns the bytes of a table for `keys` keys.
    static std::size_t bytes_for(std::size_t keys) noexcept { return entries_for(keys) * sizeof(Entry); }

    /// Returns the entry; null when the key is unknown. Valid until the next insert or erase.
    Entry* find(std::uint64_t key) noexcept {
        std::size_t i = home(key);
        for (std::size_t distance = 0;; distance++, i = (i + 1) & mask_) {
            Entry& e = entries_[i];
            if (e.state == State::empty)
                return nullptr;
            if (e.key == key)
                return &e;
            // Had it been inserted, it would have taken this place from an entry nearer to its own home.
            if (distance > distance_from_home(i)) [[unlikely]]
                return nullptr;
        }
    }

    /// Inserts a key, which must be absent. The caller keeps within the number of keys given at construction.
    void insert(std::uint64_t key, State state, std::uint32_t record) noexcept {
        Entry entry{key, record, state};
        std::size_t i = home(key);
        for (std::size_t distance = 0; entries_[i].state != State::empty; distance++, i = (i + 1) & mask_) {
            if (const std::size_t theirs = distance_from_home(i); theirs < distance) {
                std::swap(entry, entries_[i]);
                distance = theirs;
            }
        }
        entries_[i] = entry;
        size_++;
    }

    /// Returns where fill() may enter a key. Returns null when it is `known`, or when others have to move:
    /// then insert() enters it. Valid until the next insert, fill or erase.
    Entry* vacancy(std::uint64_t key, bool& known) noexcept {
        known = false;
        std::size_t i = home(key);
        for (std::size_t distance = 0; entries_[i].state != State::empty; distance++, i = (i + 1) & mask_) {
            if (entries_[i].key == key) {
                known = true;
                return nullptr;
            }
            if (distance > distance_from_home(i))
                return nullptr;
        }
        return &entries_[i];
    }
    /// Does insert() for a key whose vacancy() this is.
    void fill(Entry* vacancy, std::uint64_t key, State state, std::uint32_t record) noexcept {
        *vacancy = {key, record, state};
        size_++;
    }

    void erase(Entry* entry) noexcept {
        auto gap = static_cast<std::size_t>(entry - entries_);
        for (std::size_t next = (gap + 1) & mask_;
             entries_[next].state != State::empty && distance_from_home(next) != 0;
             next = (next + 1) & mask_) {
            entries_[gap] = entries_[next];
            gap = next;
        }
        entries_[gap].state = State::empty;
        size_--;
    }

    void prefetch(std::uint64_t key) const noexcept { __builtin_prefetch(&entries_[home(key)]); }
    std::size_t size() const noexcept { return size_; }
    /// Returns how many entries a find may look at beyond the first. Takes time with the size of the table.
    std::size_t longest_probe() const noexcept;

  private:
    struct alignas(64) Line {
        std::array<Entry, 4> entries;
    };
    static_assert(sizeof(Line) == 4 * sizeof(Entry));

    static std::size_t entries_for(std::size_t keys) noexcept {
        return std::bit_ceil(keys < 16 ? std::size_t{32} : keys * 2);
    }
    std::size_t home(std::uint64_t key) const noexcept {
        const std::uint64_t line = ((key >> 2) * multiplier_) >> shift_;
        return static_cast<std::size_t>(line << 2 | (key & 3));
    }
    std::size_t distance_from_home(std::size_t i) const noexcept {
        return (i - home(entries_[i].key)) & mask_;
    }

    std::vector<Line> lines_;
    Entry* entries_;            ///< those of lines_, as one array
    std::size_t mask_;          ///< number of entries - 1
    std::uint64_t multiplier_;  ///< odd
    unsigned shift_;            ///< 64 minus the bits of a line number
    std::size_t size_ = 0;
};

}  // namespace spead::heap
