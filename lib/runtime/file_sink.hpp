// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/sink.hpp"

namespace spead::runtime {

/// Writes the payload of every complete heap to DIRECTORY/STREAM-CNT.bin, and one line of JSON per heap,
/// complete or not, to DIRECTORY/heaps.jsonl. So does a heap of unknown length without a hole, which is as
/// complete as it can be.
///
/// A file is never overwritten: when a count comes again, the next free name of STREAM-CNT-2.bin,
/// STREAM-CNT-3.bin, ... is used, and the line says which. Lines are appended, whole, so that streams and
/// runs can share a directory. When the disk is full, the file or line begun is removed and Error tells what
/// was written.
class FileSink : public Sink {
  public:
    /// Makes the directory (its parent must exist). Throws Error when it cannot be made or written. Lines
    /// are buffered: finish() writes the last of them.
    FileSink(std::string directory, std::string stream);
    ~FileSink() override;

    void consume(const heap::Heap& heap) override;
    void finish() override;

  private:
    std::string write_payload(const heap::Heap& heap);
    void add_line(const heap::Heap& heap, const std::string& file);
    int write_lines();
    void flush_lines();
    [[noreturn]] void fail(const std::string& path, int error);

    std::string directory_;
    std::string stream_;
    std::string lines_path_;
    std::string lines_;  ///< not yet written
    int lines_fd_ = -1;
    std::uint64_t lines_written_ = 0;
    std::uint64_t files_ = 0;
    std::uint64_t bytes_ = 0;  ///< in the files
};

}  // namespace spead::runtime
