// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "gather/batch.hpp"
#include "gpu/objects.hpp"

namespace spead::gpu {

/// Returns the kernels as PTX, a text with a zero at its end; null: this build has none (-Dgpu).
const char* kernels_ptx() noexcept;

/// Copies many pieces from memory that the GPU reaches (registered, or its own) to where they belong: one
/// kernel for a batch, with a warp for each piece, or one call of the copy engine for each piece.
class Gatherer {
  public:
    enum class Way : std::uint8_t { automatic, kernel, copy_engine };

    /// Compiles the kernel; `automatic` takes the copy engine where the build has no kernels. Throws Error.
    explicit Gatherer(const ContextPointer& context, Way way = Way::automatic);

    /// Begins to copy. `pieces` have addresses of the GPU. They lie in registered memory, at `at` for the
    /// GPU, and stay unchanged until the stream has done them. Throws Error.
    void gather(const Stream& stream, std::span<const gather::Piece> pieces, cuda::DevicePointer at) const;
    Way way() const noexcept { return module_ ? Way::kernel : Way::copy_engine; }

    /// Begins to read `words` words of 16 bytes by as many threads as the GPU runs at once: what a kernel can
    /// read at most. `spare` is 8 bytes that may be written. Only with the kernel.
    void read(const Stream& stream, cuda::DevicePointer from, std::size_t words,
              cuda::DevicePointer spare) const;

  private:
    ContextPointer context_;
    std::unique_ptr<Module> module_;
    cuda::Function gather_ = nullptr;
    cuda::Function read_ = nullptr;
};

}  // namespace spead::gpu
