// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "memory/memory_kind.hpp"

namespace spead::memory {

/// Maps anonymous memory for heap payloads, outside EAL: from hugetlbfs when enough pages of 2 MiB or of 1
/// GiB are free, else with transparent huge pages requested, else plain pages. All of it is resident when the
/// constructor returns, so that receiving never takes a page fault and resident memory does not grow later.
/// Control code only.
class Mapping {
  public:
    enum class Backing : unsigned char { hugetlb, transparent, plain };

    Mapping() = default;
    /// Maps at least `length` bytes (rounded up to 2 MiB). Throws Error, with the sum, when the machine's
    /// available memory does not suffice.
    explicit Mapping(std::size_t length);
    ~Mapping();
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    std::byte* base() const noexcept { return base_; }
    std::size_t length() const noexcept { return length_; }
    Backing backing() const noexcept { return backing_; }
    /// Returns `pinned` after lock(), else `host`.
    MemoryKind kind() const noexcept { return kind_; }

    /// Keeps the memory resident, and its pages where they are (mlock). Huge pages of hugetlbfs are so
    /// anyway, and need no limit. Returns 0 or the error number: ENOMEM or EPERM if the process may not lock
    /// so much.
    [[nodiscard]] int lock() noexcept;

  private:
    std::byte* base_ = nullptr;
    std::size_t length_ = 0;
    std::size_t mapped_ = 0;  ///< bytes: more than length_ where pages are larger
    Backing backing_ = Backing::plain;
    MemoryKind kind_ = MemoryKind::host;
};

constexpr std::string_view name_of(Mapping::Backing b) {
    switch (b) {
        case Mapping::Backing::hugetlb:
            return "huge pages";
        case Mapping::Backing::transparent:
            return "transparent huge pages";
        case Mapping::Backing::plain:
            break;
    }
    return "4 KiB pages";
}

/// Names the kernel's sources about memory; other files in tests.
struct MemorySources {
    std::string meminfo = "/proc/meminfo";
    std::string membership = "/proc/self/cgroup";
    std::string groups = "/sys/fs/cgroup";  ///< the unified hierarchy (cgroup v2)
};

/// Returns the bytes that new allocations can use without swapping: MemAvailable, or less if a control group
/// of the process, or one above it, has a limit (memory.max - memory.current, without the file cache that the
/// kernel frees first). 0 when unknown, 1 when there are none.
std::size_t available_memory(const MemorySources& sources = {});

}  // namespace spead::memory
