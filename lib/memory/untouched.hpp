// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

namespace spead::memory {

/// Maps memory that becomes resident page by page, as it is first used: for receivers that may never fill
/// theirs, and can bear a page fault. Huge pages are requested where the kernel makes them of free memory.
/// Control code only.
class Untouched {
  public:
    Untouched() = default;
    /// Maps `length` bytes; 0: none. The first `resident` of them are resident at once. Throws Error, also
    /// when the machine's available memory does not suffice for those.
    explicit Untouched(std::size_t length, std::size_t resident = 0);
    ~Untouched();
    Untouched(const Untouched&) = delete;
    Untouched& operator=(const Untouched&) = delete;

    std::span<std::byte> bytes() const noexcept { return bytes_; }

  private:
    std::span<std::byte> bytes_;
};

}  // namespace spead::memory
