// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/region.hpp"

namespace spead::runtime {

/// Makes the heaps of a [[send]] and submits them to its sender: a SubmittingSource, or the heap source of
/// the engine's hooks. The engine makes, calls and destroys it on the main thread.
class HeapSource {
  public:
    virtual ~HeapSource() = default;

    /// Begins to send `heaps` data heaps (-1: no end). If it has threads, they run on these CPUs. Call it
    /// only when done().
    virtual void start(const std::vector<unsigned>& cpus, std::int64_t heaps) = 0;
    /// Makes no more data heaps.
    virtual void request_stop() noexcept = 0;
    /// Gives up: submits nothing more and waits for nothing.
    virtual void abandon() noexcept = 0;
    virtual void join() = 0;
    /// Returns whether it is idle: not started, or everything was submitted and completed. A run ends when
    /// all are done.
    virtual bool done() const noexcept = 0;
    /// Returns the error that ended it early; empty: none.
    virtual std::string failure() const = 0;
    /// Returns its own memory that heaps may refer to. It is in the region table during the object's life. If
    /// the port can, it reads that memory and the regions of SenderSet::add_region directly.
    virtual std::vector<memory::Region> regions() const { return {}; }
};

}  // namespace spead::runtime
