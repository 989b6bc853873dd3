// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/log.hpp"
#include "runtime/plan.hpp"
#include "runtime/sink.hpp"
#include "sink/dada_writer.hpp"

namespace spead::runtime {

/// Writes the records of a stream to a PSRDADA ring, and tells of those that it lost. One thread at a time.
class DadaOutput {
  public:
    using Place = sink::DadaWriter::Place;

    /// Attaches to the ring of the plan. `what` names records in messages: "chunks". `lose` gets the reason
    /// of each loss. Throws Error as DadaWriter.
    DadaOutput(const SinkPlan& plan, std::string stream, std::uint64_t record_bytes, std::string what,
               std::function<void(const char* why)> lose);

    /// Returns whether the template has the time of offset 0.
    bool knows_start() const noexcept { return writer_.knows_start(); }
    /// Returns the shape of the ring, which stays. Any thread.
    Sink::Ring ring() const noexcept { return {writer_.blocks(), writer_.block_bytes(), writer_.readers()}; }
    /// Writes a record. Returns whether the ring has it. Throws Error when the ring cannot be written any
    /// more.
    bool write(const Place& place, std::span<const std::span<const std::byte>> parts);
    /// Ends the transfer. Throws Error as write().
    void finish();

  private:
    std::string stream_;
    std::string what_;
    std::function<void(const char* why)> lose_;
    sink::DadaWriter writer_;
    std::uint64_t lost_ = 0;  ///< records in a row
};

/// Returns the time of an arrival; 0 ticks: now.
std::chrono::system_clock::time_point time_of_arrival(std::uint64_t ticks);

}  // namespace spead::runtime
