// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/peer_memory.hpp"
#include "gpu/registered.hpp"
#include "memory/mapping.hpp"
#include "memory/memory_kind.hpp"
#include "memory/region.hpp"
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
    std::optional<gpu::PeerMemory> device{};  ///< of cuda_device()
    bool registered = false;                  ///< with the session's engine

    /// Returns what ports know: of a GPU, whole pages.
    memory::Region region() const noexcept {
        return device ? device->region() : memory::Region{bytes.data(), bytes.size()};
    }
    memory::MemoryKind kind() const noexcept {
        return device ? memory::MemoryKind::device : memory::MemoryKind::host;
    }
};

namespace door {

/// Describes the memory of an item that is sent.
struct ItemMemory {
    std::span<const std::byte> bytes{};
    bool on_gpu = false;  ///< the user has said so, or it was known when the item got it
};

/// Knows the memory of all Memory handles of the operating system process, by address. Any thread.
class UserMemory {
  public:
    using Handles = std::vector<std::shared_ptr<Memory::State>>;

    static UserMemory& instance();

    /// Registers the memory with its session. Throws Error: the range is empty or overlaps another, no room
    /// is left, a device refuses.
    void add(const std::shared_ptr<Memory::State>& memory);
    void remove(const Memory::State& memory) noexcept;

    /// Appends handles for the registered ones among the items' memory. Throws Error for memory that another
    /// thread is unregistering, and for memory of a GPU that a stream of `session` (null: a stream without
    /// ports) cannot send from: not registered as a whole, or with another session.
    void hold(std::span<const ItemMemory> items, const Session* session, Handles& held);
    /// Returns whether any of the memory is registered memory of a GPU.
    bool on_gpu(std::span<const std::byte> memory);

  private:
    struct Entry {
        std::byte* end;
        std::weak_ptr<Memory::State> memory;
        memory::MemoryKind kind;
        const Session* session;
        bool ready = false;  ///< its session's ports know it
    };
    using Entries = std::map<const std::byte*, Entry>;

    Entries::iterator first_of(std::span<const std::byte> memory);
    void hold(const ItemMemory& item, const Session* session, Handles& held);

    std::mutex mutex_;
    Entries entries_;  ///< by first byte; before and after their time here, any port may know them
};

/// Throws Error if the memory is of a GPU: lcores write chunks.
void need_chunk_memory(const std::string& where, std::span<const std::byte> memory);

}  // namespace door
}  // namespace spead
