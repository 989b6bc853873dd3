// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "runtime/lines_file.hpp"
#include "runtime/output_directory.hpp"
#include "runtime/sink.hpp"

namespace spead::runtime {

/// Writes the payload of every complete heap to DIRECTORY/STREAM-CNT.bin, and one line of JSON per heap,
/// complete or not, to DIRECTORY/heaps.jsonl. A heap of unknown length without a hole counts as complete.
///
/// Overwrites no file: when a heap count is repeated, it uses the next free name of STREAM-CNT-2.bin,
/// STREAM-CNT-3.bin, ..., and the line says which. Lines are appended whole, so that streams and runs can
/// share a directory. When consume() returns, the kernel has the heap's line. So if a run is killed, at most
/// its last file has no line, and may be incomplete. When the disk is full, the incomplete file or line is
/// removed; Error tells how much was written.
class FileSink : public Sink {
  public:
    /// Makes the directory; its parent must exist. Throws Error when it cannot be made or written, or when
    /// others could place a link on its path (base/open_output.hpp).
    FileSink(std::string directory, std::string stream);

    void consume(const heap::HeapHandle& heap) override;

    /// Returns the path of the file of lines in a directory.
    static std::string lines_path(const std::string& directory) { return directory + "/heaps.jsonl"; }

  private:
    std::string write_payload(const heap::HeapHandle& heap);
    std::string line_of(const heap::HeapHandle& heap, const std::string& file) const;
    [[noreturn]] void fail(const std::string& path, int error) const;

    std::string stream_;
    OutputDirectory directory_;
    LinesFile lines_;
    std::uint64_t files_ = 0;
    std::uint64_t bytes_ = 0;  ///< in the files
};

}  // namespace spead::runtime
