// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "runtime/engine_state.hpp"

/// Sinks that have failed (a full disk): who is told, and whether the run has anything left to do.
namespace spead::runtime {

/// A sink has failed, and its stream wants the run to end, or there is nothing else left that the run could
/// do.
bool Engine::State::sinks_over() const {
    bool any_failed = false;
    bool left =
        ends.stays() || std::any_of(senders.planned().begin(), senders.planned().end(),
                                    [](const auto& s) { return s->plan.enabled && !s->feeder->done(); });
    for (std::size_t i = 0; i < streams.current().size(); i++) {
        const ReceivePlan& r = plan.receives[i];
        const Stream& s = *streams.current()[i];
        if (!r.enabled || (!s.sink && !s.users))
            continue;
        const bool failed = s.sink && s.sink->failed();
        if (failed && r.sink.on_error == OnSinkError::end)
            return true;
        any_failed |= failed;
        left |= (s.capture && !s.capture->over()) || (!failed && !ports[r.port].device().exhausted());
    }
    return any_failed && !left;
}

}  // namespace spead::runtime
