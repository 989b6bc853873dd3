// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

/// Keeps lcores out of a device whose memory a peer can take away. Internal to lib/port.
///
/// net_memif unmaps the shared memory in EAL's interrupt thread as soon as the peer disconnects, whether or
/// not an lcore is inside a burst, which then dies of SIGSEGV. The guard watches a duplicate of the
/// connection's descriptor in the same thread. Its callback closes the gate and waits until no lcore is
/// inside; only then comes the PMD's own. That order is the kernel's: an event wakes the watchers of a socket
/// beginning with the last one, epoll reports them in that order, and EAL calls back in the order reported.
namespace spead::port {

/// What lcores look at. A queue enters before every burst and leaves after it.
class Gate {
  public:
    /// One queue's presence; written by its lcore.
    struct alignas(64) Presence {
        std::atomic<bool> inside{false};
    };

    explicit Gate(std::size_t queues) : presences_(queues) {}

    Presence& presence(std::size_t queue) { return presences_[queue]; }

    /// The lcore's side: false means stay out. Each true is followed by leave().
    bool enter(Presence& presence) const noexcept {
        // The gate closes first and looks at the presences then; this is the other way round, so one sees the
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
    void close() noexcept;

  private:
    std::atomic<bool> open_{false};
    std::vector<Presence> presences_;
};

/// Opens and closes a Gate as a port's peer comes and goes. Control world, except for its callbacks.
class LinkGuard {
  public:
    /// Watches nothing yet. Throws Error when EAL refuses the callback.
    LinkGuard(std::uint16_t port_id, Gate& gate);
    /// Closes the gate.
    ~LinkGuard();
    LinkGuard(const LinkGuard&) = delete;
    LinkGuard& operator=(const LinkGuard&) = delete;

    /// Whether the port's link is up although nothing is watched, so that watch() has something to do. Cheap.
    bool wants_watch() const;
    /// Watches these connections, then lets the interrupt thread open the gate if the link is still up. With
    /// none to watch the gate opens all the same, unguarded.
    void watch(std::span<const int> connections);
    /// Closes the gate and stops watching, so that the device may be stopped.
    void release();

  private:
    struct Watch;
    struct Opener;

    std::uint16_t port_id_;
    Gate& gate_;
    std::unique_ptr<Opener> opener_;
    std::vector<std::unique_ptr<Watch>> watches_;
};

}  // namespace spead::port
