// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "runtime/raw_outputs.hpp"
#include "runtime/sink.hpp"

namespace spead::runtime {

/// Writes the payload of every complete heap to DIRECTORY/STREAM.raw, one after the other and past the page
/// cache, and one line of JSON per heap, complete or not, to DIRECTORY/heaps.jsonl. The line of a payload
/// says its file, offset and length; otherwise it is the one that FileSink writes.
///
/// With several directories, heaps go round them, and each has an index of its own.
///
/// A heap is settled when the kernel has written its payload and its line.
class RawSink : public Sink {
  public:
    /// Throws Error as FileSink.
    RawSink(const std::vector<std::string>& directories, std::string stream,
            const sink::RawWriter::Options& options = {});

    void hand(heap::HeapHandle heap, const Settled& settled) noexcept override;
    void settle() noexcept override { output_.settle(); }
    /// Writes the heap at once, and waits for that.
    void consume(const heap::HeapHandle& heap) override;
    void finish() override { output_.finish(); }

  private:
    void add(const heap::HeapHandle& heap, const Settled& settled);

    std::string stream_;
    RawOutputs output_;
};

}  // namespace spead::runtime
