// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/file_descriptor.hpp"

namespace spead::sink {

/// Holds a file of a raw sink: takes its room on the disk in advance, and cuts it to its true length at the
/// end.
class RawFile {
  public:
    /// Takes a new, empty file, open for writing. `name` is what index lines call it. Writes past the page
    /// cache (O_DIRECT) if the file system can do so.
    RawFile(FileDescriptor file, std::string name);

    int descriptor() const noexcept { return file_.get(); }
    const std::string& name() const noexcept { return name_; }
    /// Returns whether writes go past the page cache. Any thread.
    bool direct() const noexcept { return direct_.load(std::memory_order_relaxed); }
    /// Writes through the page cache from now on.
    void use_page_cache() noexcept;

    /// Takes room for the bytes up to `end`, `step` bytes at a time. When there is no room for a step, writes
    /// take their own, and tell when there is none. No write behind the room so far may be under way.
    void reserve(std::uint64_t end, std::uint64_t step) noexcept;
    /// Writes all bytes at the offset. Returns 0, or errno.
    int write(std::span<const std::byte> bytes, std::uint64_t offset) noexcept;
    /// Cuts the file to its first `length` bytes, and closes it. Returns 0, or errno.
    int finish(std::uint64_t length) noexcept;

  private:
    FileDescriptor file_;
    std::string name_;
    std::atomic<bool> direct_{false};
    bool reserves_ = true;
    std::uint64_t reserved_ = 0;
};

}  // namespace spead::sink
