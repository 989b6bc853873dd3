// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "chunk/placement.hpp"
#include "spead/placement.hpp"

/// Holds the inner parts of a Placement. Not installed.
namespace spead {

struct Placement::State {
    chunk::Placement placement;
};

namespace door {

/// Gives access to a Placement's inside.
struct PlacementAccess {
    static chunk::Term term(const Term& term);
    /// Returns the placement, unchecked. Throws UsageError for one that was moved from.
    static const chunk::Placement& placement(const Placement& placement);
};

}  // namespace door
}  // namespace spead
