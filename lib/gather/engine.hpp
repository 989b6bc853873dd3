// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "gather/channel.hpp"
#include "memory/region.hpp"

namespace spead::gather {

/// Reports that a fetch was given up (Engine::fetch). The engine may come back.
class FetchTimedOut : public Error {
  public:
    using Error::Error;
};

/// Moves payload from packets into heaps, for any number of RX lcores, on a thread of its own. That thread
/// runs on a CPU that no lcore has; the lcores only ever touch their channels.
///
/// Control code makes an engine, its memory and its channels, and stops it. What an engine gives out is
/// shared: heaps that users hold keep its memory, and an engine that cannot be stopped keeps what it may
/// still write. All functions but fetch() and end_fetches() are for one thread at a time.
class Engine {
  public:
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    /// Stops the engine, as stop() does.
    virtual ~Engine() = default;

    /// Returns the name that users know it by ("cpu", "fake").
    virtual std::string_view name() const noexcept = 0;
    /// Returns the kind of memory that heaps get.
    virtual memory::MemoryKind kind() const noexcept = 0;

    /// Makes memory for heaps, of at least `bytes`, aligned to 4 KiB. Throws Error.
    virtual std::shared_ptr<const memory::Region> allocate(std::size_t bytes) = 0;
    /// Makes memory that a port receives payload into, of at least `bytes`, in whole pages of 2 MiB. Batches
    /// may take from it at once. Throws Error where the engine has none that a card could write.
    virtual std::shared_ptr<const memory::Region> allocate_packets(std::size_t bytes);
    /// Returns where the CPU writes the first byte of such memory in place of a card, for ports of tests;
    /// null: nowhere.
    virtual std::byte* writable(const memory::Region& packets) noexcept;
    /// Makes memory known that packets arrive in, before the first of them. It stays until stop() has
    /// returned true. Throws Error.
    virtual void register_packets(std::span<std::byte> memory) { static_cast<void>(memory); }
    /// Makes the channel of one lcore, with so many batches. The engine serves it until stop(). Throws Error.
    virtual std::shared_ptr<Channel> connect(std::size_t batches) = 0;

    /// Copies bytes of a heap that has been handed over into ordinary memory, for consumers that read on the
    /// CPU. Any number of threads. Waits for that. Throws FetchTimedOut when it takes longer than
    /// kLongestFetch, or is behind one that was and has not come; Error when the engine fails.
    virtual void fetch(const std::byte* from, std::span<std::byte> to) = 0;
    /// Makes fetches that follow a late one throw at once until that one has come, because the run ends. Any
    /// thread.
    virtual void end_fetches() noexcept {}
    static constexpr std::chrono::seconds kLongestFetch{5};

    /// Ends the engine: no batch is taken any more, those that were are finished, and all channels end.
    /// Returns true when they have; false when the engine stands still for longer than `patience`. Then its
    /// channels do not end, and what it may still read or write stays allocated. May be called again.
    virtual bool stop(std::chrono::milliseconds patience) = 0;

  protected:
    Engine() = default;
};

}  // namespace spead::gather
