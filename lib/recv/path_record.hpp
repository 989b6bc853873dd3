// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "recv/late_copies.hpp"
#include "stats/counters.hpp"

namespace spead::recv {

/// Remembers which of two paths brought the latest packets of a lane. So a packet that one path brings twice
/// is told from the copy of the other path: neither brings anything new. It also knows how far each path has
/// come, so that packets on their way are not taken for lost ones.
///
/// It has room for kSets * kWays packets, and forgets them after the time that a path may be behind: a sender
/// may begin anew with the heap counts of before. Control code makes it; then it belongs to one lcore. It
/// rests while one path is silent and the other one is busy: the lane then calls brought() for no packet.
class PathRecord {
  public:
    static constexpr std::size_t kSets = 1024;
    static constexpr std::size_t kWays = 8;
    /// Holds the packets of a path, while the other one is silent, after which the record may rest.
    static constexpr std::uint64_t kBusy = 2048;

    /// Names a packet: by its heap's count, or by its place in memory. Its copy has the same.
    struct Packet {
        std::uint64_t heap;
        std::uint64_t offset;
        std::uint32_t length;
    };
    /// Holds the time, in ticks, and the packets that the lane got, each once, with the present one.
    struct Now {
        std::uint64_t ticks;
        std::uint64_t unique;
    };
    using Packets = std::array<std::uint64_t, stats::kMaxPaths>;

    /// Makes one for paths of which one may be so many ticks behind the other. It counts copies that come too
    /// late if they are no more than `kept` ticks behind; 0: it counts none.
    explicit PathRecord(std::uint64_t behind, std::uint64_t kept = 0);

    /// Notes a packet that the path brought first.
    void brought(std::size_t path, const Packet& packet, Now now) noexcept;
    /// Says who has brought a packet already, as far as the record knows.
    enum class By : std::uint8_t { nobody, other, itself };
    /// Notes that the path brought a packet which the record may know. Nothing is noted for `nobody`.
    By known(std::size_t path, const Packet& packet, Now now) noexcept;
    /// Notes a packet that brought nothing new. Returns whether the path had brought it itself.
    bool again(std::size_t path, const Packet& packet, Now now) noexcept;

    /// Returns whether brought() is to be called.
    bool is_awake() const noexcept { return resting_ == kNone; }
    /// Returns whether nothing has come by the other path for long. A packet without anything new comes from
    /// the path itself then, if its heap is a recent one. `packets`: those that each path has brought so far.
    /// Otherwise the record wakes.
    bool is_alone(std::size_t path, const Packets& packets) noexcept;
    /// Finds out which paths are silent. Call it every few milliseconds.
    void look(const Packets& packets, Now now) noexcept;

    /// Returns the packets that the path has passed: it has brought later ones, or they are older than a path
    /// may be behind. Those before its own first one do not count, nor those that may be on their way: it may
    /// lead with some endpoints of the stream, and be behind with others. For looks: it goes through all.
    std::uint64_t passed(std::size_t path) const noexcept;
    /// Returns the packets that came again so late that they were placed again.
    const LateCopies& late_copies() const noexcept { return late_copies_; }
    void forget_peaks() noexcept { late_copies_.forget_longest(); }
    /// Returns the packets, of the lane's `unique` ones, that the path has not brought and may yet bring: as
    /// many as it may be behind, and not fewer. For looks: it goes through all.
    std::uint64_t awaited(std::size_t path, std::uint64_t unique) const noexcept;

  private:
    static_assert(stats::kMaxPaths == 2);
    static constexpr std::size_t kNone = stats::kMaxPaths;

    struct Entry {
        std::uint64_t mark = 0;  ///< hash of the packet
        std::uint32_t number = 0;
        std::uint32_t time_and_paths = 0;  ///< time in units, then a bit for each path; 0: empty
    };
    struct alignas(64) Set {
        std::array<Entry, kWays> entries;
    };
    struct Path {
        bool began = false;
        std::uint64_t before = 0;  ///< unique packets before its first one
        std::uint64_t front = 0;   ///< unique packets up to its latest one
        std::uint64_t old = 0;     ///< unique packets that are older than a path may be behind
        /// Holds the most packets between its front and a copy that it brought, since the last look that
        /// replaced `older_`, and between the two looks before.
        std::uint64_t behind_now = 0;
        std::uint64_t behind_before = 0;
        std::uint64_t since = 0;  ///< ticks of its first one
        /// Counts packets that the other path alone brought soon after the first one: they may be older than
        /// that.
        std::uint64_t excused = 0;
        std::uint64_t packets = 0;
        std::uint64_t heard = 0;        ///< ticks, when it had brought another packet
        std::uint64_t others_then = 0;  ///< packets of the other path at that time
    };

    std::uint64_t mark_of(const Packet& packet) const noexcept;
    std::uint32_t time_of(std::uint64_t ticks) const noexcept;
    Entry* find(std::uint64_t mark, std::uint32_t time) noexcept;
    void enter(std::uint64_t mark, std::uint64_t number, std::uint32_t time, std::uint32_t path) noexcept;
    static void begin(Path& path, std::uint64_t before, std::uint64_t ticks) noexcept;
    std::uint64_t on_their_way(std::size_t path) const noexcept;

    LateCopies late_copies_;
    std::vector<Set> sets_;
    std::array<std::uint8_t, kSets> next_{};  ///< the entry that is overwritten next
    const std::uint64_t secret_;
    const std::uint64_t behind_;
    unsigned shift_;       ///< of ticks to units
    std::uint32_t limit_;  ///< units
    std::array<Path, stats::kMaxPaths> of_{};
    std::size_t resting_ = kNone;  ///< the silent path
    Now older_{};                  ///< a look at least `behind` before the next one that replaces it
    bool looked_ = false;
};

}  // namespace spead::recv
