// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/check_gpu.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/units.hpp"
#include "runtime/layout_ports.hpp"

namespace spead::app {

namespace {

/// Holds the oldest version of CUDA and compute capability that the program is made for.
constexpr int kOldestCuda = 12000;
constexpr int kLeastCapability = 75;
constexpr int kOrderedForOwner = 100;

constexpr const char* kOtherGpu = "name another GPU first in CUDA_VISIBLE_DEVICES";
constexpr const char* kShowGpus = "nvidia-smi";

/// Returns the bytes of the GPU's memory that a stream has.
std::uint64_t bytes_of(const runtime::Layout& layout, const runtime::Plan& plan, std::size_t stream) {
    const runtime::ReceivePlan& r = plan.receives[stream];
    if (r.chunk)
        return runtime::chunk_bytes(r).payload;
    const std::size_t lcores = stream < layout.stream_cpus.size() ? layout.stream_cpus[stream].size() : 0;
    return r.engine_memory * std::max<std::size_t>(lcores, 1);
}

}  // namespace

GpuNeeds gpu_needs(const runtime::Layout& layout, const runtime::Plan& plan) {
    GpuNeeds needs;
    std::vector<std::string> by;
    for (std::size_t i = 0; i < plan.receives.size(); i++) {
        const runtime::ReceivePlan& r = plan.receives[i];
        if (!r.enabled)
            continue;
        if (r.engine == runtime::HeapEngine::cuda) {
            needs.gathers = true;
            needs.bytes += bytes_of(layout, plan, i);
            by.push_back(fmt::format("`gather = \"cuda\"` of {}", r.name));
        }
        if (r.chunk && r.chunk->memory == runtime::ChunkMemory::cuda_pinned) {
            needs.registers = true;
            by.push_back(fmt::format("`memory = \"cuda_pinned\"` of {}", r.name));
        }
    }
    needs.splits = needs.gathers && std::ranges::any_of(layout.ports, [&plan](const port::PlannedPort& p) {
                       return p.device.split &&
                              runtime::payload_engine(plan, p.request.name) == runtime::HeapEngine::cuda;
                   });
    needs.by = fmt::format("{}", fmt::join(by, ", "));
    return needs;
}

Findings judge_gpu(const GpuFacts& facts, int count, const GpuNeeds& needs) {
    Findings found;
    const gpu::DeviceFacts& gpu = facts.device;
    const auto lacks = [&](bool does, std::string what, std::string fix) {
        if (does)
            found.push_back({Verdict::fail, "GPU", fmt::format("{} at {} {}", gpu.name, gpu.address, what),
                             std::move(fix)});
    };
    lacks(facts.cuda < kOldestCuda,
          fmt::format("has a driver for CUDA {}.{}, and {} needs 12.0: install NVIDIA's driver 525 or newer",
                      facts.cuda / 1000, facts.cuda % 1000 / 10, needs.by),
          kShowGpus);
    lacks(gpu.capability < kLeastCapability,
          fmt::format("has compute capability {}.{}, and {} needs 7.5: {}", gpu.capability / 10,
                      gpu.capability % 10, needs.by, kOtherGpu),
          "nvidia-smi --query-gpu=index,name,compute_cap --format=csv");
    lacks((needs.registers || needs.gathers) && !gpu.registers_host,
          fmt::format("does not reach memory of the host, which {} needs: {}", needs.by, kOtherGpu),
          kShowGpus);
    lacks(needs.gathers && !gpu.same_host_pointer,
          fmt::format(
              "has addresses of its own for memory of the host, and {} lists packets by the CPU's: {}, or "
              "use chunks",
              needs.by, kOtherGpu),
          kShowGpus);
    lacks(needs.splits && !gpu.rdma,
          fmt::format("does not let cards write its memory (GPUDirect RDMA): {}, or leave out `split`",
                      kOtherGpu),
          kShowGpus);
    lacks(needs.splits && gpu.writes_ordering < kOrderedForOwner,
          "may show the writes of a card later than the card tells of them: leave out `split`", {});
    lacks(needs.bytes > gpu.memory,
          fmt::format("has {} of memory, and {} needs {}: lower `gather_memory`, or `chunks`",
                      human_size(gpu.memory), needs.by, human_size(needs.bytes)),
          kShowGpus);
    if (found.empty()) {
        std::string text = describe(facts);
        std::ranges::replace(text, '\n', ';');
        found.push_back({Verdict::ok,
                         "GPU",
                         fmt::format("{}{}", count == 1 ? "" : fmt::format("the first of {}: ", count), text),
                         {}});
    }
    return found;
}

Findings check_gpu(const runtime::Layout& layout, const runtime::Plan& plan, const std::string& library) {
    const GpuNeeds needs = gpu_needs(layout, plan);
    if (needs.by.empty())
        return {};
    try {
        const std::shared_ptr<const gpu::Driver> driver = gpu::Driver::load(library);
        return judge_gpu(gpu_facts(*gpu::Context::open(driver)), driver->devices(), needs);
    } catch (const Error& error) {
        return {{Verdict::fail, "GPU", fmt::format("{} cannot be: {}", needs.by, error.what()), kShowGpus}};
    }
}

}  // namespace spead::app
