// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stats/snapshot.hpp"

namespace spead::stats {

/// Returns the counts after `base`: every count less its earlier value, by the names of streams, sends, ports
/// and lcores. Parts that `base` lacks, or that have begun anew under their name, stay as they are. Counts of
/// streams that were removed since are subtracted from the removed ones. Times of heaps, high-water marks and
/// senders are not counts: their lcores forget them when `base` is taken (forget_peaks). All identities that
/// hold in both hold in the result; heaps in progress are `carried`. A count that was taken back since (a
/// heap that turned out to carry stream control only) does not go below zero.
Snapshot since(Snapshot now, const Snapshot& base);

/// Returns `now` with the counts of streams, senders and ports less those in `base`, for parts that it has,
/// and with the warnings of lcores less those. All else stays as it is: `base` has parts as of their last
/// changes, of different times.
Snapshot since_changes(Snapshot now, const Snapshot& base);

}  // namespace spead::stats
