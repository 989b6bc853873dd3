// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "gpu/registered.hpp"
#include "memory/mapping.hpp"
#include "spead/memory.hpp"

namespace spead {

/// Holds memory that is registered during its life: for every handle, and for every heap in flight that
/// refers to it.
struct Memory::State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    /// Unregisters it, and waits for that; the session may have ended.
    ~State();

    std::shared_ptr<door::Session> session;
    std::span<std::byte> bytes;
    memory::Mapping own{};                    ///< mapped by huge()
    std::optional<gpu::Registered> on_gpu{};  ///< of cuda_pinned()
    bool registered = false;                  ///< with the session's engine
};

namespace door {

/// Knows the memory of all Memory handles of the operating system process, by address. Any thread.
class UserMemory {
  public:
    using Handles = std::vector<std::shared_ptr<Memory::State>>;

    static UserMemory& instance();

    /// Registers the memory with its session. Throws Error: the range is empty or overlaps another, no room
    /// is left, a device refuses.
    void add(const std::shared_ptr<Memory::State>& memory);
    void remove(const Memory::State& memory) noexcept;

    /// Appends handles for the registered ones among the ranges. Throws Error for memory that another thread
    /// is unregistering.
    void hold(std::span<const std::span<const std::byte>> ranges, Handles& held);

  private:
    struct Entry {
        std::byte* end;
        std::weak_ptr<Memory::State> memory;
    };

    std::mutex mutex_;
    std::map<const std::byte*, Entry>
        entries_;  ///< by first byte; before and after their time here, any port may know them
};

}  // namespace door
}  // namespace spead
