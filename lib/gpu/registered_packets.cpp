// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/registered_packets.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace spead::gpu {

void RegisteredPackets::add(const ContextPointer& context, std::span<const std::byte> memory) {
    const auto at = std::bit_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t end = (at + memory.size() + kPage - 1) / kPage * kPage;
    const std::lock_guard lock(mutex_);
    for (std::uintptr_t next = at / kPage * kPage; next < end;) {
        // The first stretch that does not end before.
        const auto known = std::ranges::upper_bound(stretches_, next, {}, &Stretch::end);
        if (known != stretches_.end() && known->begin <= next) {
            next = known->end;
            continue;
        }
        const std::uintptr_t until = known == stretches_.end() ? end : std::min(end, known->begin);
        registered_.push_back(
            std::make_unique<Registered>(context, std::bit_cast<void*>(next), until - next));
        stretches_.insert(known, {next, until});
        next = until;
    }
    join_neighbours();
}

void RegisteredPackets::add_of_gpu(std::span<const std::byte> memory) {
    const auto begin = std::bit_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t end = begin + memory.size();
    const std::lock_guard lock(mutex_);
    // That of a port which was closed may have had the same addresses, or some of them.
    std::erase_if(stretches_, [&](const Stretch& s) { return s.begin >= begin && s.end <= end; });
    const auto after = std::ranges::upper_bound(stretches_, begin, {}, &Stretch::begin);
    stretches_.insert(after, {begin, end});
    join_neighbours();
}

void RegisteredPackets::join_neighbours() {
    std::vector<Stretch> joined;
    for (const Stretch& one : stretches_)
        if (!joined.empty() && one.begin <= joined.back().end)
            joined.back().end = std::max(joined.back().end, one.end);
        else
            joined.push_back(one);
    stretches_ = std::move(joined);
}

void RegisteredPackets::clear() noexcept {
    const std::lock_guard lock(mutex_);
    stretches_.clear();
    registered_.clear();
}

bool RegisteredPackets::has(const std::byte* from, std::size_t length) {
    const auto begin = std::bit_cast<std::uintptr_t>(from);
    if (in_last(begin, length)) [[likely]]
        return true;
    const std::lock_guard lock(mutex_);
    const auto after = std::ranges::upper_bound(stretches_, begin, {}, &Stretch::begin);
    if (after == stretches_.begin())
        return false;
    last_ = *(after - 1);
    return in_last(begin, length);
}

}  // namespace spead::gpu
