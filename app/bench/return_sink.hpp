// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

#include "app/bench/latency_origin.hpp"
#include "runtime/sink.hpp"

namespace spead::app {

/// Holds the benchmark row that receives replies; rows of a latency benchmark are measured one after the
/// other.
struct MeasuredRow {
    std::mutex mutex;
    LatencyOrigin* origin = nullptr;  ///< null: none
};

/// Takes returned heaps of BenchHeaps, and reports their stamps.
class ReturnSink final : public runtime::Sink {
  public:
    /// Takes the stamps' `clock`. The row outlives the sink.
    ReturnSink(MeasuredRow& row, std::function<std::uint64_t()> clock)
        : row_(row), clock_(std::move(clock)) {}
    void consume(const heap::HeapHandle& heap) override;

  private:
    MeasuredRow& row_;
    std::function<std::uint64_t()> clock_;
};

}  // namespace spead::app
