// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string_view>

namespace spead::memory {

/// Anonymous memory for heap payloads, outside EAL: from hugetlbfs when enough pages are free, else with
/// transparent huge pages asked for, else plain pages. All of it is resident when the constructor returns, so
/// that receiving never takes a page fault and resident memory does not grow later. Control world only.
class Mapping {
  public:
    enum class Backing : unsigned char { hugetlb, transparent, plain };

    Mapping() = default;
    /// Maps at least `length` bytes (rounded up to 2 MiB). Throws Error, with the sum, when the machine's
    /// available memory does not hold it.
    explicit Mapping(std::size_t length);
    ~Mapping();
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    std::byte* base() const noexcept { return base_; }
    std::size_t length() const noexcept { return length_; }
    Backing backing() const noexcept { return backing_; }

  private:
    std::byte* base_ = nullptr;
    std::size_t length_ = 0;
    Backing backing_ = Backing::plain;
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

/// Bytes that new allocations can use without swapping (MemAvailable of /proc/meminfo); 0 when unknown.
std::size_t available_memory();

}  // namespace spead::memory
