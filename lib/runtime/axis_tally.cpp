// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/axis_tally.hpp"

#include <algorithm>
#include <cstring>

namespace spead::runtime {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

/// Returns a number that no other axis of the process has.
std::uint64_t next_axis_number() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, kRelaxed) + 1;
}

/// Returns whether no part of the heap arrived.
bool is_absent(const chunk::Chunk& chunk, std::uint64_t heap) {
    const std::uint64_t parts = chunk.parts_per_heap;
    if (parts == 1 || (heap + 1) * parts > chunk.parts.size())
        return true;
    return std::memchr(chunk.parts.data() + heap * parts, 1, parts) == nullptr;
}

}  // namespace

AxisTally::AxisTally(const chunk::Placement& placement) {
    const chunk::Layout layout = placement.check();
    packets_per_heap_ = layout.packets_per_heap;
    for (const chunk::Axis& a : placement.axes) {
        Axis& axis = axes_.emplace_back();
        axis.name = a.name;
        axis.count = a.count;
        axis.each = layout.heaps / a.count;
        // The picture of presence shows times; a place of theirs is another time in each chunk.
        if (a.is_time || a.count == 1)
            continue;
        constexpr std::uint64_t most = stats::AxisPresence::kMostEntries;
        axis.number = next_axis_number();
        axis.width = (axis.count + most - 1) / most;
        const std::uint64_t entries = (axis.count + axis.width - 1) / axis.width;
        axis.entries = std::vector<Entry>(entries);
        axis.now.resize(entries);
        axis.absent.resize(entries);
    }
}

/// Notes a missing heap of the chunk at hand.
void AxisTally::note(std::uint64_t heap, bool is_absent) noexcept {
    for (std::size_t i = axes_.size(); i-- > 0;) {
        Axis& axis = axes_[i];
        const std::uint64_t place = heap % axis.count;
        heap /= axis.count;
        if (axis.now.empty())
            continue;
        axis.now[place / axis.width]++;
        axis.absent[place / axis.width] += is_absent ? 1 : 0;
    }
}

/// Adds what was noted to the counts of an axis.
void AxisTally::count(Axis& axis) noexcept {
    for (std::size_t i = 0; i < axis.entries.size(); i++) {
        Entry& entry = axis.entries[i];
        const std::uint64_t places = std::min(axis.count, (i + 1) * axis.width) - i * axis.width;
        const bool nothing = axis.absent[i] == places * axis.each;
        entry.nothing.store(nothing ? entry.nothing.load(kRelaxed) + 1 : 0, kRelaxed);
        entry.missing.fetch_add(axis.now[i], std::memory_order_release);
        axis.now[i] = axis.absent[i] = 0;
    }
}

void AxisTally::add(const chunk::Chunk& chunk) noexcept {
    if (chunk.cut || axes_.empty())
        return;
    chunks_.fetch_add(1, kRelaxed);
    if (!chunk.complete() && !chunk.present.empty()) {
        const std::uint8_t* const begin = chunk.present.data();
        const std::uint8_t* const end = begin + chunk.present.size();
        for (const std::uint8_t* at = begin; at < end;) {
            const auto* const gap =
                static_cast<const std::uint8_t*>(std::memchr(at, 0, static_cast<std::size_t>(end - at)));
            if (gap == nullptr)
                break;
            const std::size_t heap = static_cast<std::size_t>(gap - begin) / packets_per_heap_;
            note(heap, is_absent(chunk, heap));
            at = begin + (heap + 1) * packets_per_heap_;
        }
    }
    // After a complete chunk, another one changes nothing.
    if (!chunk.complete() || any_missing_)
        for (Axis& axis : axes_)
            count(axis);
    any_missing_ = !chunk.complete();
}

std::vector<stats::AxisPresence> AxisTally::tell() const {
    std::vector<stats::AxisPresence> all;
    for (const Axis& axis : axes_) {
        if (axis.entries.empty())
            continue;
        stats::AxisPresence& p = all.emplace_back();
        p.name = axis.name;
        p.number = axis.number;
        p.places = axis.count;
        p.width = axis.width;
        p.each = axis.each;
        for (const Entry& e : axis.entries)
            p.entries.push_back({e.missing.load(std::memory_order_acquire), e.nothing.load(kRelaxed)});
        // After the heaps that are missing in them.
        p.chunks = p.all_chunks = chunks_.load(kRelaxed);
    }
    return all;
}

}  // namespace spead::runtime
