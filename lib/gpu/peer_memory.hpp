// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>

#include "gpu/context.hpp"
#include "memory/region.hpp"

namespace spead::gpu {

/// Holds memory of a GPU that other devices of the machine read (GPUDirect RDMA), and the CPU never. The
/// driver's own copies to it are over when their calls return (CU_POINTER_ATTRIBUTE_SYNC_MEMOPS); kernels are
/// the user's to wait for. Any thread; the context of the calling thread stays as it was.
class PeerMemory {
  public:
    /// Has allocations begin and end with a page that a card may have.
    static constexpr std::size_t kPage = std::size_t{2} << 20;

    /// Allocates memory of the first GPU, of whole pages. Throws Error: no room, no GPUDirect RDMA, a call of
    /// the driver that fails.
    static PeerMemory allocate(const std::shared_ptr<const Driver>& driver, std::size_t bytes);
    /// Refers to memory of the user's, on any GPU, who frees it later than this object. Throws Error for
    /// memory that is none of a GPU's, lies in several allocations, or moves (managed memory), and as
    /// allocate() does.
    static PeerMemory of(const std::shared_ptr<const Driver>& driver, cuda::DevicePointer address,
                         std::size_t bytes);
    ~PeerMemory();
    PeerMemory(PeerMemory&& other) noexcept;
    PeerMemory& operator=(PeerMemory&&) = delete;

    cuda::DevicePointer address() const noexcept { return address_; }
    const Context& context() const noexcept { return *context_; }
    /// Returns it as memory that only devices may touch.
    memory::Region region() const noexcept;

  private:
    PeerMemory(ContextPointer context, cuda::DevicePointer address, std::size_t bytes) noexcept;
    void set_up() const;

    ContextPointer context_;
    cuda::DevicePointer address_;
    std::size_t length_;
    bool own_ = false;
};

}  // namespace spead::gpu
