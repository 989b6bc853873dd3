// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "memory/memory_kind.hpp"

/// Lists memory that ports may read and write directly.
namespace spead::memory {

/// Describes a range of memory known to the ports.
struct Region {
    std::byte* base = nullptr;
    std::size_t length = 0;  ///< bytes, at least 1
    MemoryKind kind = MemoryKind::host;
    int numa = -1;  ///< NUMA node, -1: unknown

    bool cpu_accessible() const noexcept { return memory::cpu_accessible(kind); }
    const std::byte* end() const noexcept { return base + length; }
    std::span<std::byte> bytes() const noexcept { return {base, length}; }
    bool operator==(const Region&) const = default;
};

/// Holds the present regions. Control code adds and removes them (a mutex allows one thread at a time) while
/// any number of other threads look addresses up; lookups neither lock, wait nor allocate.
///
/// The caller that removes a region ensures that nothing in flight refers to it any more. The table keeps no
/// registration with EAL or a device: that is lib/port's.
class RegionTable {
  public:
    static constexpr std::size_t kMaxRegions = 4096;

    /// Describes the stretch of one kind that begins at an address.
    struct Run {
        std::size_t length = 0;      ///< bytes, at most the requested ones, and at least 1 unless 0 were
                                     ///< requested
        bool registered = false;     ///< inside one region
        bool cpu_accessible = true;  ///< of that region; true outside of all regions
    };

    /// Holds the place of one thread's last hit; each thread that looks up owns one.
    using Cache = std::size_t;

    RegionTable() noexcept;
    ~RegionTable();
    RegionTable(const RegionTable&) = delete;
    RegionTable& operator=(const RegionTable&) = delete;

    /// Adds a region. Throws Error, with both ranges if there are two: empty or wrapping range, overlap,
    /// kMaxRegions exist.
    void add(const Region& region);
    /// Removes a region. Throws Error when no region starts at `base`.
    void remove(const std::byte* base);

    /// Returns a number that changes with every add and remove, and differs between tables. A kept result
    /// with another number is stale.
    std::uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
    std::size_t size() const noexcept;

    /// Returns whether [data, data + length) lies inside one region. `length` is at least 1.
    bool contains(const void* data, std::size_t length, Cache& cache) const noexcept;
    bool contains(const void* data, std::size_t length) const noexcept {
        Cache cache = 0;
        return contains(data, length, cache);
    }

    /// Returns how far the memory from `data` on, at most `length` bytes, lies in one region, or outside of
    /// all. Two regions that touch are two runs: a packet's segment must not span separately registered
    /// memory.
    Run run(const void* data, std::size_t length, Cache& cache) const noexcept;
    Run run(const void* data, std::size_t length) const noexcept {
        Cache cache = 0;
        return run(data, length, cache);
    }

  private:
    static constexpr std::size_t kPageSlots = 64;

    /// Holds a region with a version; odd: empty or being written. A reader that sees the version change
    /// takes the slot for empty. It was empty at some moment of the lookup, so lookups need no retry.
    struct Slot {
        std::atomic<std::uint64_t> version{1};
        std::atomic<std::uintptr_t> begin{0};
        std::atomic<std::uintptr_t> end{0};
        std::atomic<bool> cpu_accessible{true};
    };
    struct View {
        std::uintptr_t begin = 0, end = 0;
        bool cpu_accessible = true;
    };

    using Page = std::array<Slot, kPageSlots>;

    Slot& slot(std::size_t index) const noexcept;
    bool read(std::size_t index, View& out) const noexcept;

    mutable Page first_;
    /// Holds slots in the order of their indices. Pages are made as needed and stay as long as the table, so
    /// a reader that knows of a slot may always look at it.
    std::array<std::atomic<Page*>, kMaxRegions / kPageSlots> pages_{};
    std::atomic<std::size_t> used_{0};  ///< slots below this may be occupied
    std::atomic<std::uint64_t> generation_;
    std::mutex writers_;
};

}  // namespace spead::memory
