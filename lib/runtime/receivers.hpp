// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <thread>

#include "base/waiting_time.hpp"
#include "recv/rx_agent.hpp"
#include "runtime/lcore_set.hpp"
#include "runtime/waits.hpp"

namespace spead::runtime {

/// Calls `question(receiver)` on every lcore. Returns whether all of them, but the lost ones, say yes.
template <typename Question>
bool ask_receivers(LcoreSet& lcores, Question question) {
    bool all = true;
    for (const auto& w : lcores)
        all &= lcores.try_ask(*w, question, &w->loop->receiver()).value_or(true);
    return all;
}

/// Waits until all receivers say that they are done, which depends on engines alone. Calls `meanwhile`
/// between two rounds. Returns false when the engines take longer than kGatherPatience.
template <typename Question, typename Meanwhile>
bool engines_finish(LcoreSet& lcores, Question is_done, Meanwhile meanwhile) {
    for (WaitingTime waited(kRound); !ask_receivers(lcores, is_done);) {
        if (waited.add() >= kGatherPatience)
            return false;
        meanwhile();
        std::this_thread::sleep_for(kStep);
    }
    return true;
}

}  // namespace spead::runtime
