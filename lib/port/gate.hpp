// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <sched.h>
#include <vector>

namespace spead::port {

/// Keeps lcores out of a device. A queue enters before every burst and leaves after it.
class Gate {
  public:
    /// Holds one queue's presence; written by its lcore.
    struct alignas(64) Presence {
        std::atomic<bool> inside{false};
    };

    explicit Gate(std::size_t queues) : presences_(queues) {}

    Presence& presence(std::size_t queue) { return presences_[queue]; }

    /// Enters, on the lcore's side. Returns false when the lcore must stay out. Each true is followed by
    /// leave().
    bool enter(Presence& presence) const noexcept {
        // Closing looks at the presences after it has closed; this is the other way round, so one sees the
        // other.
        presence.inside.store(true, std::memory_order_seq_cst);
        if (open_.load(std::memory_order_seq_cst)) {
            return true;
        }
        presence.inside.store(false, std::memory_order_release);
        return false;
    }
    static void leave(Presence& presence) noexcept {
        presence.inside.store(false, std::memory_order_release);
    }

    bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }
    void open() noexcept { open_.store(true, std::memory_order_seq_cst); }
    /// Returns when no lcore is inside and none will enter.
    void close() noexcept {
        open_.store(false, std::memory_order_seq_cst);
        for (const Presence& presence : presences_) {
            while (presence.inside.load(std::memory_order_seq_cst)) {
                sched_yield();
            }
        }
    }

  private:
    std::atomic<bool> open_{false};
    std::vector<Presence> presences_;
};

}  // namespace spead::port
