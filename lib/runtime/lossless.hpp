// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/layout.hpp"
#include "runtime/plan.hpp"

/// Streams that may lose nothing, since their source can wait: what memory that takes.
namespace spead::runtime {

/// Whether the stream waits for its consumer rather than lose heaps: asked for, or chosen since the source
/// (`lossless`) loses nothing meanwhile.
constexpr bool waits_for_consumer(const ReceivePlan& r, bool lossless) {
    return r.on_full == OnFullSetting::block || (r.on_full == OnFullSetting::automatic && lossless);
}

/// Memory of one lcore, and its streams.
struct HeapMemory {
    std::size_t bytes = 0;                        ///< of its arena
    std::size_t largest = 0;                      ///< longest heap that the arena is cut for
    std::size_t streams = 1;                      ///< that share it
    std::span<const ReceivePlan* const> waiting;  ///< of them, those that may lose nothing
    bool own = false;                             ///< one stream's, by ReceivePlan::memory
};

/// Returns that of a stream with memory of its own; `itself` points at it, and outlives the result.
inline HeapMemory own_memory(const ReceivePlan& r, bool waits, const ReceivePlan* const& itself) {
    return {own_heap_bytes(r), r.max_bytes, 1, waits ? std::span(&itself, 1) : std::span(&itself, 0), true};
}

/// Returns nothing if the streams that may lose nothing, and whose longest heap (max_bytes) somebody set,
/// have room for the heaps that they may have live, all streams at once, and for one that begins; else the
/// sum that shows it, and what to change.
std::string why_not_lossless(const HeapMemory& memory);
/// Returns the same of the first stream whose longest heap is the default, by itself: it may have no such
/// heaps.
std::string what_may_be_lost(const HeapMemory& memory);

/// Returns what the first lcore of a layout lacks.
std::string why_not_lossless(const Plan& plan, const Layout& layout);
/// Returns a remark for each lcore that may lack something.
std::vector<std::string> what_may_be_lost(const Plan& plan, const Layout& layout);

}  // namespace spead::runtime
