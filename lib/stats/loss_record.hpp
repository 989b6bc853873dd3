// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stats/losses.hpp"
#include "stats/snapshot.hpp"

namespace spead::stats {

/// Collects the circumstances of losses of packets and heaps, from detailed snapshots of one run that count
/// from its start. A loss is explained by the interval in which it happened: an lcore that was off its CPU
/// for three seconds of an hour was idle over the hour. Pure; control code, one thread.
class LossRecord {
  public:
    /// Takes the next snapshot, and writes into it all evidence that was collected so far.
    void observe(Snapshot& now);
    /// Takes a snapshot after a change of the named streams, or of their ports. Losses of the meantime are
    /// explained as most were before: queues may have changed.
    void settle(Snapshot& now, const std::vector<std::string>& changed = {});
    /// Takes a snapshot between two others, which need not be detailed. Writes the heaps that a change has
    /// cut into it.
    void follow(Snapshot& now);

  private:
    struct PortCounts {
        std::uint64_t missed = 0;
        std::uint64_t at_start = 0;
        std::uint64_t bursts = 0;
        std::uint64_t full_bursts = 0;
        std::uint64_t gather_full = 0;
        std::uint64_t unmatched = 0;
        MissedWhile evidence;
    };
    /// Holds the time in which heaps end that were cut in two.
    struct Settling {
        double until_s = -1;              ///< before every look: nothing was cut
        std::uint64_t until_started = 0;  ///< ... and until so many heaps have begun
        std::uint64_t until_opened = 0;   ///< ... and until so many chunks were opened

        bool holds(double seconds, std::uint64_t started, std::uint64_t opened) const noexcept {
            return seconds <= until_s || started < until_started || opened < until_opened;
        }
    };
    /// Holds the counts of heaps at a look, and the time in which those end that were cut before it.
    struct Cutting {
        Settling settling;
        double seen_s = 0;
        std::uint64_t started = 0;
        std::uint64_t opened = 0;
        std::uint64_t incomplete = 0;
        std::uint64_t in_cut_chunks = 0;
        std::uint64_t without_item = 0;  ///< packets
        /// Holds what a change may have cut until then: these are no heaps and packets of a join.
        std::uint64_t by_change = 0;
        std::uint64_t without_item_by_change = 0;

        bool holds() const noexcept { return settling.holds(seen_s, started, opened); }
        void look(const StreamSnapshot& s, double seconds) noexcept;
    };
    /// Holds what is known of streams that fill the chunks of another one, and began later than these.
    struct GroupJoins {
        struct Heaps {
            std::uint64_t expected = 0, missing = 0;
        };
        Settling settling;
        std::uint32_t newest = 0;  ///< number of the stream that was added last
        std::uint64_t late = 0;    ///< endpoints of those that began while the latest settling held
        std::uint64_t begun = 0;   ///< endpoints with packets
        std::uint64_t former = 0;  ///< heaps of those that began before
        std::uint64_t most = 0;    ///< endpoints of all at once, at most
        Heaps complete;            ///< when all of those were there last
        Heaps before;              ///< before those that are late were missed
    };
    struct StreamCounts {
        std::uint64_t dropped_full = 0;
        std::uint64_t no_memory = 0;
        std::uint64_t endpoints = 0;  ///< with packets
        std::uint64_t first = 0;      ///< of them: those whose first packets have been seen
        std::uint64_t live = 0;
        std::uint64_t received = 0;
        std::uint64_t unmatched = 0;     ///< packets of its ports since the look before
        double changed_s = -1;           ///< at the last change
        Cutting joins;                   ///< at the last detailed look
        Cutting change;                  ///< at the last look
        std::uint64_t under_way = 0;     ///< heaps at the last change that have not stayed incomplete since
        std::uint64_t halves = 0;        ///< heaps that may have been under way at all changes
        std::uint64_t without_item = 0;  ///< packets soon after changes
        std::uint64_t joined_without_item = 0;  ///< packets soon after the first ones of endpoints, otherwise
        std::uint64_t senders = 0;              ///< the most that were known at a time
        GroupJoins group;
        CutAtStart cut;
        DroppedWhile dropped;
        double full_s = 0;  ///< since the last loss, as the next
        double room_s = 0;
        std::uint64_t of_spell = 0;  ///< heaps lost since losses began; 0: they have ended
        NoMemoryWhile memory;
    };

    std::vector<LcoreSnapshot> interval_of(const Snapshot& now);
    void look_at_unmatched(const Snapshot& now);
    static std::uint64_t new_missed(PortCounts& before, const PortSnapshot& p);
    void observe_port(PortSnapshot& now, const std::vector<LcoreSnapshot>& interval, double ticks_per_second);
    void observe_stream(StreamSnapshot& now, double seconds);
    static void observe_spell(StreamCounts& before, std::uint64_t dropped, bool full, double seconds);
    static void observe_joins(StreamCounts& before, StreamSnapshot& now, double seconds);
    static void count_joins(StreamCounts& before, StreamSnapshot& now, double seconds);
    static void count_group_joins(StreamCounts& before, StreamSnapshot& s, const Snapshot& now);
    static void note_senders(StreamCounts& before, const StreamSnapshot& s, const Snapshot& now);
    static void observe_change(StreamCounts& before, StreamSnapshot& now, double seconds);
    static Settling settling(const StreamSnapshot& s, double seconds);
    static bool is_changed(const StreamSnapshot& s, const Snapshot& now,
                           const std::vector<std::string>& changed);

    std::map<std::string, PortCounts> ports_;
    std::map<std::uint32_t, StreamCounts> streams_;  ///< by number
    std::map<unsigned, LcoreCounters> lcores_;
    double seen_s_ = 0;
};

/// Adds `packets` that port `p` missed in an interval to the evidence. `p` counts the interval's bursts and
/// polls that an engine kept from them, and
/// `lcores` the interval's cycles; their longest_loop is the longest in it.
void explain_missed(MissedWhile& evidence, std::uint64_t packets, const PortSnapshot& p,
                    const std::vector<LcoreSnapshot>& lcores, double ticks_per_second);
/// Adds heaps and packets of stream `s` likewise; `queue_most` were queued at most in the interval.
void explain_dropped(DroppedWhile& evidence, std::uint64_t heaps, std::uint64_t queue_capacity,
                     std::uint64_t queue_most);
void explain_no_memory(NoMemoryWhile& evidence, std::uint64_t packets, std::uint64_t queue_capacity,
                       std::uint64_t queue_most);

}  // namespace spead::stats
