// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>

#include <rte_interrupts.h>

/// Runs work in EAL's interrupt thread, where some PMDs act on their own. Internal to lib/port; control code.
namespace spead::port {

struct FreeInterruptHandle {
    void operator()(rte_intr_handle* handle) const;
};
using InterruptHandle = std::unique_ptr<rte_intr_handle, FreeInterruptHandle>;

/// Lets the interrupt thread call back whenever `fd` is readable or hung up. Throws Error when EAL refuses.
InterruptHandle call_back_on(int fd, rte_intr_callback_fn callback, void* argument);

/// Runs functions in that thread, and so never at the same time as a PMD's own callback. There is one for the
/// process: EAL's thread must have no pending work when EAL's memory is freed at the end.
class InterruptThread {
  public:
    /// Returns the only one. Throws Error when EAL refuses.
    static InterruptThread& get();

    /// Runs `job` there and returns when it is done; rethrows its exception. Callbacks registered or removed
    /// before this call have taken effect when the job runs. One thread at a time; not from a callback.
    void run(const std::function<void()>& job);

  private:
    struct Task;

    InterruptThread();
    static void event(void* self);

    int fd_;
    Task* task_ = nullptr;
    InterruptHandle handle_;
};

}  // namespace spead::port
