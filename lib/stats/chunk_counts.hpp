// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace spead::stats {

/// Counts the chunks of a stream, of all its lcores together. Plain data.
struct ChunkCounts {
    std::uint64_t opened = 0;
    std::uint64_t handed_over = 0;     ///< left the window for the consumer
    std::uint64_t timed_out = 0;       ///< of those handed over
    std::uint64_t short_of = 0;        ///< chunks that were wanted while none was free
    std::uint64_t skipped = 0;         ///< ids that left the window without a chunk
    std::uint64_t resyncs = 0;         ///< jumps of the time that were believed after a vote
    std::uint64_t out_waited = 0;      ///< times that patience ended (lossless)
    std::uint64_t taken = 0;           ///< by the consumer
    std::uint64_t delivered = 0;       ///< given to the sink
    std::uint64_t unwritten = 0;       ///< taken, and lost because the sink had failed
    std::uint64_t device_error = 0;    ///< taken, and lost because the engine that moves payload failed
    std::uint64_t complete = 0;        ///< of those taken
    std::uint64_t heaps_expected = 0;  ///< that those taken have room for
    std::uint64_t heaps_present = 0;   ///< in those taken
    std::uint64_t packets = 0;         ///< placed ones, in those taken
    std::uint64_t doubled = 0;         ///< packets that two lcores placed at the same time, in those taken
    // Of a user's place callback; all 0 with a declared placement.
    std::uint64_t callback_calls = 0;
    std::uint64_t callback_heaps = 0;     ///< that it was asked about
    std::uint64_t callback_cycles = 0;    ///< in it
    std::uint64_t callback_rejected = 0;  ///< heaps that it refused
    std::uint64_t callback_nonsense = 0;  ///< heaps that it put outside the chunk
    std::uint64_t heaps_late = 0;         ///< tracked heaps of which packets were late
    /// Holds the time that the sink had chunks.
    std::uint64_t consumed_ns = 0;
    // To know how long a chunk lasts:
    std::uint64_t spanned_ids = 0;  ///< from one taken chunk to the next, without jumps
    std::uint64_t spanned_ns = 0;   ///< from hand-over to hand-over of these
    /// Counts the heaps that chunks lack: those taken = present + missing + cut + device_error =
    /// expected.
    std::uint64_t heaps_missing = 0;
    std::uint64_t heaps_cut = 0;           ///< where the receiver began or ended, so they were never to come
    std::uint64_t heaps_device_error = 0;  ///< of chunks that were lost because the engine failed
    std::uint64_t heaps_skipped = 0;       ///< of skipped ids
    /// Counts what belongs to heaps_missing, and to missing packets of heaps that are there in part. Packets
    /// are an estimate.
    std::uint64_t missing_bytes = 0;
    std::uint64_t missing_packets = 0;
    std::uint64_t long_past = 0;  ///< packets that were late by more than max_jump chunks

    // Now.
    std::uint64_t buffers = 0;  ///< chunks of the stream; 0: it has heaps
    std::uint64_t buffer_bytes = 0;
    std::uint64_t free = 0;
    std::uint64_t open = 0;
    std::uint64_t waiting = 0;  ///< for the consumer
    std::uint64_t held = 0;     ///< by the consumer
    /// Counts the chunks that were open, or waiting, when the counters were cleared: their next steps are
    /// counted since.
    std::uint64_t carried_open = 0;
    std::uint64_t carried_waiting = 0;
    /// Says that no lcore fills chunks any more, and that the consumer has ended.
    bool at_rest = false;

    /// Returns whether the stream has chunks, or had some.
    bool any() const noexcept { return buffers != 0 || opened != 0; }
    /// Returns how many times as long as a chunk lasts the consumer takes for one; 0: unknown.
    double consumer_load() const noexcept {
        if (taken == 0 || spanned_ids == 0 || spanned_ns == 0)
            return 0;
        const double takes = static_cast<double>(consumed_ns) / static_cast<double>(taken);
        return takes / (static_cast<double>(spanned_ns) / static_cast<double>(spanned_ids));
    }

