// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/layout.hpp"
#include "runtime/plan.hpp"

/// Computes the memory of streams that may lose nothing, because their source can wait.
namespace spead::runtime {

/// Returns whether the stream waits for its consumer rather than lose heaps. The user asked for it, or it was
/// chosen because the source (`lossless`) loses nothing while it waits.
constexpr bool waits_for_consumer(const ReceivePlan& r, bool lossless) {
    return r.on_full == OnFullSetting::block || (r.on_full == OnFullSetting::automatic && lossless);
}

/// Describes the memory of one lcore, and its streams.
struct HeapMemory {
    std::size_t bytes = 0;                        ///< of its arena
    std::size_t largest = 0;                      ///< longest heap that the arena's blocks hold
    std::size_t streams = 1;                      ///< sharing it
    std::span<const ReceivePlan* const> waiting;  ///< those of them that may lose nothing
    /// Says which setting its size comes from.
    enum class From : std::uint8_t {
        all,     ///< [memory] heaps
        stream,  ///< ReceivePlan::memory of its only stream, which was made in C++
        engine   ///< ReceivePlan::engine_memory of its only stream
    };
    From from = From::all;
};

/// Returns the memory of a stream with its own. `itself` points at the stream, and outlives the result.
inline HeapMemory own_memory(const ReceivePlan& r, bool waits, const ReceivePlan* const& itself) {
    return {own_heap_bytes(r), r.max_bytes, 1, waits ? std::span(&itself, 1) : std::span(&itself, 0),
            r.engine == HeapEngine::none ? HeapMemory::From::stream : HeapMemory::From::engine};
}

/// Returns nothing if the lossless streams have enough memory, else the sum that shows the lack, and the fix.
/// Counted are the lossless streams with a configured longest heap (max_bytes). Each needs room for its live
/// heaps, all streams at once, and for one that begins.
std::string why_not_lossless(const HeapMemory& memory);
/// Returns the same for the first stream with the default longest heap, each by itself: such heaps may never
/// arrive.
std::string what_may_be_lost(const HeapMemory& memory);

/// Returns the same for the first lcore of a layout that lacks memory.
std::string why_not_lossless(const Plan& plan, const Layout& layout);
/// Returns a remark for each lcore that may lack memory.
std::vector<std::string> what_may_be_lost(const Plan& plan, const Layout& layout);

}  // namespace spead::runtime
