// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "chunk/callback.hpp"

namespace spead::chunk {

/// Is what spead2 gives to a place callback, for a heap: ten words, by address. Members are only ever added
/// at the end.
struct Spead2PlaceData {
    const std::uint8_t* packet;  ///< null here: the headers are not kept
    std::size_t packet_size;     ///< 0 here
    const std::int64_t* items;   ///< immediate values; -1: absent
    std::int64_t chunk_id;       ///< out; -1 on entry: the heap is rejected
    std::size_t heap_index;      ///< out; of the first packet's presence, where presence is by packet
    std::size_t heap_offset;     ///< out
    std::uint64_t* batch_stats;  ///< the user's counters, 0 at the start of a batch
    std::uint8_t* extra;         ///< room for extra values
    std::size_t extra_offset;    ///< out
    std::size_t extra_size;      ///< out
};
static_assert(sizeof(Spead2PlaceData) == 10 * sizeof(void*));

/// Says how the values of a counter become one: of batches, and of lanes.
enum class StatKind : std::uint8_t { sum, maximum };

/// Calls a place callback made for spead2 (C, or compiled by numba, cffi or scipy's LowLevelCallable) from a
/// PlaceFunction. Belongs to one lcore at a time: each lane has its own.
class Spead2Place {
  public:
    using Function = void (*)(void* data, std::size_t size);
    using FunctionWithUser = void (*)(void* data, std::size_t size, void* user);

    /// Keeps a counter for each of `stats`, which is 0 at the start of each batch. `packets_per_heap`:
    /// presence bytes of a heap, which heap_index counts in.
    Spead2Place(Function function, std::vector<StatKind> stats, std::uint32_t packets_per_heap = 1);
    Spead2Place(FunctionWithUser function, void* user, std::vector<StatKind> stats,
                std::uint32_t packets_per_heap = 1);

    /// Is the PlaceFunction; `user` is the Spead2Place.
    static void call(void* user, std::span<const HeapStart> starts, std::span<ChunkPlace> places) noexcept;

    const std::vector<StatKind>& stats() const noexcept { return kinds_; }
    /// Returns the value of a counter, of all batches. Any thread.
    std::uint64_t stat(std::size_t i) const noexcept { return totals_[i].load(std::memory_order_relaxed); }
    /// Joins two values of a counter.
    static std::uint64_t join(StatKind kind, std::uint64_t a, std::uint64_t b) noexcept {
        return kind == StatKind::sum ? a + b : a < b ? b : a;
    }

  private:
    Function function_ = nullptr;
    FunctionWithUser with_user_ = nullptr;
    void* user_ = nullptr;
    std::uint32_t packets_per_heap_;
    std::vector<StatKind> kinds_;
    std::vector<std::uint64_t> batch_;                ///< written by the callback
    std::vector<std::atomic<std::uint64_t>> totals_;  ///< written between two calls of it
};

}  // namespace spead::chunk
