// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "port/driver.hpp"
#include "port/gate.hpp"
#include "port/link_guard.hpp"
#include "port/queues.hpp"

namespace spead::port {

/// Follows the peer of a port whose device needs one (memif), and keeps lcores out of the device while none
/// is connected. Internal to lib/port. Control code, one thread.
///
/// A port without such a device has one too, that guards nothing.
class PortPeer {
  public:
    /// Keeps references to both, which must outlive it.
    PortPeer(const Driver& driver, const PreparedDevice& device) : driver_(driver), device_(device) {}
    PortPeer(const PortPeer&) = delete;
    PortPeer& operator=(const PortPeer&) = delete;

    /// Puts a gate before every queue, which is closed until follow() finds the peer. Once, before the first
    /// start. Throws Error when EAL refuses callbacks.
    void guard(std::uint16_t port_id, std::deque<RxState>& rx, std::deque<TxState>& tx);
    /// Ends the guard; after the device is closed. The gate stays, since queues point to it, and is closed.
    void end_guard() noexcept { guard_.reset(); }

    /// Makes calls into the device that must not overlap with a peer's disconnect. Returns the call's result.
    int in_order(const std::function<int()>& call) const;

    /// Returns Driver::why_no_peer(), and logs the first reason that is not empty as one of `port_name`.
    std::optional<std::string> why_absent(const std::string& port_name);

    /// Says whether the user has started the port, but its peer is not there yet.
    bool is_awaited() const noexcept { return awaited_; }
    void set_awaited(bool awaited) noexcept { awaited_ = awaited; }

    /// Returns whether lcores are kept out of a guarded device.
    bool keeps_out() const noexcept { return gate_ && !gate_->is_open(); }

    /// Opens the gate when the peer has come. When it has gone or has refused us, and the device looks for it
    /// only when started: stops the device, awaits the peer and returns false. Else returns true. For a
    /// started device.
    bool follow();

    /// Waits, before a guarded device stops, until an outgoing connection is made or refused (a second at
    /// most), then until the peer has fetched what was sent, or fetches nothing for two seconds. Returns the
    /// number of packets that it has not fetched.
    std::uint64_t finish() const;
    /// Closes the gate and stops watching the peer; before the device stops.
    void release();

  private:
    void wait_until_met() const;
    std::uint64_t wait_until_fetched() const;

    const Driver& driver_;
    const PreparedDevice& device_;
    std::uint16_t port_id_ = 0;  ///< of the guarded device
    std::unique_ptr<Gate> gate_;
    std::unique_ptr<LinkGuard> guard_;
    bool awaited_ = false;
    bool reported_ = false;  ///< why it is absent
};

}  // namespace spead::port
