// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/gpu_facts.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "base/units.hpp"

namespace spead::app {

namespace {

/// Returns the version of the kernel's module: the first word of its line that is one.
std::string module_version(const std::string& text) {
    std::istringstream words(text);
    for (std::string word; words >> word;)
        if (word.find_first_not_of("0123456789.") == word.npos && word.find('.') != word.npos)
            return word;
    return {};
}

std::string_view ordering_of(const GpuFacts& facts) {
    switch (facts.device.writes_ordering) {
        case 0:
            return "none";
        case 100:
            return "owner";
        case 200:
            return "all devices";
        default:
            return "unknown";
    }
}

}  // namespace

std::uint64_t largest_range(const std::string& resource) {
    std::istringstream lines(resource);
    std::uint64_t largest = 0;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t flags = 0;
    while (lines >> std::hex >> first >> last >> flags)
        if (last > first)
            largest = std::max(largest, last - first + 1);
    return largest;
}

GpuFacts gpu_facts(const gpu::Context& context, const port::Sysfs& files) {
    GpuFacts facts;
    facts.device = context.facts();
    facts.cuda = context.driver().version();
    facts.driver = module_version(files.text("/proc/driver/nvidia/version").value_or(""));
    facts.window = largest_range(
        files.text(fmt::format("/sys/bus/pci/devices/{}/resource", facts.device.address)).value_or(""));
    return facts;
}

std::string describe(const GpuFacts& f) {
    const auto yes = [](bool b) { return b ? "yes" : "no"; };
    return fmt::format(
        "{} at {}: {}, compute capability {}.{}, {} multiprocessors, {} copy engines; driver {}, CUDA {}.{}\n"
        "memory that the bus reaches (BAR1): {}; GPUDirect RDMA: {}; dma-buf: {}; writes ordered for: {}",
        f.device.name, f.device.address, human_size(f.device.memory), f.device.capability / 10,
        f.device.capability % 10, f.device.multiprocessors, f.device.copy_engines,
        f.driver.empty() ? "unknown" : f.driver, f.cuda / 1000, f.cuda % 1000 / 10,
        f.window == 0 ? "unknown" : human_size(f.window), yes(f.device.rdma), yes(f.device.dma_buf),
        ordering_of(f));
}

nlohmann::ordered_json to_json(const GpuFacts& f) {
    return {{"name", f.device.name},
            {"address", f.device.address},
            {"memory", f.device.memory},
            {"compute_capability", f.device.capability},
            {"multiprocessors", f.device.multiprocessors},
            {"copy_engines", f.device.copy_engines},
            {"driver", f.driver},
            {"cuda", f.cuda},
            {"bar1", f.window},
            {"gpu_direct_rdma", f.device.rdma},
            {"dma_buf", f.device.dma_buf},
            {"writes_ordering", ordering_of(f)},
            {"same_host_pointer", f.device.same_host_pointer}};
}

}  // namespace spead::app
