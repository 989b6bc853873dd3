// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "runtime/dada_output.hpp"
#include "runtime/sink.hpp"

namespace spead::runtime {

/// Writes the payload of every complete heap to a PSRDADA ring (docs/psrdada.md), one after the other. Takes
/// incomplete ones and writes nothing of them. A heap without room is lost, and the sink goes on.
class DadaSink : public Sink {
  public:
    /// Throws Error as sink::DadaWriter.
    DadaSink(const SinkPlan& plan, const std::string& stream);

    void hand(heap::HeapHandle heap, const Settled& settled) noexcept override;
    /// Writes the heap, if there is room.
    void consume(const heap::HeapHandle& heap) override { add(heap); }
    void finish() override { output_.finish(); }
    Ring ring() const noexcept override { return output_.ring(); }

  private:
    bool add(const heap::HeapHandle& heap);

    DadaOutput output_;
    std::uint64_t offset_ = 0;  ///< of the next heap, with those that were lost
    std::chrono::system_clock::time_point start_{};
};

}  // namespace spead::runtime
