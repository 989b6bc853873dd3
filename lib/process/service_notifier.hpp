// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace spead::process {

/// Tells the service manager how the program is doing: datagrams to the Unix socket that $NOTIFY_SOCKET
/// names, a path or, with a leading @, an abstract address. Without it every call does nothing.
///
/// Source: sd_notify(3), sd_watchdog_enabled(3). Written here rather than linked: what is used of libsystemd
/// are these few lines, and the program then starts wherever it was built.
///
/// It has no thread and no timer: alive() is called by the run's main loop, after every lcore has answered,
/// so that the keep-alive stops when either hangs. One thread. Nothing here throws, or ends the run: a
/// manager that does not listen is logged once.
class ServiceNotifier {
  public:
    using Clock = std::chrono::steady_clock;
    /// Looks up an environment variable; null when it is not set.
    using Environment = std::function<const char*(const char*)>;

    /// $WATCHDOG_USEC counts unless $WATCHDOG_PID names another process than `pid`.
    ServiceNotifier(const Environment& environment, int pid);
    ~ServiceNotifier();
    ServiceNotifier(const ServiceNotifier&) = delete;
    ServiceNotifier& operator=(const ServiceNotifier&) = delete;

    bool active() const noexcept { return fd_ >= 0; }
    /// After how long without a keep-alive the manager steps in; none: it does not.
    std::optional<std::chrono::microseconds> watchdog() const noexcept { return watchdog_; }

    /// Ports run and groups are joined; or a changed configuration is in force.
    void ready();
    /// A changed configuration is about to be taken over; ready() follows, whether it was or not.
    void notify_reloading();
    void stopping();
    /// One line for `systemctl status`; sent when it differs from the last one, and not more often than every
    /// second.
    void status(const std::string& line, Clock::time_point now);
    /// Sends a keep-alive when half the watchdog's time has gone since the last one.
    void alive(Clock::time_point now);

  private:
    void send(const std::string& message, bool must_arrive);

    int fd_ = -1;
    std::string address_;  ///< as in sun_path
    std::optional<std::chrono::microseconds> watchdog_;
    std::optional<Clock::time_point> last_alive_;
    std::optional<Clock::time_point> last_status_;
    std::string status_;
    bool reported_ = false;
};

}  // namespace spead::process
