// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/resync.hpp"

#include <algorithm>

#include "chunk/elapsed.hpp"
#include "heap/secret.hpp"

namespace spead::chunk {

ActiveSources::ActiveSources(std::uint64_t second_ticks) noexcept
    : second_ticks_(std::max<std::uint64_t>(second_ticks, 1)), key_(heap::hash_secret()) {}

std::size_t ActiveSources::place_of(std::uint32_t source) const noexcept {
    return static_cast<std::size_t>((source * key_) >> 32) % kPlaces;
}

std::size_t ActiveSources::count(std::uint64_t now) const noexcept {
    const std::uint64_t second = now / second_ticks_ + 1;
    return static_cast<std::size_t>(std::count_if(seen_.begin(), seen_.end(), [second](const auto& seen) {
        const std::uint64_t at = seen.load(std::memory_order_relaxed);
        return at != 0 && at + 1 >= second;
    }));
}

bool Resync::vote(std::int64_t id, std::size_t place, std::size_t active, std::uint64_t now,
                  std::uint32_t packets) noexcept {
    const auto is_near = [&](const Candidate& c) {
        const auto distance = static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(c.id);
        return c.weight != 0 && (id >= c.id ? distance : 0 - distance) <= near_;
    };
    for (Candidate& c : candidates_)
        if (c.weight != 0 && elapsed(c.since, now) > second_)
            c.weight = 0;
    auto chosen = std::find_if(candidates_.begin(), candidates_.end(), is_near);
    if (chosen == candidates_.end()) {
        chosen = std::find_if(candidates_.begin(), candidates_.end(),
                              [](const Candidate& c) { return c.weight == 0; });
        if (chosen == candidates_.end()) {
            for (Candidate& c : candidates_)
                c.weight--;
            return false;
        }
        chosen->packets = 0;
        chosen->since = now;
        chosen->sources.reset();
    }
    // The stream goes on meanwhile: its latest packets say where it is.
    chosen->id = chosen->packets == 0 ? id : std::max(chosen->id, id);
    chosen->weight += packets;
    chosen->packets += packets;
    chosen->sources.set(place);
    const std::size_t sources = chosen->sources.count();
    if (chosen->packets < kPackets || sources * 2 < active || sources < std::min<std::size_t>(active, 2))
        return false;
    for (Candidate& c : candidates_)
        c.weight = 0;
    return true;
}

}  // namespace spead::chunk
