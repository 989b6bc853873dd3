// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "gather/engine.hpp"
#include "gpu/gatherer.hpp"

namespace spead::gpu {

/// Has a GPU pull payload from packets in registered host memory into heaps in its own memory: the engine
/// `cuda`. Needs a GPU that has the CPU's addresses for registered memory.
///
/// A thread of its own, which is no lcore's, gives the batches to several streams of the driver. Each stream
/// writes a word of host memory when a batch is done, so asking costs a load. Batches are done in the order
/// in which they were given out. So a channel's are done in the order of their numbers.
///
/// The first call of the driver that fails ends the engine, with the call's name. So does a packet that lies
/// in no registered memory. Channels end when the streams are idle, or when the driver has answered nothing
/// but failures for kLost (gpu/objects.hpp): then the GPU's context is gone, and with it all that it ran.
class CudaEngine final : public gather::Engine {
  public:
    static constexpr std::size_t kStreams = 4;
    /// Limits the batches that the driver has.
    static constexpr std::size_t kMostInFlight = 64;

    /// Makes the streams and their words, and starts the thread, on one of the CPUs; none: on any. Throws
    /// Error.
    explicit CudaEngine(const ContextPointer& context, const std::vector<unsigned>& cpus = {},
                        Gatherer::Way way = Gatherer::Way::automatic);
    ~CudaEngine() override;

    std::string_view name() const noexcept override { return "cuda"; }
    memory::MemoryKind kind() const noexcept override { return memory::MemoryKind::device; }
    std::shared_ptr<const memory::Region> allocate(std::size_t bytes) override;
    /// Allocates memory that cards write (GPUDirect RDMA). Throws Error for a GPU that lets none, or that
    /// does not show such writes in order.
    std::shared_ptr<const memory::Region> allocate_packets(std::size_t bytes) override;
    /// Registers the pages that are not registered yet. Pages that neighbours share belong into one call.
    void register_packets(std::span<std::byte> memory) override;
    std::shared_ptr<gather::Channel> connect(std::size_t batches) override;
    void fetch(const std::byte* from, std::span<std::byte> to) override;
    void end_fetches() noexcept override;
    bool stop(std::chrono::milliseconds patience) override;

  private:
    class Work;

    std::shared_ptr<Work> work_;
    std::thread thread_;
};

}  // namespace spead::gpu
