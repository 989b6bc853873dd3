// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "port/rx_events.hpp"

namespace spead::runtime {

/// How an lcore in interrupt mode sleeps: until a packet comes, or until it is woken for its mailbox.
///
/// Made and filled in the control world before the lcore runs. arm(), wait() and disarm() are the lcore's,
/// wake() is anybody's.
class Sleeper {
  public:
    /// Throws Error when the kernel gives no descriptor.
    Sleeper();
    ~Sleeper();
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    void add(const port::RxEvents& events);
    /// Nothing can come between two runs of an lcore: forgets all events.
    void clear() noexcept;
    bool empty() const noexcept { return events_.empty(); }

    void arm() const noexcept;
    /// At most so long; a system call.
    void wait(std::uint64_t microseconds) const noexcept;
    void disarm() const noexcept;

    void wake() const noexcept;
    /// Readable after wake(), until the next wait() has seen it.
    int wake_descriptor() const noexcept { return wake_; }

  private:
    int epoll_ = -1;
    int wake_ = -1;
    std::vector<port::RxEvents> events_;
};

}  // namespace spead::runtime
