// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "chunk/callback.hpp"
#include "chunk/spead2_place.hpp"
#include "heap/room.hpp"
#include "spead/place_callback.hpp"

/// Adapts a user's place callback to the lcores. Not installed.
namespace spead::door {

/// Sums the counters that a callback keeps on each lcore. Control code makes and destroys those of an lcore;
/// any thread reads the sums.
class PlaceStats {
  public:
    explicit PlaceStats(const std::vector<chunk::StatKind>& kinds) : kinds_(kinds), past_(kinds.size()) {}
    PlaceStats(const PlaceStats&) = delete;
    PlaceStats& operator=(const PlaceStats&) = delete;

    void add(const chunk::Spead2Place& place);
    /// Keeps the counts of an lcore that calls no more.
    void remove(const chunk::Spead2Place& place) noexcept;
    std::vector<std::uint64_t> values() const;

  private:
    static void join(const chunk::Spead2Place& place, std::vector<std::uint64_t>& to) noexcept;

    const std::vector<chunk::StatKind> kinds_;
    mutable std::mutex mutex_;
    // Guarded.
    std::vector<const chunk::Spead2Place*> places_;
    std::vector<std::uint64_t> past_;
};

/// Converts what an lcore asks a PlaceFunction, and its answers. Belongs to one lcore at a time.
class BatchPlace {
  public:
    BatchPlace(PlaceFunction function, void* user) : function_(function), user_(user) {}

    /// Is the inner function; `self` is the BatchPlace.
    static void call(void* self, std::span<const chunk::HeapStart> starts,
                     std::span<chunk::ChunkPlace> places) noexcept;

  private:
    PlaceFunction function_;
    void* user_;
    std::array<HeapStart, heap::kMaxBatch> starts_;
    std::array<HeapPlace, heap::kMaxBatch> places_;
};

/// Returns the callback without its function: the sizes of its chunks, and what it asks for.
chunk::PlaceCallback place_sizes(const ChunkSizes& sizes);

/// Returns what makes the callback of each lane. `stats` gets its counters. Throws UsageError unless one
/// function is set, and for sizes out of range.
std::function<chunk::PlaceCallback()> place_maker(const PlaceCallback& callback,
                                                  const std::shared_ptr<PlaceStats>& stats);

/// Returns the place where a callback's counters are summed; null: it has none. Throws UsageError for
/// counters that its function cannot have.
std::shared_ptr<PlaceStats> stats_for(const PlaceCallback& callback);

}  // namespace spead::door
