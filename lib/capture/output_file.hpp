// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/file_descriptor.hpp"
#include "base/file_use.hpp"

namespace spead::capture {

/// Writes one file from its beginning to its end, through the kernel's page cache or past it (O_DIRECT, in
/// aligned blocks; the last, unaligned part goes through the cache, so the length is right).
///
/// One thread. The constructor throws Error; later failures are reported by failure(), and nothing more is
/// written then.
class OutputFile {
  public:
    /// Holds the largest requirement of a file system for direct I/O: its blocks, and the alignment of
    /// memory.
    static constexpr std::size_t kAlignment = 4096;

    /// Makes the file, or truncates it; `where` is for errors, as in "capture of s0". Only regular files,
    /// since written data is read again when a disk is full. Leaves the file as it is and throws Error when
    /// it is in use (base/file_use.hpp), or when another user may have planted it (base/open_output.hpp).
    OutputFile(const std::string& path, bool direct, const std::string& where);
    /// Calls close().
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    /// Appends the bytes. Returns false when it could not write all: then written() of the bytes of this and
    /// earlier calls are in the file.
    bool append(std::span<const std::byte> bytes);
    /// Writes the rest and closes the file. Returns false when that failed: after a failed write the file is
    /// still open, for cut(), and the next call closes it.
    bool close();
    /// Cuts the file after so many bytes, at most written(), after a failed write.
    void cut(std::uint64_t length);

    /// Returns the bytes appended, in the file or on their way there.
    std::uint64_t size() const noexcept { return size_; }
    /// Returns the bytes in the file; for a direct one, without the last incomplete block.
    std::uint64_t written() const noexcept { return written_; }
    /// Returns the reason ("No space left on device"); empty when there is no failure.
    const std::string& failure() const noexcept { return failure_; }
    const std::string& path() const noexcept { return path_; }
    /// Returns the descriptor for reading the written data.
    int descriptor() const noexcept { return fd_.get(); }
    /// Takes the use of a closed file, which keeps it from being overwritten during its life.
    FileUse take_use() noexcept { return std::move(use_); }

  private:
    static constexpr std::size_t kStage = std::size_t{1} << 20;  ///< bytes of a direct write
    struct Free {
        void operator()(std::byte* p) const noexcept;
    };

    bool write(const std::byte* from, std::size_t length);
    void end_direct();

    std::string path_;
    FileDescriptor fd_;
    FileUse use_;
    bool direct_ = false;
    std::uint64_t size_ = 0;
    std::uint64_t written_ = 0;
    std::string failure_;
    std::unique_ptr<std::byte[], Free> stage_;  ///< of a direct file: an incomplete piece
    std::size_t staged_ = 0;
};

}  // namespace spead::capture
