// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "runtime/end_conditions.hpp"
#include "runtime/plan.hpp"
#include "stats/snapshot.hpp"

/// Whether a run has shown what it was there to show. Pure.
namespace spead::app {

/// What loopback is there for: everything sent came back right.
struct LoopbackVerdict {
    bool good = false;
    std::string sentence;
};

/// A run in which no heap was sent has shown nothing, and is good only when its user interrupted it.
LoopbackVerdict judge_loopback(const stats::Snapshot& snapshot, runtime::EndReason reason);

/// One sentence per stream that a sink was to verify and could not: a heap differed, or packets came and not
/// one heap was compared. A stream without any packet of data is no problem, nor is one that the plan does
/// not have: streams are found by their names, since they come and go during a run.
std::vector<std::string> verification_problems(const runtime::Plan& plan, const stats::Snapshot& snapshot);

}  // namespace spead::app
