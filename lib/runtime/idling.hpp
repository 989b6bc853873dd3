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

/// Holds the idle behaviour that the streams of an lcore ask for.
struct IdleWish {
    PollMode mode = PollMode::adaptive;
    std::uint32_t max_poll = ReceivePlan{}.max_poll;  ///< empty polls before it rests

    bool operator==(const IdleWish&) const = default;
};

/// Returns the idle behaviour that the worker's streams ask for; `plans` are in the order of `streams`. The
/// first stream chooses the mode, unless one of them requires constant polling.
IdleWish idle_wish(const Worker& worker, const std::vector<std::unique_ptr<Stream>>& streams,
                   const std::vector<ReceivePlan>& plans);

/// Sets how lcores rest, as their streams ask for it.
class Idling {
  public:
    /// Refers to all of them; they outlive the object.
    Idling(LcoreSet& lcores, const ReceiveQueues& queues, const SenderSet& senders)
        : lcores_(lcores), queues_(queues), senders_(senders) {}

    /// Makes the lcore rest as its streams ask, after streams or senders were added or removed. An lcore that
    /// cannot wait for packets polls adaptively. Throws LcoreLost.
    void set(Worker& worker, const IdleWish& wish);

  private:
    LcoreSet& lcores_;
    const ReceiveQueues& queues_;
    const SenderSet& senders_;
};

}  // namespace spead::runtime
