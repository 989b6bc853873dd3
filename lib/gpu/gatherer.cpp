// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gatherer.hpp"

#include <array>
#include <bit>
#include <cstddef>

#include "base/error.hpp"
#include "gpu/kernels/gather.hpp"

namespace spead::gpu {

namespace {

constexpr unsigned kThreads = 256;  ///< of a block
constexpr unsigned kWarps = kThreads / kernels::kLanes;

static_assert(sizeof(gather::Piece) == sizeof(kernels::Piece) &&
              offsetof(gather::Piece, from) == offsetof(kernels::Piece, from) &&
              offsetof(gather::Piece, to) == offsetof(kernels::Piece, to) &&
              offsetof(gather::Piece, length) == offsetof(kernels::Piece, length));

}  // namespace

Gatherer::Gatherer(const ContextPointer& context, Way way) : context_(context) {
    const char* const ptx = kernels_ptx();
    if (way == Way::copy_engine || (way == Way::automatic && ptx == nullptr))
        return;
    if (ptx == nullptr)
        throw_error(
            "GPU",
            "this program was built without kernels for GPUs; build it with clang (-Dgpu=enabled), or "
            "use the copy engine");
    module_ = std::make_unique<Module>(context, ptx);
    gather_ = module_->function("spead_gather");
    read_ = module_->function("spead_read");
}

void Gatherer::gather(const Stream& stream, std::span<const gather::Piece> pieces,
                      cuda::DevicePointer at) const {
    if (pieces.empty())
        return;
    if (!module_) {
        for (const gather::Piece& p : pieces)
            if (p.length != 0)
                stream.copy(std::bit_cast<cuda::DevicePointer>(p.to),
                            std::bit_cast<cuda::DevicePointer>(p.from), p.length);
        return;
    }
    auto count = static_cast<unsigned>(pieces.size());
    std::array<void*, 2> parameters{&at, &count};
    context_->driver().call(&cuda::Api::launch, gather_, (count + kWarps - 1) / kWarps, 1u, 1u, kThreads, 1u,
                            1u, 0u, stream.handle(), parameters.data(), nullptr);
}

void Gatherer::read(const Stream& stream, cuda::DevicePointer from, std::size_t words,
                    cuda::DevicePointer spare) const {
    std::uint64_t count = words;
    std::array<void*, 3> parameters{&from, &count, &spare};
    const auto blocks = static_cast<unsigned>(context_->facts().multiprocessors) * 4;
    context_->driver().call(&cuda::Api::launch, read_, blocks, 1u, 1u, kThreads, 1u, 1u, 0u, stream.handle(),
                            parameters.data(), nullptr);
}

}  // namespace spead::gpu
