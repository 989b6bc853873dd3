// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "port/gate.hpp"
#include "port/interrupt_thread.hpp"

/// Keeps lcores out of a device whose memory a peer can unmap. Internal to lib/port.
///
/// net_memif unmaps the shared memory in EAL's interrupt thread as soon as the peer disconnects, whether or
/// not an lcore is inside a burst, which then dies of SIGSEGV. The guard watches a duplicate of the
/// connection's descriptor in the same thread. Its callback closes the gate and waits until no lcore is
/// inside; the PMD's own callback runs after it. The kernel gives that order: an event wakes the watchers of
/// a socket beginning with the last one, epoll reports them in that order, and EAL calls back in the order
/// reported.
namespace spead::port {

/// Returns whether the device says that its link is up. Does not wait.
bool link_is_up(std::uint16_t port_id);

/// Opens and closes a Gate as a port's peer connects and disconnects. Control code, except for its callbacks.
class LinkGuard {
  public:
    /// Watches nothing yet. Throws Error when EAL refuses callbacks.
    LinkGuard(std::uint16_t port_id, Gate& gate);
    /// Closes the gate.
    ~LinkGuard();
    LinkGuard(const LinkGuard&) = delete;
    LinkGuard& operator=(const LinkGuard&) = delete;

    /// Returns whether the port's link is up although nothing is watched, so that watch() has work to do.
    /// Cheap.
    bool wants_watch() const;
    /// Watches duplicates of the connections that `find` returns, and opens the gate if the link is still up
    /// then. Without connections the gate opens unguarded. Calls `find` again, which must return the
    /// duplicates, too; a duplicate that it does not return belongs to another file, and is closed.
    void watch(const std::function<std::vector<int>()>& find);
    /// Closes the gate and stops watching.
    void release();

    /// Runs starts, stops and closes of the device: otherwise the PMD would do them and handle a disconnect
    /// at the same time.
    void run(const std::function<void()>& job) { thread_.run(job); }

  private:
    struct Watch;

    std::uint16_t port_id_;
    Gate& gate_;
    InterruptThread& thread_;
    std::vector<std::unique_ptr<Watch>> watches_;
};

}  // namespace spead::port
