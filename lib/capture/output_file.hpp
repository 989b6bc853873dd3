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

/// One file that is written from its beginning to its end, through the kernel's page cache or past it
/// (O_DIRECT, in aligned blocks; the end, which is none, goes through the cache, so the length is right).
///
/// One thread. The constructor throws Error; what fails later is reported by failure(), and nothing more is
/// written then.
class OutputFile {
  public:
    /// What a file system asks of direct I/O, at most: its blocks, and the alignment of memory.
    static constexpr std::size_t kAlignment = 4096;

    /// Makes the file, or empties it; `where` is for errors, as in "capture of s0". Only regular files,
    /// since what was written is looked at again when a disk is full. Leaves the file as it is and throws
    /// Error when it is in use (base/file_use.hpp), or when somebody may have planted it
    /// (base/open_output.hpp).
    OutputFile(const std::string& path, bool direct, const std::string& where);
    /// close().
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    /// False when it could not be written whole: then written() of the bytes of this and earlier calls are in
    /// the file.
    bool append(std::span<const std::byte> bytes);
    /// Writes what is left over and closes the file. False when that failed: after a failed write the file is
    /// still open, for cut(), and the next call closes it.
    bool close();
    /// After a failed write: the file ends after so many bytes, at most written().
    void cut(std::uint64_t length);

    /// Bytes appended, in the file or on their way there.
    std::uint64_t size() const noexcept { return size_; }
    /// Bytes in the file; of a direct one, without the last piece that is no whole block.
    std::uint64_t written() const noexcept { return written_; }
    /// The reason ("No space left on device"); empty when all is well.
    const std::string& failure() const noexcept { return failure_; }
    const std::string& path() const noexcept { return path_; }
    /// For looking at what was written.
    int descriptor() const noexcept { return fd_.get(); }
    /// Of a file that is closed: keeps it from being overwritten for as long as the use lives.
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
    std::unique_ptr<std::byte[], Free> stage_;  ///< of a direct file: what is no whole piece yet
    std::size_t staged_ = 0;
};

}  // namespace spead::capture
