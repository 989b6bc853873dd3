// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "gpu/context.hpp"
#include "port/machine.hpp"

namespace spead::app {

/// Describes a GPU as its driver and the kernel do.
struct GpuFacts {
    gpu::DeviceFacts device;
    int cuda = 0;              ///< 13000: 13.0
    std::string driver;        ///< version of the kernel's module; empty: unknown
    std::uint64_t window = 0;  ///< bytes of its memory that others on the bus reach (BAR1); 0: unknown
};

/// Looks at the GPU of a context.
GpuFacts gpu_facts(const gpu::Context& context, const port::Sysfs& files = port::this_machine().files);

/// Returns the largest range of a PCI device's file `resource`, in bytes; 0: none.
std::uint64_t largest_range(const std::string& resource);

/// Returns lines for people.
std::string describe(const GpuFacts& facts);
nlohmann::ordered_json to_json(const GpuFacts& facts);

}  // namespace spead::app
