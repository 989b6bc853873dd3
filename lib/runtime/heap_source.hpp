// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/region.hpp"

namespace spead::runtime {

/// Who makes the heaps of a [[send]] and submits them to its sender: the HeapGenerator, or what EngineHooks
/// puts in its place. Made and destroyed by the engine, which also calls everything here, on the main thread.
class HeapSource {
  public:
    virtual ~HeapSource() = default;

    /// Begins to send `heaps` data heaps (-1: for ever). Threads of its own, if there are any, run on these
    /// CPUs. Not while anything is under way.
    virtual void start(const std::vector<unsigned>& cpus, std::int64_t heaps) = 0;
    /// No more data heaps.
    virtual void request_stop() noexcept = 0;
    /// Gives up: nothing more is submitted or waited for.
    virtual void abandon() noexcept = 0;
    virtual void join() = 0;
    /// Nothing is under way: not started, or everything was submitted and completed. Ends a run when all are
    /// done.
    virtual bool done() const noexcept = 0;
    /// What ended it early; empty if nothing did.
    virtual std::string failure() const = 0;
    /// Returns memory of its own that heaps may refer to, which is in the region table while it lives. Its
    /// port reads it directly where it can; so it does with the regions of SenderSet::add_region.
    virtual std::vector<memory::Region> regions() const { return {}; }
};

}  // namespace spead::runtime
