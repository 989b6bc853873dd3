// SPDX-License-Identifier: BSD-3-Clause
#include "recv/path_record.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "heap/secret.hpp"

namespace spead::recv {

namespace {

/// Holds the bits of Entry::time_and_paths that are the paths.
constexpr unsigned kPathBits = stats::kMaxPaths;
constexpr std::uint32_t kTimeMask = UINT32_MAX >> kPathBits;
/// Holds the units of time in the least that a path may be behind.
constexpr std::uint64_t kUnits = 256;
/// Says how many times as long as a path may be behind it is silent.
constexpr std::uint64_t kSilent = 4;

}  // namespace

PathRecord::PathRecord(std::uint64_t behind, std::uint64_t kept)
    : late_copies_(kept),
      sets_(kSets),
      secret_(heap::hash_secret()),
      behind_(std::max<std::uint64_t>(behind, 1)),
      shift_(static_cast<unsigned>(std::bit_width(behind_ / kUnits))),
      limit_(static_cast<std::uint32_t>((behind_ >> shift_) + 1)) {}

std::uint64_t PathRecord::mark_of(const Packet& packet) const noexcept {
    std::uint64_t mark = packet.heap * secret_;
    mark ^= mark >> 32;
    mark = (mark + packet.offset) * 0x9E3779B97F4A7C15;
    mark ^= mark >> 29;
    mark = (mark + packet.length) * 0xBF58476D1CE4E5B9;
    return mark ^ mark >> 32;
}

std::uint32_t PathRecord::time_of(std::uint64_t ticks) const noexcept {
    return static_cast<std::uint32_t>(ticks >> shift_) & kTimeMask;
}

/// Returns the latest entry of the packet that is not too old, or null.
PathRecord::Entry* PathRecord::find(std::uint64_t mark, std::uint32_t time) noexcept {
    Set& set = sets_[mark % kSets];
    const unsigned next = next_[mark % kSets];
    for (unsigned i = 1; i <= kWays; i++) {
        Entry& e = set.entries[(next + kWays - i) % kWays];
        if (e.mark != mark || e.time_and_paths == 0)
            continue;
        const std::uint32_t age = (time - (e.time_and_paths >> kPathBits)) & kTimeMask;
        return age <= limit_ ? &e : nullptr;
    }
    return nullptr;
}

void PathRecord::enter(std::uint64_t mark, std::uint64_t number, std::uint32_t time,
                       std::uint32_t path) noexcept {
    std::uint8_t& next = next_[mark % kSets];
    sets_[mark % kSets].entries[next] = {mark, static_cast<std::uint32_t>(number),
                                         time << kPathBits | std::uint32_t{1} << path};
    next = static_cast<std::uint8_t>((next + 1) % kWays);
}

void PathRecord::begin(Path& path, std::uint64_t before, std::uint64_t ticks) noexcept {
    path.began = true;
    path.since = ticks;
    path.before = path.front = path.old = before;
}

void PathRecord::brought(std::size_t path, const Packet& packet, Now now) noexcept {
    Path& by = of_[path];
    if (!by.began) [[unlikely]]
        begin(by, now.unique - 1, now.ticks);
    by.front = std::max(by.front, now.unique);
    Path& other = of_[1 - path];
    if (other.began && now.ticks - other.since <= behind_) [[unlikely]]
        other.excused++;
    const std::uint64_t mark = mark_of(packet);
    enter(mark, now.unique, time_of(now.ticks), static_cast<std::uint32_t>(path));
    late_copies_.placed(path, mark, now.ticks);
}

bool PathRecord::again(std::size_t path, const Packet& packet, Now now) noexcept {
    const By who = known(path, packet, now);
    if (who == By::nobody) {
        Path& by = of_[path];
        if (!by.began)
            begin(by, now.unique, now.ticks);
        enter(mark_of(packet), by.front, time_of(now.ticks), static_cast<std::uint32_t>(path));
    }
    return who == By::itself;
}

PathRecord::By PathRecord::known(std::size_t path, const Packet& packet, Now now) noexcept {
    Path& by = of_[path];
    const std::uint32_t time = time_of(now.ticks);
    const std::uint64_t mark = mark_of(packet);
    late_copies_.again(path, mark, now.ticks);
    Entry* const e = find(mark, time);
    if (e == nullptr)
        return By::nobody;
    const auto since = static_cast<std::int32_t>(static_cast<std::uint32_t>(now.unique) - e->number);
    const std::uint64_t number = now.unique - static_cast<std::uint64_t>(std::int64_t{since});
    if (!by.began)
        begin(by, number - 1, now.ticks);
    by.front = std::max(by.front, number);
    const std::uint32_t bit = std::uint32_t{1} << path;
    if ((e->time_and_paths & bit) != 0)
        return By::itself;
    by.behind_now = std::max(by.behind_now, by.front - number);
    const std::uint32_t after_first = (e->time_and_paths >> kPathBits) - time_of(by.since);
    if (by.excused != 0 && (after_first & kTimeMask) <= limit_) [[unlikely]]
        by.excused--;
    const std::uint32_t paths = e->time_and_paths & ((std::uint32_t{1} << kPathBits) - 1);
    e->time_and_paths = time << kPathBits | paths | bit;
    return By::other;
}

/// Returns the packets that the path has not brought, and may be as late with as it was of late.
std::uint64_t PathRecord::on_their_way(std::size_t path) const noexcept {
    const Path& p = of_[path];
    const std::uint64_t behind = std::max(p.behind_now, p.behind_before);
    const std::uint64_t since = std::max(p.front - std::min(behind, p.front - p.before), p.old);
    if (since >= p.front)
        return 0;
    std::uint64_t all = 0;
    for (const Set& set : sets_)
        for (const Entry& e : set.entries) {
            const std::uint32_t place = e.number - static_cast<std::uint32_t>(since) - 1;
            const std::uint32_t after_first = (e.time_and_paths >> kPathBits) - time_of(p.since);
            all += (e.time_and_paths >> path & 1) == 0 && e.time_and_paths != 0 && place < p.front - since &&
                   (after_first & kTimeMask) > limit_;  // else it is excused
        }
    return all;
}

std::uint64_t PathRecord::passed(std::size_t path) const noexcept {
    const Path& p = of_[path];
    const std::uint64_t all = p.front - p.before;
    const std::uint64_t excepted = p.excused + on_their_way(path);
    return all > excepted ? all - excepted : 0;
}

std::uint64_t PathRecord::awaited(std::size_t path, std::uint64_t unique) const noexcept {
    const Path& p = of_[path];
    if (resting_ == 1 - path)
        return 0;  // it is the only one, and notes nothing
    const std::uint64_t known = std::min(unique, std::max(p.front, p.old));
    // Those that came soon after its first one are as recent as that, until a look later.
    const std::uint64_t excused = p.old == p.before ? p.excused : 0;
    return unique - known + excused + on_their_way(path);
}

bool PathRecord::is_alone(std::size_t path, const Packets& packets) noexcept {
    if (is_awake())
        return false;
    const std::size_t other = 1 - path;
    if (resting_ == other && packets[other] == of_[other].packets)
        return true;
    resting_ = kNone;
    return false;
}

void PathRecord::look(const Packets& packets, Now now) noexcept {
    late_copies_.look(now.ticks);
    for (std::size_t i = 0; i < of_.size(); i++) {
        Path& path = of_[i];
        if (packets[i] != path.packets || !looked_) {
            // Its first packets may have come while the record rested.
            if (!path.began && packets[i] != 0)
                begin(path, now.unique - std::min(now.unique, packets[i]), now.ticks);
            path.packets = packets[i];
            path.heard = now.ticks;
            path.others_then = packets[1 - i];
        }
    }
    const auto silent = [&](std::size_t i) {
        return now.ticks - of_[i].heard > kSilent * behind_ && packets[1 - i] > of_[i].others_then + kBusy;
    };
    resting_ = silent(0) ? 0 : silent(1) ? 1 : kNone;
    if (!looked_ || now.ticks - older_.ticks > behind_) {
        for (Path& path : of_) {
            path.behind_before = std::exchange(path.behind_now, 0);
            if (!looked_)
                continue;
            path.old = std::max(path.old, older_.unique);
            if (path.began)
                path.front = std::max(path.front, path.old);
        }
        older_ = now;
    }
    looked_ = true;
}

}  // namespace spead::recv
