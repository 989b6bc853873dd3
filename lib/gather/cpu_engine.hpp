// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "gather/threaded_engine.hpp"

namespace spead::gather {

/// Copies payload on a CPU that is not the RX lcore's, into ordinary memory: the engine `cpu`. It needs no
/// device, and takes copies off lcores that cannot keep up with them.
class CpuEngine final : public ThreadedEngine {
  public:
    /// Starts its thread, on one of the CPUs; none: on any. Throws Error.
    explicit CpuEngine(const std::vector<unsigned>& cpus = {});

    std::string_view name() const noexcept override { return "cpu"; }
    memory::MemoryKind kind() const noexcept override { return memory::MemoryKind::host; }
    std::shared_ptr<const memory::Region> allocate(std::size_t bytes) override;
    void fetch(const std::byte* from, std::span<std::byte> to) override;
};

}  // namespace spead::gather
