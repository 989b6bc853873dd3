// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/idle.hpp"
#include "runtime/lcore_set.hpp"
#include "runtime/plan.hpp"
#include "runtime/receive_queues.hpp"
#include "runtime/sender_set.hpp"
#include "runtime/stream.hpp"

namespace spead::runtime {

/// What the streams of an lcore ask it to do while no packets come.
struct IdleWish {
    PollMode mode = PollMode::adaptive;
    std::uint32_t max_poll = ReceivePlan{}.max_poll;  ///< empty polls before it rests

    bool operator==(const IdleWish&) const = default;
};

/// Returns what the streams on the worker ask for; `plans` are in the order of `streams`. The first of them
/// chooses the mode, unless one wants its lcore to poll always.
IdleWish idle_wish(const Worker& worker, const std::vector<std::unique_ptr<Stream>>& streams,
                   const std::vector<ReceivePlan>& plans);

/// Has lcores rest as their streams ask for it.
///
/// Main thread only. Waits end with the lcores' patience (LcoreSet).
class Idling {
  public:
    /// All of them outlive the object.
    Idling(LcoreSet& lcores, const ReceiveQueues& queues, const SenderSet& senders)
        : lcores_(lcores), queues_(queues), senders_(senders) {}

    /// Has the lcore do what its streams ask for, after streams or senders have come or gone. An lcore that
    /// cannot wait for packets polls adaptively. Throws LcoreLost.
    void set(Worker& worker, const IdleWish& wish);

  private:
    LcoreSet& lcores_;
    const ReceiveQueues& queues_;
    const SenderSet& senders_;
};

}  // namespace spead::runtime
