// SPDX-License-Identifier: BSD-3-Clause
#include "memory/region.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "base/error.hpp"

namespace spead::memory {
namespace {

std::uintptr_t address(const void* p) {
    return std::bit_cast<std::uintptr_t>(p);
}

std::string range(std::uintptr_t begin, std::uintptr_t end) {
    return fmt::format("[{:#x}, {:#x}) ({} bytes)", begin, end, end - begin);
}

/// Returns a new generation. No two tables share one: a result of a former table is stale for another at its
/// address.
std::uint64_t next_generation() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

RegionTable::RegionTable() noexcept : generation_(next_generation()) {
    pages_[0].store(&first_, std::memory_order_relaxed);
}

RegionTable::~RegionTable() {
    for (std::size_t i = 1; i < pages_.size(); ++i)
        delete pages_[i].load(std::memory_order_relaxed);
}

RegionTable::Slot& RegionTable::slot(std::size_t index) const noexcept {
    // Readers learn of an index from used_, which is written after the page.
    return (*pages_[index / kPageSlots].load(std::memory_order_relaxed))[index % kPageSlots];
}

bool RegionTable::read(std::size_t index, View& out) const noexcept {
    const Slot& slot = this->slot(index);
    const std::uint64_t version = slot.version.load(std::memory_order_acquire);
    if ((version & 1) != 0)
        return false;
    out.begin = slot.begin.load(std::memory_order_relaxed);
    out.end = slot.end.load(std::memory_order_relaxed);
    out.cpu_accessible = slot.cpu_accessible.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    return slot.version.load(std::memory_order_relaxed) == version;
}

void RegionTable::add(const Region& region) {
    const std::lock_guard lock(writers_);
    const std::uintptr_t begin = address(region.base);
    if (region.base == nullptr || region.length == 0)
        throw Error(fmt::format("memory region at {:#x} of {} bytes is empty: give its base and length",
                                begin, region.length));
    if (region.length > std::numeric_limits<std::uintptr_t>::max() - begin)
        throw Error(fmt::format("memory region at {:#x} of {} bytes runs past the end of the address space",
                                begin, region.length));
    const std::uintptr_t end = begin + region.length;

    const std::size_t used = used_.load(std::memory_order_relaxed);
    std::size_t free = used;
    for (std::size_t i = used; i-- > 0;) {
        View other;
        if (!read(i, other)) {
            free = i;
            continue;
        }
        if (begin < other.end && other.begin < end)
            throw Error(fmt::format("memory region {} overlaps the region {}, which was added before",
                                    range(begin, end), range(other.begin, other.end)));
    }
    if (free == kMaxRegions)
        throw Error(
            fmt::format("memory region {} cannot be added: there are {} already; join neighbouring regions",
                        range(begin, end), kMaxRegions));

    std::atomic<Page*>& page = pages_[free / kPageSlots];
    if (page.load(std::memory_order_relaxed) == nullptr)
        page.store(std::make_unique<Page>().release(), std::memory_order_relaxed);
    Slot& slot = this->slot(free);
    slot.begin.store(begin, std::memory_order_relaxed);
    slot.end.store(end, std::memory_order_relaxed);
    slot.cpu_accessible.store(region.cpu_accessible(), std::memory_order_relaxed);
    slot.version.fetch_add(1, std::memory_order_release);
    used_.store(std::max(used, free + 1), std::memory_order_release);
    generation_.store(next_generation(), std::memory_order_release);
}

void RegionTable::remove(const std::byte* base) {
    const std::lock_guard lock(writers_);
    const std::size_t used = used_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < used; ++i) {
        View found;
        if (read(i, found) && found.begin == address(base)) {
            slot(i).version.fetch_add(1, std::memory_order_release);
            // The next writes into the slot must not be seen before the version.
            std::atomic_thread_fence(std::memory_order_seq_cst);
            generation_.store(next_generation(), std::memory_order_release);
            return;
        }
    }
    throw Error(fmt::format("no memory region starts at {:#x}: it was not added, or was removed before",
                            address(base)));
}

std::size_t RegionTable::size() const noexcept {
    std::size_t n = 0;
    const std::size_t used = used_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < used; ++i) {
        View view;
        n += read(i, view) ? 1 : 0;
    }
    return n;
}

bool RegionTable::contains(const void* data, std::size_t length, Cache& cache) const noexcept {
    const std::uintptr_t begin = address(data);
    const auto inside = [&](std::size_t index) {
        View view;
        return read(index, view) && begin >= view.begin && begin < view.end && length <= view.end - begin;
    };
    const std::size_t used = used_.load(std::memory_order_acquire);
    if (cache < used && inside(cache)) [[likely]]
        return true;
    for (std::size_t i = 0; i < used; ++i) {
        if (inside(i)) {
            cache = i;
            return true;
        }
    }
    return false;
}

RegionTable::Run RegionTable::run(const void* data, std::size_t length, Cache& cache) const noexcept {
    const std::uintptr_t begin = address(data);
    std::size_t outside = length;
    const std::size_t used = used_.load(std::memory_order_acquire);
    View hit;
    if (cache < used && read(cache, hit) && begin >= hit.begin && begin < hit.end) [[likely]]
        return {std::min<std::size_t>(length, hit.end - begin), true, hit.cpu_accessible};
    for (std::size_t i = 0; i < used; ++i) {
        View view;
        if (!read(i, view) || view.end <= begin)
            continue;
        if (view.begin <= begin) {
            cache = i;
            return {std::min<std::size_t>(length, view.end - begin), true, view.cpu_accessible};
        }
        outside = std::min<std::size_t>(outside, view.begin - begin);
    }
    return {outside, false, true};
}

}  // namespace spead::memory
