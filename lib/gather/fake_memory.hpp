// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string_view>

#include "memory/region.hpp"

namespace spead::gather {

/// Holds memory that stands for a device's: code that reads or writes it at its own address dies at once. An
/// engine reaches the same bytes through a second mapping. Control code.
class FakeMemory {
  public:
    /// Maps at least `bytes`, in whole pages of 2 MiB. `fix`: what to do when they do not fit. Throws Error.
    explicit FakeMemory(std::size_t bytes, std::string_view fix = "lower `gather_memory` of the stream");
    ~FakeMemory();
    FakeMemory(const FakeMemory&) = delete;
    FakeMemory& operator=(const FakeMemory&) = delete;

    /// Returns the memory as the CPU knows it: its addresses only.
    const memory::Region& region() const noexcept { return region_; }
    bool contains(const std::byte* at, std::size_t length) const noexcept {
        const std::byte* const base = region_.base;
        return at >= base && length <= region_.length &&
               static_cast<std::size_t>(at - base) <= region_.length - length;
    }
    /// Returns where the engine finds a byte of the region.
    std::byte* engine_address(const std::byte* at) const noexcept { return view_ + (at - region_.base); }

  private:
    memory::Region region_;
    std::byte* view_ = nullptr;
};

}  // namespace spead::gather
