// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "runtime/end_conditions.hpp"
#include "runtime/plan.hpp"
#include "stats/snapshot.hpp"

/// Judges whether a run has reached its aim. Pure.
namespace spead::app {

/// Holds the result of a loopback run: whether all sent heaps came back right.
struct LoopbackVerdict {
    bool good = false;
    std::string sentence;
};

/// Judges a loopback run. A run in which no heap was sent is good only if its user interrupted it.
LoopbackVerdict judge_loopback(const stats::Snapshot& snapshot, runtime::EndReason reason);

/// Returns one sentence per stream that a sink should have verified and could not: a heap differed, or
/// packets came and not one heap was compared. A stream without any packet of data is no problem, nor is one
/// that the plan does not have: streams are found by their names, since they are added and removed during a
/// run.
std::vector<std::string> verification_problems(const runtime::Plan& plan, const stats::Snapshot& snapshot);

}  // namespace spead::app
