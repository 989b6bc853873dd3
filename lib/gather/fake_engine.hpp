// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "gather/threaded_engine.hpp"

namespace spead::gather {

class FakeMemory;

/// Lists the faults of a FakeEngine. Any thread changes them at any time.
struct FakeEngineFaults {
    /// Lasts at most this long for each batch, by a random choice, beside the move itself.
    std::atomic<std::uint32_t> delay_us{0};
    /// Makes the engine stand still before its next batch, whether or not it is stopped.
    std::atomic<bool> stalls{false};
    /// Fails the batch after so many.
    std::atomic<std::uint64_t> fails_after{~std::uint64_t{0}};
    /// Keeps the failed engine from ending.
    std::atomic<bool> lingers{false};
};

/// Stands for a device's engine where there is no device: heaps lie in memory that the CPU may not touch
/// (FakeMemory), and a thread moves payload there, as late and as badly as its faults say. For tests, and to
/// try a configuration out.
class FakeEngine final : public ThreadedEngine {
  public:
    /// Starts its thread, on one of the CPUs; none: on any. Throws Error.
    explicit FakeEngine(const std::vector<unsigned>& cpus = {});
    ~FakeEngine() override;

    std::string_view name() const noexcept override { return "fake"; }
    memory::MemoryKind kind() const noexcept override { return memory::MemoryKind::device; }
    std::shared_ptr<const memory::Region> allocate(std::size_t bytes) override;
    std::shared_ptr<const memory::Region> allocate_packets(std::size_t bytes) override;
    std::byte* writable(const memory::Region& packets) noexcept override;
    void fetch(const std::byte* from, std::span<std::byte> to) override;

    /// Writes into the engine's memory, as a port does that receives payload into it. Throws Error outside of
    /// it. Any thread.
    void store(const std::byte* to, std::span<const std::byte> from);

    FakeEngineFaults& faults() noexcept;
    /// Returns the batches that were moved.
    std::uint64_t moved() const noexcept;

  private:
    class FakeMover;
    std::shared_ptr<const memory::Region> add(const std::shared_ptr<const FakeMemory>& made);
    explicit FakeEngine(std::shared_ptr<FakeMover> mover, const std::vector<unsigned>& cpus);

    std::shared_ptr<FakeMover> mover_;
};

}  // namespace spead::gather
