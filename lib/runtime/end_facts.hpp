// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "runtime/consumers.hpp"
#include "runtime/end_conditions.hpp"
#include "runtime/lcore_set.hpp"
#include "runtime/plan.hpp"
#include "runtime/port_set.hpp"
#include "runtime/sender_set.hpp"
#include "runtime/stream_set.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// What the end of a run depends on, besides its counts.
struct EndSources {
    const Plan& plan;
    const PortSet& ports;
    const LcoreSet& lcores;
    const SenderSet& senders;
    const Consumers& consumers;
    const StreamSet& streams;
};

/// Returns what the run looks like now. `now` counts since the start. `stays`: the run ends neither with its
/// sources nor with its senders. Main thread; changes nothing and never waits.
EndFacts end_facts(const EndSources& of, const stats::Snapshot& now, bool stays);

}  // namespace spead::runtime
