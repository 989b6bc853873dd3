// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "gpu/registered.hpp"

namespace spead::gpu {

/// Registers the memory that packets arrive in, and tells an engine's thread whether a packet lies there.
class RegisteredPackets {
  public:
    /// Registers the pages of `memory` that are not registered yet. Control code. Throws Error.
    void add(const ContextPointer& context, std::span<const std::byte> memory);
    /// Adds memory of the GPU, which needs no registration. It may have been known before. Control code.
    void add_of_gpu(std::span<const std::byte> memory);
    /// Unregisters all of it. Control code; the GPU reads none of it.
    void clear() noexcept;

    /// Returns whether all bytes lie in memory that was registered. For one thread.
    bool has(const std::byte* from, std::size_t length);

  private:
    /// Holds whole pages.
    struct Stretch {
        std::uintptr_t begin;
        std::uintptr_t end;
    };

    void join_neighbours();
    bool in_last(std::uintptr_t begin, std::size_t length) const noexcept {
        return begin >= last_.begin && begin < last_.end && length <= last_.end - begin;
    }

    std::mutex mutex_;
    std::vector<Stretch>
        stretches_;  ///< guarded, as the next; in the order of addresses, apart from each other
    std::vector<std::unique_ptr<Registered>> registered_;
    Stretch last_{0, 0};  ///< where has() found a packet
};

}  // namespace spead::gpu
