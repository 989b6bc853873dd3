// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/peer_memory.hpp"

#include <bit>
#include <limits>
#include <utility>

#include "base/error.hpp"

namespace spead::gpu {

namespace {

constexpr const char* kGpu = "GPU";

void need_peers(const Context& context) {
    if (!context.facts().rdma)
        throw_error(
            kGpu,
            "{} does not let cards read its memory (GPUDirect RDMA): use a GPU that does, or send from "
            "pinned memory of the CPU (Memory::cuda_pinned)",
            context.facts().name);
}

/// Throws Error unless the range lies in one allocation on a GPU. Returns the GPU's number.
int need_of_gpu(const Driver& driver, cuda::DevicePointer address, std::size_t bytes) {
    unsigned type = 0;
    try {
        driver.call(&cuda::Api::pointer_attribute, &type, cuda::kPointerMemoryType, address);
    } catch (const Error& error) {
        throw_error(kGpu, "{} bytes at {:#x} are no memory that the driver knows ({}); give memory of a GPU",
                    bytes, address, error.what());
    }
    unsigned managed = 0;
    driver.call(&cuda::Api::pointer_attribute, &managed, cuda::kPointerIsManaged, address);
    if (type != cuda::kDeviceMemory || managed != 0)
        throw_error(kGpu,
                    "{} bytes at {:#x} are {}; give memory that stays on a GPU (cuMemAlloc, cudaMalloc)",
                    bytes, address,
                    managed != 0 ? "managed memory, which moves between GPU and CPU"
                                 : "memory of the CPU, which Memory(process, base, bytes) registers");
    cuda::DevicePointer base = 0;
    std::size_t size = 0;
    driver.call(&cuda::Api::address_range, &base, &size, address);
    if (bytes > size - (address - base))
        throw_error(
            kGpu,
            "{} bytes at {:#x} go beyond their allocation, which has {} bytes from {:#x} on; register "
            "each allocation by itself",
            bytes, address, size, base);
    int ordinal = 0;
    driver.call(&cuda::Api::pointer_attribute, &ordinal, cuda::kPointerDevice, address);
    return ordinal;
}

}  // namespace

PeerMemory::PeerMemory(ContextPointer context, cuda::DevicePointer address, std::size_t bytes) noexcept
    : context_(std::move(context)), address_(address), length_(bytes) {}

PeerMemory::PeerMemory(PeerMemory&& other) noexcept
    : context_(std::move(other.context_)),
      address_(other.address_),
      length_(other.length_),
      own_(std::exchange(other.own_, false)) {}

PeerMemory::~PeerMemory() {
    if (!own_)
        return;
    try {
        const Context::Visit visit(*context_);
        context_->driver().try_call(&cuda::Api::free, address_);
    } catch (const Error&) {
        // The context is gone, and the memory with it; a child of fork(2) has none.
    }
}

void PeerMemory::set_up() const {
    const unsigned yes = 1;
    context_->driver().call(&cuda::Api::set_pointer_attribute, &yes, cuda::kPointerSyncMemops, address_);
}

PeerMemory PeerMemory::allocate(const std::shared_ptr<const Driver>& driver, std::size_t bytes) {
    // Outlives the visit, also when the memory goes at once.
    const ContextPointer context = Context::open(driver);
    need_peers(*context);
    if (bytes == 0 || bytes > std::numeric_limits<std::size_t>::max() - kPage)
        throw_usage(kGpu, "{} bytes cannot be allocated; ask for at least 1, and less than the GPU has",
                    bytes);
    const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
    const Context::Visit visit(*context);
    cuda::DevicePointer address = 0;
    driver->call(&cuda::Api::allocate, &address, whole);
    PeerMemory made(context, address, whole);
    made.own_ = true;
    made.set_up();
    return made;
}

PeerMemory PeerMemory::of(const std::shared_ptr<const Driver>& driver, cuda::DevicePointer address,
                          std::size_t bytes) {
    if (address == 0 || bytes == 0 || bytes > std::numeric_limits<cuda::DevicePointer>::max() - address)
        throw_usage(kGpu, "{} bytes at {:#x} are no range of memory; give its address and length", bytes,
                    address);
    ContextPointer context = Context::open(driver);
    const int ordinal = [&] {
        const Context::Visit visit(*context);
        return need_of_gpu(*driver, address, bytes);
    }();
    if (ordinal != 0)
        context = Context::open(driver, ordinal);
    need_peers(*context);
    PeerMemory made(std::move(context), address, bytes);
    const Context::Visit visit(made.context());
    made.set_up();
    return made;
}

memory::Region PeerMemory::region() const noexcept {
    return {std::bit_cast<std::byte*>(address_), length_, memory::MemoryKind::device, -1};
}

}  // namespace spead::gpu
