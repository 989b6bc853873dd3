// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace spead::process {

/// Reports the state of the program to the service manager. Sends datagrams to the Unix socket that
/// $NOTIFY_SOCKET names: a path or, with a leading @, an abstract address. Without it every call does
/// nothing.
///
/// Source: sd_notify(3), sd_watchdog_enabled(3). Not linked from libsystemd, since the used functions are a
/// few lines; so the program runs on machines without that library.
///
/// It has no thread and no timer. The run's main loop calls alive() after every lcore has answered, so that
/// the keep-alive stops when either hangs. One thread. Nothing here throws, or ends the run. If the manager
/// does not listen, that is logged once.
class ServiceNotifier {
  public:
    using Clock = std::chrono::steady_clock;
    /// Looks up an environment variable; null when it is not set.
    using Environment = std::function<const char*(const char*)>;

    /// Reads the environment. $WATCHDOG_USEC counts unless $WATCHDOG_PID names another process than `pid`.
    ServiceNotifier(const Environment& environment, int pid);
    ~ServiceNotifier();
    ServiceNotifier(const ServiceNotifier&) = delete;
    ServiceNotifier& operator=(const ServiceNotifier&) = delete;

    bool active() const noexcept { return fd_ >= 0; }
    /// Returns the time without a keep-alive after which the manager acts; none: no limit.
    std::optional<std::chrono::microseconds> watchdog() const noexcept { return watchdog_; }

    /// Reports that ports run and groups are joined, or that a changed configuration is in force.
    void ready();
    /// Reports that a changed configuration is about to be applied; ready() follows, whether or not it was.
    void notify_reloading();
    void stopping();
    /// Sends one line for `systemctl status` when it differs from the last one, and at most every second.
    void status(const std::string& line, Clock::time_point now);
    /// Sends a keep-alive when half the watchdog's time has passed since the last one.
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
