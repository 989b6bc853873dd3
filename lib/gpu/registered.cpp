// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/registered.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"

namespace spead::gpu {

Registered::Registered(ContextPointer context, void* base, std::size_t length)
    : context_(std::move(context)), base_(base) {
    if (!context_->facts().registers_host)
        throw_error("GPU",
                    "{} cannot register host memory ({} asked for); use another GPU (CUDA_VISIBLE_DEVICES)",
                    context_->facts().name, human_size(length));
    const Context::Visit visit(*context_);
    context_->driver().call(&cuda::Api::register_host, base, length,
                            cuda::kRegisterPortable | cuda::kRegisterDeviceMap);
    try {
        context_->driver().call(&cuda::Api::device_pointer, &address_, base, 0u);
    } catch (...) {
        context_->driver().try_call(&cuda::Api::unregister_host, base_);
        throw;
    }
}

Registered::~Registered() {
    try {
        const Context::Visit visit(*context_);
        context_->driver().try_call(&cuda::Api::unregister_host, base_);
    } catch (const Error&) {
        // The context is gone, and the registration with it; a child of fork(2) has none.
    }
}

cuda::DevicePointer Registered::address_of(const void* p) const noexcept {
    return address_ +
           static_cast<std::size_t>(static_cast<const std::byte*>(p) - static_cast<const std::byte*>(base_));
}

}  // namespace spead::gpu
