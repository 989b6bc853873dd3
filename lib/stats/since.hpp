// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stats/snapshot.hpp"

namespace spead::stats {

/// What happened after `base`: every count less what it was then, by the names of streams, sends, ports and
/// lcores; what `base` does not have, or what has begun anew under its name, stays as it is; what it has of
/// streams that were removed since is taken from the removed ones. Times of heaps, high-water marks and
/// senders are not counts: their lcores forget them when `base` is taken (forget_peaks).
/// All identities that hold in both hold in the result, heaps that were under way being `carried`; a count
/// that was taken back since (a heap that turned out to carry stream control only) does not go below zero.
Snapshot since(Snapshot now, const Snapshot& base);

/// Returns `now` with the counts of streams, senders and ports that `base` has less what they were there. All
/// else stays as it is: `base` has parts as they were when each was changed last, of different times.
Snapshot since_changes(Snapshot now, const Snapshot& base);

}  // namespace spead::stats
