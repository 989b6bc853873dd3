// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/context.hpp"

namespace spead::gpu {

/// Holds the bytes of a page, of which whole ones are registered.
inline constexpr std::uintptr_t kPage = 4096;

/// Registers host memory with the driver (cuMemHostRegister) while it lives: the memory stays resident, the
/// copy engine reads and writes it without a copy between, and kernels reach it. Valid for every context of
/// the process. Control code only.
class Registered {
  public:
    /// Registers [base, base + length), whose pages are whole ones. The memory outlives this object. Throws
    /// Error.
    Registered(ContextPointer context, void* base, std::size_t length);
    /// Unregisters the memory, which nothing in flight refers to.
    ~Registered();
    Registered(const Registered&) = delete;
    Registered& operator=(const Registered&) = delete;

    /// Returns the GPU's address of a byte of the memory.
    cuda::DevicePointer address_of(const void* p) const noexcept;

  private:
    ContextPointer context_;
    void* base_;
    cuda::DevicePointer address_ = 0;
};

}  // namespace spead::gpu
