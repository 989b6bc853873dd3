// SPDX-License-Identifier: BSD-3-Clause
#include "recv/late_copies.hpp"

#include <algorithm>

namespace spead::recv {

namespace {

/// Returns the age of what came `then`. Packets that had to wait come with the time of before.
std::uint64_t age(std::uint64_t then, std::uint64_t now) noexcept {
    return now > then ? now - then : 0;
}

}  // namespace

LateCopies::LateCopies(std::uint64_t kept) : sets_(kept == 0 ? 0 : kSets), kept_(kept) {
    if (kept == 0)
        mask_ = UINT64_MAX;
}

/// Returns the entry of a packet that came no longer ago than packets are kept, or null.
LateCopies::Entry* LateCopies::find(std::uint64_t mark, std::uint64_t ticks) noexcept {
    for (Entry& e : sets_[mark % kSets])
        if (e.mark == mark && e.paths != 0)
            return age(e.ticks, ticks) <= kept_ ? &e : nullptr;
    return nullptr;
}

void LateCopies::note_placed(std::size_t path, std::uint64_t mark, std::uint64_t ticks) noexcept {
    if (sets_.empty())
        return;
    Entry* const e = find(mark, ticks);
    const auto bit = static_cast<std::uint8_t>(1U << path);
    if (e == nullptr) {
        enter(path, mark, ticks);
        return;
    }
    if ((e->paths & bit) != 0) {
        // Its sender began anew with the heap counts of before.
        *e = {mark, ticks, bit, static_cast<std::uint8_t>(level_)};
        return;
    }
    // Of the packets of an earlier level, fewer were entered.
    e->counted_level = std::max(e->level, static_cast<std::uint8_t>(level_));
    e->counted_path = static_cast<std::uint8_t>(path);
    e->paths |= bit;
    counts_[path] += std::uint64_t{1} << e->counted_level;
    longest_[path] = std::max(longest_[path], age(e->ticks, ticks));
}

void LateCopies::note_again(std::size_t path, std::uint64_t mark, std::uint64_t ticks) noexcept {
    if (sets_.empty())
        return;
    Entry* const e = find(mark, ticks);
    if (e == nullptr)
        return;
    e->paths |= static_cast<std::uint8_t>(1U << path);
    if (e->counted_path == kNotCounted || e->counted_path == path)
        return;
    // The path that had brought it brings it again: its sender began anew, and the counted packet was the
    // first of the new ones.
    counts_[e->counted_path] -= std::uint64_t{1} << e->counted_level;
    e->counted_path = kNotCounted;
    e->ticks = ticks;
}

bool LateCopies::is_free(const Entry& e, std::uint64_t ticks) const noexcept {
    return e.paths == 0 || age(e.ticks, ticks) > kept_ || !is_sampled(e.mark);
}

/// Enters a packet, in place of the oldest one of its set if none is free. A packet that is lost before its
/// time means that too many are sampled.
void LateCopies::enter(std::size_t path, std::uint64_t mark, std::uint64_t ticks) noexcept {
    Entry* place = nullptr;
    for (Entry& e : sets_[mark % kSets]) {
        if (is_free(e, ticks)) {
            place = &e;
            break;
        }
        if (place == nullptr || e.ticks < place->ticks)
            place = &e;
    }
    const bool is_lost = !is_free(*place, ticks);
    *place = {mark, ticks, static_cast<std::uint8_t>(1U << path), static_cast<std::uint8_t>(level_)};
    if (is_lost && level_ < kMostLevel)
        set_level(level_ + 1, ticks);
}

void LateCopies::set_level(unsigned level, std::uint64_t ticks) noexcept {
    level_ = level;
    level_at_ = ticks;
    mask_ = ((std::uint64_t{1} << level) - 1) << kShift;
}

void LateCopies::look(std::uint64_t ticks) noexcept {
    if (level_ != 0 && age(level_at_, ticks) > kept_)
        set_level(level_ - 1, ticks);
}

}  // namespace spead::recv
