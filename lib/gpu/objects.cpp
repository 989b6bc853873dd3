// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/objects.hpp"

#include <bit>
#include <thread>

#include "base/error.hpp"
#include "base/short_wait.hpp"

namespace spead::gpu {

DeviceMemory::DeviceMemory(ContextPointer context, std::size_t length)
    : context_(std::move(context)), length_(length) {
    context_->use();
    context_->driver().call(&cuda::Api::allocate, &address_, length);
}

DeviceMemory::~DeviceMemory() {
    if (address_ == 0)
        return;
    context_->try_use();
    context_->driver().try_call(&cuda::Api::free, address_);
}

void DeviceMemory::swap(DeviceMemory& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(address_, other.address_);
    std::swap(length_, other.length_);
}

memory::Region DeviceMemory::region() const noexcept {
    return {std::bit_cast<std::byte*>(address_), length_, memory::MemoryKind::device, -1};
}

Stream::Stream(ContextPointer context) : context_(std::move(context)) {
    context_->use();
    context_->driver().call(&cuda::Api::create_stream, &stream_, cuda::kStreamNonBlocking);
}

Stream::~Stream() {
    context_->driver().try_call(&cuda::Api::destroy_stream, stream_);
}

void Stream::upload(cuda::DevicePointer to, const void* from, std::size_t length) const {
    context_->driver().call(&cuda::Api::copy_to_device, to, from, length, stream_);
}

void Stream::download(void* to, cuda::DevicePointer from, std::size_t length) const {
    context_->driver().call(&cuda::Api::copy_to_host, to, from, length, stream_);
}

void Stream::copy(cuda::DevicePointer to, cuda::DevicePointer from, std::size_t length) const {
    context_->driver().call(&cuda::Api::copy, to, from, length, stream_);
}

void Stream::fill(cuda::DevicePointer to, std::byte value, std::size_t length) const {
    context_->driver().call(&cuda::Api::fill, to, std::to_integer<unsigned char>(value), length, stream_);
}

void Stream::write(cuda::DevicePointer word, std::uint32_t value) const {
    context_->driver().call(&cuda::Api::write_value, stream_, word, value, 0u);
}

void Stream::wait(cuda::Event event) const {
    context_->driver().call(&cuda::Api::wait_event, stream_, event, 0u);
}

bool Stream::idle() const {
    return context_->driver().ready(&cuda::Api::query_stream, stream_);
}

bool Stream::is_done_within(std::chrono::milliseconds patience) const {
    const auto last = std::chrono::steady_clock::now() + patience;
    while (!idle()) {
        if (std::chrono::steady_clock::now() >= last)
            return false;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return true;
}

void Stream::finish(std::chrono::milliseconds patience) const {
    if (!is_done_within(patience))
        throw_error("GPU",
                    "{}'s work is not done after {} ms; another program may hold the GPU (nvidia-smi), or "
                    "it hangs (the kernel's log, Xid)",
                    context_->facts().name, patience.count());
}

bool wait_until_quiet(const std::function<bool()>& idle, std::chrono::milliseconds patience) {
    const auto begun = std::chrono::steady_clock::now();
    auto answered = begun;
    ShortWait pause;
    unsigned rounds = 0;
    for (;; pause.wait(rounds)) {
        try {
            if (idle())
                return true;
            answered = std::chrono::steady_clock::now();
        } catch (const std::exception&) {
            if (std::chrono::steady_clock::now() - answered >= kLost)
                return true;
        }
        if (std::chrono::steady_clock::now() - begun >= patience)
            return false;
    }
}

Event::Event(ContextPointer context) : context_(std::move(context)) {
    context_->use();
    context_->driver().call(&cuda::Api::create_event, &event_, cuda::kEventDisableTiming);
}

Event::~Event() {
    context_->driver().try_call(&cuda::Api::destroy_event, event_);
}

void Event::record(const Stream& stream) const {
    context_->driver().call(&cuda::Api::record_event, event_, stream.handle());
}

bool Event::reached() const {
    return context_->driver().ready(&cuda::Api::query_event, event_);
}

Module::Module(ContextPointer context, const char* ptx) : context_(std::move(context)) {
    context_->use();
    context_->driver().call(&cuda::Api::load_module, &module_, static_cast<const void*>(ptx));
}

Module::~Module() {
    context_->try_use();
    context_->driver().try_call(&cuda::Api::unload_module, module_);
}

cuda::Function Module::function(const char* name) const {
    cuda::Function found = nullptr;
    context_->driver().call(&cuda::Api::module_function, &found, module_, name);
    return found;
}

}  // namespace spead::gpu
