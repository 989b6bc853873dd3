// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <string>

#include "base/file_descriptor.hpp"

namespace spead {

/// Wakes a thread that sleeps on a descriptor until an lcore has data for it.
///
/// The lcore makes a system call only while the event is armed. The sleeper does:
///
///     event.arm();
///     if (there_is_something()) event.withdraw(); else sleep_on(event.fd());
///     event.clear();
///
/// An announcement is never missed: the lcore first publishes and then looks, and the sleeper arms first.
class ArmedEvent {
  public:
    /// Makes the descriptor. Throws Error, with `where`, when the process has none left.
    explicit ArmedEvent(const std::string& where);
    ArmedEvent(const ArmedEvent&) = delete;
    ArmedEvent& operator=(const ArmedEvent&) = delete;

    // The sleeper: one thread at a time.

    /// Returns the descriptor that becomes readable. Sometimes it does so early (a late announcement): look
    /// again.
    int fd() const noexcept { return fd_.get(); }
    void arm() noexcept {
        armed_.store(true, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    void withdraw() noexcept { armed_.store(false, std::memory_order_relaxed); }
    /// Withdraws, and makes the descriptor unreadable.
    void clear() noexcept;

    // The lcore, and any other thread.

    /// Announces published data. Call it after the publication.
    void announce() noexcept {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (armed_.load(std::memory_order_relaxed)) [[unlikely]]
            signal();
    }
    /// Makes the descriptor readable, armed or not.
    void wake() noexcept;

  private:
    void signal() noexcept;

    FileDescriptor fd_;
    alignas(64) std::atomic<bool> armed_{false};
};

}  // namespace spead
