// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "port/rx_events.hpp"

namespace spead::runtime {

/// Puts an lcore in interrupt mode to sleep until a packet arrives, or until it is woken for its mailbox.
///
/// Control code makes and fills it before the lcore runs. The lcore calls arm(), wait() and disarm(); any
/// thread may call wake().
class Sleeper {
  public:
    /// Throws Error when the kernel gives no descriptor.
    Sleeper();
    ~Sleeper();
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    void add(const port::RxEvents& events);
    /// Forgets all events. Call it between two runs of an lcore, when no event can come.
    void clear() noexcept;
    bool empty() const noexcept { return events_.empty(); }

    void arm() const noexcept;
    /// Waits for that long at most; a system call.
    void wait(std::uint64_t microseconds) const noexcept;
    void disarm() const noexcept;

    void wake() const noexcept;
    /// Returns a descriptor that is readable after wake(), until the next wait() has seen it.
    int wake_descriptor() const noexcept { return wake_; }

  private:
    int epoll_ = -1;
    int wake_ = -1;
    std::vector<port::RxEvents> events_;
};

}  // namespace spead::runtime
