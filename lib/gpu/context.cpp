// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/context.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace spead::gpu {

std::shared_ptr<const Context> Context::open(std::shared_ptr<const Driver> driver, int ordinal) {
    return std::shared_ptr<const Context>(new Context(std::move(driver), ordinal));
}

Context::Context(std::shared_ptr<const Driver> driver, int ordinal) : driver_(std::move(driver)) {
    driver_->call(&cuda::Api::device, &device_, ordinal);
    std::array<char, 256> text{};
    driver_->call(&cuda::Api::device_name, text.data(), int{text.size()}, device_);
    facts_.name = text.data();
    driver_->call(&cuda::Api::device_address, text.data(), int{text.size()}, device_);
    facts_.address = text.data();
    std::ranges::transform(facts_.address, facts_.address.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    driver_->call(&cuda::Api::device_memory, &facts_.memory, device_);
    facts_.capability =
        10 * attribute(cuda::kComputeCapabilityMajor) + attribute(cuda::kComputeCapabilityMinor);
    facts_.multiprocessors = attribute(cuda::kMultiprocessors);
    facts_.copy_engines = attribute(cuda::kCopyEngines);
    facts_.registers_host = attribute(cuda::kHostRegisterSupported) != 0;
    facts_.same_host_pointer = attribute(cuda::kHostPointerForRegisteredMemory) != 0;
    facts_.rdma = attribute(cuda::kRdmaSupported) != 0;
    facts_.dma_buf = attribute(cuda::kDmaBufSupported) != 0;
    facts_.writes_ordering = attribute(cuda::kRdmaWritesOrdering);
    driver_->call(&cuda::Api::retain_context, &context_, device_);
}

Context::~Context() {
    driver_->try_call(&cuda::Api::release_context, device_);
}

int Context::attribute(cuda::Attribute attribute) const {
    int value = 0;
    driver_->call(&cuda::Api::device_attribute, &value, attribute, device_);
    return value;
}

}  // namespace spead::gpu