    /// Takes over what `now` says about the present, and not its counts.
    void set_state(const ChunkCounts& now) noexcept;
    void add(const ChunkCounts& other) noexcept;
    /// Subtracts earlier counts of the same stream.
    void take(const ChunkCounts& before) noexcept;
};

/// Names a count.
struct ChunkCount {
    std::string_view name;
    std::uint64_t ChunkCounts::*count;
};

/// Lists what is counted from the start of a run, in the order of docs/counters.md.
inline constexpr std::array kChunkCounts{
    ChunkCount{"opened", &ChunkCounts::opened},
    ChunkCount{"handed_over", &ChunkCounts::handed_over},
    ChunkCount{"timed_out", &ChunkCounts::timed_out},
    ChunkCount{"short_of", &ChunkCounts::short_of},
    ChunkCount{"skipped", &ChunkCounts::skipped},
    ChunkCount{"resyncs", &ChunkCounts::resyncs},
    ChunkCount{"out_waited", &ChunkCounts::out_waited},
    ChunkCount{"taken", &ChunkCounts::taken},
    ChunkCount{"delivered", &ChunkCounts::delivered},
    ChunkCount{"unwritten", &ChunkCounts::unwritten},
    ChunkCount{"device_error", &ChunkCounts::device_error},
    ChunkCount{"complete", &ChunkCounts::complete},
    ChunkCount{"heaps_expected", &ChunkCounts::heaps_expected},
    ChunkCount{"heaps_present", &ChunkCounts::heaps_present},
    ChunkCount{"packets", &ChunkCounts::packets},
    ChunkCount{"doubled", &ChunkCounts::doubled},
    ChunkCount{"callback_calls", &ChunkCounts::callback_calls},
    ChunkCount{"callback_heaps", &ChunkCounts::callback_heaps},
    ChunkCount{"callback_cycles", &ChunkCounts::callback_cycles},
    ChunkCount{"callback_rejected", &ChunkCounts::callback_rejected},
    ChunkCount{"callback_nonsense", &ChunkCounts::callback_nonsense},
    ChunkCount{"heaps_late", &ChunkCounts::heaps_late},
    ChunkCount{"consumed_ns", &ChunkCounts::consumed_ns},
    ChunkCount{"spanned_ids", &ChunkCounts::spanned_ids},
    ChunkCount{"spanned_ns", &ChunkCounts::spanned_ns},
    ChunkCount{"heaps_missing", &ChunkCounts::heaps_missing},
    ChunkCount{"heaps_cut", &ChunkCounts::heaps_cut},
    ChunkCount{"heaps_device_error", &ChunkCounts::heaps_device_error},
    ChunkCount{"heaps_skipped", &ChunkCounts::heaps_skipped},
    ChunkCount{"missing_bytes", &ChunkCounts::missing_bytes},
    ChunkCount{"missing_packets", &ChunkCounts::missing_packets},
    ChunkCount{"long_past", &ChunkCounts::long_past},
};

/// Lists what describes the present.
inline constexpr std::array kChunkStates{
    ChunkCount{"buffers", &ChunkCounts::buffers}, ChunkCount{"buffer_bytes", &ChunkCounts::buffer_bytes},
    ChunkCount{"free", &ChunkCounts::free},       ChunkCount{"open", &ChunkCounts::open},
    ChunkCount{"waiting", &ChunkCounts::waiting}, ChunkCount{"held", &ChunkCounts::held},
};

inline void ChunkCounts::set_state(const ChunkCounts& now) noexcept {
    for (const ChunkCount& c : kChunkStates)
        this->*c.count = now.*c.count;
    at_rest = now.at_rest;
}

inline void ChunkCounts::add(const ChunkCounts& other) noexcept {
    for (const ChunkCount& c : kChunkCounts)
        this->*c.count += other.*c.count;
}

inline void ChunkCounts::take(const ChunkCounts& before) noexcept {
    for (const ChunkCount& c : kChunkCounts)
        this->*c.count -= before.*c.count;
    // Counts of a run are read one by one.
    carried_open = before.opened - std::min(before.opened, before.handed_over);
    carried_waiting = before.handed_over - std::min(before.handed_over, before.taken);
    // Chunks that were open before are counted as handed over since.
    at_rest &= before.opened == 0;
}

}  // namespace spead::stats
