// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <pthread.h>

namespace spead {

/// Belongs to an object that a child of fork(2) must not use, and tells whether this is a child.
///
/// It counts forks, and asks for no process id: that is a system call, and streams look for each heap.
/// Children that run none of the handlers of pthread_atfork(3), as those of vfork(2), count as their parent.
class ProcessMark {
  public:
    /// Marks an object of this process. Throws std::bad_alloc.
    ProcessMark() : forks_(forks().load(std::memory_order_relaxed)) {}

    /// Returns whether this process made the mark.
    bool is_own() const noexcept { return forks_ == forks_in().load(std::memory_order_relaxed); }

  private:
    static std::atomic<std::uint32_t>& forks_in() noexcept {
        static std::atomic<std::uint32_t> count{0};
        return count;
    }
    /// Returns the forks between this process and the first one.
    static std::atomic<std::uint32_t>& forks() {
        static const int failed =
            pthread_atfork(nullptr, nullptr, [] { forks_in().fetch_add(1, std::memory_order_relaxed); });
        if (failed != 0)
            throw std::bad_alloc();
        return forks_in();
    }

    std::uint32_t forks_;
};

}  // namespace spead
