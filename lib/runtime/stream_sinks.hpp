// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/sink.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Holds a stream's sink, and the former ones that its lanes still use while they are being removed. Main
/// thread only.
class StreamSinks {
  public:
    /// Returns the sink for new heaps; null: the stream has users, or is not enabled.
    const std::shared_ptr<Sink>& current() const noexcept { return current_; }
    const std::vector<std::shared_ptr<Sink>>& former() const noexcept { return former_; }

    /// Makes `successor` the sink for new heaps; the one before it becomes a former one. Null: none.
    void replace(std::shared_ptr<Sink> successor);
    /// Removes the former sinks that are not used, and returns them in their order.
    std::vector<std::shared_ptr<Sink>> take_unused(const std::function<bool(const Sink&)>& used);

    /// Adds the counts of all sinks, and the failure of the current one.
    void add_to(stats::StreamSnapshot& snap) const;

  private:
    std::shared_ptr<Sink> current_;
    std::vector<std::shared_ptr<Sink>> former_;
};

}  // namespace spead::runtime
