// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "app/bench/gpu_facts.hpp"
#include "app/inspect/findings.hpp"
#include "gpu/driver.hpp"
#include "runtime/layout.hpp"

/// Checks whether a plan that needs a GPU finds one that can do what it needs.
namespace spead::app {

/// Says what a plan needs of a GPU.
struct GpuNeeds {
    bool gathers = false;     ///< payload is moved into its memory
    bool splits = false;      ///< cards write into its memory
    bool registers = false;   ///< chunks lie in pinned memory of the host
    std::uint64_t bytes = 0;  ///< of its memory, for heaps and chunks
    std::string by;           ///< names the keys with their streams; empty: no GPU is needed
};
GpuNeeds gpu_needs(const runtime::Layout& layout, const runtime::Plan& plan);

/// Returns what a GPU lacks of that, a failed finding each, or one that describes it. `count`: of GPUs that
/// the driver shows.
Findings judge_gpu(const GpuFacts& facts, int count, const GpuNeeds& needs);

/// Loads the driver, opens the GPU that a run would take, and judges it; nothing if the plan needs none.
/// `library`: the driver's.
Findings check_gpu(const runtime::Layout& layout, const runtime::Plan& plan,
                   const std::string& library = gpu::Driver::kLibrary);

}  // namespace spead::app
