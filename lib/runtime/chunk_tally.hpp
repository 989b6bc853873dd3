// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "chunk/chunk.hpp"
#include "chunk/placement.hpp"
#include "runtime/axis_tally.hpp"
#include "stats/chunk_counts.hpp"

namespace spead::runtime {

/// Counts what became of the chunks that one stream's lcores handed over. One thread at a time writes; any
/// thread reads.
class ChunkTally {
  public:
    /// Counts what is missing in chunks of this placement, too. Before the first one.
    void expect(const chunk::Placement& placement) {
        heap_bytes_ = placement.heap_bytes;
        axes_ = std::make_unique<AxisTally>(placement);
    }
    /// Notes that a consumer has taken the chunk. `most_ids` limits the distance from the chunk before it at
    /// which the length of a chunk is known: more is a jump.
    void take(const chunk::Chunk& chunk, std::int64_t most_ids) noexcept {
        add(packets_, chunk.packets);
        add(complete_, chunk.complete() ? 1 : 0);
        add(heaps_expected_, chunk.heaps_expected);
        add(heaps_present_, chunk.heaps_present);
        add(doubled_, chunk.doubled);
        count_missing(chunk);
        const std::int64_t ids = chunk.id - last_id_;
        if (last_id_ >= 0 && ids > 0 && ids <= most_ids && chunk.handed_over > last_handed_over_) {
            add(spanned_ids_, static_cast<std::uint64_t>(ids));
            add(spanned_ticks_, chunk.handed_over - last_handed_over_);
        }
        last_id_ = chunk.id;
        last_handed_over_ = chunk.handed_over;
        add(taken_, 1);
        if (chunk.broken.load(std::memory_order_relaxed))
            add(device_error_, 1);
    }
    /// Notes the consumer's answer. Any thread.
    void deliver(bool kept) noexcept { add(kept ? delivered_ : unwritten_, 1); }
    /// Notes that a chunk was given back that the consumer had for so long. Any thread.
    void give_back(std::uint64_t ns) noexcept {
        add(ns_, ns);
        add(finished_, 1);
    }

    std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_acquire); }
    std::uint64_t finished() const noexcept { return finished_.load(std::memory_order_acquire); }
    /// Fills in its counts, later steps of a chunk's way first. `hz`: ticks in a second.
    void tell(stats::ChunkCounts& to, double hz) const noexcept {
        const auto load = [](const Count& count) { return count.load(std::memory_order_acquire); };
        to.delivered = load(delivered_);
        to.unwritten = load(unwritten_);
        to.device_error = load(device_error_);
        to.consumed_ns = load(ns_);
        to.taken = load(taken_);
        to.packets = load(packets_);
        to.spanned_ids = load(spanned_ids_);
        if (hz > 0)
            to.spanned_ns = static_cast<std::uint64_t>(static_cast<double>(load(spanned_ticks_)) * 1e9 / hz);
        to.complete = load(complete_);
        to.heaps_missing = load(heaps_missing_);
        to.heaps_cut = load(heaps_cut_);
        to.heaps_device_error = load(heaps_device_error_);
        to.missing_bytes = load(missing_bytes_);
        to.missing_packets = load(missing_packets_);
        to.heaps_present = load(heaps_present_);
        to.heaps_expected = load(heaps_expected_);
        to.doubled = load(doubled_);
    }

    /// Returns the presence by axis; nothing without expect(). Any thread.
    std::vector<stats::AxisPresence> axes() const {
        return axes_ ? axes_->tell() : std::vector<stats::AxisPresence>();
    }

  private:
    using Count = std::atomic<std::uint64_t>;
    static void add(Count& count, std::uint64_t n) noexcept { count.fetch_add(n, std::memory_order_release); }

    void count_missing(const chunk::Chunk& chunk) noexcept {
        const std::uint64_t heaps = chunk.heaps_expected - chunk.heaps_present;
        if (chunk.broken.load(std::memory_order_relaxed)) {
            add(heaps_device_error_, heaps);
            return;
        }
        add(chunk.cut ? heaps_cut_ : heaps_missing_, heaps);
        if (axes_)
            axes_->add(chunk);
        const std::uint64_t expected = chunk.heaps_expected * heap_bytes_;
        if (chunk.cut || heaps == 0 || chunk.bytes >= expected)
            return;
        const std::uint64_t missing = expected - chunk.bytes;
        const std::uint64_t packet = chunk.packets == 0 ? heap_bytes_ : chunk.bytes / chunk.packets;
        add(missing_bytes_, missing);
        add(missing_packets_, (missing + packet - 1) / std::max<std::uint64_t>(packet, 1));
    }

    std::uint64_t heap_bytes_ = 0;     ///< 0: unknown
    std::unique_ptr<AxisTally> axes_;  ///< null: unknown
    Count heaps_missing_{0};
    Count heaps_cut_{0};
    Count heaps_device_error_{0};
    Count device_error_{0};
    Count missing_bytes_{0};
    Count missing_packets_{0};
    Count taken_{0};
    Count delivered_{0};
    Count unwritten_{0};
    Count finished_{0};
    Count complete_{0};
    Count heaps_present_{0};
    Count heaps_expected_{0};
    Count doubled_{0};
    Count packets_{0};
    Count ns_{0};
    Count spanned_ids_{0};
    Count spanned_ticks_{0};
    std::int64_t last_id_ = -1;
    std::uint64_t last_handed_over_ = 0;
};

}  // namespace spead::runtime
